// Advice names what was measured out of the ordinary, the gravest first.
#include "simulation/advice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace catena {
namespace {

using Reasons = std::vector<std::string>;

SolveReport report_of(const std::vector<std::pair<int, double>>& energies, double wanted) {
  SolveReport r;
  for (const auto& [iteration, energy] : energies) {
    HistoryEntry entry;
    entry.iteration = iteration;
    entry.errors.energy = energy;
    r.history.push_back(entry);
  }
  if (!energies.empty()) {
    r.iterations = energies.back().first;
    r.errors.energy = energies.back().second;
  }
  r.threshold = wanted;
  return r;
}

FailureMeasures missed(const Convergence& convergence) {
  FailureMeasures m;
  m.method = "gauss_seidel";
  m.metric = "energy";
  m.unit = "J";
  m.step = 1e-3;
  m.convergence = convergence;
  return m;
}

TEST(Convergence, IsTheFactorOfTheLaterHalf) {
  // fast at first, then a half per iteration: 1e-3 -> 1e-6 are log2(1000) = 9.97 more
  const Convergence c =
      convergence_of(report_of({{1, 100.0}, {2, 10.0}, {4, 0.016}, {8, 0.001}}, 1e-6));
  EXPECT_NEAR(c.factor, 0.5, 1e-12);
  EXPECT_NEAR(c.missing, 9.966, 1e-3);
  EXPECT_NEAR(c.condition, 2.0, 1e-12);
}

TEST(Convergence, IsUnknownWithoutHistoryAndInfiniteWithoutProgress) {
  EXPECT_TRUE(std::isnan(convergence_of(report_of({{1, 1.0}}, 1e-6)).factor));
  const Convergence c = convergence_of(report_of({{10, 1.0}, {20, 1.0}}, 1e-6));
  EXPECT_EQ(c.missing, std::numeric_limits<double>::infinity());
}

TEST(Advice, TooFewIterationsAreNamedWithTheNumberThatIsEnough) {
  const Advice advice = advise(missed(convergence_of(report_of({{4, 0.016}, {8, 0.001}}, 1e-6))));
  EXPECT_EQ(advice.reasons, (Reasons{"too_few_iterations"}));
  // 1.2 (8 + 9.97) = 21.6, two digits upwards
  EXPECT_NE(advice.text.find("solver.max_iterations: 22"), std::string::npos) << advice.text;
}

TEST(Advice, SlowConvergenceAsksForAnotherMethodNotForMillionsOfIterations) {
  const Advice advice = advise(missed(convergence_of(report_of({{100, 1.0}, {200, 0.99}}, 1e-6))));
  EXPECT_EQ(advice.reasons, (Reasons{"slow_convergence"}));
  EXPECT_NE(advice.text.find("interior_point"), std::string::npos) << advice.text;
}

TEST(Advice, PutsTheGravestReasonFirst) {
  FailureMeasures m = missed(convergence_of(report_of({{100, 1.0}, {200, 0.99}}, 1e-6)));
  m.mass_ratio = {1e6, 3, 7, "ship", "pebble"};
  m.overlap = {0.06, 1, 2, "left", "right"};
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"mass_ratio", "overlap", "slow_convergence"}));
  EXPECT_NE(advice.text.find("Body ship is 1e+06 times as heavy as pebble"), std::string::npos)
      << advice.text;
  m.overlap.value = 1e7;
  EXPECT_EQ(advise(m).reasons[0], "overlap");
}

TEST(Advice, MassesDoNotMatterToDirectMethods) {
  FailureMeasures m = missed(convergence_of(report_of({{100, 1.0}, {200, 0.99}}, 1e-6)));
  m.mass_ratio = {1e6, 3, 7, "ship", "pebble"};
  m.method = "interior_point";
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));
}

TEST(Advice, FastBodiesGetAStepThatFollowsThem) {
  FailureMeasures m = missed({});
  m.blow_up = true;
  m.motion = {4.0, 5, kNoBody, "bullet", ""};
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"fast_motion"}));
  // a fifth of its radius in a step: 1 ms 0.2 / 4
  EXPECT_NE(advice.text.find("5e-05 s"), std::string::npos) << advice.text;
}

TEST(Advice, SweptChainsAndTooManyContactsAreNamed) {
  FailureMeasures m = missed(convergence_of(report_of({{100, 1.0}, {200, 0.99}}, 1e-6)));
  m.joints_swept = true;
  m.longest_chain = 100;
  m.contacts_per_body = 30.0;
  m.most_contacts = 40;
  EXPECT_EQ(advise(m).reasons, (Reasons{"iterative_joints", "hyperstatic", "slow_convergence"}));
}

TEST(Advice, ABlowUpOfAnExplicitStepperAsksForItsStep) {
  FailureMeasures m = missed({});
  m.explicit_stepper = m.blow_up = true;
  EXPECT_EQ(advise(m).reasons, (Reasons{"explicit_stepper"}));
}

TEST(Advice, NothingOutOfTheOrdinaryIsSaidToBeSo) {
  FailureMeasures m = missed({});
  m.blow_up = true;
  m.body = "top";
  EXPECT_EQ(advise(m).reasons, (Reasons{"unknown"}));
  m.finite = false;
  EXPECT_EQ(advise(m).reasons, (Reasons{"not_finite"}));
  EXPECT_NE(advise(m).text.find("act on top"), std::string::npos);
}

}  // namespace
}  // namespace catena
