// Sizes of generated bodies: the distributions asked for, however many ranks make them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/partition/state_hash.hpp"
#include "support/all_ranks.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

constexpr int kBodies = 20000;

std::string lattice(const std::string& sizes, const std::string& spacing = "3") {
  return "materials: {m: {density: 1000}}\ngenerators:\n  - lattice: {name: g, material: m, shape: "
         "{sphere: {radius: 0.5}}, count: [100, 100, 2], spacing: " +
         spacing + ", sizes: {" + sizes + "}}\ntime: {step: 1 ms, end: 0}\n";
}

/// Collective on `comm`. Factors of all bodies of a lattice, ascending.
std::vector<double> factors(const Communicator& comm, const std::string& sizes) {
  const CaseSettings settings = test::case_of(lattice(sizes));
  const Model model = make_model(settings, comm);
  Bodies bodies;
  State state;
  generate_bodies(settings, comm, model, bodies, state);
  std::vector<double> own;
  for (const BodyConstants& body : bodies.constants) own.push_back(2.0 * body.shape.size[0]);
  std::vector<double> all = test::all_of(comm, own);
  std::ranges::sort(all);
  return all;
}

/// Largest distance of the sample's distribution from F: by number, or by mass (the cube).
double distance(const std::vector<double>& sample, const std::function<double(double)>& F,
                bool by_mass) {
  double all = 0.0, upto = 0.0, largest = 0.0;
  const auto weight = [&](double x) { return by_mass ? x * x * x : 1.0; };
  for (const double x : sample) all += weight(x);
  for (const double x : sample) {
    largest = std::max(largest, std::abs(upto / all - F(x)));
    upto += weight(x);
    largest = std::max(largest, std::abs(upto / all - F(x)));
  }
  return largest;
}

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(Sizes, AreDistributedAsAskedByKolmogorovAndSmirnov) {
  const Communicator comm = Communicator::world();
  const auto log_normal = [](double x) {
    const auto below = [](double y) { return normal_below(std::log(y / 0.9) / 0.4); };
    return (below(x) - below(0.5)) / (below(2.0) - below(0.5));
  };
  const auto power = [](double x) {
    return (std::pow(x, -1.5) - std::pow(0.5, -1.5)) / (std::pow(2.0, -1.5) - std::pow(0.5, -1.5));
  };
  const auto sieve = [](double x) {
    const double a = std::log(x / 0.5) / std::log(2.0);
    return a <= 1.0 ? 0.3 * a : 0.3 + 0.7 * (a - 1.0);
  };
  const auto uniform = [](double x) { return (x - 0.5) / 1.5; };
  struct Case {
    std::string keys;
    std::function<double(double)> F;
  };
  const std::string curve = "sieve: {rows: [[0.5, 0], [1, 0.3], [2, 1]]";
  const std::vector<Case> cases = {
      {"log_normal: {median: 0.9, deviation: 0.4, min: 0.5, max: 2", log_normal},
      {"power: {exponent: -2.5, min: 0.5, max: 2", power},
      {curve, sieve}};
  // passed by a true sample in all but 1 of 10,000 cases
  const double bound = 2.23 / std::sqrt(1.0 * kBodies);
  EXPECT_LT(distance(factors(comm, "uniform: [0.5, 2]"), uniform, false), bound);
  for (const Case& c : cases) {
    const std::vector<double> by_number = factors(comm, c.keys + "}");
    EXPECT_EQ(by_number.size(), kBodies);
    EXPECT_GE(by_number.front(), 0.5);
    EXPECT_LE(by_number.back(), 2.0);
    EXPECT_LT(distance(by_number, c.F, false), bound) << c.keys;
    const std::vector<double> by_mass = factors(comm, c.keys + ", by: mass}");
    // few large bodies hold the mass: wider by the square root of <x^6> / <x^3>^2
    double third = 0.0, sixth = 0.0;
    for (const double x : by_mass) {
      third += x * x * x / kBodies;
      sixth += std::pow(x, 6) / kBodies;
    }
    EXPECT_LT(distance(by_mass, c.F, true), bound * std::sqrt(sixth) / third) << c.keys;
    EXPECT_GT(distance(by_mass, c.F, false), 10.0 * bound) << c.keys;
  }
}

TEST(Sizes, AreTheSameOnAnyNumberOfRanks) {
  const Communicator world = Communicator::world();
  const std::string sizes = "log_normal: {median: 1, deviation: 0.3, min: 0.5, max: 2}";

  EXPECT_EQ(factors(world, sizes), factors(Communicator::self(), sizes));
}

TEST(Sizes, OfASieveCurveAreThoseOfSpheresOfTheBodiesVolume) {
  // a cube of edge 1 has the volume of a sphere of diameter (6/pi)^(1/3)
  const CaseSettings settings = test::case_of(
      "materials: {m: {density: 1000}}\ngenerators:\n  - lattice: {name: g, material: m, shape: "
      "{box: {size: [1, 1, 1]}}, count: [50, 1, 1], spacing: 3, sizes: {sieve: {rows: [[1, 0], "
      "[1.001, 1]]}}}\ntime: {step: 1 ms, end: 0}\n");
  const Communicator comm = Communicator::self();
  const Model model = make_model(settings, comm);
  Bodies bodies;
  State state;
  generate_bodies(settings, comm, model, bodies, state);
  for (const BodyConstants& body : bodies.constants)
    EXPECT_NEAR(std::cbrt(6.0 * body.mass / 1000.0 / M_PI), 1.0005, 5.1e-4);
}

TEST(Sizes, ThatCannotBeAreRefusedAtTheirPlace) {
  const auto refusal = [](const std::string& sizes, const std::string& spacing = "3") {
    return test::error_of([&] {
      const CaseSettings settings = test::case_of(lattice(sizes, spacing));
      make_model(settings, Communicator::self());
    });
  };
  const auto has = [](const std::string& message, const std::string& text) {
    EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_EQ(message.find("test.yaml:5:"), 0U) << message;
  };
  has(refusal("sieve: {rows: [[1, 0], [2, 0.6], [3, 0.5], [4, 1]]}"),
      "sizes.sieve.rows: the part that passes falls from 0.600000 to 0.500000 at 3.000000 m");
  has(refusal("sieve: {rows: [[1, 0.1], [2, 1]]}"), "rows: the smallest sieve passes 0.1");
  has(refusal("sieve: {rows: [[1, 0], [2, 0.9]]}"), "rows: the largest sieve passes 0.9");
  has(refusal("sieve: {rows: [[2, 0], [1, 1]]}"), "openings do not ascend");
  has(refusal("power: {exponent: -2, min: 2, max: 1}"), "max: is below min");
  has(refusal("uniform: [0.5, 1], power: {exponent: -2, min: 1, max: 2}"), "more than one");
  has(refusal("power: {exponent: -2, min: 1, max: 3.5}"),
      "spacing: the largest bodies of `sizes` are 3.5 m along x, and neighbours have 3 m");
}

}  // namespace
}  // namespace catena
