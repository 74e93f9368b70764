// What stands by friction alone under the defaults: a house of cards, a dry-stone wall.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <set>
#include <string>

#include "analytic/case_runner.hpp"
#include "catena/base/random.hpp"

namespace catena::test {
namespace {

/// How a scene went: the last half of it is what counts.
struct Standing {
  int missed = 0;      ///< steps
  double drift = 0.0;  ///< m, largest of a body over the last half
  double moved = 0.0;  ///< m, since the start
};

/// Runs to `end`, s, and prints what a step took.
Standing stand(const char* name, const std::string& yaml, double end) {
  using Clock = std::chrono::steady_clock;
  const auto sim = simulate(Communicator::self(), yaml);
  Standing result;
  std::int64_t steps = 0, sweeps = 0, late_sweeps = 0;
  int most = 0;
  const auto run = [&](double until) {
    const std::int64_t last = std::llround(until / sim->settings().time.step);
    for (late_sweeps = 0; sim->state().step < last; ++steps) {
      const StepReport& r = sim->step();
      result.missed += r.solve.status == SolveStatus::converged ? 0 : 1;
      sweeps += r.solve.iterations;
      late_sweeps += r.solve.iterations;
      most = std::max(most, r.solve.iterations);
    }
  };
  const std::map<GlobalId, Vec3> start = places(*sim);
  const auto began = Clock::now();
  run(0.5 * end);
  const std::map<GlobalId, Vec3> half = places(*sim);
  run(end);
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  result.drift = largest_move(*sim, half);
  result.moved = largest_move(*sim, start);
  const double n = static_cast<double>(steps);
  std::printf(
      "%s: %lld bodies, %lld contacts, %.0f steps, %.1f sweeps a step (last half %.1f, most %d), "
      "%.2f ms a step, %d missed, drift over the last half %.1e m, overlap %.1e of a radius\n",
      name, static_cast<long long>(sim->state().body.size()),
      static_cast<long long>(sim->stepper().report().contacts), n, static_cast<double>(sweeps) / n,
      2.0 * static_cast<double>(late_sweeps) / n, most, 1e3 * took / n, result.missed, result.drift,
      sim->stepper().report().overlap_largest);
  return result;
}

/// A wall without mortar: courses of stones of unlike length, depth and height in running bond.
/// Courses have heights of their own; stones of a course are up to 0.2 mm lower than it, so that
/// those above lie on some of them first and rock until they find their rest.
std::string dry_stone_wall(int courses, int stones) {
  constexpr double kLength = 0.3, kHeight = 0.12, kDepth = 0.35, kGap = 2e-3, kLower = 2e-4;
  std::uint64_t draw = 0;
  const auto jitter = [&](double part) { return 1.0 + part * uniform_pm1(7, draw++, 0); };
  std::string yaml =
      "materials: {stone: {density: 2400, friction: 0.6}}\nbodies:\n"
      "  - {name: ground, material: stone, shape: plane}\n";
  double z = 0.0;
  for (int course = 0; course < courses; ++course) {
    const double height = kHeight * jitter(0.2);
    double x = course % 2 == 0 ? 0.0 : 0.5 * kLength;
    for (int k = 0; k < stones; ++k) {
      // joints stay near those of a regular bond, half a stone from the ones below
      const double regular = (k + 1) * kLength + (course % 2 == 0 ? 0.0 : 0.5 * kLength);
      const double until = regular + 0.15 * kLength * uniform_pm1(7, draw++, 0);
      const Vec3 size(until - x - kGap, kDepth * jitter(0.15),
                      height - 0.5 * kLower * (jitter(1.0)));
      yaml += "  - {name: s" + std::to_string(course) + "-" + std::to_string(k) +
              ", material: stone, shape: {box: {size: " + text_of(size) + "}}, position: " +
              text_of(Vec3(0.5 * (x + until), 0.01 * kDepth * uniform_pm1(7, draw++, 0),
                           z + 0.5 * size.z())) +
              "}\n";
      x = until;
    }
    z += height;
  }
  return yaml;
}

/// Triangular prisms lie on fixed ones, turned and shifted: the faces meet in six corners, more of
/// which carry than any four, and four that are chosen by their depth alternate.
TEST(Standing, FacesThatMeetInSixCornersKeepThePointsThatCarry) {
  struct Place {
    double turn, x, y;  ///< degrees, m
  };
  constexpr std::array<Place, 8> kPlaces = {{{66.93, 0.0217, -0.0349},
                                             {89.25, -0.0074, -0.0243},
                                             {47.88, 0.0165, -0.0329},
                                             {78.19, -0.0134, -0.0242},
                                             {80.11, 0.0256, -0.0057},
                                             {25.13, -0.0172, -0.0166},
                                             {25.99, -0.0032, -0.0111},
                                             {52.35, 0.0231, 0.0387}}};
  std::string corners;
  for (int k = 0; k < 3; ++k) {
    const double angle = 2.0 * std::numbers::pi / 3.0 * k;
    for (const double z : {-0.05, 0.05})
      corners += text_of(Vec3(0.1 * std::cos(angle), 0.1 * std::sin(angle), z)) + ", ";
  }
  std::string yaml = "materials: {m: {density: 2500, friction: 0.5}}\nbodies:\n";
  for (std::size_t k = 0; k < kPlaces.size(); ++k) {
    const auto add = [&](const char* name, const Vec3& p, double turn, const char* keys) {
      yaml += "  - {name: " + std::string(name) + std::to_string(k) +
              ", material: m, shape: {hull: {vertices: [" + corners +
              "]}}, position: " + text_of(p) +
              ", orientation: {axis: [0, 0, 1], angle: " + text_of(turn) + " deg}" + keys + "}\n";
    };
    const double x = static_cast<double>(k);
    add("low", {x, 0.0, 0.05}, 0.0, ", fixed: true");
    add("high", {x + kPlaces[k].x, kPlaces[k].y, 0.15}, kPlaces[k].turn, "");
  }
  const auto sim = simulate(Communicator::self(), yaml + "time: {step: 5 ms, end: 10}\n");
  std::set<ContactKey> before;
  int carry = 0, lost = 0, sweeps = 0;

  for (int step = 0; step < 300; ++step) {
    const StepReport& report = sim->step();
    if (step >= 200) sweeps += report.solve.iterations;
    std::set<ContactKey> now;
    for (std::size_t k = 0; k < sim->stepper().n_contacts(); ++k) {
      const ContactRecord contact = sim->stepper().contact(k);
      now.insert(contact.key);
      if (step < 200 || contact.impulse.isZero(0.0)) continue;
      ++carry;
      lost += before.contains(contact.key) ? 0 : 1;
    }
    before = now;
  }

  EXPECT_GT(carry, 100 * 5 * static_cast<int>(kPlaces.size()));
  EXPECT_EQ(lost, 0);
  EXPECT_LT(sweeps, 100 * 5);
}

TEST(DryStoneWall, OfAHundredStonesStandsUnderTheDefaults) {
  const Standing wall =
      stand("wall of 10 courses", dry_stone_wall(10, 10) + "time: {step: 2 ms, end: 10}\n", 1.6);
  EXPECT_EQ(wall.missed, 0);
  EXPECT_LT(wall.drift, 1e-4);
}

TEST(DryStoneWall, OfFiveHundredStonesStandsUnderTheDefaults) {
  const Standing wall =
      stand("wall of 20 courses", dry_stone_wall(20, 25) + "time: {step: 2 ms, end: 10}\n", 4.0);
  EXPECT_EQ(wall.missed, 0);
  EXPECT_LT(wall.drift, 1e-4);
}

/// The scene of configs/examples without its own solver and margin.
std::string house_of_cards(const std::string& friction) {
  const auto sim_text = [] {
    std::string all;
    std::FILE* file = std::fopen(CATENA_CONFIGS "/examples/house_of_cards.yaml", "r");
    if (file == nullptr) throw std::runtime_error("no house_of_cards.yaml");
    char line[512];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      const std::string text = line;
      const auto begins = [&](const char* word) { return text.rfind(word, 0) == 0; };
      if (!begins("solver:") && !begins("contact:") && !begins("catena:") && !begins("name:"))
        all += text;
    }
    std::fclose(file);
    return all;
  }();
  std::string yaml = sim_text;
  const std::string given = "card: {density: 900, friction: 0.7}";
  const std::size_t at = yaml.find(given);
  if (at == std::string::npos) throw std::runtime_error("no cards in house_of_cards.yaml");
  return yaml.replace(at, given.size(), "card: {density: 900, friction: " + friction + "}");
}

TEST(HouseOfCards, StandsUnderTheDefaults) {
  const Standing house = stand("house of cards", house_of_cards("0.7"), 2.0);
  EXPECT_EQ(house.missed, 0);
  EXPECT_LT(house.drift, 1e-4);
}

TEST(HouseOfCards, FallsWhereFrictionIsTooLittle) {
  EXPECT_GT(stand("slippery cards", house_of_cards("0.2"), 1.0).moved, 2e-2);
}

}  // namespace
}  // namespace catena::test
