// Advice names what was measured out of the ordinary, the gravest first.
#include "simulation/diagnosis/advice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
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

/// A solve that hardly converged, with energy errors for trials to be compared with.
FailureMeasures slow() {
  FailureMeasures m = missed(convergence_of(report_of({{100, 1.0}, {200, 0.99}}, 1e-6)));
  m.start_energy = 2.0;
  m.energy = 0.99;
  return m;
}

Trial trial(TrialChange change, double over_start, bool met = false) {
  Trial t;
  t.change = change;
  t.method = "gauss_seidel";
  t.over_start = over_start;
  t.met = met;
  t.wall_s = 0.25;
  return t;
}

Trial method_trial(const char* method, bool met) {
  Trial t = trial(TrialChange::method, met ? 1e-9 : 0.4, met);
  t.method = method;
  return t;
}

bool has(const Advice& advice, const std::string& reason) {
  return std::find(advice.reasons.begin(), advice.reasons.end(), reason) != advice.reasons.end();
}

TEST(Advice, SlowConvergenceAsksForAnotherMethodNotForMillionsOfIterations) {
  FailureMeasures m = slow();
  m.trials = {method_trial("auto", false), method_trial("interior_point", true)};
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"slow_convergence"}));
  EXPECT_NE(advice.text.find("solver.method: interior_point met it in 0.25 s"), std::string::npos)
      << advice.text;
  EXPECT_EQ(advice.text.find("auto"), std::string::npos) << advice.text;
  EXPECT_EQ(advice.text.find("max_iterations"), std::string::npos) << advice.text;
}

TEST(Advice, NoMethodIsNamedThatWasNotTriedOrMissedTheToleranceAsWell) {
  EXPECT_EQ(advise(slow()).text.find("method"), std::string::npos) << advise(slow()).text;
  FailureMeasures m = slow();
  m.trials = {method_trial("auto", false), method_trial("interior_point", false)};
  const std::string text = advise(m).text;
  EXPECT_NE(text.find("auto, interior_point missed it, too"), std::string::npos) << text;
  EXPECT_EQ(text.find("solver.method"), std::string::npos) << text;
}

TEST(Advice, RoundOffIsNoReasonWherePivotsAreStuck) {
  FailureMeasures m = missed(convergence_of(report_of({{1, 1.0}, {2, 1.0}}, 1e-6)));
  m.method = "dantzig";
  // what round-off leaves was not measured here
  EXPECT_EQ(advise(m).text.find("round-off"), std::string::npos);

  m.stuck = "pivoting is stuck: rows contradict each other, or one can move without end";

  EXPECT_EQ(advise(m).text.find("round-off"), std::string::npos) << advise(m).text;
  EXPECT_NE(advise(m).text.find(m.stuck), std::string::npos) << advise(m).text;
}

TEST(Advice, PutsTheGravestReasonFirst) {
  FailureMeasures m = slow();
  m.mass_ratio = {1e6, 3, 7, "ship", "pebble"};
  m.overlap = {0.06, 1, 2, "left", "right"};
  m.trials = {trial(TrialChange::no_overlaps, 0.01), trial(TrialChange::equal_masses, 0.01)};
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"mass_ratio", "overlap", "slow_convergence"}));
  EXPECT_NE(advice.text.find("Body ship is 1e+06 times as heavy as pebble"), std::string::npos)
      << advice.text;
  m.overlap.value = 1e7;
  EXPECT_EQ(advise(m).reasons[0], "overlap");
}

TEST(Advice, SofterContactsAreNamedWhereTheyWereSeenToHelp) {
  FailureMeasures m = slow();
  m.step = 1e-3;
  m.stiffness = {30000.0, 1, 2, "left", "right"};
  EXPECT_TRUE(trials_wanted(m).softer_contacts);
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));  // not tried
  m.trials = {trial(TrialChange::softer_contacts, 0.5)};
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));  // of no use
  m.trials = {trial(TrialChange::softer_contacts, 0.01)};
  EXPECT_EQ(advise(m).reasons, (Reasons{"stiff_contacts", "slow_convergence"}));
  EXPECT_NE(advise(m).text.find("The contact of left and right is as stiff as stiffness_ratio: "
                                "3e+04"),
            std::string::npos)
      << advise(m).text;
  EXPECT_NE(advise(m).text.find("time.step below 0.0001 s"), std::string::npos) << advise(m).text;
  m.stiffness.value = kInfinity;
  EXPECT_NE(advise(m).text.find("Contacts are rigid"), std::string::npos) << advise(m).text;
  m.stiffness.value = 300.0;
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));
  EXPECT_FALSE(trials_wanted(m).softer_contacts);
}

