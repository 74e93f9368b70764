// Surfaces with dents as convex pieces: masses, volumes and distances against closed forms and
// random points.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "catena/base/random.hpp"
#include "catena/collision/contact.hpp"
#include "scenarios/shape_cases.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

using std::numbers::pi;

std::string obj_of(const std::vector<Vec3>& vertices,
                   const std::vector<std::vector<std::size_t>>& faces) {
  std::string text;
  for (const Vec3& v : vertices) {
    char line[128];
    std::snprintf(line, sizeof line, "v %.17g %.17g %.17g\n", v[0], v[1], v[2]);
    text += line;
  }
  for (const auto& face : faces) {
    text += "f";
    for (const std::size_t k : face) text += " " + std::to_string(k + 1);
    text += "\n";
  }
  return text;
}

/// A prism of height 1 over a polygon, counter-clockwise, whose area `cap` fills with triangles.
std::string prism(const std::vector<std::array<double, 2>>& outline,
                  const std::vector<std::array<std::size_t, 3>>& cap) {
  const std::size_t n = outline.size();
  std::vector<Vec3> vertices;
  for (const double z : {0.0, 1.0})
    for (const auto& p : outline) vertices.emplace_back(p[0], p[1], z);
  std::vector<std::vector<std::size_t>> faces;
  for (const auto& t : cap) {
    faces.push_back({t[0], t[2], t[1]});
    faces.push_back({t[0] + n, t[1] + n, t[2] + n});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t next = (i + 1) % n;
    faces.push_back({i, next, next + n, i + n});
  }
  return obj_of(vertices, faces);
}

/// Two bars of 3 x 1 that share a square. The triangles reach across the inner corner's planes.
std::string angle_bracket() {
  return prism({{0, 0}, {3, 0}, {3, 1}, {1, 1}, {1, 3}, {0, 3}},
               {{0, 1, 2}, {0, 2, 3}, {0, 3, 5}, {3, 4, 5}});
}

