// [F14]'s interior point on any number of ranks.
#include <gtest/gtest.h>

#include <cmath>

#include "catena/base/error.hpp"
#include "catena/constraints/delassus_matrix.hpp"
#include "solvers/interior_point/fang/fang_interior_point.hpp"
#include "support/all_ranks.hpp"
#include "support/dense_reference.hpp"
#include "support/hand_problems.hpp"
#include "support/solve_with.hpp"

namespace catena {
namespace {

using test::distance;
using test::LocalScene;
using test::Scene;
using test::Solved;

constexpr double kStep = 0.005;

SolverSettings to_gap(double gap, InteriorPointForm form) {
  SolverSettings settings{.method = SolverMethod::interior_point};
  settings.interior_point.form = form;
  settings.stop = test::stop_at(Metric::gap, gap, 100);
  return settings;
}

Solved solve_fang_on_ranks(const LocalScene& local, const SolverSettings& settings) {
  return test::solve_with(*make_fang_interior_point(settings.stop, settings.interior_point), local);
}

class FangMpi : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();

  /// Small: direct factors of ranks that share a core wait for each other.
  Scene pile() const {
    Scene scene = test::sphere_pile(12, 25, 0.5, kStep, 3);
    scene.law = ContactLaw::ccp;
    for (std::size_t k = 0; k < scene.contacts.size(); k += 7) scene.contacts[k].friction = 0.0;
    return scene;
  }
};

TEST_F(FangMpi, EntriesOfEveryRankAreItsRowsOfTheDenseMatrix) {
  const Scene scene = test::mixed_ring(9, 5);
  const Eigen::MatrixXd n = test::dense_problem(whole(scene)).N;
  for (const test::Owner& owner : {test::slabs(comm_, scene), test::deal(comm_)}) {
    const LocalScene local = distribute(scene, comm_, owner);
    const auto rows = static_cast<std::size_t>(local.problem.n_rows());
    std::vector<double> scale(rows);
    const auto factor = [](Index row) { return row % 5 == 4 ? 0.0 : 1.0 + row % 3; };
    for (std::size_t i = 0; i < rows; ++i) scale[i] = factor(local.row[i]);

    const DelassusMatrix e = assemble_delassus(local.problem, scale);

    // the scene's row of every row over all ranks
    const std::vector<Index> number = test::all_of(comm_, local.row);
    EXPECT_EQ(e.total, static_cast<std::int64_t>(number.size()));
    Eigen::MatrixXd found = Eigen::MatrixXd::Zero(n.rows(), n.cols());
    for (Index i = 0; i < e.n_rows(); ++i)
      for (auto k = e.row_begin[i]; k < e.row_begin[i + 1]; ++k)
        found(number[e.first + i], number[e.column[k]]) += e.value[k];
    for (const Index i : local.row)
      for (Index j = 0; j < static_cast<Index>(n.cols()); ++j)
        EXPECT_NEAR(found(i, j), factor(i) * n(i, j) * factor(j), 1e-11 * n.norm())
            << i << " " << j;
  }
}

TEST_F(FangMpi, EveryFormHasTheVelocitiesOfOneRank) {
  const Scene scene = pile();
  const LocalScene on_one = distribute(scene, comm_, test::first_rank());
  const Solved one = solve_fang_on_ranks(on_one, to_gap(1e-6, InteriorPointForm::schur));
  for (const InteriorPointForm form :
       {InteriorPointForm::kkt, InteriorPointForm::schur, InteriorPointForm::schur_pcg}) {
    const Solved many =
        solve_fang_on_ranks(distribute(scene, comm_, test::deal(comm_)), to_gap(1e-6, form));

    EXPECT_EQ(many.report.status, SolveStatus::converged) << many.report.reason;
    // an energy to 1e-6 of itself is a velocity to 1e-3 of itself
    EXPECT_LT(distance(many.velocities, one.velocities), 1e-3);
    const auto stages = static_cast<std::int64_t>(many.report.iterations);
    EXPECT_EQ(comm_.max(stages), comm_.min(stages));
  }
}

TEST_F(FangMpi, DirectFormsTakeTheSameStagesOnAnyNumberOfRanks) {
  const Scene scene = pile();
  const SolverSettings settings = to_gap(1e-3, InteriorPointForm::schur);

  const Solved one =
      solve_fang_on_ranks(distribute(scene, Communicator::self(), test::first_rank()), settings);
  const Solved many =
      solve_fang_on_ranks(distribute(scene, comm_, test::slabs(comm_, scene)), settings);

  EXPECT_EQ(many.report.iterations, one.report.iterations);
}

TEST_F(FangMpi, RowsThatOneRankCannotSolveAreAnErrorOnAll) {
  Scene scene = pile();
  scene.blocks.push_back(test::motor(1.0, 1.0, 1.0).blocks[0]);
  scene.blocks.back().bodies = {static_cast<GlobalId>(scene.bodies.size()) - 1};

  EXPECT_THROW(solve_fang_on_ranks(distribute(scene, comm_, test::slabs(comm_, scene)),
                                   to_gap(1e-6, InteriorPointForm::schur_pcg)),
               Error);
}

}  // namespace
}  // namespace catena