TEST(Advice, MassesDoNotMatterToDirectMethods) {
  FailureMeasures m = slow();
  m.mass_ratio = {1e6, 3, 7, "ship", "pebble"};
  m.trials = {trial(TrialChange::equal_masses, 0.01)};
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
  FailureMeasures m = slow();
  m.trials = {trial(TrialChange::exact_joints, 1e-6, true),
              trial(TrialChange::one_point_each, 0.01)};
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

TEST(Advice, ARunUnderErrorControlIsNotSentToErrorControl) {
  FailureMeasures m = missed({});
  m.explicit_stepper = m.blow_up = true;
  EXPECT_NE(advise(m).text.find("dop853"), std::string::npos);
  m.error_controlled = true;
  EXPECT_EQ(advise(m).reasons, (Reasons{"explicit_stepper"}));
  EXPECT_EQ(advise(m).text.find("dop853"), std::string::npos);
  EXPECT_EQ(advise(m).text.find("smaller time.step"), std::string::npos);
}

TEST(Advice, AtASingularPositionShorterStepsAreNotAdvised) {
  FailureMeasures m = missed({});
  m.explicit_stepper = m.blow_up = true;
  m.singular_joint = "elbow";
  EXPECT_EQ(advise(m).reasons, (Reasons{"singular_position"}));
  EXPECT_NE(advise(m).text.find("elbow"), std::string::npos);
  EXPECT_EQ(advise(m).text.find("smaller time.step"), std::string::npos);
  EXPECT_NE(advise(m).text.find("spook"), std::string::npos);
  m.error_controlled = true;
  EXPECT_EQ(advise(m).text.find("dop853"), std::string::npos);
  // a step that only missed its tolerance has no such reason
  m.blow_up = false;
  EXPECT_NE(advise(m).reasons[0], "singular_position");
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

// Each measure out of the ordinary, but the step with that one thing changed fails as before: the
// measure is not the reason.
TEST(Advice, WhatATrialDoesNotConfirmIsNotBlamed) {
  FailureMeasures m = slow();
  m.mass_ratio = {1e6, 3, 7, "ship", "pebble"};
  m.overlap = {0.8, 1, 2, "left", "right"};
  m.joints_swept = true;
  m.longest_chain = 100;
  m.contacts_per_body = 30.0;
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"})) << "without trials";
  for (const TrialChange change : {TrialChange::no_overlaps, TrialChange::equal_masses,
                                   TrialChange::exact_joints, TrialChange::one_point_each})
    m.trials.push_back(trial(change, 0.3));
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"})) << "trials that fail, too";
}

TEST(Advice, TrialsAreAskedForOnlyWhereTheyCanTellSomething) {
  FailureMeasures m = slow();
  TrialChoice choice = trials_wanted(m);
  EXPECT_TRUE(choice.methods);
  EXPECT_FALSE(choice.equal_masses || choice.no_overlaps || choice.exact_joints ||
               choice.one_point_each);
  m.mass_ratio.value = m.overlap.value = m.contacts_per_body = 1e3;
  choice = trials_wanted(m);
  EXPECT_TRUE(choice.equal_masses && choice.no_overlaps && choice.one_point_each);
  m.blow_up = true;
  choice = trials_wanted(m);
  EXPECT_FALSE(choice.methods || choice.equal_masses);
}

NamedContradiction press_on_ball(bool friction, double least_error) {
  NamedContradiction c;
  c.measured.found = true;
  c.measured.friction = friction;
  c.measured.least_error = least_error;
  c.measured.closing = 0.25;
  c.measured.n_constraints = 2;
  c.constraints = {"contact press / ball", "contact floor / ball"};
  c.holders = {"press (moving)", "floor"};
  c.cause = "the largest part is the prescribed motion of press (bodies.press.motion)";
  return c;
}

TEST(Advice, AContradictionIsTheOnlyReasonAndNamesWhoIsAgainstWhom) {
  FailureMeasures m = slow();
  m.mass_ratio = {1e6, 3, 7, "ship", "pebble"};
  m.trials = {trial(TrialChange::equal_masses, 0.01)};
  m.contradiction = press_on_ball(false, 0.5);
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"no_solution"}));
  EXPECT_NE(
      advice.text.find("press (moving) against floor, by way of contact press / ball, contact "
                       "floor / ball; they ask for 0.25 m/s"),
      std::string::npos)
      << advice.text;
  EXPECT_NE(advice.text.find("bodies.press.motion"), std::string::npos) << advice.text;
  EXPECT_EQ(advice.text.find("method"), std::string::npos) << advice.text;
}

