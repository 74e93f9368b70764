// Shapes of cases: what becomes of them, and what is wrong with them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "catena/base/error.hpp"
#include "catena/io/result_writer.hpp"
#include "catena/io/yaml_settings.hpp"
#include "catena/math/rotation.hpp"
#include "catena/scenarios/scene.hpp"
#include "io/hdf5/file.hpp"
#include "scenarios/body_records.hpp"

namespace catena {
namespace {

namespace fs = std::filesystem;

void describe(SettingsVisitor& visit, SceneSettings& s) {
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
    if (comm_.rank() == 0) fs::create_directories(folder_);
    comm_.barrier();
  }
  ~Shapes() override {
    comm_.barrier();
    if (comm_.rank() == 0) fs::remove_all(folder_);
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
    document.read([&](SettingsVisitor& visit) { describe(visit, scene); });
    return scene;
  }
  static SceneSettings one_body(const std::string& keys) {
    return parse("bodies: [{name: rock, material: stone, " + keys + "}]");
  }
  std::vector<BodyRecord> bodies_of(const SceneSettings& scene, const Model& model) {
    Bodies bodies;
    State state;
    generate_bodies(scene, comm_, model, bodies, state);
    return test::gathered(comm_, bodies, state);
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
  /// The error of reading and making the case, "" if there is none.
  std::string error_of(const std::string& keys) {
    std::string error;
    try {
      const SceneSettings scene = one_body(keys);
      make_model(scene, comm_);
    } catch (const Error& e) {
      error = e.what();
    }
    comm_.barrier();
    return error;
  }

  Communicator comm_ = Communicator::world();
  std::string folder_ = "shapes_np" + std::to_string(comm_.size());
};

/// World position of a point of the shape as written.
Vec3 world(const BodyRecord& body, const Model& model, const Vec3& point) {
  const Geometry& g = model.geometries[static_cast<std::size_t>(body.constants.shape.geometry)];
  return body.state.pose.p + body.state.pose.q * (g.written.p + g.written.q * point);
}

TEST_F(Shapes, ThreeWaysToWriteACubeGiveTheSameHull) {
  const Cube cube;
  const std::string obj = file("cube.obj", cube.obj()), stl = file("cube.stl", cube.stl());
  const std::string binary = file("binary.STL", cube.binary_stl());
  for (const std::string& path : {obj, stl, binary}) {
    const SceneSettings scene =
        one_body("shape: {hull: {file: " + path + ", unit: cm, scale: 2}}, position: [5, 6, 7]");
    const Model model = make_model(scene, comm_);
    const std::vector<BodyRecord> all = bodies_of(scene, model);

    ASSERT_EQ(model.geometries.size(), 1U) << path;
    EXPECT_EQ(model.geometries[0].vertices.size(), 8U);
    EXPECT_EQ(model.geometries[0].face_normals.size(), 6U);
    EXPECT_TRUE(model.warnings.empty());
    ASSERT_EQ(all.size(), 1U);
    const double edge = 0.02, mass = 2000.0 * edge * edge * edge;
    EXPECT_NEAR(all[0].constants.mass, mass, 1e-9 * mass);
    EXPECT_LT((all[0].constants.inertia - Vec3::Constant(mass * edge * edge / 6.0)).norm(),
              1e-9 * mass * edge * edge);
    EXPECT_EQ(all[0].state.pose.p, Vec3(5, 6, 7));
    // a corner of the file is half the edge from the centre in all directions
    EXPECT_LT((world(all[0], model, {0, 0, 0}) - Vec3(4.99, 5.99, 6.99)).norm(), 1e-12);
  }
}

TEST_F(Shapes, VerticesInWorldCoordinatesStayWhereTheyAreWithShapeOrigin) {
  const SceneSettings scene = parse(R"(bodies:
  - {name: wedge, material: stone, position_of: shape_origin,
     shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}}
  - {name: turned, material: stone, position_of: shape_origin, position: [1, 2, 3],
     orientation: {axis: [1, 2, 3], angle: 1 rad},
     shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}}
  - {name: heavy, material: stone, mass: 2, inertia: [1, 1.2, 1.3], position_of: shape_origin,
     shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}}
  - {name: fixed, material: stone, fixed: true, position: [1, 0, 0],
     shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}}
)");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  ASSERT_EQ(all.size(), 4U);
  // the first two share a geometry; with its inertia given, or fixed, it is another one
  EXPECT_EQ(all[0].constants.shape.geometry, all[1].constants.shape.geometry);
  EXPECT_EQ(model.geometries.size(), 3U);
  const Vec3 points[] = {{0, 0, 0}, {3, 0, 0}, {0, 1, 0}, {0, 0, 2}};
  const Quat q(Eigen::AngleAxisd(1.0, Vec3(1, 2, 3).normalized()));
  for (const Vec3& x : points) {
    EXPECT_LT((world(all[0], model, x) - x).norm(), 1e-14);
    EXPECT_LT((world(all[1], model, x) - (Vec3(1, 2, 3) + q * x)).norm(), 1e-14);
    EXPECT_LT((world(all[2], model, x) - x).norm(), 1e-14);
    EXPECT_LT((world(all[3], model, x) - (x + Vec3(1, 0, 0))).norm(), 1e-14);
  }
  // the centre of mass of a tetrahedron is the mean of its corners
  EXPECT_LT((all[0].state.pose.p - Vec3(0.75, 0.25, 0.5)).norm(), 1e-14);
  EXPECT_LT((all[2].state.pose.p - Vec3(0.75, 0.25, 0.5)).norm(), 1e-14);
  EXPECT_NEAR(all[0].constants.mass, 2000.0, 1e-9);
  // the integrals about the centre: V/20 sum x x^T for the corners from it
  Mat3 second = Mat3::Zero();
  for (const Vec3& x : points)
    second += (x - Vec3(0.75, 0.25, 0.5)) * (x - Vec3(0.75, 0.25, 0.5)).transpose() / 20.0;
  const Mat3 inertia = 2000.0 * (second.trace() * Mat3::Identity() - second);
  EXPECT_LT((rotate_diagonal(all[0].state.pose.q, all[0].constants.inertia) - inertia).norm(),
            1e-10);
  EXPECT_EQ(all[2].constants.inertia, Vec3(1, 1.2, 1.3));
  EXPECT_EQ(all[2].state.pose.q.coeffs(), Quat::Identity().coeffs());
}

