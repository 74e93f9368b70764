// Errors on any number of ranks are those of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "catena/metrics/errors.hpp"
#include "support/hand_problems.hpp"

namespace catena {
namespace {

Errors errors_of(const test::Scene& scene, const test::Owner& owner, const std::vector<double>& x) {
  const test::LocalScene local = test::distribute(scene, Communicator::world(), owner);
  DelassusOperator op(local.problem);
  return ErrorEvaluator(local.problem, op).evaluate(test::local_rows(local, x));
}

Errors errors_on_one_rank(const test::Scene& scene, const std::vector<double>& x) {
  const ConstraintProblem problem = test::whole(scene);
  DelassusOperator op(problem);
  return ErrorEvaluator(problem, op).evaluate(x);
}

void compare(const test::Scene& scene, const test::Owner& owner) {
  const std::vector<double> x = test::wave(scene.n_rows());
  const Errors many = errors_of(scene, owner, x);
  const Errors one = errors_on_one_rank(scene, x);
  const Errors again = errors_of(scene, owner, x);
  for (std::size_t m = 0; m < kMetricNames.size(); ++m) {
    const auto metric = static_cast<Metric>(m);
    EXPECT_NEAR(value_of(many, metric), value_of(one, metric), 1e-12 * value_of(one, metric))
        << kMetricNames[m];
    EXPECT_EQ(value_of(many, metric), value_of(again, metric)) << kMetricNames[m];
    // the same bits on every rank
    EXPECT_EQ(Communicator::world().max(value_of(many, metric)), value_of(many, metric));
    EXPECT_EQ(Communicator::world().min(value_of(many, metric)), value_of(many, metric));
  }
  EXPECT_NEAR(many.natural_map_angular, one.natural_map_angular, 1e-12 * one.natural_map);
  EXPECT_NEAR(many.objective, one.objective, 1e-12 * std::abs(one.objective));
  EXPECT_GT(one.cone_violation, 0.1);
  EXPECT_NEAR(many.cone_violation, one.cone_violation, 1e-12);
  // alone the same, on ranks with and without blocks
  const test::LocalScene local = test::distribute(scene, Communicator::world(), owner);
  DelassusOperator op(local.problem);
  const ConeViolation alone =
      ErrorEvaluator(local.problem, op).cone_violation(test::local_rows(local, x));
  EXPECT_EQ(alone.distance, many.cone_violation);
  EXPECT_EQ(alone.largest, many.largest_impulse);
}

TEST(DistributedErrors, EqualThoseOfOneRank) {
  const Communicator comm = Communicator::world();
  test::Scene scene = test::sphere_pile(20, 40, 0.5, 0.01, 3);
  compare(scene, test::deal(comm));
  scene.law = ContactLaw::box;
  compare(scene, test::slabs(comm, scene));
  for (const ContactLaw law : {ContactLaw::coulomb, ContactLaw::ccp, ContactLaw::box}) {
    scene = test::with_couples(test::sphere_pile(20, 40, 0.5, 0.01, 3), 0.1, 0.05, 0.2);
    scene.law = law;
    compare(scene, test::deal(comm));
  }
  test::Scene ring = test::mixed_ring(13, 4);
  compare(ring, test::deal(comm));
  ring.law = ContactLaw::ccp;
  compare(ring, [&](GlobalId) { return comm.size() - 1; });
}

TEST(DistributedErrors, OfBlocksAddUpToThatOfAll) {
  const Communicator comm = Communicator::world();
  for (const test::Scene& scene :
       {test::with_couples(test::sphere_pile(20, 40, 0.5, 0.01, 3), 0.1, 0.05, 0.2),
        test::mixed_ring(13, 4)}) {
    const std::vector<double> x = test::wave(scene.n_rows());
    const test::LocalScene local = test::distribute(scene, comm, test::deal(comm));
    DelassusOperator op(local.problem);
    ErrorEvaluator evaluator(local.problem, op);
    const std::vector<double> rows = test::local_rows(local, x);
    const double all = evaluator.evaluate(rows, {}, ErrorSet::energy).energy;
    double worst = 0.0;
    const Index block = evaluator.worst_block(&worst);

    const std::vector<double> each = evaluator.block_energies(rows);

    EXPECT_EQ(each.size(), static_cast<std::size_t>(local.problem.n_blocks()));
    double own = 0.0;
    for (const double energy : each) {
      EXPECT_LE(energy, worst);
      own += energy;
    }
    EXPECT_EQ(block == kNoIndex ? worst : each[static_cast<std::size_t>(block)], worst);
    EXPECT_NEAR(comm.sum(own), all, 1e-12 * all);
  }
}

TEST(DistributedErrors, AreNanOnEveryRankIfOneImpulseOnOneRankIs) {
  const Communicator comm = Communicator::world();
  const test::Scene scene = test::sphere_pile(20, 40, 0.5, 0.01, 3);
  std::vector<double> x = test::wave(scene.n_rows());
  x[7] = std::numeric_limits<double>::quiet_NaN();
  const Errors e = errors_of(scene, test::slabs(comm, scene), x);
  for (std::size_t m = 0; m < kMetricNames.size(); ++m)
    EXPECT_TRUE(std::isnan(value_of(e, static_cast<Metric>(m)))) << kMetricNames[m];
}

}  // namespace
}  // namespace catena