TEST(Advice, AContradictionThatLeavesLessThanTheToleranceIsNoReason) {
  FailureMeasures m = slow();
  m.contradiction = press_on_ball(false, 1e-7);
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));
  m.metric = "natural_map";
  m.contradiction = press_on_ball(false, 0.01 * m.energy);
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));
  m.contradiction = press_on_ball(false, 0.5 * m.energy);
  EXPECT_EQ(advise(m).reasons, (Reasons{"no_solution"}));
}

TEST(Advice, AContradictionExplainsABlowUpUnlessItIsRoundOff) {
  FailureMeasures m = missed({});
  m.blow_up = true;
  m.start_energy = 2.0;
  m.contradiction = press_on_ball(false, 0.5);
  EXPECT_EQ(advise(m).reasons, (Reasons{"no_solution"}));
  m.contradiction = press_on_ball(false, 1e-12);
  EXPECT_EQ(advise(m).reasons, (Reasons{"unknown"}));
}

TEST(Advice, FrictionConesProveItForTheConvexLawAlone) {
  FailureMeasures m = slow();
  m.contradiction = press_on_ball(true, 0.5);
  m.contradiction.measured.error = 0.9 * m.energy;
  EXPECT_EQ(advise(m).reasons, (Reasons{"jammed", "slow_convergence"}));
  m.contradiction.measured.error = 0.1 * m.energy;
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"})) << "the error is elsewhere";
  m.law = ContactLaw::ccp;
  EXPECT_EQ(advise(m).reasons, (Reasons{"no_solution"}));
}

TEST(Advice, ErrorsThatRoundOffLeavesAreNotIterated) {
  FailureMeasures m = slow();
  m.round_off = 0.5;
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"round_off"}));
  EXPECT_FALSE(trials_wanted(m).methods);
  m.round_off = 0.05;
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));
}

TEST(Advice, AForceIsNamedWhereItMovesABodyThatMatters) {
  FailureMeasures m = missed({});
  m.blow_up = true;
  m.force = {1e20, 5, 0, "ball", "push"};
  m.force_speed = 1e23;
  const Advice advice = advise(m);
  EXPECT_EQ(advice.reasons, (Reasons{"strong_force"}));
  EXPECT_NE(advice.text.find("forces.push"), std::string::npos) << advice.text;
  // a step that missed its tolerance elsewhere
  m = slow();
  m.force = {2.0, 5, 0, "ball", "push"};
  m.worst = {1, 2};
  EXPECT_FALSE(has(advise(m), "strong_force"));
  m.worst = {1, 5};
  EXPECT_TRUE(has(advise(m), "strong_force"));
}

TEST(Advice, FastBodiesElsewhereAreNoReason) {
  FailureMeasures m = slow();
  m.motion = {4.0, 5, kNoBody, "bullet", ""};
  m.worst = {1, 2};
  EXPECT_EQ(advise(m).reasons, (Reasons{"slow_convergence"}));
  m.worst = {5, 2};
  EXPECT_EQ(advise(m).reasons[0], "fast_motion");
}

TEST(Advice, ABodyDeepInAnotherIsNotBlamedForABlowUpThatThrewItThere) {
  FailureMeasures m = missed({});
  m.blow_up = true;
  m.body = "left";
  m.step_number = 121;
  m.overlap = {1e15, 1, 2, "left", "floor"};
  EXPECT_EQ(advise(m).reasons, (Reasons{"unknown"}));
  m.overlap.value = 0.3;
  EXPECT_EQ(advise(m).reasons, (Reasons{"overlap"}));
  m.body = "other";
  EXPECT_EQ(advise(m).reasons, (Reasons{"unknown"}));
}

TEST(Advice, AMassWhoseSquareOverflowsIsNamedWithItsKey) {
  FailureMeasures m = missed({});
  m.blow_up = true;
  m.finite = false;
  m.heaviest = {4e297, 1, kNoBody, "one", "materials.m.density"};
  EXPECT_EQ(advise(m).reasons, (Reasons{"not_finite"}));
  EXPECT_NE(advise(m).text.find("materials.m.density"), std::string::npos);
  m.heaviest.value = 4.0;
  EXPECT_EQ(advise(m).text.find("materials.m.density"), std::string::npos);
}

TEST(Advice, EveryFindingStandsInTheManual) {
  std::ifstream file(std::string(CATENA_TEST_DATA) + "/../../docs/troubleshooting.md");
  const std::string manual((std::istreambuf_iterator<char>(file)), {});
  for (const std::string_view name : finding_names()) {
    EXPECT_NE(manual.find("`" + std::string(name) + "`"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace catena
