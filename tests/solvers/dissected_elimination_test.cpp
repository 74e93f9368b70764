// Fronts, their order and the eliminations made of them, beside dense Cholesky.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <memory>
#include <numeric>
#include <set>

#include "catena/base/huge_pages.hpp"
#include "joint_elimination_scenes.hpp"
#include "solvers/joints/dissection/front_tree.hpp"
#include "solvers/joints/dissection/simd/front_kernels.hpp"
#include "solvers/joints/elimination/redundant/regularised_factor.hpp"
#include "solvers/lanes/lanes.hpp"

namespace catena {
namespace {

using test::DenseJoints;
using test::MechanismMaker;
using test::Shapes;

// -- one front

std::vector<FrontKernels> kernels_of_this_cpu() {
  std::vector<FrontKernels> all = {plain_front_kernels()};
  if (cpu_has_avx2()) all.push_back(avx2_front_kernels());
  if (cpu_has_avx512()) all.push_back(avx512_front_kernels());
  std::erase_if(all, [](const FrontKernels& k) { return k.name == nullptr; });
  return all;
}

/// A front filled with a positive definite matrix.
struct FilledFront {
  FilledFront(Index pivots, Index rows) : shape(pivots, rows) {
    const Eigen::MatrixXd root = Eigen::MatrixXd::Random(rows, rows);
    a = root * root.transpose() + rows * Eigen::MatrixXd::Identity(rows, rows);
    panel.assign(shape.panel_size(), 0.0);
    update.assign(shape.update_size(), 0.0);
    spare.assign(shape.stride, 0.0);
    for (Index j = 0; j < rows; ++j)
      for (Index i = j; i < rows; ++i) column(j)[i] = a(i, j);
  }
  double* column(Index j) { return shape.column(j, panel.data(), update.data()); }