TEST_F(Shapes, AClumpIsPlacedByItsCentreOfMassAndItsPartsByTheirs) {
  const SceneSettings scene = one_body(
      "position: [0, 0, 9], shapes: [{sphere: {radius: 0.1}, at: [1, 0, 0]}, "
      "{sphere: {radius: 0.1}, at: [1.3, 0, 0]}]");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  ASSERT_EQ(all.size(), 1U);
  const double mass = 2.0 * 2000.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  EXPECT_NEAR(all[0].constants.mass, mass, 1e-12 * mass);
  const double along = 0.4 * 0.01, across = along + 0.15 * 0.15;
  EXPECT_LT((all[0].constants.inertia - mass * Vec3(along, across, across)).norm(), 1e-12);
  EXPECT_EQ(all[0].state.pose.p, Vec3(0, 0, 9));
  EXPECT_EQ(all[0].state.pose.q.coeffs(), Quat::Identity().coeffs());
  EXPECT_LT((model.geometries[0].parts[0].pose.p - Vec3(-0.15, 0, 0)).norm(), 1e-15);
  EXPECT_NEAR(bounding_radius(all[0].constants.shape), 0.25, 1e-15);
}

TEST_F(Shapes, HullsInAClumpLieWhereTheirPlaceSays) {
  const SceneSettings scene = one_body(
      "position_of: shape_origin, orientation: {axis: [3, 1, 2], angle: 2 rad}, position: [4, 5, "
      "6], "
      "shapes: [{sphere: {radius: 1}}, {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, "
      "2]]}, at: [1, 2, 3], orientation: {axis: [1, 1, 0], angle: 50 deg}}]");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(model.geometries.size(), 2U);
  const CompoundPart& part = model.geometries[1].parts[1];
  const Geometry& hull = model.geometries[0];
  ASSERT_EQ(part.shape.geometry, 0);
  const Quat inner(Eigen::AngleAxisd(50.0 * std::numbers::pi / 180.0, Vec3(1, 1, 0).normalized()));
  const Quat outer(Eigen::AngleAxisd(2.0, Vec3(3, 1, 2).normalized()));
  const Pose& pose = all[0].state.pose;
  const Vec3 points[] = {{0, 0, 0}, {3, 0, 0}, {0, 1, 0}, {0, 0, 2}};
  for (std::size_t i = 0; i < 4; ++i) {
    const Vec3 found = pose.p + pose.q * (part.pose.p + part.pose.q * hull.vertices[i]);
    const Vec3 expected = Vec3(4, 5, 6) + outer * (Vec3(1, 2, 3) + inner * points[i]);
    EXPECT_LT((found - expected).norm(), 1e-13) << i;
  }
}

