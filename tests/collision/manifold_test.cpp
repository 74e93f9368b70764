// Manifolds of bodies that rest on each other with small overlaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "shapes.hpp"

namespace catena {
namespace {

using test::Geometries;
using test::Random;

constexpr double kMargin = 1e-3;
constexpr int kSteps = 200;

struct Placed {
  Shape shape;
  Pose pose;
};

/// Bodies that rest on each other, and the pairs that touch, the lower body first.
struct Pile {
  Geometries all;
  std::vector<Placed> bodies;
  std::vector<std::pair<int, int>> pairs;
};

using Keys = std::set<std::tuple<int, std::int32_t, std::int32_t>>;

Quat small_turn(const Vec3& angle) {
  return Quat(1.0, 0.5 * angle.x(), 0.5 * angle.y(), 0.5 * angle.z()).normalized();
}

/// A step of a pile at rest: the bodies moved by what contacts that give leave free. Overlaps of
/// the pairs vary by `sink` along z, places by `shift`, angles by `tilt`.
std::vector<Placed> disturbed(const Pile& pile, Random& random, double sink, double shift,
                              double tilt) {
  std::vector<Placed> bodies = pile.bodies;
  for (Placed& body : bodies) {
    Vec3 move = random.vector(-shift, shift);
    move.z() = random.in(-0.5 * sink, 0.5 * sink);
    body.pose.p += move;
    body.pose.q = (small_turn(random.vector(-tilt, tilt)) * body.pose.q).normalized();
  }
  return bodies;
}

struct Stay {
  std::int64_t kept = 0, points = 0;
  double share() const { return static_cast<double>(kept) / static_cast<double>(points); }
};

/// How many points have a key of the step before.
Stay keys_over_steps(const Pile& pile, Random& random, double sink, double shift, double tilt) {
  Stay stay;
  Keys before;
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<Placed> bodies = disturbed(pile, random, sink, shift, tilt);
    Keys now;
    int pair = 0;
    for (const auto& [a, b] : pile.pairs) {
      const Placed &low = bodies[static_cast<std::size_t>(a)],
                   &high = bodies[static_cast<std::size_t>(b)];
      for (const ContactPoint& c :
           pile.all.collide(low.shape, low.pose, high.shape, high.pose, kMargin)) {
        now.emplace(pair, c.feature, c.part);
      }
      ++pair;
    }
    if (step > 0) {
      stay.points += std::ssize(now);
      stay.kept += std::count_if(now.begin(), now.end(),
                                 [&](const auto& key) { return before.contains(key); });
    }
    before = now;
  }
  return stay;
}

/// How far a point lies beyond the faces of a box or hull: the largest height over one of them.
double height(const Geometries& all, const Placed& body, const Vec3& point) {
  const Vec3 p = body.pose.q.conjugate() * (point - body.pose.p);
  if (body.shape.type == ShapeType::box) return (p.cwiseAbs() - body.shape.size).maxCoeff();
  const Geometry& hull = all.list[static_cast<std::size_t>(body.shape.geometry)];
  double most = -1e300;
  for (std::size_t f = 0; f < hull.face_normals.size(); ++f)
    most = std::max(most, hull.face_normals[f].dot(p) - hull.face_offsets[f]);
  return most;
}

/// Every point's gap is the way between the two surfaces: half of it along the normal leads from
/// the point to either. The deepest point tells the distance of the bodies (or the least depth) but
/// for what a point may be less deep and yet be kept, half of it.
void expect_true_gaps(const Pile& pile, Random& random, double sink, double shift, double tilt) {
  for (int step = 0; step < 5; ++step) {
    const std::vector<Placed> bodies = disturbed(pile, random, sink, shift, tilt);
    for (const auto& [a, b] : pile.pairs) {
      const Placed &low = bodies[static_cast<std::size_t>(a)],
                   &high = bodies[static_cast<std::size_t>(b)];
      const auto points = pile.all.collide(low.shape, low.pose, high.shape, high.pose, kMargin);
      ASSERT_FALSE(points.empty());
      const double gap = pile.all.gap(low.shape, low.pose, high.shape, high.pose);
      EXPECT_LE(test::lowest_gap(points), 0.49 * gap + 1e-6);
      for (const ContactPoint& c : points) {
        EXPECT_NEAR(c.normal.norm(), 1.0, 1e-12);
        EXPECT_LT(c.gap, kMargin);
        EXPECT_GE(c.gap, 1.05 * gap - 1e-6);
        // exact on the face that gives the normal, on the other body but for the snap of corners
        EXPECT_NEAR(height(pile.all, low, c.point - 0.5 * c.gap * c.normal), 0.0, 2e-6);
        EXPECT_NEAR(height(pile.all, high, c.point + 0.5 * c.gap * c.normal), 0.0, 2e-6);
      }
    }
  }
}

/// Boxes (or prisms) of 0.1 to 0.25 m on each other, each turned by `turn` against the one below.
/// `shape_of` makes a body of given half edges.
template <class ShapeOf>
Pile tower(int n, double turn, double overhang, double overlap, ShapeOf&& shape_of) {
  Pile pile;
  Random random(31);
  double top = 0.0;
  for (int k = 0; k < n; ++k) {
    const Vec3 half = random.vector(0.05, 0.125);
    const Vec3 place(random.in(-overhang, overhang), random.in(-overhang, overhang),
                     top + half.z());
    pile.bodies.push_back({shape_of(pile.all, half), {place, small_turn({0, 0, turn * k})}});
    top += 2.0 * half.z() - overlap;
    if (k > 0) pile.pairs.emplace_back(k - 1, k);
  }
  return pile;
}

Shape as_box(Geometries&, const Vec3& half) { return {ShapeType::box, half}; }
Shape as_hull(Geometries& all, const Vec3& half) { return all.box_hull(half); }
/// A prism on a regular hexagon.
Shape as_prism(Geometries& all, const Vec3& half) {
  std::vector<Vec3> points;
  for (int k = 0; k < 6; ++k) {
    const double angle = 1.0471975511965976 * k;
    for (const double z : {-half.z(), half.z()})
      points.emplace_back(half.x() * std::cos(angle), half.x() * std::sin(angle), z);
  }
  return all.hull(points);
}

/// Two walls of bricks in running bond with a plank on both: bricks meet with flush sides.
template <class ShapeOf>
Pile house(double overlap, ShapeOf&& shape_of) {
  Pile pile;
  const Vec3 half(0.1, 0.05, 0.05);
  const double layer = 2.0 * half.z() - overlap;
  std::vector<int> below;
  const auto add = [&](const Vec3& place, const Vec3& size) {
    pile.bodies.push_back({shape_of(pile.all, size), {place, Quat::Identity()}});
    return static_cast<int>(pile.bodies.size()) - 1;
  };
  for (int row = 0; row < 4; ++row) {
    std::vector<int> here;
    for (int wall = 0; wall < 2; ++wall) {
      for (int k = 0; k < 3; ++k) {
        here.push_back(add({0.2 * k + 0.1 * (row % 2), 0.6 * wall, half.z() + layer * row}, half));
      }
    }
    for (const int a : below) {
      for (const int b : here) {
        const Vec3 d = pile.bodies[static_cast<std::size_t>(a)].pose.p -
                       pile.bodies[static_cast<std::size_t>(b)].pose.p;
        if (std::abs(d.x()) < 0.15 && std::abs(d.y()) < 0.1) pile.pairs.emplace_back(a, b);
      }
    }
    below = here;
  }
  const int plank = add({0.3, 0.3, layer * 4 + 0.05}, {0.05, 0.4, 0.05});
  for (const int a : below) {
    const double x = pile.bodies[static_cast<std::size_t>(a)].pose.p.x();
    if (std::abs(x - 0.3) < 0.149) pile.pairs.emplace_back(a, plank);
  }
  return pile;
}

/// Bodies on a floor of triangles of 0.07 m.
template <class ShapeOf>
Pile on_floor(bool heightfield, double overlap, ShapeOf&& shape_of) {
  Pile pile;
  Random random(37);
  constexpr int kCells = 12;
  constexpr double kCell = 0.07;
  Shape floor;
  if (heightfield) {
    floor = pile.all.heightfield(kCells + 1, kCells + 1, kCell,
                                 std::vector<double>((kCells + 1) * (kCells + 1), 0.0));
  } else {
    std::vector<Vec3> vertices;
    std::vector<std::array<std::int32_t, 3>> triangles;
    for (int j = 0; j <= kCells; ++j) {
      for (int i = 0; i <= kCells; ++i) vertices.emplace_back(kCell * i, kCell * j, 0.0);
    }
    for (int j = 0; j < kCells; ++j) {
      for (int i = 0; i < kCells; ++i) {
        const int k = j * (kCells + 1) + i;
        triangles.push_back({k, k + 1, k + kCells + 2});
        triangles.push_back({k, k + kCells + 2, k + kCells + 1});
      }
    }
    floor = pile.all.mesh(vertices, triangles);
  }
  pile.bodies.push_back({floor, {Vec3::Zero(), Quat::Identity()}});
  const double middle = heightfield ? 0.0 : 0.5 * kCell * kCells;
  for (int k = 1; k <= 8; ++k) {
    const Vec3 half = random.vector(0.05, 0.125);
    pile.bodies.push_back(
        {shape_of(pile.all, half),
         {Vec3(middle + random.in(-0.2, 0.2), middle + random.in(-0.2, 0.2), half.z() - overlap),
          small_turn({0, 0, random.in(-1, 1)})}});
    pile.pairs.emplace_back(0, k);
  }
  return pile;
}

struct Named {
  std::string name;
  Pile pile;
  bool of_convex = true;
  double least_share = 0.99;
};

std::vector<Named> piles() {
  std::vector<Named> all;
  const double overlap = 3e-4;
  all.push_back({"tower of boxes, askew", tower(10, 0.3, 0.02, overlap, as_box)});
  all.push_back({"tower of boxes, straight", tower(10, 0.0, 0.02, overlap, as_box)});
  all.push_back({"house of boxes", house(overlap, as_box)});
  all.push_back({"tower of hulls, askew", tower(10, 0.3, 0.02, overlap, as_hull)});
  all.push_back({"house of hulls", house(overlap, as_hull)});
  all.push_back({"tower of prisms", tower(10, 0.2, 0.02, overlap, as_prism)});
  // where outlines cross the edges of triangles there are more points, and ties among them
  all.push_back({"boxes on a mesh", on_floor(false, overlap, as_box), false});
  all.push_back({"prisms on a mesh", on_floor(false, overlap, as_prism), false, 0.85});
  all.push_back({"boxes on a heightfield", on_floor(true, overlap, as_box), false, 0.97});
  return all;
}

TEST(Manifolds, OfWhatRestsWithSmallOverlapsKeepTheirKeys) {
  for (const Named& named : piles()) {
    for (const double tilt : {1e-5, 1e-4, 2e-4}) {
      Random random(41);
      // overlaps of 0.1 to 0.5 mm
      const Stay stay = keys_over_steps(named.pile, random, 2e-4, 1e-5, tilt);
      EXPECT_GE(stay.share(), named.least_share) << named.name << ", tilt " << tilt;
    }
  }
}

/// Two of a pile of icosahedra whose nearly parallel edges meet, one of them in a face of the
/// other: its normal and the one across both edges are 6 mrad apart, and a body that stands on the
/// one point between the edges turns about it until the face is the better way, and back.
TEST(Manifolds, AnEdgeInAFaceDoesNotBecomeAPointBetweenEdges) {
  Geometries all;
  const double golden = 0.5 * (1.0 + std::sqrt(5.0)), scale = 0.1 / std::hypot(1.0, golden);
  std::vector<Vec3> corners;
  for (const double a : {-scale, scale}) {
    for (const double b : {-golden * scale, golden * scale}) {
      corners.insert(corners.end(), {Vec3(0.0, a, b), Vec3(a, b, 0.0), Vec3(b, 0.0, a)});
    }
  }
  const Shape shape = all.hull(corners);
  // the two places between which it went to and fro
  const std::array<Pose, 2> low = {
      {{Vec3::Zero(), {0.9610483348, 0.0802782003, -0.1748859282, 0.1983845276}},
       {Vec3::Zero(), {0.9610470128, 0.0803084561, -0.1748858305, 0.1983787727}}}};
  const std::array<Pose, 2> high = {{{{0.0013598995263, -0.0190053164498, 0.1594020368982},
                                      {0.9615413863, 0.0069549650, 0.1525705080, 0.2282805972}},
                                     {{0.0013594386051, -0.0190039129315, 0.1593999395517},
                                      {0.9615427028, 0.0069197438, 0.1525651123, 0.2282797281}}}};
  std::array<Keys, 2> keys;
  std::array<Vec3, 2> normal;

  for (std::size_t k = 0; k < 2; ++k) {
    const auto points = all.collide(shape, low[k], shape, high[k], 1e-4);
    ASSERT_FALSE(points.empty());
    for (const ContactPoint& c : points) keys[k].emplace(0, c.feature, c.part);
    normal[k] = points.front().normal;
    const double gap = all.gap(shape, low[k], shape, high[k]);
    EXPECT_NEAR(test::lowest_gap(points), gap, 2e-3 * std::abs(gap) + 1e-6);
  }

  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0].size(), 3u);
  EXPECT_LT((normal[0] - normal[1]).norm(), 1e-4);
}