/// A block of 3 x 3 with a slot of 1 x 2.
std::string u_bracket() {
  return prism({{0, 0}, {3, 0}, {3, 3}, {2, 3}, {2, 1}, {1, 1}, {1, 3}, {0, 3}},
               {{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {0, 4, 5}, {0, 5, 6}, {0, 6, 7}});
}

struct Torus {
  double ring = 1.0, tube = 0.3;
  int around = 24, across = 12;

  std::string obj() const {
    std::vector<Vec3> vertices;
    std::vector<std::vector<std::size_t>> faces;
    for (int i = 0; i < around; ++i) {
      for (int j = 0; j < across; ++j) {
        const double a = 2.0 * pi * i / around, b = 2.0 * pi * j / across;
        const double r = ring + tube * std::cos(b);
        vertices.emplace_back(r * std::cos(a), r * std::sin(a), tube * std::sin(b));
        const auto at = [&](int k, int l) {
          return static_cast<std::size_t>((k % around) * across + l % across);
        };
        faces.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
      }
    }
    return obj_of(vertices, faces);
  }
  /// Of trapezoids: circles are polygons of the same corners.
  double volume() const {
    return around * std::sin(2.0 * pi / around) * ring * 0.5 * across * tube * tube *
           std::sin(2.0 * pi / across);
  }
  /// From the round torus, negative inside; that of trapezoids lies within `sag()` inside of it.
  double distance(const Vec3& p) const {
    return std::hypot(std::hypot(p.x(), p.y()) - ring, p.z()) - tube;
  }
  double sag() const {
    return (ring + tube) * (1.0 - std::cos(pi / around)) + tube * (1.0 - std::cos(pi / across));
  }
};

bool holds(const Model& model, const CompoundPart& part, const Vec3& p) {
  const Geometry& hull = model.geometries[static_cast<std::size_t>(part.shape.geometry)];
  const Vec3 x = part.pose.q.conjugate() * (p - part.pose.p);
  for (std::size_t f = 0; f < hull.face_normals.size(); ++f)
    if (hull.face_normals[f].dot(x) > hull.face_offsets[f] + 1e-9) return false;
  return true;
}

/// Of points in a box: how many lie in pieces, and how many times.
struct Counts {
  double share = 0.0, times = 0.0;
  double farthest = -1.0;  ///< largest value of `measure` in the pieces
  bool misses = false;     ///< a point with measure < inside lies in no piece
};

/// Of a compound alone in a model, in the frame as written.
template <class Measure>
Counts by_random_points(const Model& model, const Geometry& g, const Aabb& box, double inside,
                        const Measure& measure) {
  constexpr std::uint64_t kPoints = 40000;
  Counts counts;
  for (std::uint64_t i = 0; i < kPoints; ++i) {
    const Vec3 part(uniform_pm1(7, i, 0), uniform_pm1(7, i, 1), uniform_pm1(7, i, 2));
    const Vec3 p = 0.5 * (box.lo + box.hi) + 0.5 * (box.hi - box.lo).cwiseProduct(part);
    const Vec3 x = g.written.p + g.written.q * p;
    double times = 0.0;
    for (const CompoundPart& piece : g.parts) times += holds(model, piece, x) ? 1.0 : 0.0;
    const double value = measure(p);
    counts.times += times / kPoints;
    if (times > 0.0) counts.share += 1.0 / kPoints;
    if (times > 0.0) counts.farthest = std::max(counts.farthest, value);
    counts.misses = counts.misses || (value < inside && times == 0.0);
  }
  return counts;
}

TEST_F(Shapes, BracketsFallIntoExactlyTheirBars) {
  struct Bracket {
    std::string obj;
    double volume;
    std::size_t most;
    bool (*in)(const Vec3&);
  };
  const Bracket brackets[] = {
      {angle_bracket(), 5.0, 2, [](const Vec3& p) { return p.x() < 1.0 || p.y() < 1.0; }},
      {u_bracket(), 7.0, 3,
       [](const Vec3& p) { return p.x() < 1.0 || p.x() > 2.0 || p.y() < 1.0; }}};
  for (const Bracket& b : brackets) {
    const Model model = make_model(one_body("shape: {hull: {file: " + file("bracket.obj", b.obj) +
                                            ", unit: m, decompose: {tolerance: 1 mm}}}"),
                                   comm_);
    const Geometry& g = model.geometries[0];
    EXPECT_EQ(g.type, ShapeType::compound);
    EXPECT_EQ(g.parts.size(), b.most);
    EXPECT_NEAR(g.volume, b.volume, 1e-12);
    const auto outside = [&](const Vec3& p) { return b.in(p) ? -1.0 : 1.0; };
    const Counts counts = by_random_points(model, g, {Vec3(0, 0, 0), Vec3(3, 3, 1)}, 0.0, outside);
    EXPECT_NEAR(counts.share, b.volume / 9.0, 0.01);
    EXPECT_EQ(counts.share, counts.times);
    EXPECT_EQ(counts.farthest, -1.0);
    EXPECT_FALSE(counts.misses);
    EXPECT_NE(model.warnings.at(0).find("convex pieces, which together are exactly the surface"),
              std::string::npos)
        << model.warnings[0];
  }
}

/// The cap of the whole ring has more corners than contacts can name, those of its pieces do not.
TEST_F(Shapes, ARingOfManySegmentsIsCut) {
  constexpr std::size_t kAround = 520;
  std::vector<Vec3> vertices;
  std::vector<std::vector<std::size_t>> faces;
  for (std::size_t i = 0; i < kAround; ++i) {
    const double a = 2.0 * pi * static_cast<double>(i) / kAround;
    for (const auto& [r, z] : {std::pair(1.0, 0.0), {1.0, 0.1}, {0.8, 0.1}, {0.8, 0.0}})
      vertices.emplace_back(r * std::cos(a), r * std::sin(a), z);
    const std::size_t here = 4 * i, next = 4 * ((i + 1) % kAround);
    for (std::size_t k = 0; k < 4; ++k)
      faces.push_back({here + k, next + k, next + (k + 1) % 4, here + (k + 1) % 4});
  }
  const Model model =
      make_model(one_body("shape: {hull: {file: " + file("ring.obj", obj_of(vertices, faces)) +
                          ", unit: m, decompose: {pieces: 4}}}"),
                 comm_);

  EXPECT_EQ(model.geometries[0].parts.size(), 4U);
}

/// Of boxes: sizes and centres.
Mat3 inertia_of_boxes(const std::vector<std::array<Vec3, 2>>& boxes, Vec3& centre, double& volume) {
  Mat3 second = Mat3::Zero();
  centre.setZero();
  volume = 0.0;
  for (const auto& [size, at] : boxes) {
    const double v = size.prod();
    const Mat3 own = (size.cwiseAbs2() / 12.0).asDiagonal();
    second += v * (own + at * at.transpose());
    centre += v * at;
    volume += v;
  }
  centre /= volume;
  second -= volume * centre * centre.transpose();
  return second.trace() * Mat3::Identity() - second;
}

TEST_F(Shapes, ADecomposedBodyHasTheMassOfItsSurface) {
  // one piece for an L: its hull, whose mass and centre are others
  const SceneSettings scene =
      one_body("position: [0, 0, 5], shape: {hull: {file: " + file("l.obj", angle_bracket()) +
               ", unit: m, decompose: {pieces: 1}}}");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> all = bodies_of(scene, model);

  Vec3 centre;
  double volume = 0.0;
  const Mat3 inertia = inertia_of_boxes(
      {{Vec3(3, 1, 1), Vec3(1.5, 0.5, 0.5)}, {Vec3(1, 2, 1), Vec3(0.5, 2, 0.5)}}, centre, volume);
  if (!all_ranks_have(comm_, all.size(), 1U)) return;
  EXPECT_NEAR(all[0].constants.mass, 2000.0 * volume, 1e-9);
  EXPECT_LT((world(all[0], model, centre) - Vec3(0, 0, 5)).norm(), 1e-12);
  const Mat3 axes = (all[0].state.pose.q).toRotationMatrix();
  const Quat written = model.geometries[0].written.q;
  const Mat3 to_world = axes * written.toRotationMatrix();
  const Mat3 found = axes * all[0].constants.inertia.asDiagonal() * axes.transpose();
  EXPECT_LT((found - 2000.0 * to_world * inertia * to_world.transpose()).norm(), 1e-8);
  EXPECT_EQ(model.geometries[0].parts.size(), 1U);
  EXPECT_NE(model.warnings.at(0).find("1 convex piece with 40 % more volume than the surface"),
            std::string::npos)
      << model.warnings[0];
  EXPECT_NE(model.warnings[0].find("more than decompose.tolerance, 0.03 m"), std::string::npos);
  // the middle of the hull's face across the inner corner
  const double reach = std::stod(model.warnings[0].substr(model.warnings[0].find("up to ") + 6));
  EXPECT_GE(reach, 1.0 - 1e-5);
  EXPECT_LE(reach, 1.05);
}

TEST_F(Shapes, PiecesOfATorusMeetTheToleranceAndHoldAllOfIt) {
  const Torus torus;
  const std::string path = file("torus.obj", torus.obj());
  const auto made = [&](const std::string& keys) {
    return make_model(
        one_body("shape: {hull: {file: " + path + ", unit: m, decompose: {" + keys + "}}}"), comm_);
  };
  const Model fine = made("pieces: 64, tolerance: 6 cm");
  const Geometry& g = fine.geometries[0];
  EXPECT_NEAR(g.volume, torus.volume(), 1e-12);
  const Vec3 reach = Vec3(torus.ring + torus.tube, torus.ring + torus.tube, torus.tube);
  const Counts counts = by_random_points(fine, g, {-reach, reach}, -torus.sag(),
                                         [&](const Vec3& p) { return torus.distance(p); });
  const double box = (2.0 * reach).prod();
  double pieces = 0.0;
  for (const CompoundPart& part : g.parts)
    pieces += fine.geometries[static_cast<std::size_t>(part.shape.geometry)].volume;
  EXPECT_NEAR(counts.share * box, pieces, 0.02 * pieces);
  EXPECT_NEAR(counts.times, counts.share, 1e-3);  // they do not overlap
  EXPECT_FALSE(counts.misses);
  EXPECT_LE(counts.farthest, 0.06 + torus.sag());
  EXPECT_GT(pieces, torus.volume());
  EXPECT_EQ(fine.warnings.at(0).find("more than decompose.tolerance"), std::string::npos)
      << fine.warnings[0];

  const Model coarse = made("pieces: 4, tolerance: 6 cm");
  const Geometry& four = coarse.geometries[0];
  EXPECT_EQ(four.parts.size(), 4U);
  EXPECT_NEAR(four.volume, torus.volume(), 1e-12);
  const Counts wide = by_random_points(coarse, four, {-reach, reach}, -torus.sag(),
                                       [&](const Vec3& p) { return torus.distance(p); });
  const std::string& remark = coarse.warnings.at(0);
  EXPECT_NE(remark.find("more than decompose.tolerance, 0.06 m"), std::string::npos) << remark;
  const double told = std::stod(remark.substr(remark.find("up to ") + 6));
  EXPECT_GE(told, wide.farthest - torus.sag());
  EXPECT_LE(told, 1.2 * wide.farthest + torus.sag() + 0.015);
}

TEST_F(Shapes, APegFitsIntoTheGapOfAUButNotIntoItsHull) {
  const std::string path = file("gap.obj", u_bracket());
  const auto points = [&](int pieces, const Vec3& at) {
    const Model model = make_model(one_body("fixed: true, shape: {hull: {file: " + path +
                                            ", unit: m, decompose: "
                                            "{tolerance: 1 mm, pieces: " +
                                            std::to_string(pieces) + "}}}"),
                                   comm_);
    const Shape u = shape_of_geometry(model.geometries[0], 0);
    const Shape peg{ShapeType::box, 0.5 * Vec3(0.9, 1.8, 0.9)};
    std::vector<ContactPoint> found;
    collide(u, {}, peg, {at, Quat::Identity()}, 0.0, found, model.geometries);
    return found;
  };
  // the gap is 1 wide and reaches from y = 1 up
  EXPECT_TRUE(points(8, {1.5, 2.0, 0.5}).empty());
  EXPECT_FALSE(points(1, {1.5, 2.0, 0.5}).empty());
  const std::vector<ContactPoint> base = points(8, {1.5, 1.89, 0.5});
  EXPECT_FALSE(base.empty());
  for (const ContactPoint& p : base) {
    EXPECT_NEAR(p.gap, -0.01, 1e-9);
    EXPECT_NEAR(p.normal.y(), 1.0, 1e-9);
  }
}

TEST_F(Shapes, PiecesAmongOtherShapesLieInTheirPlace) {
  const std::string path = file("u.obj", u_bracket());
  const std::string shapes =
      "shapes: [{sphere: {radius: 0.1}, at: [9, 0, 0]}, {hull: {file: " + path +
      ", unit: m, decompose: {tolerance: 1 mm}}, at: [0, 0, 2], orientation: "
      "{axis: [1, 0, 0], angle: 90 deg}}]";
  const Model model = make_model(
      one_body(shapes + ", mass: 1, inertia: [1, 1, 1], center_of_mass: [0, 0, 2]"), comm_);
  const Geometry* body = nullptr;
  for (const Geometry& g : model.geometries)
    if (g.type == ShapeType::compound && g.triangles.empty()) body = &g;
  if (!all_ranks_have(comm_, body == nullptr ? std::size_t{0} : body->parts.size(), 4U)) return;
  // y of the U is z of the body, its z is -y
  const auto inside = [&](const Vec3& p) {
    for (const CompoundPart& part : body->parts)
      if (part.shape.type == ShapeType::hull && holds(model, part, p - Vec3(0, 0, 2))) return true;
    return false;
  };
  EXPECT_TRUE(inside({0.5, -0.5, 4.5}));
  EXPECT_TRUE(inside({2.5, -0.5, 4.5}));
  EXPECT_TRUE(inside({1.5, -0.5, 2.5}));
  EXPECT_FALSE(inside({1.5, -0.5, 3.5}));
  EXPECT_FALSE(inside({1.5, 0.5, 2.5}));
  EXPECT_NE(error_of(shapes).find("give the body's mass, inertia and center_of_mass"),
            std::string::npos);
  EXPECT_NE(error_of("shape: {hull: {vertices: [[0, 0, 0]], decompose: {}}}")
                .find("there is no file that it is for"),
            std::string::npos);
}

TEST_F(Shapes, ASnapshotKeepsTheMassOfADecomposedBody) {
  const std::string path = file("l.obj", angle_bracket());
  const SceneSettings scene = one_body("position: [1, 2, 5], shape: {hull: {file: " + path +
                                       ", unit: m, decompose: {pieces: 1}}}");
  const Model model = make_model(scene, comm_);
  const std::vector<BodyRecord> before = bodies_of(scene, model);
  const std::string result = write_result(scene, model, "out");

  const SceneSettings table =
      parse("generators: [{table: {material: stone, file: " + result +
            "/snapshots/00000000.h5}}, {lattice: {material: stone, spacing: 9, count: [1, 1, "
            "1], shape: {hull: {file: " +
            path + ", unit: m, decompose: {}}}}}]");
  const Model again = make_model(table, comm_);
  const std::vector<BodyRecord> after = bodies_of(table, again);

  if (!all_ranks_have(comm_, after.size(), 2U)) return;
  EXPECT_NEAR(after[0].constants.mass, before[0].constants.mass, 1e-9);
  EXPECT_LT((after[0].constants.inertia - before[0].constants.inertia).norm(), 1e-8);
  // the file has the shape's axes with the centre of mass as origin
  const Vec3 corner(3, 1, 1), centre(1.1, 1.1, 0.5);
  EXPECT_LT((world(after[0], again, corner - centre) - world(before[0], model, corner)).norm(),
            1e-12);
  EXPECT_NEAR(after[1].constants.mass, 2000.0 * 5.0, 1e-9);
  EXPECT_EQ(
      again.geometries[static_cast<std::size_t>(after[1].constants.shape.geometry)].parts.size(),
      2U);
}

}  // namespace
}  // namespace catena::test
