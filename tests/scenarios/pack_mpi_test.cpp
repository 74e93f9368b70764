// Bodies packed at random into regions.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "scenarios/shape_cases.hpp"
#include "support/all_ranks.hpp"

namespace catena::test {
namespace {

constexpr double kPi = std::numbers::pi;

double ball_volume(double r) { return 4.0 / 3.0 * kPi * r * r * r; }

class Packs : public Shapes {
 protected:
  static SceneSettings pack(const std::string& keys, const std::string& more = "") {
    return parse(more + "generators: [{pack: {name: grains, material: stone, " + keys + "}}]");
  }
  /// The bodies of a scene, on all ranks.
  std::vector<BodyRecord> made(const SceneSettings& scene) {
    return bodies_of(scene, make_model(scene, comm_));
  }
  /// The error of making the bodies, on every rank.
  std::string refusal(const SceneSettings& scene) {
    const std::string error = test::error_of([&] {
      const Model model = make_model(scene, comm_);
      Bodies bodies;
      State state;
      generate_bodies(scene, comm_, model, bodies, state);
    });
    comm_.barrier();
    return error;
  }
};

double radius_of(const BodyRecord& body) { return body.constants.shape.size.x(); }

double volume_of_balls(const std::vector<BodyRecord>& bodies) {
  double volume = 0.0;
  for (const BodyRecord& body : bodies) volume += ball_volume(radius_of(body));
  return volume;
}

/// Smallest gap of any two balls, over the smaller radius, by trying all pairs; `period` of a
/// direction that repeats itself, else 0.
double smallest_gap(const std::vector<BodyRecord>& bodies, const Vec3& period = Vec3::Zero()) {
  double least = 1e9;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      Vec3 way = bodies[i].state.pose.p - bodies[k].state.pose.p;
      for (int a = 0; a < 3; ++a)
        if (period[a] > 0.0) way[a] -= period[a] * std::round(way[a] / period[a]);
      const double ri = radius_of(bodies[i]), rk = radius_of(bodies[k]);
      least = std::min(least, (way.norm() - ri - rk) / std::min(ri, rk));
    }
  }
  return least;
}

/// Largest distance of the distribution of radii from `below`, the part below a radius
/// (Kolmogorov and Smirnov).
double largest_difference(const std::vector<BodyRecord>& bodies,
                          const std::function<double(double)>& below) {
  std::vector<double> radii;
  for (const BodyRecord& body : bodies) radii.push_back(radius_of(body));
  std::sort(radii.begin(), radii.end());
  const auto n = static_cast<double>(radii.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < radii.size(); ++i) {
    const double part = below(radii[i]), k = static_cast<double>(i);
    largest = std::max({largest, part - k / n, (k + 1.0) / n - part});
  }
  return largest;
}

TEST_F(Packs, ABoxIsFilledToTheFractionWithoutOverlapAndNothingStandsOut) {
  for (const double fraction : {0.3, 0.55}) {
    const SceneSettings scene =
        pack("shape: {sphere: {radius: 0.05}}, solid_fraction: " + std::to_string(fraction) +
             ", region: {lower: [1, 0, -1], upper: [1.9, 0.8, 0]}");
    const std::vector<BodyRecord> all = made(scene);

    EXPECT_NEAR(volume_of_balls(all) / 0.72, fraction, 0.002);
    EXPECT_GE(smallest_gap(all), 0.0);
    for (const BodyRecord& body : all) {
      const Vec3& p = body.state.pose.p;
      EXPECT_TRUE((p.array() - 0.05 >= Vec3(1, 0, -1).array()).all());
      EXPECT_TRUE((p.array() + 0.05 <= Vec3(1.9, 0.8, 0).array()).all());
    }
  }
}

