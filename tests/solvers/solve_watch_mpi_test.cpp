// The clock of a solve: looks, time limits and requests to end, on which all ranks agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/timer.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "solvers/solve_watch.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

using test::LocalScene;
using test::Scene;

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

/// Deeply overlapping spheres with friction: every method has something to do for some iterations.
LocalScene pile_on(const Communicator& comm, ContactLaw law) {
  Scene scene = test::sphere_pile(60, 220, 0.5, 0.005, 3);
  scene.law = law;
  return test::distribute(scene, comm, test::slabs(comm, scene));
}

struct Named {
  std::string name;
  SolverSettings settings;
  ContactLaw law = ContactLaw::coulomb;
};

/// All methods and forms that run on so many ranks, with a goal that none of them reaches.
std::vector<Named> all_methods(const Communicator& comm) {
  std::vector<Named> methods;
  const auto add = [&](SolverMethod method, ContactLaw law, InteriorPointForm form) {
    Named m;
    m.settings.method = method;
    m.settings.stop.relative_tolerance = 0.0;
    m.settings.stop.absolute_tolerance = 0.0;
    m.settings.stop.metric = Metric::natural_map;
    m.settings.stop.max_iterations = 1000000;
    m.settings.interior_point.form = form;
    m.law = law;
    m.name = std::string(kSolverNames[static_cast<std::size_t>(method)]) + " law " +
             std::to_string(static_cast<int>(law)) + " form " +
             std::to_string(static_cast<int>(form));
    methods.push_back(m);
  };
  const auto cone = InteriorPointForm::cone;
  for (const SolverMethod method :
       {SolverMethod::gauss_seidel, SolverMethod::jacobi, SolverMethod::apgd,
        SolverMethod::interior_point, SolverMethod::automatic}) {
    add(method, ContactLaw::coulomb, cone);
    add(method, ContactLaw::ccp, cone);
  }
  add(SolverMethod::interior_point, ContactLaw::ccp, InteriorPointForm::kkt);
  add(SolverMethod::interior_point, ContactLaw::ccp, InteriorPointForm::schur);
  add(SolverMethod::interior_point, ContactLaw::ccp, InteriorPointForm::schur_pcg);
  if (comm.size() == 1) {
    add(SolverMethod::dantzig, ContactLaw::coulomb, cone);
    add(SolverMethod::dantzig, ContactLaw::box, cone);
  }
  return methods;
}

struct Outcome {
  bool broken_off = false;
  SolveReport report;
  std::vector<double> impulses;
  double seconds = 0.0;
};

Outcome solve_watched(const Named& method, const ConstraintProblem& problem, const Watch* watch) {
  Outcome out;
  SolverSettings settings = method.settings;
  settings.stop.watch = watch;
  out.impulses.assign(static_cast<std::size_t>(problem.n_rows()), 0.0);
  std::vector<double> velocities(static_cast<std::size_t>(problem.bodies.n_dofs()));
  const double begun = wall_seconds();
  try {
    out.report = make_solver(settings)->solve(problem, out.impulses, velocities);
  } catch (const StopAsked&) {
    out.broken_off = true;
  }
  out.seconds = wall_seconds() - begun;
  return out;
}

TEST(SolveWatch, EveryMethodIsBrokenOffOnAllRanksWhereOneIsAsked) {
  const Communicator comm = Communicator::world();
  for (const Named& method : all_methods(comm)) {
    const LocalScene local = pile_on(comm, method.law);
    int asked = 0;
    Watch watch;
    watch.asked = [&] { return ++asked >= 4 && comm.rank() == comm.size() - 1; };

    const Outcome out = solve_watched(method, local.problem, &watch);

    EXPECT_EQ(comm.sum(std::int64_t{out.broken_off ? 1 : 0}), comm.size()) << method.name;
    // nothing is left behind that the next solve would stumble over
    Named easy = method;
    easy.settings.stop.relative_tolerance = 0.1;
    EXPECT_EQ(solve_watched(easy, local.problem, nullptr).report.status, SolveStatus::converged)
        << method.name;
  }
}

TEST(SolveWatch, LoopsLookBetweenEvaluationsThatLieFarApart) {
  const Communicator comm = Communicator::world();
  const LocalScene local = pile_on(comm, ContactLaw::coulomb);
  for (const SolverMethod kind :
       {SolverMethod::gauss_seidel, SolverMethod::jacobi, SolverMethod::apgd}) {
    Named method;
    method.name = kSolverNames[static_cast<std::size_t>(kind)];
    method.settings.method = kind;
    StopRule& stop = method.settings.stop;
    stop.metric = Metric::natural_map;
    stop.relative_tolerance = stop.absolute_tolerance = 0.0;
    stop.max_iterations = 2000000000;
    stop.check_interval = 2000000000;
    double seconds = 0.0;
    // half a second between looks, and room for a machine that is busy elsewhere: some tries, too
    for (int tries = 0; tries < 5 && (tries == 0 || seconds > 0.1 + 0.5 + 1.0); ++tries) {
      const double begun = wall_seconds();
      Watch watch;
      watch.asked = [&] { return comm.rank() == 0 && wall_seconds() - begun > 0.1; };
      stop.time_limit = kNever;
      const Outcome asked = solve_watched(method, local.problem, &watch);
      stop.time_limit = 0.1;
      const Outcome limited = solve_watched(method, local.problem, nullptr);

      EXPECT_TRUE(asked.broken_off) << method.name;
      EXPECT_EQ(limited.report.status, SolveStatus::time_limit) << method.name;
      seconds = comm.max(std::max(asked.seconds, limited.seconds));
    }
    EXPECT_LE(seconds, 0.1 + 0.5 + 1.0) << method.name;
  }
}

