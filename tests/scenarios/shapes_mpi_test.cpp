// Shapes of cases: what becomes of them.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/random.hpp"
#include "catena/math/rotation.hpp"
#include "scenarios/shape_cases.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

TEST_F(Shapes, ThreeWaysToWriteACubeGiveTheSameHull) {
  const Cube cube;
  const std::string obj = file("cube.obj", cube.obj()), stl = file("cube.stl", cube.stl());
  const std::string binary = file("binary.STL", cube.binary_stl());
  for (const std::string& path : {obj, stl, binary}) {
    const SceneSettings scene =
        one_body("shape: {hull: {file: " + path + ", unit: cm, scale: 2}}, position: [5, 6, 7]");
    const Model model = make_model(scene, comm_);
    const std::vector<BodyRecord> all = bodies_of(scene, model);

    if (!all_ranks_have(comm_, model.geometries.size(), 1U)) return;
    EXPECT_EQ(model.geometries[0].vertices.size(), 8U);
    EXPECT_EQ(model.geometries[0].face_normals.size(), 6U);
    EXPECT_TRUE(model.warnings.empty());
    if (!all_ranks_have(comm_, all.size(), 1U)) return;
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

  if (!all_ranks_have(comm_, all.size(), 4U)) return;
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

TEST_F(Shapes, ACentreOfMassOfItsOwnMovesTheBodyAndNotItsShape) {
  const SceneSettings scene = parse(R"(bodies:
  - {name: link, material: stone, mass: 2, inertia: [1, 1.2, 1.3], center_of_mass: [0.1, -0.2, 0.3],
     position: [4, 5, 6], orientation: {axis: [3, 1, 2], angle: 2 rad}, shape: {box: {size: [1, 1, 1]}}}
  - {name: other, material: stone, mass: 2, inertia: [1, 1.2, 1.3], center_of_mass: [0.1, -0.2, 0.4],
     position: [4, 5, 6], position_of: shape_origin, shape: {box: {size: [1, 1, 1]}}}
  - {name: hull, material: stone, mass: 2, inertia: [1, 1.2, 1.3], center_of_mass: [0.1, -0.2, 0.3],
     position: [4, 5, 6], position_of: shape_origin, orientation: {axis: [3, 1, 2], angle: 2 rad},
     shape: {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 2]]}}}
)");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  if (!all_ranks_have(comm_, all.size(), 3U) || !all_ranks_have(comm_, model.geometries.size(), 3U))
    return;
  const Quat q(Eigen::AngleAxisd(2.0, Vec3(3, 1, 2).normalized()));
  EXPECT_EQ(all[0].state.pose.p, Vec3(4, 5, 6));
  EXPECT_EQ(all[0].constants.mass, 2.0);
  EXPECT_EQ(all[0].constants.inertia, Vec3(1, 1.2, 1.3));
  EXPECT_LT((world(all[0], model, {0.1, -0.2, 0.3}) - Vec3(4, 5, 6)).norm(), 1e-14);
  EXPECT_LT((world(all[0], model, {0, 0, 0}) - Vec3(4, 5, 6) + q * Vec3(0.1, -0.2, 0.3)).norm(),
            1e-14);
  const CompoundPart& box = model.geometries[all[0].constants.shape.geometry].parts[0];
  EXPECT_LT((box.pose.p + Vec3(0.1, -0.2, 0.3)).norm(), 1e-15);
  // the sphere about the centre of mass holds the box
  EXPECT_GE(bounding_radius(all[0].constants.shape), Vec3(0.6, 0.7, 0.8).norm());
  EXPECT_LT((all[1].state.pose.p - Vec3(4.1, 4.8, 6.4)).norm(), 1e-14);
  EXPECT_LT((world(all[1], model, {0, 0, 0}) - Vec3(4, 5, 6)).norm(), 1e-14);
  EXPECT_LT((all[2].state.pose.p - Vec3(4, 5, 6) - q * Vec3(0.1, -0.2, 0.3)).norm(), 1e-14);
  EXPECT_LT((world(all[2], model, {3, 0, 0}) - Vec3(4, 5, 6) - q * Vec3(3, 0, 0)).norm(), 1e-14);
  EXPECT_THROW(parse("bodies:\n  - {name: a, material: stone, mass: 1, center_of_mass: [0, 0, 1], "
                     "shape: {sphere: {radius: 1}}}\n"),
               Error);
}