TEST_F(Shapes, ACupIsAPartPlacedByTheCupsCentreOfMass) {
  const SceneSettings scene = parse(R"(bodies:
  - {name: cup, material: stone, shape: {hollow_cylinder: {inner_radius: 0.5, thickness: 0.1, length: 0.8, ends: lower}}}
  - {name: pipe, material: stone, shape: {hollow_cylinder: {inner_radius: 0.5, thickness: 0.1, length: 0.8}}}
  - {name: silo, material: stone, fixed: true, shape: {hollow_cylinder: {inner_radius: 0.5, thickness: 0.1, length: 0.8, ends: lower}}}
)");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].constants.shape.type, ShapeType::compound);
  EXPECT_EQ(all[1].constants.shape.type, ShapeType::hollow_cylinder);
  EXPECT_EQ(all[2].constants.shape.type, ShapeType::hollow_cylinder);
  EXPECT_EQ(all[2].constants.shape.closed_ends, kLowerEnd);
  // wall pi (0.36 - 0.25) 0.8 at 0, bottom pi 0.36 0.1 at -0.45
  const double wall = 0.088, bottom = 0.036, height = -0.45 * bottom / (wall + bottom);
  EXPECT_NEAR(all[0].constants.mass, 2000.0 * std::numbers::pi * (wall + bottom), 1e-9);
  EXPECT_NEAR(model.geometries[0].parts[0].pose.p.z(), -height, 1e-15);
}

TEST_F(Shapes, LatticesScaleAndTurnTheirShapesAlikeOnAnyNumberOfRanks) {
  const std::string text = R"(generators:
  - lattice: {name: rocks, material: stone, count: [7, 6, 5], spacing: 1, radius_jitter: 0.3,
              random_orientation: true, seed: 3, group: rock,
              shapes: [{box: {size: [0.3, 0.2, 0.1]}}, {capsule: {radius: 0.1, length: 0.2}, at: [0.2, 0.1, 0],
                       orientation: {axis: [1, 1, 0], angle: 50 deg}}]}
  - lattice: {name: discs, material: stone, count: [2, 1, 1], spacing: 1, shape: {cylinder: {radius: 0.1, length: 0.2}},
              orientation: {axis: [1, 0, 0], angle: 90 deg}, collide: false}
)";
  const SceneSettings scene = parse(text);
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);
  const Communicator alone = Communicator::self();
  const Model model_alone = make_model(scene, alone);
  Bodies bodies;
  State state;
  generate_bodies(scene, alone, model_alone, bodies, state);

  ASSERT_EQ(all.size(), 212U);
  ASSERT_EQ(bodies.size(), 212U);
  Vec3 mean = Vec3::Zero();
  for (std::size_t i = 0; i < 210; ++i) {
    EXPECT_EQ(all[i].state.pose.q.coeffs(), state.body[i].pose.q.coeffs());
    EXPECT_EQ(all[i].constants.inertia, bodies.constants[i].inertia);
    EXPECT_EQ(all[i].constants.shape.size, bodies.constants[i].shape.size);
    const double scale = all[i].constants.shape.size.x();
    EXPECT_NEAR(all[i].constants.mass, 2000.0 * scale * scale * scale * model.geometries[0].volume,
                1e-9);
    EXPECT_GE(scale, 0.7);
    EXPECT_LE(scale, 1.3);
    EXPECT_EQ(all[i].constants.group, 1);
    mean += all[i].state.pose.q * model.geometries[0].written.q * Vec3::UnitZ() / 210.0;
  }
  EXPECT_LT(mean.norm(), 4.0 / std::sqrt(3.0 * 210.0));  // of uniform directions, 4 sigma
  EXPECT_FALSE(all[210].constants.collides);
  EXPECT_LT((all[210].state.pose.q * Vec3::UnitZ() + Vec3::UnitY()).norm(), 1e-15);
}