TEST(SolveWatch, AWatchThatNeverAsksChangesNoBit) {
  const Communicator comm = Communicator::world();
  for (Named method : all_methods(comm)) {
    // factors over several ranks do not give the same bits twice
    const bool swept = method.settings.method == SolverMethod::gauss_seidel ||
                       method.settings.method == SolverMethod::jacobi ||
                       method.settings.method == SolverMethod::apgd;
    if (comm.size() > 1 && !swept) continue;
    const LocalScene local = pile_on(comm, method.law);
    method.settings.stop.max_iterations = 60;
    Watch watch;
    watch.asked = [] { return false; };
    watch.seconds_left = [] { return 1e9; };

    const Outcome with = solve_watched(method, local.problem, &watch);
    const Outcome without = solve_watched(method, local.problem, nullptr);

    EXPECT_EQ(with.impulses, without.impulses) << method.name;
    EXPECT_EQ(with.report.iterations, without.report.iterations) << method.name;
    EXPECT_EQ(with.report.reason, without.report.reason) << method.name;
  }
}

TEST(SolveWatch, EveryMethodHeedsMaxIterations) {
  const Communicator comm = Communicator::world();
  for (Named method : all_methods(comm)) {
    const LocalScene local = pile_on(comm, method.law);
    for (const int most : {1, 2, 7, 30}) {
      method.settings.stop.max_iterations = most;
      const Outcome out = solve_watched(method, local.problem, nullptr);
      EXPECT_LE(out.report.iterations, most) << method.name << ": " << out.report.reason;
      EXPECT_GE(out.report.iterations, 1) << method.name;
      EXPECT_EQ(out.report.iterations, out.report.history.back().iteration) << method.name;
    }
  }
}

TEST(SolveWatch, EveryMethodEndsAtATimeLimitOfZeroWithItsGuess) {
  const Communicator comm = Communicator::world();
  for (Named method : all_methods(comm)) {
    const LocalScene local = pile_on(comm, method.law);
    method.settings.stop.time_limit = 0.0;
    const Outcome out = solve_watched(method, local.problem, nullptr);
    EXPECT_EQ(out.report.status, SolveStatus::time_limit) << method.name;
    EXPECT_TRUE(std::isfinite(out.report.errors.energy)) << method.name;
  }
}

TEST(SolveWatch, ACallThatOutlastsWhatIsLeftIsNotBegun) {
  const Communicator comm = Communicator::world();
  const bool last = comm.rank() == comm.size() - 1;
  const auto outcome = [&](const Watch* watch, double limit, double seconds) {
    SolveWatch clock(comm, watch, limit, wall_seconds());
    try {
      clock.call(seconds);
    } catch (const OutOfTime&) {
      EXPECT_TRUE(clock.late());
      return 1;
    } catch (const StopAsked&) {
      return 2;
    }
    return 0;
  };
  Watch watch;
  watch.seconds_left = [&] { return comm.rank() == 0 ? 60.0 : 1e9; };

  // what one rank predicts, or has left, counts for all
  EXPECT_EQ(outcome(nullptr, 60.0, last ? 100.0 : 0.0), 1);
  EXPECT_EQ(outcome(nullptr, 60.0, last ? 20.0 : 0.0), 0);
  EXPECT_EQ(outcome(nullptr, kNever, 1e9), 0);
  EXPECT_EQ(outcome(&watch, kNever, last ? 100.0 : 0.0), 2);
  EXPECT_EQ(outcome(&watch, kNever, last ? 20.0 : 0.0), 0);
}

TEST(SolveWatch, LooksAreRareInFastLoopsAndFrequentInSlowOnes) {
  const Communicator comm = Communicator::world();
  int looks = 0;
  Watch watch;
  watch.asked = [&] {
    ++looks;
    return false;
  };
  SolveWatch fast(comm, &watch, kNever, wall_seconds());
  for (int turn = 1; turn <= 1000000; ++turn) fast.turn(turn);
  EXPECT_LE(looks, 100);

  looks = 0;
  SolveWatch slow(comm, &watch, kNever, wall_seconds());
  const auto wait = [](double seconds) {
    for (const double begun = wall_seconds(); wall_seconds() - begun < seconds;) continue;
  };
  for (int turn = 1; turn <= 4; ++turn) {
    wait(0.2);
    slow.turn(turn);
  }
  EXPECT_GE(looks, 3);
}

TEST(SolveWatch, ProgressIsShownInLongSolves) {
  std::vector<std::string> lines;
  Watch watch;
  watch.progress = [&](const std::string& line) { lines.push_back(line); };
  // begun ten seconds ago
  SolveWatch clock(Communicator::self(), &watch, kNever, wall_seconds() - 10.0);

  EXPECT_TRUE(clock.shows_progress());
  clock.show("pass 3");
  EXPECT_FALSE(clock.shows_progress());

  EXPECT_EQ(lines, std::vector<std::string>{"pass 3"});
}

}  // namespace
}  // namespace catena