TEST_F(Shapes, AClumpIsPlacedByItsCentreOfMassAndItsPartsByTheirs) {
  const SceneSettings scene = one_body(
      "position: [0, 0, 9], shapes: [{sphere: {radius: 0.1}, at: [1, 0, 0]}, "
      "{sphere: {radius: 0.1}, at: [1.3, 0, 0]}]");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  if (!all_ranks_have(comm_, all.size(), 1U)) return;
  const double mass = 2.0 * 2000.0 * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  EXPECT_NEAR(all[0].constants.mass, mass, 1e-12 * mass);
  const double along = 0.4 * 0.01, across = along + 0.15 * 0.15;
  EXPECT_LT((all[0].constants.inertia - mass * Vec3(along, across, across)).norm(), 1e-12);
  EXPECT_EQ(all[0].state.pose.p, Vec3(0, 0, 9));
  EXPECT_EQ(all[0].state.pose.q.coeffs(), Quat::Identity().coeffs());
  EXPECT_LT((model.geometries[0].parts[0].pose.p - Vec3(-0.15, 0, 0)).norm(), 1e-15);
  EXPECT_NEAR(bounding_radius(all[0].constants.shape), 0.25, 1e-15);
}

/// Volume and second moment about the centre along `axis` of what `holds` in a cube of half edge
/// `reach`, by random points of a fixed seed, per volume.
template <class Holds>
std::array<double, 2> by_random_points(double reach, const Vec3& axis, const Holds& holds) {
  constexpr std::uint64_t kPoints = 400000;
  Vec3 first = Vec3::Zero();
  double n = 0.0, square = 0.0;
  for (std::uint64_t i = 0; i < kPoints; ++i) {
    const Vec3 p = reach * Vec3(uniform_pm1(1, i, 0), uniform_pm1(1, i, 1), uniform_pm1(1, i, 2));
    if (!holds(p)) continue;
    n += 1.0;
    first += p;
    square += axis.dot(p) * axis.dot(p);
  }
  const double middle = axis.dot(first) / n;
  return {8.0 * reach * reach * reach * n / kPoints, square / n - middle * middle};
}

TEST_F(Shapes, AClumpFromAListHasTheMassOfTheUnionOfItsSpheres) {
  const std::string path =
      file("grain.csv", "# mm\nx, y, z, radius\n0,0,0,10\n12,0,0,8\n6,7,0,6\n0,0,9,5\n");
  const SceneSettings scene = parse(
      "bodies: [{name: one, material: stone, shape: {clump: {file: " + path + ", unit: mm}}},\n" +
      "  {name: twin, material: stone, position: [1, 0, 0], shape: {clump: {file: " + path +
      ", unit: mm}}}]\ngenerators:\n"
      "  - lattice: {name: many, material: stone, count: [3, 1, 1], spacing: 1, radius_jitter: "
      "0.2, "
      "shape: {clump: {file: " +
      path +
      ", unit: mm}}}\n"
      "  - pack: {name: packed, material: stone, solid_fraction: 0.1, random_orientation: true, "
      "region: {lower: [0, 0, 0], upper: [0.2, 0.2, 0.2]}, shape: {clump: {file: " +
      path + ", unit: mm}}}\n");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  const std::array<Vec3, 4> centre = {Vec3(0, 0, 0), Vec3(.012, 0, 0), Vec3(.006, .007, 0),
                                      Vec3(0, 0, .009)};
  const std::array<double, 4> radius = {.010, .008, .006, .005};
  const auto holds = [&](const Vec3& p) {
    for (std::size_t i = 0; i < 4; ++i)
      if ((p - centre[i]).norm() < radius[i]) return true;
    return false;
  };
  const auto [volume, along_x] = by_random_points(0.021, Vec3::UnitX(), holds);
  if (!all_ranks_have(comm_, model.geometries.size(), 1U)) return;  // all have one template
  const Geometry& clump = model.geometries[0];
  if (!all_ranks_have(comm_, clump.parts.size(), 4U)) return;
  EXPECT_GT(all.size(), 6U);
  // of 400,000 points a share p = 0.07 lies inside: sqrt((1 - p) / (p n)) = 0.6 %
  EXPECT_NEAR(clump.volume, volume, 0.02 * volume);
  const Mat3 inertia = rotate_diagonal(clump.written.q.conjugate(), clump.inertia_per_mass);
  const double second = 0.5 * (inertia(1, 1) + inertia(2, 2) - inertia(0, 0));  // of x about x0
  EXPECT_NEAR(second, along_x, 0.03 * along_x);
  for (const BodyRecord& body : all) {
    const double scale = body.constants.shape.size.x();
    EXPECT_EQ(body.constants.shape.type, ShapeType::compound);
    EXPECT_NEAR(body.constants.mass, 2000.0 * clump.volume * scale * scale * scale, 1e-12);
  }
}