TEST_F(Shapes, SurfacesStandAsWritten) {
  const std::string floor = file("floor.obj", "v 0 0 0\nv 2 0 0\nv 2 1 0\nv 0 1 0\nf 1 2 3 4\n");
  const std::string heights = file("hills.csv", "# mm\n0, 10, 20\n5;15;25\n");
  const SceneSettings scene = parse(
      "bodies:\n  - {name: floor, material: stone, fixed: true, "
      "position: [0, 0, 1], shape: {mesh: {file: " +
      floor +
      ", unit: m, open: true}}}\n  - {name: hills, material: stone, "
      "fixed: true, shape: {heightfield: {file: " +
      heights + ", unit: mm, spacing: [0.5, 2]}}}\n");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  ASSERT_EQ(model.geometries.size(), 2U);
  const Geometry& mesh = model.geometries[0];
  EXPECT_EQ(mesh.triangles.size(), 2U);
  EXPECT_TRUE(mesh.two_sided);
  EXPECT_EQ(mesh.neighbours[0][2], 1);
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings[0].find("open, 4 edges have only one face"), std::string::npos);
  const Geometry& hills = model.geometries[1];
  EXPECT_EQ(hills.n_x, 3);
  EXPECT_EQ(hills.n_y, 2);
  EXPECT_EQ(hills.n_items(), 4);
  EXPECT_DOUBLE_EQ(hills.heights[4], 0.015);
  EXPECT_EQ(hills.bounds.hi, Vec3(1.0, 2.0, 0.025));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(bounds_of(all[0].constants.shape, all[0].state.pose, model.geometries).lo,
            Vec3(0, 0, 1));
}

TEST_F(Shapes, GroupsAndPairsOfMaterialsReachTheModel) {
  const SceneSettings scene = parse(R"(contact:
  no_collisions: [{between: [ghosts, ghosts]}, {between: [ghosts, ""]}]
  pairs: [{between: [stone, stone], rolling_friction: 1 mm, cohesion: 3}]
  cohesion_range: 0.1 mm
bodies:
  - {name: a, material: stone, shape: {sphere: {radius: 1}}}
  - {name: b, material: stone, group: ghosts, shape: {sphere: {radius: 1}}}
  - {name: c, material: stone, group: walls, shape: plane}
)");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  ASSERT_EQ(all.size(), 2U);
  const BodyConstants &a = all[0].constants, &b = all[1].constants;
  const BodyConstants& c = model.unbounded[0].constants;
  EXPECT_TRUE(may_collide(model, a, a));
  EXPECT_FALSE(may_collide(model, a, b));
  EXPECT_FALSE(may_collide(model, b, b));
  EXPECT_TRUE(may_collide(model, b, c));
  EXPECT_DOUBLE_EQ(model.materials.pair(0, 0).rolling_friction, 1e-3);
  EXPECT_EQ(model.materials.pair(0, 0).cohesion, 3.0);
  EXPECT_DOUBLE_EQ(model.contact.cohesion_range, 1e-4);
}

