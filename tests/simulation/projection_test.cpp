// Projection of joints' positions where a full move does not help.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/case_text.hpp"

namespace catena {
namespace {

/// A net hung by its corners. Its straight edges can sag only to second order: rows of a straight
/// cord between fixed points depend on each other nearly, and Newton's moves overshoot.
CaseSettings net(const std::string& joints, const std::string& solver) {
  return test::case_of(
      "materials: {rope: {density: 1400}}\n"
      "generators: [{net: {name: net, material: rope, shape: {sphere: "
      "{radius: 25 mm}}, count: [21, 21], from: [-1, -1, 1], spacing: [[0.1, "
      "0, 0], [0, 0.1, 0]], anchored: corners, joint: " +
      joints +
      "}}]\n"
      "time: {step: 1 ms, end: 1 s}\n"
      "solver: " +
      solver + "\n");
}

/// Tension as it is: with its guard a net is nowhere so far off that a move would not
/// help.
const std::string kUnguarded = "{joints: {geometric_stiffness: false";

struct Watched {
  double misfit = 0.0;    ///< largest at the start of a step, m
  double residual = 0.0;  ///< largest of the energy audit, J
  int cut = 0, dropped = 0;
};

Watched watch(const CaseSettings& settings, int steps) {
  Simulation sim(Communicator::self(), settings);
  Watched w;
  for (int i = 0; i < steps; ++i) {
    const StepReport& r = sim.step();
    w.misfit = std::max(w.misfit, r.misfit.linear);
    w.residual = std::max(w.residual, std::abs(r.energy_residual));
    if (r.projection_dropped)
      ++w.dropped;
    else if (r.projection_cuts > 0)
      ++w.cut;
    // what is left out leaves the misfit as it was, what is not lessens it
    EXPECT_TRUE(r.projection_dropped || r.projected.linear <= 1e-4 || r.projections == 10) << i;
  }
  return w;
}

TEST(Projection, OfANetIsCutBackOrLeftOutWhereItWouldNotHelp) {
  const Watched without = watch(net("distance", kUnguarded + "}}"), 250);
  const Watched with = watch(net("distance", kUnguarded + ", projection: 1e-4}}"), 250);

  EXPECT_GT(with.cut + with.dropped, 0);
  // what counts lessens the misfit of its step; the next steps are then others, and so are their
  // misfits, by a processor's round-off. With every move taken in full the net flies apart.
  EXPECT_LE(with.misfit, 10.0 * without.misfit);
  EXPECT_LE(with.residual, 10.0 * without.residual);
}

}  // namespace
}  // namespace catena
