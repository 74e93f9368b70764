// Mechanisms cut over ranks, eliminated part by part up a tree, beside dense Cholesky.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "catena/comm/typed_exchange.hpp"
#include "dealt_mechanism.hpp"
#include "joint_elimination_scenes.hpp"

namespace catena {
namespace {

using test::DenseJoints;
using test::MechanismMaker;
using test::Shapes;

/// A mechanism that all ranks know, eliminated by them together.
class CutElimination {
 public:
  CutElimination(const MechanismRows& whole, int levels, bool exact,
                 const Communicator& comm = Communicator::world())
      : whole_(whole),
        comm_(comm),
        dealt_(comm, whole, levels, exact),
        elimination_(make_cut_elimination(dealt_.rows(), dealt_.nodes())) {}

  /// All rows of the solution, on every rank.
  Eigen::VectorXd solve(const Eigen::VectorXd& b) {
    dealt_.take_jacobians();
    elimination_->factor(dealt_.rows());
    std::vector<double> x;
    for (const Index k : dealt_.own()) {
      const Index first = whole_.blocks.row_begin[k];
      x.insert(x.end(), b.begin() + first, b.begin() + first + whole_.blocks.rows(k));
    }
    elimination_->solve(x, x);
    std::vector<double> all(b.size(), 0.0);
    std::size_t next = 0;
    for (const Index k : dealt_.own())
      for (Index r = whole_.blocks.row_begin[k]; r < whole_.blocks.row_begin[k + 1]; ++r)
        all[r] = x[next++];
    comm_.sum(all);
    return Eigen::Map<const Eigen::VectorXd>(all.data(), b.size());
  }
  double contradiction() const { return comm_.sum(elimination_->contradiction()); }
  /// Of all ranks.
  std::vector<std::pair<std::int64_t, int>> redundant() const {
    std::vector<std::pair<std::int64_t, int>> own;
    for (const RedundantRow& row : elimination_->report().redundant)
      own.emplace_back(row.name, row.row);
    own = all_gather_values(comm_, own);
    std::ranges::sort(own);
    return own;
  }