// Closed and turned outwards, but with a corner drawn through the opposite side: the depth grows
// for ever on the way out.
TEST_F(Shapes, AClumpIsNotFilledIntoASurfaceThatCutsThroughItself) {
  const std::string path = CATENA_TEST_DATA "/fuzz/obj/cuts_through_itself.obj";

  const std::string error = error_of("shape: {clump: {file: " + path + ", unit: m, spheres: 3}}");

  EXPECT_NE(error.find("cuts through itself: near ("), std::string::npos) << error;
}

TEST_F(Shapes, AClumpFromASurfaceHasSpheresInsideThatAreTheLargestFirst) {
  const std::string path = file("cube.stl", Cube().stl());
  const auto clump = [&](int n) {
    const SceneSettings scene = one_body("shape: {clump: {file: " + path +
                                         ", unit: m, spheres: " + std::to_string(n) + "}}");
    return make_model(scene, comm_);
  };
  const Model one = clump(1), many = clump(15);

  if (!all_ranks_have(comm_, one.geometries[0].parts.size(), 1U)) return;
  EXPECT_NEAR(one.geometries[0].parts[0].shape.size.x(), 0.5, 1e-4);  // the cube's own sphere
  EXPECT_NEAR(one.geometries[0].volume, std::numbers::pi / 6.0, 1e-3);
  const Geometry& g = many.geometries[0];
  if (!all_ranks_have(comm_, g.parts.size(), 15U)) return;
  EXPECT_GT(g.volume, std::numbers::pi / 6.0 + 0.1);
  EXPECT_LT(g.volume, 1.0);
  for (std::size_t i = 0; i < g.parts.size(); ++i) {
    const double r = g.parts[i].shape.size.x();
    const Vec3 p = g.written.q.conjugate() * (g.parts[i].pose.p - g.written.p);
    EXPECT_GE(p.minCoeff(), r - 1e-12) << i;
    EXPECT_LE(p.maxCoeff(), 1.0 - r + 1e-12) << i;
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_GE((g.parts[i].pose.p - g.parts[k].pose.p).norm(), g.parts[k].shape.size.x() - 1e-12);
  }
  EXPECT_NE(many.warnings.at(0).find("15 spheres have"), std::string::npos);
  EXPECT_NE(
      error_of("shape: {clump: {file: " + path + ", unit: m, spheres: 0}}").find("say how many"),
      std::string::npos);
  const std::string bad = file("bad.csv", "0,0,0\n1,0,0\n");
  EXPECT_NE(error_of("shape: {clump: {file: " + bad + ", unit: m}}").find("rows of 3 numbers"),
            std::string::npos);
  const std::string flat = file("flat.csv", "0,0,0,1\n1,0,0,-1\n");
  EXPECT_NE(error_of("shape: {clump: {file: " + flat + ", unit: m}}")
                .find("sphere 2 has no positive radius"),
            std::string::npos);
}