TEST_F(Packs, CylindersSpheresAndSurfacesHoldTheirBodiesWhole) {
  // a tilted cylinder, a sphere, and a cube as a surface, turned by 45 degrees about z
  const std::string sphere = "shape: {sphere: {radius: 0.06}}, solid_fraction: 0.5, region: ";
  const Vec3 from(1, 1, 1), to(1.5, 1.5, 1.4), axis = (to - from).normalized();
  const std::vector<BodyRecord> in_cylinder =
      made(pack(sphere + "{cylinder: {from: [1, 1, 1], to: [1.5, 1.5, 1.4], radius: 0.4}}"));
  EXPECT_NEAR(volume_of_balls(in_cylinder) / (kPi * 0.16 * (to - from).norm()), 0.5, 0.002);
  EXPECT_GE(smallest_gap(in_cylinder), 0.0);
  for (const BodyRecord& body : in_cylinder) {
    const Vec3 x = body.state.pose.p - from;
    EXPECT_GE(x.dot(axis), 0.06 - 1e-12);
    EXPECT_LE(x.dot(axis), (to - from).norm() - 0.06 + 1e-12);
    EXPECT_LE((x - x.dot(axis) * axis).norm(), 0.34 + 1e-12);
  }

  const std::vector<BodyRecord> in_sphere =
      made(pack(sphere + "{sphere: {centre: [0, 0, 5], radius: 0.5}}"));
  EXPECT_NEAR(volume_of_balls(in_sphere) / ball_volume(0.5), 0.5, 0.002);
  EXPECT_GE(smallest_gap(in_sphere), 0.0);
  for (const BodyRecord& body : in_sphere)
    EXPECT_LE((body.state.pose.p - Vec3(0, 0, 5)).norm(), 0.44 + 1e-12);

  const std::string cube = file("cube.stl", Cube().stl());
  const std::vector<BodyRecord> in_cube =
      made(pack(sphere + "{mesh: {file: " + cube +
                ", unit: m, at: [0, 0, 2], orientation: {axis: [0, 0, 1], angle: 45 deg}}}"));
  EXPECT_NEAR(volume_of_balls(in_cube), 0.5, 0.002);
  EXPECT_GE(smallest_gap(in_cube), 0.0);
  const Quat turn(Eigen::AngleAxisd(kPi / 4.0, Vec3::UnitZ()));
  for (const BodyRecord& body : in_cube) {
    const Vec3 x = turn.conjugate() * (body.state.pose.p - Vec3(0, 0, 2));
    EXPECT_GE(x.minCoeff(), 0.06 - 1e-12);
    EXPECT_LE(x.maxCoeff(), 0.94 + 1e-12);
  }
}

TEST_F(Packs, SizesFollowTheirDistributionAsCloselyAsSoManyBodiesCan) {
  const std::vector<BodyRecord> uniform =
      made(pack("shape: {sphere: {radius: 0.05}}, sizes: {uniform: [0.5, 1.5]}, "
                "solid_fraction: 0.52, region: {lower: [0, 0, 0], upper: [1, 1, 1]}"));
  const auto n = static_cast<double>(uniform.size());
  EXPECT_NEAR(volume_of_balls(uniform), 0.52, 0.002);
  EXPECT_GE(smallest_gap(uniform), 0.0);
  EXPECT_LT(largest_difference(uniform, [](double r) { return (r / 0.05 - 0.5); }), 0.51 / n);

  // a log-normal that is cut off 3 deviations below and above its median
  const std::vector<BodyRecord> normal =
      made(pack("shape: {sphere: {radius: 0.05}}, sizes: {log_normal: {deviation: 0.2, min: "
                "0.5488116, max: 1.8221188}}, solid_fraction: 0.62, "
                "region: {lower: [0, 0, 0], upper: [1, 1, 1]}",
                "periodic: {x: [0, 1], y: [0, 1], z: [0, 1]}\n"));
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const double whole = below(3.0) - below(-3.0);
  EXPECT_NEAR(volume_of_balls(normal), 0.62, 0.002);
  EXPECT_GE(smallest_gap(normal, Vec3::Ones()), 0.0);
  EXPECT_LT(largest_difference(
                normal,
                [&](double r) { return (below(std::log(r / 0.05) / 0.2) - below(-3.0)) / whole; }),
            0.51 / static_cast<double>(normal.size()) + 1e-6);
  // which body has which size is random: neighbours by number do not resemble each other
  double product = 0.0, square = 0.0;
  for (std::size_t i = 0; i + 1 < uniform.size(); ++i) {
    product += (radius_of(uniform[i]) - 0.05) * (radius_of(uniform[i + 1]) - 0.05);
    square += (radius_of(uniform[i]) - 0.05) * (radius_of(uniform[i]) - 0.05);
  }
  EXPECT_LT(std::abs(product / square), 4.0 / std::sqrt(n));
}

TEST_F(Packs, AnyNumberOfRanksMakesTheSameBodies) {
  const SceneSettings scene = pack(
      "shape: {sphere: {radius: 0.06}}, sizes: {uniform: [0.6, 1.4]}, solid_fraction: 0.56, "
      "seed: 7, region: {lower: [0, 0, 0], upper: [1, 1, 0.6]}",
      "bodies: [{name: floor, material: stone, shape: plane}]\n");
  const std::vector<BodyRecord> all = made(scene);
  const Communicator alone = Communicator::self();
  const Model model = make_model(scene, alone);
  Bodies bodies;
  State state;
  generate_bodies(scene, alone, model, bodies, state);

  if (!all_ranks_have(comm_, all.size(), bodies.constants.size())) return;
  EXPECT_GT(all.size(), 200U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].constants.id, bodies.constants[i].id);
    EXPECT_EQ(all[i].state.pose.p, state.body[i].pose.p);
    EXPECT_EQ(radius_of(all[i]), bodies.constants[i].shape.size.x());
  }
}

