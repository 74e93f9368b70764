// Shapes of cases: printed, written and read again, and what is wrong with them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/math/rotation.hpp"
#include "io/hdf5/file.hpp"
#include "scenarios/shape_cases.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

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
    return print_yaml([&](SettingsVisitor& visit) { describe_shapes(visit, s); });
  };
  const std::string text = print(scene);

  SceneSettings again;
  YamlDocument(text, "printed").read([&](SettingsVisitor& visit) {
    describe_shapes(visit, again);
  });

  EXPECT_EQ(print(again), text);
  EXPECT_EQ(again.bodies[0].shape.vertices, scene.bodies[0].shape.vertices);
  EXPECT_EQ(again.bodies[1].shape.columns, 2U);
  EXPECT_EQ(again.bodies[1].shape.heights.size(), 6U);
  if (!all_ranks_have(comm_, again.bodies[2].shape.parts.size(), 2U)) return;
  EXPECT_EQ(again.bodies[2].shape.parts[1].shape.ends, 3);
  EXPECT_EQ(again.bodies[2].shape.parts[0].at, Vec3(1, 2, 3));
}

TEST_F(Shapes, RoundedZerosOfAFileAreZero) {
  const Cube cube;
  std::string text = cube.stl();
  // -4e-18 where one facet of several has a 0, as programs write it
  const std::size_t at = text.find("vertex 0.000000");
  if (!all_ranks_have(comm_, static_cast<int>(at != std::string::npos), 1)) return;
  text.replace(at, 15, "vertex -4e-18");
  std::vector<Geometry> made;
  for (const std::string& content : {cube.stl(), text}) {
    const Model model = make_model(
        one_body("shape: {hull: {file: " + file("noise.stl", content) + ", unit: m}}"), comm_);
    made.push_back(model.geometries[0]);
  }

  EXPECT_EQ(made[0].vertices, made[1].vertices);
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

TEST_F(Shapes, FacesWithMoreCornersThanContactsCanNameAreRefused) {
  const auto disk = [](int corners) {
    std::string list;
    for (int k = 0; k < corners; ++k) {
      const double a = 2.0 * std::numbers::pi * k / corners;
      for (const char* z : {"0", "0.1"})
        list += "[" + std::to_string(std::cos(a)) + ", " + std::to_string(std::sin(a)) + ", " + z +
                "], ";
    }
    return "shape: {hull: {vertices: [" + list + "]}}";
  };
  EXPECT_EQ(error_of(disk(511)), "no error");
  const std::string error = error_of(disk(512));
  EXPECT_NE(error.find("has 512 corners, more than 511"), std::string::npos) << error;
  EXPECT_NE(error.find("bodies.rock"), std::string::npos) << error;
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

  const std::string message = test::error_of([&] { make_model(scene, comm_); });

  EXPECT_NE(message.find("320000 triangles or parts"), std::string::npos) << message;
  EXPECT_NE(message.find("800 parts"), std::string::npos) << message;
}

TEST_F(Shapes, UnknownGroupsAreToldWithTheNearestName) {
  const std::string error = test::error_of([] {
    parse(
        "contact: {no_collisions: [{between: [wall, walls]}]}\n"
        "bodies: [{name: a, material: stone, group: wall, shape: plane}]\n");
  });
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

  if (!all_ranks_have(comm_, model.warnings.size(), 2U)) return;
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
  if (!all_ranks_have(comm_, y.size(), 12U)) return;
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

  if (!all_ranks_have(comm_, again.size(), 1 + first.size())) return;
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
}  // namespace catena::test
