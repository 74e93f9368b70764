// Accelerated sweeps: Anderson's factor, which iterates are looked at, and what both save.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "solvers/batches/anderson.hpp"
#include "solvers/gauss_seidel/looks.hpp"
#include "solvers/giving_contacts.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

constexpr double kShare = 0.8;  // of the minimising factor that is taken

// y -> y/2 + b, with e the distance from the fixed point 2 b. Two plain sweeps: e/2 and e/4; the
// minimising gamma is f_1/(f_1 - f_0) = -1, and with 0.8 of it the third one starts from
// e/4 - 0.8 (e/2 - e/4) = e/20.
TEST(Anderson, MixOfAScalarContractionIsNearItsFixedPoint) {
  constexpr double kB = 3.0, kStart = 7.0;
  for (const bool exact : {false, true}) {
    double x = kStart;
    const std::array<double, 1> weight = {2.0};
    MixedNumbers numbers(&x, 1, 1, 1, weight);
    Anderson anderson(Communicator::self(), exact);

    for (int sweep = 0; sweep < 3; ++sweep) {
      numbers.mix(anderson.gamma());
      x = 0.5 * x + kB;
      const MixProducts products = numbers.products();
      anderson.note({&products, 1});
    }

    EXPECT_NEAR(x, 2.0 * kB + (kStart - 2.0 * kB) / 40.0, 1e-15 * kStart);
    // f = -e/40
    EXPECT_NEAR(anderson.change(), 2.0 / 1600.0, 1e-15);
  }
}

// Numbers without weight follow the same factor: twice the others' stay twice those.
TEST(Anderson, NumbersWithoutWeightAreMixedByTheSameFactor) {
  std::vector<double> x = {1.0}, lines = {2.0, 5.0, -2.0, 5.0};
  const std::array<double, 1> weight = {1.0};
  MixedNumbers impulses(x.data(), 1, 1, 1, weight), velocities(lines.data(), 2, 2, 1);

  for (const double gamma : {0.0, -0.7, 0.4}) {
    impulses.mix(gamma);
    velocities.mix(gamma);
    EXPECT_NEAR(lines[0], 2.0 * x[0], 1e-15);
    EXPECT_NEAR(lines[2], -2.0 * x[0], 1e-15);
    x[0] = 0.3 * x[0] - 1.0;
    lines[0] = 2.0 * x[0];
    lines[2] = -2.0 * x[0];
    const MixProducts none = velocities.products();
    EXPECT_EQ(none.ff, 0.0);
  }

  // what lies between the groups is not touched
  EXPECT_EQ(lines[1], 5.0);
  EXPECT_EQ(lines[3], 5.0);
}

TEST(Anderson, SweepsArePlainWhereChangesGrowAndInTheLastFifthOfACycle) {
  Anderson anderson(Communicator::self(), false);
  const auto after = [&](double ff, double fd, double dd) {
    const MixProducts products{ff, fd, dd};
    anderson.note({&products, 1});
    return anderson.gamma();
  };
  EXPECT_EQ(after(4.0, -1.0, 1.0), 0.0);  // the first sweep has no difference
  EXPECT_EQ(after(3.0, -1.0, 2.0), -0.5 * kShare);
  EXPECT_EQ(after(5.0, -1.0, 2.0), 0.0);
  EXPECT_EQ(after(4.0, -1.0, 2.0), -0.5 * kShare);
  EXPECT_EQ(after(4.0, 0.0, 0.0), 0.0);
  for (int sweep = 5; sweep < 1001; ++sweep)
    ASSERT_EQ(after(1.0, 1.0, 1.0), sweep % 500 < 400 ? kShare : 0.0) << sweep;
}

TEST(Anderson, FactorIsThatOfAllRanksPiecesEvenWhereARankHasNone) {
  const Communicator comm = Communicator::world();
  for (const bool exact : {false, true}) {
    Anderson anderson(comm, exact);
    // pieces on the last rank only
    std::vector<MixProducts> pieces;
    if (comm.rank() == comm.size() - 1) pieces = {{2.0, -0.5, 1.0}, {1.0, -0.5, 3.0}};

    anderson.note(pieces);
    EXPECT_EQ(anderson.gamma(), 0.0);
    anderson.note(pieces);

    EXPECT_EQ(anderson.change(), 3.0);
    EXPECT_EQ(anderson.gamma(), -0.25 * kShare);
  }
}