TEST_F(Shapes, WhatIsPrintedReadsBackTheSame) {
  SceneSettings scene = parse(R"(contact: {no_collisions: [{between: [x, x]}]}
bodies:
  - {name: a, material: stone, group: x, shape: {hull: {vertices: [[0, 0, 0], [1 mm, 0, 0], [0, 1, 0], [0, 0, 0.1]]}}}
  - {name: b, material: stone, fixed: true, shape: {heightfield: {heights: [[0, 1], [2, 3], [4, 5]], spacing: [1, 2 cm]}}}
  - {name: c, material: stone, shapes: [{hull: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0.1]]}, at: [1, 2, 3]},
     {hollow_cylinder: {inner_radius: 1, thickness: 0.1, length: 2, ends: both}, orientation: {quaternion: [1, 2, 3, 4]}}]}
generators:
  - lattice: {material: stone, spacing: 1, shape: {capsule: {radius: 5 mm, length: 1}}, random_orientation: true}
)");
  const auto print = [](SceneSettings& s) {
    return print_yaml([&](SettingsVisitor& visit) { describe(visit, s); });
  };
  const std::string text = print(scene);

  SceneSettings again;
  YamlDocument(text, "printed").read([&](SettingsVisitor& visit) { describe(visit, again); });

  EXPECT_EQ(print(again), text);
  EXPECT_EQ(again.bodies[0].shape.vertices, scene.bodies[0].shape.vertices);
  EXPECT_EQ(again.bodies[1].shape.columns, 2U);
  EXPECT_EQ(again.bodies[1].shape.heights.size(), 6U);
  ASSERT_EQ(again.bodies[2].shape.parts.size(), 2U);
  EXPECT_EQ(again.bodies[2].shape.parts[1].shape.ends, 3);
  EXPECT_EQ(again.bodies[2].shape.parts[0].at, Vec3(1, 2, 3));
}

