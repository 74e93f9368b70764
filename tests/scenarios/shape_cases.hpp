// Cases with shapes, from texts and files that they name.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catena/io/result_writer.hpp"
#include "catena/io/yaml_settings.hpp"
#include "catena/scenarios/scene.hpp"
#include "scenarios/body_records.hpp"
#include "support/error_of.hpp"

namespace catena::test {

inline void describe_shapes(SettingsVisitor& visit, SceneSettings& s) {
  describe_space(visit, s);
  describe_materials(visit, s);
  describe_contact(visit, s);
  describe_bodies(visit, s);
  describe_generators(visit, s);
}

/// A unit cube from the origin as triangles, counter-clockwise from outside.
struct Cube {
  std::vector<Vec3> vertices;
  std::vector<std::array<int, 3>> triangles;
  Cube() {
    for (int k = 0; k < 8; ++k) vertices.emplace_back(k & 1, (k >> 1) & 1, k >> 2);
    constexpr int kQuads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                  {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (const auto& q : kQuads) {
      triangles.push_back({q[0], q[1], q[2]});
      triangles.push_back({q[0], q[2], q[3]});
    }
  }
  std::string obj() const {
    std::string text = "# cube\n";
    for (const Vec3& v : vertices)
      text += "v " + std::to_string(v[0]) + " " + std::to_string(v[1]) + " " +
              std::to_string(v[2]) + "\n";
    for (const auto& t : triangles)
      text += "f " + std::to_string(t[0] + 1) + "/1 " + std::to_string(t[1] + 1) + "//2 " +
              std::to_string(t[2] - static_cast<int>(vertices.size())) +
              "\n";  // the last vertex is -1
    return text;
  }
  std::string stl() const {
    std::string text = "solid cube\n";
    for (const auto& t : triangles) {
      text += "facet normal 0 0 0\n outer loop\n";
      for (const int k : t) {
        const Vec3& v = vertices[static_cast<std::size_t>(k)];
        text += "  vertex " + std::to_string(v[0]) + " " + std::to_string(v[1]) + " " +
                std::to_string(v[2]) + "\n";
      }
      text += " endloop\nendfacet\n";
    }
    return text + "endsolid cube\n";
  }
  std::string binary_stl() const {
    std::string bytes(80, ' ');
    const auto append = [&](const void* data, std::size_t n) {
      bytes.append(static_cast<const char*>(data), n);
    };
    const auto n = static_cast<std::uint32_t>(triangles.size());
    append(&n, 4);
    for (const auto& t : triangles) {
      const float normal[3] = {0, 0, 0};
      append(normal, 12);
      for (const int k : t) {
        const Eigen::Vector3f v = vertices[static_cast<std::size_t>(k)].cast<float>();
        append(v.data(), 12);
      }
      bytes += std::string(2, '\0');
    }
    return bytes;
  }
};

class Shapes : public testing::Test {
 protected:
  Shapes() {
    if (comm_.rank() == 0) std::filesystem::create_directories(folder_);
    comm_.barrier();
  }
  ~Shapes() override {
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove_all(folder_);
  }
  std::string file(const std::string& name, const std::string& content) const {
    const std::string path = folder_ + "/" + name;
    if (comm_.rank() == 0) std::ofstream(path, std::ios::binary) << content;
    comm_.barrier();
    return path;
  }
  static SceneSettings parse(const std::string& text) {
    SceneSettings scene;
    const YamlDocument document("materials: {stone: {density: 2000}}\n" + text, "case.yaml");
    document.read([&](SettingsVisitor& visit) { describe_shapes(visit, scene); });
    return scene;
  }
  static SceneSettings one_body(const std::string& keys) {
    return parse("bodies: [{name: rock, material: stone, " + keys + "}]");
  }
  std::vector<BodyRecord> bodies_of(const SceneSettings& scene, const Model& model) {
    Bodies bodies;
    State state;
    generate_bodies(scene, comm_, model, bodies, state);
    return gathered(comm_, bodies, state);
  }
  /// Writes the bodies of a scene as the result folder_/name.
  std::string write_result(const SceneSettings& scene, const Model& model,
                           const std::string& name) {
    Bodies bodies;
    State state;
    generate_bodies(scene, comm_, model, bodies, state);
    const std::string directory = folder_ + "/" + name;
    {
      ResultWriter out(comm_, directory, {}, {}, false);
      out.write_bodies(model, bodies);
      out.write_snapshot(model, bodies, state, {});
    }
    comm_.barrier();
    return directory;
  }
  /// The error of reading and making the case.
  std::string error_of(const std::string& keys) {
    const std::string error = test::error_of([&] { make_model(one_body(keys), comm_); });
    comm_.barrier();
    return error;
  }

  Communicator comm_ = Communicator::world();
  // of the suite: others that are derived from this one may run at the same time
  std::string folder_ =
      std::string(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()) +
      "_np" + std::to_string(comm_.size());
};

/// World position of a point of the shape as written.
inline Vec3 world(const BodyRecord& body, const Model& model, const Vec3& point) {
  const Geometry& g = model.geometries[static_cast<std::size_t>(body.constants.shape.geometry)];
  return body.state.pose.p + body.state.pose.q * (g.written.p + g.written.q * point);
}

}  // namespace catena::test