TEST_F(Packs, BodiesThatMoveAsPrescribedStartFromTheirPlaces) {
  const SceneSettings scene = pack(
      "shape: {sphere: {radius: 0.1}}, solid_fraction: 0.3, region: {lower: [0, 0, 0], upper: "
      "[1, 1, 1]}, motion: {velocity: [1, 0, 0]}");
  const Model model = make_model(scene, comm_);
  Bodies bodies;
  State state;
  generate_bodies(scene, comm_, model, bodies, state);
  EXPECT_EQ(state.motions.size(), bodies.constants.size());
  for (std::size_t i = 0; i < state.motions.size(); ++i) {
    EXPECT_EQ(state.motions[i].body, bodies.constants[i].id);
    EXPECT_EQ(state.motions[i].start.pose.p, state.body[i].pose.p);
    EXPECT_EQ(bodies.constants[i].kind, BodyKind::kinematic);
    EXPECT_EQ(state.body[i].twist.v, Vec3(1, 0, 0));
  }
  EXPECT_EQ(comm_.sum(static_cast<double>(state.motions.size())),
            std::round(0.3 / ball_volume(0.1)));
}

TEST_F(Packs, ABoxThatSpansAPeriodicDirectionHasNoSidesThere) {
  const SceneSettings scene = pack(
      "shape: {sphere: {radius: 0.06}}, solid_fraction: 0.55, "
      "region: {lower: [0, 0, 0], upper: [0.8, 0.7, 0.9]}",
      "periodic: {x: [0, 0.8], y: [0, 0.7]}\n");
  const std::vector<BodyRecord> all = made(scene);

  EXPECT_NEAR(volume_of_balls(all) / (0.8 * 0.7 * 0.9), 0.55, 0.002);
  EXPECT_GE(smallest_gap(all, {0.8, 0.7, 0.0}), 0.0);
  int across = 0;
  for (const BodyRecord& body : all) {
    const Vec3& p = body.state.pose.p;
    EXPECT_GE(p.minCoeff(), 0.0);
    EXPECT_LE(p.x(), 0.8);
    EXPECT_LE(p.y(), 0.7);
    EXPECT_GE(p.z(), 0.06);
    EXPECT_LE(p.z(), 0.84);
    if (p.x() < 0.05) ++across;
  }
  EXPECT_GT(across, 0);
}

TEST_F(Packs, OtherShapesCountAsTheBallsAboutThem) {
  const SceneSettings scene = pack(
      "shape: {capsule: {radius: 0.03, length: 0.04}}, random_orientation: true, "
      "solid_fraction: 0.22, region: {lower: [0, 0, 0], upper: [0.8, 0.8, 0.8]}");
  const std::vector<BodyRecord> all = made(scene);

  const double one = kPi * 0.03 * 0.03 * (0.04 + 0.04), mass = 2000.0 * one;
  EXPECT_NEAR(static_cast<double>(all.size()) * one / 0.512, 0.22, 0.002);
  Vec3 mean = Vec3::Zero();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(all[i].constants.mass, mass, 1e-12 * mass);
    mean += all[i].state.pose.q * Vec3::UnitZ() / static_cast<double>(all.size());
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_GE((all[i].state.pose.p - all[k].state.pose.p).norm(), 0.1);
  }
  EXPECT_LT(mean.norm(), 4.0 / std::sqrt(3.0 * static_cast<double>(all.size())));
}

TEST_F(Packs, WhatDoesNotFitIsRefusedWithItsKey) {
  const std::string ball = "shape: {sphere: {radius: 0.1}}, ";
  const std::string box = "region: {lower: [0, 0, 0], upper: [1, 1, 1]}";
  const std::string dense = refusal(pack(ball + "solid_fraction: 0.68, " + box));
  EXPECT_NE(dense.find("case.yaml:2:15: generators.grains.solid_fraction: the bodies do not fit"),
            std::string::npos)
      << dense;
  EXPECT_NE(dense.find("lower it"), std::string::npos) << dense;
  const std::string beyond = refusal(pack(ball + "solid_fraction: 0.76, " + box));
  EXPECT_NE(beyond.find("0.74 at most"), std::string::npos) << beyond;
  const std::string thin =
      refusal(pack(ball + "solid_fraction: 0.3, region: {lower: [0, 0, 0], upper: [1, 1, 0.19]}"));
  EXPECT_NE(thin.find("generators.grains.region: the largest body is 0.2 m across"),
            std::string::npos)
      << thin;
  EXPECT_NE(
      test::error_of([&] { pack(ball + "solid_fraction: 0.3, region: {}"); }).find("has no region"),
      std::string::npos);
  const std::string open = file("open.obj", "v 0 0 0\nv 2 0 0\nv 2 1 0\nf 1 2 3\n");
  const std::string leaks =
      refusal(pack(ball + "solid_fraction: 0.3, region: {mesh: {file: " + open + ", unit: m}}"));
  EXPECT_NE(leaks.find("3 edges have only one face"), std::string::npos) << leaks;
}

}  // namespace
}  // namespace catena::test