TEST_F(Shapes, BadInputIsToldWithPlaceAndRemedy) {
  const Cube cube;
  const std::string body = "bodies.rock";
  Cube hole, inverted, inside_out, fin, dent, sliver;
  hole.triangles.pop_back();
  std::swap(inverted.triangles[4][0], inverted.triangles[4][1]);
  for (auto& t : inside_out.triangles) std::swap(t[0], t[1]);
  fin.vertices.emplace_back(3, 3, 3);
  fin.triangles.push_back({0, 1, 8});
  dent.vertices.emplace_back(0.5, 0.5, 0.7);  // the lid bent inwards to a pyramid
  dent.triangles.resize(10);
  for (const auto& edge : {std::array{4, 5}, {5, 7}, {7, 6}, {6, 4}})
    dent.triangles.push_back({edge[0], edge[1], 8});
  const std::string hole_file = file("hole.obj", hole.obj());
  const std::string text = cube.stl();
  std::string bytes = cube.binary_stl();
  const auto hull = [](const std::string& path) {
    return "shape: {hull: {file: " + path + ", unit: mm}}";
  };
  const auto mesh = [](const std::string& path) {
    return "fixed: true, shape: {mesh: {file: " + path + ", unit: m}}";
  };
  std::string nan_obj = cube.obj();
  nan_obj.replace(nan_obj.find("0.0"), 8, "nan     ");

  struct Case {
    std::string keys, message;
  };
  const std::vector<Case> cases = {
      {"shape: {hull: {file: cube.stl}}", "add unit: mm"},
      {"shape: {hull: {file: cube.stl, unit: miles}}", "'miles' is no unit"},
      {"shape: {hull: {unit: mm, vertices: [[0, 0, 0]]}}", "there is no file that it is for"},
      {"shape: {hull: {}}", "nothing is given; give vertices or file"},
      {"shape: {hull: {vertices: [[0, 0], [1, 1]]}}", "expected 3 numbers, found 2"},
      {"shape: {hull: {vertices: [[0, 0, 0], [1, 0, .inf]]}}", "is not a finite number"},
      {"shape: {hull: {vertices: [[0, 0, 0], [1, 0, 0]]}}", body},
      {"shape: {hull: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]}}", body},
      {"shape: {mesh: {file: a.stl, unit: m}}", "fixed: true"},
      {"shape: {heightfield: {heights: [[0, 1], [2, 3]], spacing: [1, 1]}}", "fixed: true"},
      {"fixed: true, shape: {heightfield: {heights: [[0, 1]], spacing: [1, 1]}}",
       "fewer than two rows"},
      {"fixed: true, shape: {heightfield: {heights: [[0, 1], [2]], spacing: [1, 1]}}",
       "expected 2 numbers, found 1"},
      {"shapes: [{sphere: {radius: 1}, box: {size: [1, 1, 1]}}]", "has several shapes"},
      {"shapes: [{at: [1, 1, 1]}]", "has no shape"},
      {"shapes: [{plane: {}}]", "unknown key"},
      {"shapes: [{sphere: {radius: 1}}], shape: {sphere: {radius: 1}}", "stands beside shapes"},
      {"shapes: [{mesh: {file: a.stl, unit: m}}]", "no mass"},
      {hull(folder_ + "/none.stl"), "none.stl: no such file"},
      {hull(file("cube.step", "x")), "neither .stl nor .obj"},
      {hull(file("empty.stl", "")), "only 0 bytes"},
      {hull(file("empty.obj", "")), "has no triangles"},
      {hull(file("cut.stl", text.substr(0, text.size() / 2))), "cut"},
      {hull(file("cut_binary.stl", bytes.substr(0, bytes.size() - 7))), "cut off"},
      {hull(file("none.obj", "v 0 0 0\nf 1 2 9\n")), "none.obj:2: '2' names no vertex"},
      {hull(file("nan.obj", nan_obj)), "nan.obj:2: 'nan' is not a finite number"},
      {hull(hole_file), "open: 3 edges have only one face; the first is from"},
      {mesh(hole_file), "add `open: true`"},
      {mesh(file("inverted.obj", inverted.obj())), "neighbours disagree about outside at 3 edges"},
      {mesh(file("inside_out.obj", inside_out.obj())), "turned inside out"},
      {mesh(file("fin.obj", fin.obj())), "1 edge has more than two faces"},
      {hull(file("dent.obj", dent.obj())), "not convex: its hull has 11.1111 % more volume"},
      {mesh(file("points.obj", "v 0 0 0\nv 1 0 0\n")), "has vertices but no faces"},
      {"fixed: true, shape: {heightfield: {file: " + file("bad.csv", "1,2\n3\n") +
           ", unit: m, spacing: [1, 1]}}",
       "bad.csv:2: found 1 numbers; the rows before have 2"},
      {"shape: {hull: {file: " + file("thin.obj", cube.obj()) + ", unit: um, scale: 1e-110}}",
       "check unit and scale"},
      {hull(file("dart.obj", "v 0 0 0\nv 1 0 0\nv .2 .2 0\nv 0 1 0\nf 2 3 4 1\n")),
       "dart.obj:5: the face is not convex"},
      {"shapes: [{sphere: {radius: 1e-120}}]", "range of numbers"}};
  for (const Case& c : cases) {
    const std::string error = error_of(c.keys);
    EXPECT_NE(error.find(c.message), std::string::npos) << c.keys << "\n  gave " << error;
  }
}