/// Faces of many corners, each on the other: points stand on all sides of what they have in common.
TEST(Manifolds, FacesOfManyCornersAreHeldOnAllSides) {
  Geometries all;
  const auto disk = [&](int corners) {
    std::vector<Vec3> points;
    for (int k = 0; k < corners; ++k) {
      const double angle = 2.0 * std::numbers::pi * k / corners;
      for (const double z : {-0.05, 0.05})
        points.emplace_back(0.5 * std::cos(angle), 0.5 * std::sin(angle), z);
    }
    return all.hull(points);
  };
  const Shape floor = all.box_hull({2.0, 2.0, 0.05}), many = disk(200), most = disk(511);
  const Pose below{Vec3::Zero(), Quat::Identity()};
  const double turn = 0.3;  // about z
  const Pose above{Vec3(0.0, 0.0, 0.0999),
                   Quat(std::cos(0.5 * turn), 0.0, 0.0, std::sin(0.5 * turn))};
  for (const auto& [lower, upper] : {std::pair(floor, many), std::pair(many, floor),
                                     std::pair(floor, most), std::pair(many, most)}) {
    const auto points = all.collide(lower, below, upper, above, 1e-3);
    // any half of the disk has a point that carries its weight
    for (int k = 0; k < 16; ++k) {
      const double angle = std::numbers::pi * k / 8.0;
      double reach = -1.0;
      for (const ContactPoint& c : points)
        reach = std::max(reach, std::cos(angle) * c.point.x() + std::sin(angle) * c.point.y());
      EXPECT_GT(reach, 0.5 * std::cos(std::numbers::pi / 6.0)) << "towards " << angle;
      EXPECT_LT(reach, 0.5001);
    }
  }
}

TEST(Manifolds, OfWhatRestsWithSmallOverlapsTellTheTrueGaps) {
  for (const Named& named : piles()) {
    if (!named.of_convex) continue;
    SCOPED_TRACE(named.name);
    Random random(43);
    expect_true_gaps(named.pile, random, 2e-4, 1e-5, 5e-4);
  }
}

}  // namespace
}  // namespace catena