TEST_F(Shapes, APointedRodHasTheMassOfACylinderWithTwoCones) {
  const SceneSettings scene = parse(
      "bodies: [{name: rod, material: stone, shape: {pointed_rod: {radius: 1 cm, length: 20 cm, "
      "tip_length: 3 cm}}},\n"
      "  {name: spindle, material: stone, shape: {pointed_rod: {radius: 1 cm, length: 6 cm, "
      "tip_length: 3 cm, sides: 64}}}]\n");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  if (!all_ranks_have(comm_, all.size(), 2U)) return;
  using std::numbers::pi;
  const double r = 0.01, shaft = pi * r * r * 0.14, tips = 2.0 / 3.0 * pi * r * r * 0.03;
  EXPECT_NEAR(all[0].constants.mass, 2000.0 * (shaft + tips), 1e-12);
  EXPECT_NEAR(all[1].constants.mass, 2000.0 * tips, 1e-12);
  // about the axis 1/2 r^2 of the shaft, 3/10 r^2 of cones; regular polygons have as much to 2e-4
  const double about = 2000.0 * (0.5 * shaft + 0.3 * tips) * r * r;
  EXPECT_NEAR(all[0].constants.inertia.minCoeff(), about, 2e-4 * about);
  // across: cylinder r^2/4 + L^2/12; cone of height h 3/20 r^2 + 3/80 h^2 about its centre, which
  // lies h/4 beyond its base
  const double across = 2000.0 * (shaft * (r * r / 4.0 + 0.14 * 0.14 / 12.0) +
                                  tips * (0.15 * r * r + 0.0375 * 0.0009 + 0.0775 * 0.0775));
  EXPECT_NEAR(all[0].constants.inertia.maxCoeff(), across, 2e-4 * across);
  EXPECT_EQ(model.geometries[0].vertices.size(), 34U);
  EXPECT_EQ(model.geometries[1].vertices.size(), 66U);
  EXPECT_NEAR(model.geometries[0].radius, 0.1, 1e-12);
  EXPECT_NE(error_of("shape: {pointed_rod: {radius: 1, length: 2, tip_length: 1.1}}")
                .find("both ends are longer than the rod"),
            std::string::npos);
}

TEST_F(Shapes, HullsInAClumpLieWhereTheirPlaceSays) {
  const SceneSettings scene = one_body(
      "position_of: shape_origin, orientation: {axis: [3, 1, 2], angle: 2 rad}, position: [4, 5, "
      "6], "
      "shapes: [{sphere: {radius: 1}}, {hull: {vertices: [[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, "
      "2]]}, at: [1, 2, 3], orientation: {axis: [1, 1, 0], angle: 50 deg}}]");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  if (!all_ranks_have(comm_, all.size(), 1U)) return;
  if (!all_ranks_have(comm_, model.geometries.size(), 2U)) return;
  const CompoundPart& part = model.geometries[1].parts[1];
  const Geometry& hull = model.geometries[0];
  if (!all_ranks_have(comm_, part.shape.geometry, 0)) return;
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

  if (!all_ranks_have(comm_, all.size(), 3U)) return;
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

  if (!all_ranks_have(comm_, all.size(), 212U)) return;
  if (!all_ranks_have(comm_, bodies.size(), 212U)) return;
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

  if (!all_ranks_have(comm_, model.geometries.size(), 2U)) return;
  const Geometry& mesh = model.geometries[0];
  EXPECT_EQ(mesh.triangles.size(), 2U);
  EXPECT_TRUE(mesh.two_sided);
  EXPECT_EQ(mesh.neighbours[0][2], 1);
  if (!all_ranks_have(comm_, model.warnings.size(), 1U)) return;
  EXPECT_NE(model.warnings[0].find("open, 4 edges have only one face"), std::string::npos);
  const Geometry& hills = model.geometries[1];
  EXPECT_EQ(hills.n_x, 3);
  EXPECT_EQ(hills.n_y, 2);
  EXPECT_EQ(hills.n_items(), 4);
  EXPECT_DOUBLE_EQ(hills.heights[4], 0.015);
  EXPECT_EQ(hills.bounds.hi, Vec3(1.0, 2.0, 0.025));
  if (!all_ranks_have(comm_, all.size(), 2U)) return;
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

  if (!all_ranks_have(comm_, all.size(), 2U)) return;
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

}  // namespace
}  // namespace catena::test
