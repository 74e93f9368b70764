// Overlaps of bodies whose contacts are made in time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/case_text.hpp"

namespace catena {
namespace {

using test::body_of;

/// Five spheres above each other, apart by 0.6 of their way in a step, that fall on a plane at
/// `speed`: all move alike until the lowest is stopped, and then the next one would run into it
/// within the same step. The largest overlap until they rest, in radii.
double largest_overlap(double radius, double speed, double step, const std::string& margin) {
  constexpr int kSpheres = 5;
  const double apart = 0.6 * speed * step;
  std::string yaml = "materials: {m: {density: 2500, friction: 0.3}}\ncontact: {margin: " + margin +
                     "}\nbodies:\n  - {name: floor, material: m, shape: plane}\n";
  for (int k = 0; k < kSpheres; ++k) {
    const double z = radius + (k + 1) * apart + 2.0 * radius * k;
    yaml += "  - {name: s" + std::to_string(k) +
            ", material: m, shape: {sphere: {radius: " + std::to_string(radius) +
            "}}, position: [0, 0, " + std::to_string(z) + "], velocity: [0, 0, " +
            std::to_string(-speed) + "]}\n";
  }
  yaml += "time: {step: " + std::to_string(1e6 * step) + " us, end: 1}\n" +
          "solver: {relative_tolerance: 1e-12, max_iterations: 2000}\n";
  const auto sim = test::simulate(Communicator::self(), yaml);
  constexpr int kSteps = 40;
  double largest = 0.0;
  for (int n = 0; n < kSteps; ++n) {
    sim->step();
    // spheres have the lower ids, the plane comes last
    double below = 0.0;
    for (int k = 0; k < kSpheres; ++k) {
      double z = 0.0;
      for (std::size_t i = 0; i < sim->bodies().constants.size(); ++i) {
        const BodyConstants& body = sim->bodies().constants[i];
        if (sim->model().names.name_of(body.id) == "s" + std::to_string(k))
          z = sim->state().body[i].pose.p.z();
      }
      largest = std::max(largest, below - (z - radius));
      below = z + radius;
    }
  }
  return largest / radius;
}

TEST(Margin, OfItsOwnLetsNoGrainOverlapByMoreThanTwoPerCent) {
  EXPECT_LT(largest_overlap(0.5e-3, 2.0, 40e-6, "auto"), 0.02);
  EXPECT_LT(largest_overlap(0.05, 2.0, 4e-3, "auto"), 0.02);
  EXPECT_LT(largest_overlap(1.5, 2.0, 4e-3, "auto"), 0.02);
}

TEST(Margin, ThatIsTooSmallForTheSpeedLetsGrainsOverlap) {
  // what a margin per pair is for: 8 mm a step in spite of 1 mm
  EXPECT_GT(largest_overlap(0.05, 2.0, 4e-3, "1 mm"), 0.02);
}

}  // namespace
}  // namespace catena