 private:
  const MechanismRows& whole_;
  Communicator comm_;
  test::DealtMechanism dealt_;
  std::unique_ptr<JointElimination> elimination_;
};

bool same_bits(const Eigen::VectorXd& a, const Eigen::VectorXd& b) { return a == b; }

void expect_dense_solution(Shapes& shapes, const char* name) {
  SCOPED_TRACE(name);
  MechanismMaker& maker = shapes.maker;
  const DenseJoints dense(maker.made);
  const double known = std::max(1e-10, 2e-15 * dense.condition());
  for (const int levels : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(levels);
    CutElimination cut(maker.made, levels, false);
    CutElimination exact(maker.made, levels, true);
    CutElimination alone(maker.made, levels, true, Communicator::self());
    for (int step = 0; step < 2; ++step) {
      const Eigen::VectorXd b = dense.consistent(maker);
      const Eigen::VectorXd x = cut.solve(b);
      EXPECT_LT(dense.backward_error(x, b), 5e-15);
      EXPECT_LT(dense.difference(x, dense.solution(b)), known);
      EXPECT_TRUE(cut.redundant().empty());
      EXPECT_TRUE(same_bits(exact.solve(b), alone.solve(b)));
    }
  }
}

TEST(CutElimination, MechanismsOfEveryShapeHaveTheDenseSolutionOnAnyRanks) {
  for (const double decades : {0.0, 6.0}) {
    SCOPED_TRACE(decades);
    test::for_each_shape(20, decades, expect_dense_solution);
  }
}

TEST(CutElimination, RedundantRowsOverRanksAreFoundAndReactionsAreOfLeastNorm) {
  // knots of the first row are held to the world: the rods between them are redundant; eleven are
  // projected out without null vectors, but for exact sums
  for (const double decades : {0.0, 6.0}) {
    for (const Index knots : {6, 12}) {
      SCOPED_TRACE(knots);
      Shapes shapes(41, decades);
      MechanismMaker& maker = shapes.maker;
      test::add_held_net(maker, knots, decades);
      const DenseJoints dense(maker.made);
      const Eigen::VectorXd b = dense.consistent(maker);
      for (const int levels : {0, 1, 3}) {
        CutElimination cut(maker.made, levels, false);
        CutElimination exact(maker.made, levels, true);
        CutElimination alone(maker.made, levels, true, Communicator::self());

        const Eigen::VectorXd x = cut.solve(b);
        const Eigen::VectorXd same = exact.solve(b), one = alone.solve(b);

        EXPECT_EQ(cut.redundant().size(), static_cast<std::size_t>(knots - 1));
        EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-10);
        EXPECT_LT(dense.difference(same, dense.least_norm(b)), 1e-10);
        EXPECT_LT(dense.backward_error(x, b), 5e-15);
        EXPECT_TRUE(same_bits(same, one));
        EXPECT_EQ(exact.redundant(), alone.redundant());
      }
    }
  }
}

/// Two bodies of 1 kg hang under each, `level` levels, the first held to the world; `spread` apart
/// in the last one, so that arms double from level to level upwards. Joint b is body b's.
MechanismMaker wide_tree(int levels, double spread) {
  MechanismMaker maker(53);
  double apart = spread * std::pow(2.0, levels - 1);
  for (int level = 0; level < levels; ++level, apart *= 0.5) {
    const Index width = Index{1} << level;
    for (Index i = 0; i < width; ++i) {
      const Vec3 at(apart * (static_cast<double>(i) - 0.5 * static_cast<double>(width - 1)), 0.0,
                    -level);
      const Index b = maker.body(1.0, at);
      maker.joint(b, b == 0 ? -1 : (b - 1) / 2, at + 0.5 * Vec3::UnitZ());
    }
  }
  return maker;
}

TEST(CutElimination, RowsOfATreeHeldOnceAreIndependentHoweverLongItsArms) {
  // at the top what hangs on an arm is heavy, and the arm long: a pivot there is 1e-11 of the
  // diagonal, and others are small enough to be suspected in numbers
  constexpr int kLevels = 10;
  const MechanismMaker maker = wide_tree(kLevels, 30.0);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(maker.made.blocks.n_rows());
  b[2] = -1.0;  // G v of a fall at 1 m/s, which only the first joint stops
  for (const int levels : {0, 2}) {
    SCOPED_TRACE(levels);
    CutElimination cut(maker.made, levels, false);

    const Eigen::VectorXd x = cut.solve(b);

    EXPECT_TRUE(cut.redundant().empty());
    for (Index k = 0; k < maker.made.blocks.size(); ++k) {
      // as it hangs a joint bears what is below it, N s
      const auto level = std::bit_width(static_cast<unsigned>(k) + 1U) - 1;
      const double weight = (1 << (kLevels - level)) - 1;
      EXPECT_NEAR(x[3 * k + 2], -weight, 1e-2 * weight) << k;
    }
  }
}

/// Parallelograms side by side: cranks of 1 m, 2 m apart, at an angle to the line of their feet,
/// and rods between their ends.
MechanismMaker row_of_windows(Index n, double angle) {
  MechanismMaker maker(47);
  const Vec3 crank(std::cos(angle), 0.0, std::sin(angle)), pitch(2.0, 0.0, 0.0);
  const auto hinge = [&](Index a, Index b, const Vec3& at) {
    maker.hinge(a, b, at, Vec3::UnitY());
  };
  Index before = maker.body(1.0, 0.5 * crank);
  hinge(before, -1, Vec3::Zero());
  for (Index i = 1; i <= n; ++i) {
    const Vec3 foot = i * pitch;
    const Index next = maker.body(1.0, foot + 0.5 * crank);
    const Index rod = maker.body(1.0, foot - 0.5 * pitch + crank);
    hinge(next, -1, foot);
    hinge(before, rod, foot - pitch + crank);
    hinge(rod, next, foot + crank);
    before = next;
  }
  return maker;
}

TEST(CutElimination, RowsThatComeToDependOnOthersAreFoundAgainWhereTheyAreMany) {
  // too many for null vectors; a loop of four hinges has three, in line, where its cranks may turn
  // either way, four
  constexpr Index kWindows = 20;
  MechanismMaker turned = row_of_windows(kWindows, 0.4), in_line = row_of_windows(kWindows, 0.0);
  for (const int levels : {0, 2}) {
    SCOPED_TRACE(levels);
    MechanismMaker moving = turned;
    CutElimination cut(moving.made, levels, false);
    for (const auto& [pose, each] :
         {std::pair(&turned, 3), std::pair(&in_line, 4), std::pair(&turned, 3)}) {
      const DenseJoints dense(pose->made);
      const Eigen::VectorXd b = dense.consistent(*pose);
      moving.made.blocks.jacobian = pose->made.blocks.jacobian;

      const Eigen::VectorXd x = cut.solve(b);

      EXPECT_EQ(dense.a.rows() - dense.rank(), each * kWindows);
      EXPECT_EQ(std::ssize(cut.redundant()), each * kWindows);
      EXPECT_LT(dense.backward_error(x, b), 1e-13);
    }
  }
}

TEST(CutElimination, DrivesThatContradictOthersYieldAsOnOneRank) {
  Shapes shapes(43, 0.0);
  MechanismMaker& maker = shapes.maker;
  test::add_held_net(maker, 6, 0.0);
  MechanismRows& joints = maker.made;
  // two of the rods between held knots, and one other
  joints.drive.assign(joints.blocks.n_rows(), 0);
  int drives = 0;
  for (Index k = 0; k < joints.blocks.size() && drives < 3; ++k)
    if (joints.blocks.rows(k) == 1 && k % 2 == 0) {
      joints.drive[joints.blocks.row_begin[k]] = 1;
      ++drives;
    }
  const DenseJoints dense(joints);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(joints.blocks.n_rows(), -1.0, 2.0);
  const auto whole = make_dissected_elimination(joints);
  whole->factor(joints);
  const Eigen::VectorXd expected = test::solve(*whole, b);
  EXPECT_GT(whole->contradiction(), 0.0);
  for (const int levels : {1, 3}) {
    CutElimination cut(joints, levels, false);

    const Eigen::VectorXd x = cut.solve(b);

    EXPECT_LT(dense.difference(x, expected), 1e-9);
    EXPECT_NEAR(cut.contradiction(), whole->contradiction(), 1e-9 * whole->contradiction());
  }
}

}  // namespace
}  // namespace catena