  FrontShape shape;
  Eigen::MatrixXd a;
  std::vector<double, HugePageAllocator<double>> panel, update, spare;
};

TEST(FrontKernels, EveryInstructionSetFactorsAndSolvesLikeDenseCholesky) {
  const std::pair<Index, Index> sizes[] = {{1, 1},   {1, 9},    {7, 7},     {8, 8},     {5, 23},
                                           {12, 40}, {64, 128}, {131, 150}, {140, 333}, {300, 300}};
  for (const FrontKernels& kernels : kernels_of_this_cpu())
    for (const auto& [n, rows] : sizes) {
      SCOPED_TRACE(std::string(kernels.name) + " " + std::to_string(n) + " of " +
                   std::to_string(rows));
      FilledFront front(n, rows);
      const std::vector<double> added(n, 0.0);
      std::vector<double> found(n);

      EXPECT_EQ(kernels.factor(front.shape, front.panel.data(), front.update.data(),
                               {added.data(), 0.01, found.data()}, front.spare.data()),
                0);

      const Index m = rows - n;
      const Eigen::MatrixXd l = front.a.topLeftCorner(n, n).llt().matrixL();
      const Eigen::MatrixXd below = l.triangularView<Eigen::Lower>()
                                        .solve(front.a.bottomLeftCorner(m, n).transpose())
                                        .transpose();
      const Eigen::MatrixXd left = front.a.bottomRightCorner(m, m) - below * below.transpose();
      double worst = 0.0;
      for (Index j = 0; j < n; ++j) {
        worst = std::max(worst, std::abs(front.column(j)[j] * l(j, j) - 1.0));
        worst = std::max(worst, std::abs(found[j] / (l(j, j) * l(j, j)) - 1.0));
        for (Index i = j + 1; i < rows; ++i)
          worst =
              std::max(worst, std::abs(front.column(j)[i] - (i < n ? l(i, j) : below(i - n, j))));
      }
      for (Index j = 0; j < m; ++j)
        for (Index i = j; i < m; ++i)
          worst = std::max(worst, std::abs(front.column(n + j)[n + i] - left(i, j)));
      EXPECT_LT(worst, 1e-11 * rows);

      // x of the rows below is given: L y = b, then L^T x = y
      std::vector<double, HugePageAllocator<double>> x(front.shape.stride, 0.0);
      const Eigen::VectorXd b = Eigen::VectorXd::Random(rows);
      for (Index i = 0; i < rows; ++i) x[i] = b[i];
      kernels.forward(front.shape, front.panel.data(), x.data());
      const Eigen::VectorXd y = l.triangularView<Eigen::Lower>().solve(b.head(n));
      const Eigen::VectorXd rest = b.tail(m) - below * y;
      for (Index i = 0; i < rows; ++i) EXPECT_NEAR(x[i], i < n ? y[i] : rest[i - n], 1e-12 * rows);
      kernels.backward(front.shape, front.panel.data(), x.data());
      const Eigen::VectorXd inner =
          l.transpose().triangularView<Eigen::Upper>().solve(y - below.transpose() * rest);
      for (Index i = 0; i < n; ++i) EXPECT_NEAR(x[i], inner[i], 1e-12 * rows);
    }
}

TEST(FrontKernels, PivotsAtRoundOffAreRaisedAndToldOf) {
  for (const FrontKernels& kernels : kernels_of_this_cpu()) {
    FilledFront front(3, 3);
    // the third row is the sum of the other two
    const Eigen::Matrix3d a{{2.0, 1.0, 3.0}, {1.0, 2.0, 3.0}, {3.0, 3.0, 6.0}};
    for (Index j = 0; j < 3; ++j)
      for (Index i = j; i < 3; ++i) front.column(j)[i] = a(i, j);
    const double added[] = {1e-12, 1e-12, 1e-12};
    double found[3];

    EXPECT_EQ(kernels.factor(front.shape, front.panel.data(), nullptr, {added, 0.01, found},
                             front.spare.data()),
              1);

    EXPECT_NEAR(found[2], 0.0, 1e-14);
    EXPECT_NEAR(front.column(2)[2], 1e6, 1e-3);
  }
}

// -- the tree of fronts

TEST(FrontTree, FrontsHaveAllRowsThatEliminationFills) {
  // blocks of one to three rows on a random graph
  MechanismMaker maker(11);
  BlockGraph graph;
  constexpr Index kBlocks = 120;
  std::vector<std::set<Index>> neighbours(kBlocks);
  for (int e = 0; e < 260; ++e) {
    const Index a = maker.integer(kBlocks), b = maker.integer(kBlocks);
    if (a == b) continue;
    neighbours[a].insert(b);
    neighbours[b].insert(a);
  }
  for (Index k = 0; k < kBlocks; ++k) {
    graph.row_begin.push_back(graph.row_begin.back() + 1 + k % 3);
    graph.neighbour.insert(graph.neighbour.end(), neighbours[k].begin(), neighbours[k].end());
    graph.begin.push_back(std::ssize(graph.neighbour));
  }

  const FrontTree tree = make_front_tree(graph);

  const Index n = graph.row_begin.back();
  std::vector<Index> sorted = tree.place;
  std::ranges::sort(sorted);
  for (Index i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
  // the pattern of L by elimination, row by row
  std::vector<std::set<Index>> below(n);
  for (Index k = 0; k < kBlocks; ++k)
    for (Index r = graph.row_begin[k]; r < graph.row_begin[k + 1]; ++r) {
      const auto add = [&](Index block) {
        for (Index c = graph.row_begin[block]; c < graph.row_begin[block + 1]; ++c)
          if (tree.place[c] > tree.place[r]) below[tree.place[r]].insert(tree.place[c]);
      };
      add(k);
      for (const Index other : neighbours[k]) add(other);
    }
  Index next = 0;
  for (std::size_t f = 0; f < tree.front.size(); ++f) {
    const Front& front = tree.front[f];
    ASSERT_EQ(front.first, next);
    next += front.pivots;
    for (Index j = front.first; j < next; ++j) {
      for (const Index i : below[j]) {
        const auto row = tree.row.begin() + front.begin;
        EXPECT_TRUE(i < next || std::binary_search(row, row + front.below, i));
        if (i != *below[j].begin()) below[*below[j].begin()].insert(i);
      }
    }
    for (Offset i = front.begin; i < front.begin + front.below; ++i) {
      const Front& parent = tree.front[front.parent];
      const Index into = tree.into[i];
      EXPECT_EQ(tree.row[i], into < parent.pivots ? parent.first + into
                                                  : tree.row[parent.begin + into - parent.pivots]);
    }
    EXPECT_TRUE(front.parent == kNoIndex || front.parent > to_index(f));
  }
  EXPECT_EQ(next, n);
}

// -- eliminations

/// Against dense Cholesky; where masses differ by 10^6, both know long mechanisms' solutions to the
/// round-off of an ill-conditioned matrix only.
void expect_dense_solution(Shapes& shapes, const char* name) {
  SCOPED_TRACE(name);
  MechanismMaker& maker = shapes.maker;
  const DenseJoints dense(maker.made);
  const double known = std::max(1e-10, 2e-15 * dense.condition());
  const auto elimination = make_dissected_elimination(maker.made);
  for (int step = 0; step < 2; ++step) {
    const Eigen::VectorXd b = dense.consistent(maker);
    elimination->factor(maker.made);
    const Eigen::VectorXd x = test::solve(*elimination, b);
    EXPECT_TRUE(elimination->report().redundant.empty());
    EXPECT_LT(dense.backward_error(x, b), 3e-15);
    EXPECT_LT(dense.difference(x, dense.solution(b)), known);
  }
}

TEST(DissectedElimination, MechanismsOfEveryShapeHaveTheDenseSolution) {
  for (const double decades : {0.0, 6.0}) {
    SCOPED_TRACE(decades);
    test::for_each_shape(30, decades, expect_dense_solution);
  }
}

TEST(DissectedElimination, RedundantRowsOfANetAreFoundAndItsReactionsAreOfLeastNorm) {
  // knots of the first row are held to the world: the rods between them are redundant
  for (const double decades : {0.0, 6.0}) {
    Shapes shapes(41, decades);
    MechanismMaker& maker = shapes.maker;
    constexpr Index kKnots = 6;
    test::add_held_net(maker, kKnots, decades);
    const DenseJoints dense(maker.made);
    const Eigen::VectorXd b = dense.consistent(maker);

    const auto elimination = make_dissected_elimination(maker.made);
    elimination->factor(maker.made);

    EXPECT_EQ(dense.a.rows() - dense.rank(), kKnots - 1);
    EXPECT_EQ(elimination->report().redundant.size(), static_cast<std::size_t>(kKnots - 1));
    const Eigen::VectorXd x = test::solve(*elimination, b);
    EXPECT_LT(dense.difference(x, dense.least_norm(b)), 1e-10);
    EXPECT_LT(dense.backward_error(x, b), 3e-15);
  }
}

/// Solutions of two eliminations of the same structure are the same bits at the second of two
/// steps, one of them having been made for it: what the first step met leaves no trace.
bool forgets(MechanismMaker& maker, double misfit_before, double misfit) {
  const MechanismRows& joints = maker.made;
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(joints.blocks.n_rows(), -1.0, 2.0);
  const auto kept = make_dissected_elimination(joints);
  maker.made.misfit = misfit_before;
  kept->factor(joints);
  test::solve(*kept, b);
  maker.made.misfit = misfit;
  const auto fresh = make_dissected_elimination(joints);
  for (const auto* elimination : {&kept, &fresh}) (*elimination)->factor(joints);
  EXPECT_FALSE(fresh->report().redundant.empty());
  return test::solve(*kept, b) == test::solve(*fresh, b);
}

TEST(DissectedElimination, InOrderedProblemsNothingDependsOnTheStepsBefore) {
  // too many redundant rows for null vectors: found by pivots that grow, else once for all
  Shapes net(42, 0.0);
  test::add_held_net(net.maker, 30, 0.0);
  // two rows that are nearly the same: genuine where nothing is out of place, else one is redundant
  Shapes pair(43, 0.0);
  const Index a = pair.maker.body(1.0, Vec3::Zero()), b = pair.maker.body(1.0, Vec3::UnitX());
  for (int i = 0; i < 2; ++i) pair.maker.rows({a, b}, 1);
  double* g = pair.maker.made.blocks.jacobian.data();
  for (int i = 0; i < 12; ++i) g[12 + i] = g[i] + 1e-5 * g[12 + i];

  EXPECT_FALSE(forgets(pair.maker, 0.0, 1e-4)) << "others remember, which saves a factorisation";
  net.maker.made.ordered = pair.maker.made.ordered = true;
  EXPECT_TRUE(forgets(net.maker, 0.0, 0.0));
  EXPECT_TRUE(forgets(pair.maker, 0.0, 1e-4));
}

// -- which rows may be redundant

/// A factor in name, of the unit matrix, whose last row has a given pivot over its diagonal.
class LowestPivot final : public CholeskyFactor {
 public:
  explicit LowestPivot(double pivot) : pivot_(pivot) {}
  bool factor(const MechanismRows& joints, std::span<const double>) override {
    diagonal_.resize(joints.blocks.n_rows());
    diagonal(joints, diagonal_);
    return true;
  }
  void solve(std::span<double>) override {}
  void pivots(std::span<double> out) override {
    std::ranges::copy(diagonal_, out.begin());
    out.back() *= pivot_;
  }
  std::int64_t raised() const override { return 0; }
  std::int64_t flops() const override { return 0; }

 private:
  double pivot_;
  std::vector<double> diagonal_;
};

TEST(RegularisedElimination, TakesLowPivotsForThoseOfRedundantRowsTheSoonerTheLongerALoopIs) {
  const auto is_regularised = [](const MechanismRows& joints, double pivot) {
    const auto made = make_regularised(joints, std::make_unique<LowestPivot>(pivot));
    made->factor(joints);
    return made->report().regularisation > kRoundOffAlone;
  };
  Shapes ring(44, 0.0), chain(45, 0.0), small(46, 0.0);
  ring.chain(1000, true);
  chain.chain(1000, false);
  small.chain(10, true);

  // 1e-12 a row of a loop (docs/theory.md, "Trees and loops")
  const double bound = 1e-12 * ring.maker.made.blocks.n_rows();
  ASSERT_GT(bound, 3e-9);
  EXPECT_TRUE(is_regularised(ring.maker.made, 0.5 * bound));
  EXPECT_FALSE(is_regularised(ring.maker.made, 2.0 * bound));
  // which is not asked of what is held once, nor where 1e-9 is more
  EXPECT_FALSE(is_regularised(chain.maker.made, 0.5 * bound));
  EXPECT_FALSE(is_regularised(small.maker.made, 2e-9));
  EXPECT_TRUE(is_regularised(small.maker.made, 0.5e-9));
}

}  // namespace
}  // namespace catena