TEST_F(Shapes, MorePairsOfPartsThanContactsCanNumberAreRefused) {
  // 2 * 400^2 triangles times 800 parts are more than 2^31 / 9
  std::string row = "0", heights, parts;
  for (int i = 0; i < 400; ++i) row += ",0";
  for (int j = 0; j <= 400; ++j) heights += row + "\n";
  for (int k = 0; k < 800; ++k)
    parts += "{sphere: {radius: 0.1}, at: [" + std::to_string(k) + ", 0, 0]}, ";
  const SceneSettings scene =
      parse("bodies: [{name: ground, material: stone, fixed: true, shape: {heightfield: {file: " +
            file("plain.csv", heights) + ", unit: m, spacing: [1, 1]}}}, " +
            "{name: rod, material: stone, shapes: [" + parts + "]}]");

  std::string message;
  try {
    make_model(scene, comm_);
  } catch (const Error& error) {
    message = error.what();
  }

  EXPECT_NE(message.find("320000 triangles or parts"), std::string::npos) << message;
  EXPECT_NE(message.find("800 parts"), std::string::npos) << message;
}

TEST_F(Shapes, UnknownGroupsAreToldWithTheNearestName) {
  std::string error;
  try {
    parse(
        "contact: {no_collisions: [{between: [wall, walls]}]}\n"
        "bodies: [{name: a, material: stone, group: wall, shape: plane}]\n");
  } catch (const Error& e) {
    error = e.what();
  }
  EXPECT_EQ(error,
            "case.yaml:2:1: contact: no_collisions: no body is in the group 'walls'; did you mean "
            "wall?");
}

TEST_F(Shapes, FaultsThatAreMendedAreCounted) {
  Cube cube;
  // an edge cut in two and the flat triangle between
  cube.triangles.push_back({0, 0, 1});
  const std::string path = file("flat.obj", cube.obj());
  const SceneSettings scene =
      parse("bodies:\n  - {name: a, material: stone, shape: {hull: {file: " + path +
            ", unit: m}}}\n  - {name: b, material: stone, shape: {hull: {vertices: [[0, 0, 0], [1, "
            "0, 0], "
            "[0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]}}}\n");

  const Model model = make_model(scene, comm_);

  ASSERT_EQ(model.warnings.size(), 2U);
  EXPECT_EQ(model.warnings[0], path + ": 1 triangle without area left out");
  EXPECT_EQ(
      model.warnings[1].find("case.yaml:4:32: bodies.b.shape: 1 of 5 vertices lie inside the hull"),
      0U)
      << model.warnings[1];
}

TEST_F(Shapes, FilesDrawThemWhereTheCaseHasThem) {
  const SceneSettings scene = one_body(
      "position_of: shape_origin, position: [1, 2, 3], orientation: {axis: [1, 2, 3], angle: 1 "
      "rad}, "
      "shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}");
  const Model model = make_model(scene, comm_);
  const std::string directory = write_result(scene, model, "drawn");
  const hdf5::File constants = hdf5::File::open(directory + "/bodies.h5");
  const hdf5::File snapshot = hdf5::File::open(directory + "/snapshots/00000000.h5");
  const std::vector<double> y = constants.read_doubles("/geometries/0/vertices");
  const std::vector<double> x = snapshot.read_doubles("/bodies/position");
  const std::vector<double> q = snapshot.read_doubles("/bodies/orientation");
  const std::vector<double> axes = constants.read_doubles("/geometries/0/principal_axes");
  const std::vector<double> moments = constants.read_doubles("/bodies/inertia");

  const Quat turn(Eigen::AngleAxisd(1.0, Vec3(1, 2, 3).normalized()));
  EXPECT_LT(Quat(q[0], q[1], q[2], q[3]).angularDistance(turn), 1e-14);
  const Vec3 points[] = {{0, 0, 0}, {3, 0, 0}, {0, 1, 0}, {0, 0, 2}};
  ASSERT_EQ(y.size(), 12U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Vec3 drawn = Vec3(x[0], x[1], x[2]) + turn * Vec3(y[3 * i], y[3 * i + 1], y[3 * i + 2]);
    EXPECT_LT((drawn - (Vec3(1, 2, 3) + turn * points[i])).norm(), 1e-14) << i;
  }
  // inertia on the axes as written: those of the tetrahedron (volume 1) from its corners
  Mat3 second = Mat3::Zero();
  for (const Vec3& p : points)
    second += (p - Vec3(0.75, 0.25, 0.5)) * (p - Vec3(0.75, 0.25, 0.5)).transpose() / 20.0;
  const Mat3 found = rotate_diagonal(Quat(axes[0], axes[1], axes[2], axes[3]),
                                     Vec3(moments[0], moments[1], moments[2]));
  EXPECT_LT((found - 2000.0 * (second.trace() * Mat3::Identity() - second)).norm(), 1e-10);
}

