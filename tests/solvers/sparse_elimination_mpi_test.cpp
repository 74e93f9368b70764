// One rank's mechanism is no other rank's affair.
#include <gtest/gtest.h>

#include "catena/comm/communicator.hpp"
#include "joint_elimination_scenes.hpp"

namespace catena {
namespace {

TEST(SparseEliminationMpi, LastRankAloneUsesPetscAndMpiFinalizesAfterIt) {
  const Communicator comm = Communicator::world();
  if (comm.rank() == comm.size() - 1) {
    test::MechanismMaker maker(1);
    for (int i = 0; i < 20; ++i) maker.body(1.0, maker.any());
    for (Index i = 0; i < 20; ++i) maker.joint(i, (i + 1) % 20, maker.any());
    const test::DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);
    const auto elimination = make_sparse_elimination(maker.made);
    elimination->factor(maker.made);
    EXPECT_LT(dense.backward_error(test::solve(*elimination, b), b), 3e-15);
  }
}

}  // namespace
}  // namespace catena
