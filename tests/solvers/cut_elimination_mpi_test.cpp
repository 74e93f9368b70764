// Mechanisms cut over ranks, eliminated part by part up a tree, beside dense Cholesky.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/partition/nested_dissection.hpp"
#include "joint_elimination_scenes.hpp"
#include "solvers/joints/across/tree_nodes.hpp"

namespace catena {
namespace {

using test::DenseJoints;
using test::MechanismMaker;
using test::Shapes;

/// Of each block the node of a tree.
std::vector<int> parted(const MechanismRows& joints, int levels) {
  const GeneralBlocks& blocks = joints.blocks;
  const References references(joints);
  BlockGraph graph;
  graph.row_begin = blocks.row_begin;
  for (Index k = 0; k < blocks.size(); ++k) {
    std::vector<Index> others;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
      for (const Index other : references.at(blocks.body[j]))
        if (references.block[other] != k) others.push_back(references.block[other]);
    sort_unique(others);
    graph.neighbour.insert(graph.neighbour.end(), others.begin(), others.end());
    graph.begin.push_back(std::ssize(graph.neighbour));
  }
  return nested_parts(graph, levels);
}

/// A mechanism that all ranks know, eliminated by them together.
class CutElimination {
 public:
  CutElimination(const MechanismRows& whole, int levels, bool exact,
                 const Communicator& comm = Communicator::world())
      : whole_(whole), comm_(comm) {
    const PartTree tree{levels};
    const std::vector<int> node = parted(whole, levels);
    for (Index k = 0; k < whole.blocks.size(); ++k)
      if (tree.rank_of(node[k], comm.size()) == comm.rank()) own_.push_back(k);
    std::ranges::stable_sort(own_, {}, [&](Index k) { return tree.place(node[k]); });
    BlockNodes nodes;
    for (const Index k : own_) {
      nodes.node.push_back(node[k]);
      append(k);
    }
    guests_ = std::make_unique<Guests>(comm, tree, exact, rows_, nodes.node);
    nodes.guests = guests_.get();
    elimination_ = make_cut_elimination(rows_, nodes);
  }

  /// All rows of the solution, on every rank.
  Eigen::VectorXd solve(const Eigen::VectorXd& b) {
    take_jacobians();
    guests_->bring_jacobians(rows_);
    elimination_->factor(rows_);
    std::vector<double> x;
    for (const Index k : own_) {
      const Index first = whole_.blocks.row_begin[k];
      x.insert(x.end(), b.begin() + first, b.begin() + first + whole_.blocks.rows(k));
    }
    elimination_->solve(x, x);
    std::vector<double> all(b.size(), 0.0);
    std::size_t next = 0;
    for (const Index k : own_)
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
  void append(Index k) {
    GeneralBlocks& blocks = rows_.blocks;
    const GeneralBlocks& from = whole_.blocks;
    blocks.kind.push_back(BlockKind::bilateral);
    blocks.name.push_back(from.name[k]);
    blocks.row_begin.push_back(blocks.row_begin.back() + from.rows(k));
    for (Index r = from.row_begin[k]; r < from.row_begin[k + 1]; ++r) {
      blocks.compliance.push_back(from.compliance[r]);
      if (!whole_.drive.empty()) rows_.drive.push_back(whole_.drive[r]);
    }
    for (Index j = from.body_begin[k]; j < from.body_begin[k + 1]; ++j) {
      const Index b = from.body[j];
      auto at = std::ranges::find(rows_.bodies.id, whole_.bodies.id[b]);
      if (at == rows_.bodies.id.end()) {
        rows_.bodies.add_rigid(whole_.bodies.id[b], 0.0, 0.0, {});
        std::copy_n(whole_.bodies.inverse_mass.begin() + whole_.bodies.mass_begin[b], 7,
                    rows_.bodies.inverse_mass.end() - 7);
        at = rows_.bodies.id.end() - 1;
      }
      blocks.body.push_back(to_index(at - rows_.bodies.id.begin()));
      blocks.jacobian_begin.push_back(blocks.jacobian_begin.back() + 6 * from.rows(k));
    }
    blocks.body_begin.push_back(to_index(blocks.body.size()));
    blocks.jacobian.resize(blocks.jacobian_begin.back());
  }
  void take_jacobians() {
    const GeneralBlocks& from = whole_.blocks;
    auto to = rows_.blocks.jacobian.begin();
    for (const Index k : own_)
      to = std::copy(from.jacobian.begin() + from.jacobian_begin[from.body_begin[k]],
                     from.jacobian.begin() + from.jacobian_begin[from.body_begin[k + 1]], to);
  }

  const MechanismRows& whole_;
  Communicator comm_;
  std::vector<Index> own_;
  MechanismRows rows_;
  std::unique_ptr<Guests> guests_;
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
  // knots of the first row are held to the world: the rods between them are redundant
  for (const double decades : {0.0, 6.0}) {
    Shapes shapes(41, decades);
    MechanismMaker& maker = shapes.maker;
    constexpr Index kKnots = 6;
    test::add_held_net(maker, kKnots, decades);
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);
    for (const int levels : {0, 1, 3}) {
      CutElimination cut(maker.made, levels, false);
      CutElimination exact(maker.made, levels, true);
      CutElimination alone(maker.made, levels, true, Communicator::self());

      const Eigen::VectorXd x = cut.solve(b);
      const Eigen::VectorXd same = exact.solve(b), one = alone.solve(b);

      EXPECT_EQ(cut.redundant().size(), static_cast<std::size_t>(kKnots - 1));
      EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-10);
      EXPECT_LT(dense.backward_error(x, b), 5e-15);
      EXPECT_TRUE(same_bits(same, one));
      EXPECT_EQ(exact.redundant(), alone.redundant());
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