/// The sweeps looked at, of a solve whose error is excess(s) times what is to be reached and whose
/// change is change(s); asked for at 1 and every ten.
template <class Excess, class Change>
std::vector<int> looked_at(Looks looks, int sweeps, const Excess& excess, const Change& change) {
  std::vector<int> at;
  for (int s = 1; s <= sweeps; ++s) {
    const double last = at.empty() ? 0.0 : excess(at.back());
    if (looks.due(s, change(s), s == 1 || s % 10 == 0 || s == sweeps, last)) at.push_back(s);
  }
  return at;
}

TEST(Looks, AreMadeAsAskedForWhereTheChangeIsNotKnown) {
  const auto at = looked_at(
      Looks(Metric::energy, 35), 35, [](int) { return 1e9; },
      [](int) { return std::numeric_limits<double>::quiet_NaN(); });
  EXPECT_EQ(at, (std::vector<int>{1, 10, 20, 30, 35}));
}

TEST(Looks, AreLeftOutWhileTheErrorIsFarThreeInARowAndNotAtTheEnd) {
  const auto at = looked_at(
      Looks(Metric::energy, 95), 95, [](int) { return 1e9; }, [](int) { return 1.0; });
  EXPECT_EQ(at, (std::vector<int>{1, 40, 80, 95}));
}

TEST(Looks, AreMadeAsSoonAsTheForetoldErrorIsHalfOfWhatIsWanted) {
  // halved by every sweep, from 2^20 after the first: 2^-2 after sweep 23, at which it is below
  // half; for a metric that goes with the root of the change the same error is foretold by squares
  const auto excess = [](int s) { return std::ldexp(1.0, 21 - s); };
  const auto of_energy =
      looked_at(Looks(Metric::energy, 1000), 24, excess, [&](int s) { return excess(s); });
  EXPECT_EQ(of_energy, (std::vector<int>{1, 20, 23, 24}));
  const auto of_map = looked_at(Looks(Metric::natural_map, 1000), 24, excess,
                                [&](int s) { return excess(s) * excess(s); });
  EXPECT_EQ(of_map, of_energy);
}

TEST(Looks, AreNotMadeTwiceInARowUnasked) {
  // the change promises what the error does not keep
  const auto at = looked_at(
      Looks(Metric::energy, 1000), 8, [](int) { return 1.0; },
      [](int s) { return std::ldexp(1.0, -4 * s); });
  EXPECT_EQ(at, (std::vector<int>{1, 3, 5, 7, 8}));
}

test::Scene compliant_pile() {
  test::Scene scene = test::sphere_pile(300, 700, 0.5, 0.005, 7);
  test::let_contacts_give(scene);
  return scene;
}

SolveReport report_of(const test::Scene& scene, bool accelerated) {
  const Communicator comm = Communicator::world();
  SolverSettings settings;
  settings.stop.relative_tolerance = 1e-8;
  settings.stop.max_iterations = 20000;
  settings.gauss_seidel.accelerated = accelerated;
  return test::solve_with(*make_solver(settings), distribute(scene, comm, test::deal(comm))).report;
}

TEST(AcceleratedSweeps, AreFewerToTheSameTolerance) {
  const test::Scene scene = compliant_pile();
  const SolveReport plain = report_of(scene, false), accelerated = report_of(scene, true);

  EXPECT_EQ(plain.status, SolveStatus::converged) << plain.reason;
  EXPECT_EQ(accelerated.status, SolveStatus::converged) << accelerated.reason;
  EXPECT_LT(accelerated.iterations, 0.5 * plain.iterations);
}

TEST(AcceleratedSweeps, AreLookedAtLessOftenThanAskedFor) {
  const SolveReport report = report_of(compliant_pile(), true);
  const int interval = StopRule().check_interval;
  const std::vector<HistoryEntry>& looks = report.history;

  // besides the guess after 1, 2, 4, 8, 10, 20, ...: not even half of them
  EXPECT_LT(2 * std::ssize(looks), 1 + 4 + report.iterations / interval);
  for (std::size_t i = 1; i < looks.size(); ++i)
    EXPECT_LE(looks[i].iteration - looks[i - 1].iteration, 4 * interval);
}

}  // namespace
}  // namespace catena