TEST_F(Shapes, ComeBackFromASnapshotWithTheirPoses) {
  const SceneSettings scene = parse(R"(bodies:
  - {name: wedge, material: stone, position: [1, 2, 3], orientation: {axis: [1, 2, 3], angle: 1 rad},
     shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}}
  - {name: ground, material: stone, fixed: true, shape: {heightfield: {heights: [[0, 1], [2, 3]], spacing: [1, 1]}}}
  - {name: capsule, material: stone, shape: {capsule: {radius: 0.1, length: 0.3}}, orientation: {axis: [1, 0, 0], angle: 0.3}}
  - {name: pipe, material: stone, shape: {hollow_cylinder: {inner_radius: 0.5, thickness: 0.1, length: 0.8, ends: both}}}
  - {name: clump, material: stone, mass: 3, inertia: [1, 1.1, 1.2], orientation: {axis: [1, 1, 3], angle: 2 rad},
     shapes: [{hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}, at: [1, 0, 0]},
              {cylinder: {radius: 0.2, length: 1}, orientation: {axis: [1, 1, 0], angle: 50 deg}}]}
generators:
  - lattice: {name: rocks, material: stone, count: [3, 2, 1], spacing: 5, radius_jitter: 0.3, random_orientation: true,
              shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2], [1, 1, 1]]}}}
)");
  const Model model = make_model(scene, comm_);
  const std::string directory = write_result(scene, model, "result");
  const SceneSettings second = parse(
      "bodies: [{name: rod, material: stone, shapes: [{sphere: {radius: 1}}]}]\ngenerators:\n  - "
      "table: {material: stone, file: " +
      directory + "/snapshots/00000000.h5}\n");
  const Model model_2 = make_model(second, comm_);
  std::vector<BodyRecord> first = bodies_of(scene, model), again = bodies_of(second, model_2);
  first.erase(first.begin() + 1);

  ASSERT_EQ(again.size(), 1 + first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    const BodyRecord &a = first[i], &b = again[i + 1];
    EXPECT_EQ(a.constants.shape.type, b.constants.shape.type);
    EXPECT_EQ(a.constants.shape.size, b.constants.shape.size);
    EXPECT_EQ(a.constants.shape.closed_ends, b.constants.shape.closed_ends);
    EXPECT_EQ(a.state.pose.p, b.state.pose.p);
    EXPECT_NEAR(bounding_radius(a.constants.shape), bounding_radius(b.constants.shape), 1e-14);
    const Aabb box_a = bounds_of(a.constants.shape, a.state.pose, model.geometries);
    const Aabb box_b = bounds_of(b.constants.shape, b.state.pose, model_2.geometries);
    EXPECT_LT((box_a.lo - box_b.lo).norm() + (box_a.hi - box_b.hi).norm(), 1e-13) << i;
    if (i == 3) continue;  // its mass and inertia were given
    EXPECT_NEAR(a.constants.mass, b.constants.mass, 1e-12 * a.constants.mass);
    const Mat3 inertia_a = rotate_diagonal(a.state.pose.q, a.constants.inertia);
    const Mat3 inertia_b = rotate_diagonal(b.state.pose.q, b.constants.inertia);
    EXPECT_LT((inertia_a - inertia_b).norm(), 1e-11 * inertia_a.norm()) << i;
  }
}

}  // namespace
}  // namespace catena
