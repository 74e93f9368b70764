// The bounded LCP by pivoting: against trying all sets, on random, contact-like and degenerate
// problems, with block pivots and without; and its factor.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>

#include "catena/base/random.hpp"
#include "catena/math/types.hpp"
#include "solvers/pivoting/bounded_lcp.hpp"
#include "support/dense_algebra.hpp"

namespace catena {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Numbers of a seed, in [lo, hi).
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : seed_(seed) {}
  double operator()(double lo, double hi) { return lo + (hi - lo) * uniform01(seed_, ++drawn_, 0); }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

struct Problem {
  MatrixXd a;
  VectorXd b, lo, hi;
};

SymmetricRows rows_of(const MatrixXd& a) {
  SymmetricRows rows;
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    for (Eigen::Index j = 0; j < a.cols(); ++j) {
      if (a(i, j) == 0.0 && i != j) continue;
      rows.column.push_back(static_cast<Index>(j));
      rows.value.push_back(a(i, j));
    }
    rows.row_begin.push_back(static_cast<std::int64_t>(rows.value.size()));
  }
  return rows;
}

MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, Uniform& random) {
  MatrixXd m(rows, columns);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index j = 0; j < columns; ++j) m(i, j) = random(-1.0, 1.0);
  return m;
}

/// Bounds of all kinds: none, one, two, equal ones.
void random_bounds(Problem& p, Uniform& random) {
  const Eigen::Index n = p.b.size();
  p.lo.setConstant(n, -kInfinity);
  p.hi.setConstant(n, kInfinity);
  for (Eigen::Index i = 0; i < n; ++i) {
    if (i % 7 == 0) continue;
    p.lo[i] = i % 3 == 0 ? 0.0 : random(-1.0, 0.0);
    if (i % 3 != 0) p.hi[i] = i % 10 == 4 ? p.lo[i] : random(0.0, 1.0);
  }
}

/// A = G G^T of rank min(n, columns), b in its range, so that a solution exists.
Problem random_problem(Eigen::Index n, Eigen::Index columns, std::uint64_t seed) {
  Uniform random(seed);
  const MatrixXd g = random_matrix(n, columns, random);
  Problem p{g * g.transpose(), g * random_matrix(columns, 1, random), {}, {}};
  random_bounds(p, random);
  return p;
}

/// Every row twice, bounds and all.
Problem doubled_problem(Eigen::Index n, std::uint64_t seed) {
  const Problem half = random_problem(n / 2, n / 2 + 5, seed);
  Problem p{MatrixXd(n, n), VectorXd(n), VectorXd(n), VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) p.a(i, j) = half.a(i / 2, j / 2);
    p.b[i] = half.b[i / 2];
    p.lo[i] = half.lo[i / 2];
    p.hi[i] = half.hi[i / 2];
  }
  return p;
}

/// Contacts between bodies of which there are too few for independent rows: a normal and two
/// tangents each, masses over six orders, b = G v.
Problem contact_problem(Eigen::Index contacts, std::uint64_t seed) {
  Uniform random(seed);
  const Eigen::Index bodies = contacts / 3 + 2, n = 3 * contacts;
  MatrixXd g = MatrixXd::Zero(n, 6 * bodies);
  for (Eigen::Index k = 0; k < contacts; ++k) {
    const MatrixXd frame = MatrixXd(random_matrix(3, 3, random)).householderQr().householderQ() *
                           MatrixXd::Identity(3, 3);
    for (int side = 0; side < 2; ++side) {
      const auto body = static_cast<Eigen::Index>(random(0.0, 1.0) * static_cast<double>(bodies));
      const Eigen::Vector3d arm = random_matrix(3, 1, random);
      for (int r = 0; r < 3; ++r) {
        const Eigen::Vector3d d = (side == 0 ? 1.0 : -1.0) * frame.col(r);
        g.block(3 * k + r, 6 * body, 1, 3) += d.transpose();
        g.block(3 * k + r, 6 * body + 3, 1, 3) += arm.cross(d).transpose();
      }
    }
  }
  VectorXd inverse_mass(6 * bodies);
  for (Eigen::Index i = 0; i < bodies; ++i)
    inverse_mass.segment(6 * i, 6).setConstant(std::pow(10.0, random(-3.0, 3.0)));
  Problem p{g * inverse_mass.asDiagonal() * g.transpose(), g * random_matrix(6 * bodies, 1, random),
            VectorXd::Zero(n), VectorXd::Constant(n, kInfinity)};
  for (Eigen::Index i = 0; i < n; ++i) {
    if (i % 3 == 0) continue;
    p.hi[i] = i % 6 < 3 ? random(0.0, 0.1) : 0.0;  // half of them do not stick at all
    p.lo[i] = -p.hi[i];
  }
  return p;
}

/// Largest |x - P(x - w)| with rows scaled to A_ii = 1, over the largest |b| there.
double complementarity(const Problem& p, const VectorXd& x) {
  const VectorXd w = p.a * x + p.b;
  double largest = 0.0, size = 0.0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double s = std::sqrt(p.a(i, i));
    const double moved = std::min(std::max(x[i] - w[i] / p.a(i, i), p.lo[i]), p.hi[i]);
    largest = std::max(largest, s * std::abs(x[i] - moved));
    size = std::max(size, std::abs(p.b[i]) / s);
  }
  return largest / size;
}

/// By Dantzig's algorithm alone, or with block pivots from a guess.
LcpSettings settings(bool block) {
  LcpSettings s;
  s.block_pivots = block;
  if (!block) s.sweeps = 0;
  return s;
}

struct Solved {
  LcpResult result;
  VectorXd x;
};

Solved solve_lcp(const Problem& p, const LcpSettings& s) {
  Solved solved{{}, VectorXd::Zero(p.b.size())};
  BoundedLcp lcp(rows_of(p.a), s);
  solved.result = lcp.solve(p.b, p.lo, p.hi, solved.x);
  return solved;
}

void expect_solved(const Problem& p, const char* what) {
  for (const bool block : {false, true}) {
    const Solved s = solve_lcp(p, settings(block));
    EXPECT_TRUE(s.result.solved) << what << ", block pivots " << block;
    EXPECT_LE(complementarity(p, s.x), 1e-12) << what << ", block pivots " << block;
  }
}

/// The solution by trying which rows are free, at the lower bound or at the upper one.
std::optional<VectorXd> by_enumeration(const Problem& p) {
  const Eigen::Index n = p.b.size();
  const auto sets = static_cast<int>(std::pow(3.0, static_cast<double>(n)));
  for (int code = 0; code < sets; ++code) {
    MatrixXd system = MatrixXd::Identity(n, n);
    VectorXd rhs(n);
    bool possible = true;
    for (Eigen::Index i = 0, rest = code; i < n; ++i, rest /= 3) {
      if (rest % 3 == 0) system.row(i) = p.a.row(i);
      rhs[i] = rest % 3 == 0 ? -p.b[i] : rest % 3 == 1 ? p.lo[i] : p.hi[i];
      possible = possible && std::isfinite(rhs[i]);
    }
    if (!possible) continue;
    const VectorXd x = test::lu_solve(system, rhs);
    if (complementarity(p, x) < 1e-12) return x;
  }
  return std::nullopt;
}

TEST(BoundedLcp, EqualsTheSolutionFoundByTryingAllSets) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Problem p = random_problem(6, 9, seed);
    const std::optional<VectorXd> expected = by_enumeration(p);
    ASSERT_TRUE(expected) << seed;

    for (const bool block : {false, true}) {
      const Solved s = solve_lcp(p, settings(block));
      EXPECT_TRUE(s.result.solved) << seed;
      // x is as exact as w, times the condition of A, which is below 1e4 here
      EXPECT_LT((s.x - *expected).norm(), 1e-10 * expected->norm()) << seed;
    }
  }
}

TEST(BoundedLcp, RandomProblemsAreSolvedToRoundOff) {
  expect_solved(random_problem(150, 200, 1), "positive definite");
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    expect_solved(random_problem(50, 55, seed), "small");
}

TEST(BoundedLcp, SingularProblemsAreSolvedToRoundOff) {
  expect_solved(random_problem(120, 60, 2), "half rank");
  expect_solved(random_problem(40, 3, 3), "rank 3");
  expect_solved(doubled_problem(100, 4), "every row twice");
}

TEST(BoundedLcp, ContactsOfUnequalMassesAreSolvedToRoundOff) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    expect_solved(contact_problem(60, seed), "contacts");
}

TEST(BoundedLcp, TiesDoNotCycle) {
  // a chain of equal rows: whole groups reach their bounds at the same step, and where b = 0 all
  // rows stand at 0 = w
  const Eigen::Index n = 90;
  Problem p{MatrixXd::Zero(n, n), VectorXd(n), VectorXd::Zero(n), VectorXd::Constant(n, kInfinity)};
  for (Eigen::Index i = 0; i < n; ++i) {
    p.a(i, i) = 2.0;
    if (i > 0) p.a(i, i - 1) = p.a(i - 1, i) = -1.0;
    p.b[i] = i % 5 == 0 ? 1.0 : -1.0;
    if (i % 2 == 1) p.hi[i] = 1.0;
  }

  expect_solved(p, "equal rows");

  p.b.setZero();
  for (const bool block : {false, true}) {
    const Solved s = solve_lcp(p, settings(block));
    EXPECT_TRUE(s.result.solved);
    EXPECT_EQ(s.x.norm(), 0.0);
    EXPECT_LE(s.result.pivots, n);
  }
}

TEST(BoundedLcp, RegularisationLeavesNoTrace) {
  const Problem p = random_problem(60, 90, 5);
  LcpSettings coarse = settings(true);
  coarse.regularisation = 1e-5;

  const Solved s = solve_lcp(p, coarse);

  EXPECT_GT(s.result.refinements, 1);
  EXPECT_LE(complementarity(p, s.x), 1e-12);
}

TEST(BoundedLcp, RowsThatContradictEachOtherAreToldAndFinite) {
  // x + y = 1 and x + y = 2, both free
  Problem p{MatrixXd::Ones(2, 2), VectorXd(2), VectorXd::Constant(2, -kInfinity),
            VectorXd::Constant(2, kInfinity)};
  p.b << -1.0, -2.0;

  for (const bool block : {false, true}) {
    const Solved s = solve_lcp(p, settings(block));
    EXPECT_FALSE(s.result.solved);
    EXPECT_TRUE(s.x.allFinite());
    EXPECT_GT(s.result.residual, 0.1);
    EXPECT_EQ(s.result.end, LcpEnd::no_solution);
  }
}

TEST(BoundedLcp, SecondSolveStartsFromTheFreeRowsOfTheFirst) {
  Problem p = random_problem(80, 100, 6);
  BoundedLcp lcp(rows_of(p.a), settings(true));
  VectorXd x = VectorXd::Zero(80);
  const LcpResult first = lcp.solve(p.b, p.lo, p.hi, x);
  p.b *= 1.0 + 1e-9;

  const LcpResult second = lcp.solve(p.b, p.lo, p.hi, x);

  EXPECT_TRUE(second.solved);
  EXPECT_LE(complementarity(p, x), 1e-12);
  EXPECT_GT(first.appended_rows, 0);
  EXPECT_EQ(second.appended_rows, 0);
}

TEST(BoundedLcp, StopsWhenAsked) {
  const Problem p = random_problem(60, 90, 7);
  LcpSettings s = settings(false);
  int asked = 0;
  s.stop = [&] { return ++asked > 5; };

  const Solved solved = solve_lcp(p, s);

  EXPECT_TRUE(solved.result.stopped);
  EXPECT_EQ(solved.result.end, LcpEnd::stopped);
  EXPECT_FALSE(solved.result.solved);
  EXPECT_LE(solved.result.pivots, 5);
  EXPECT_TRUE((solved.x.array() >= p.lo.array()).all() && (solved.x.array() <= p.hi.array()).all());
}

TEST(BoundedLcp, TellsHowFarItIs) {
  const Problem p = random_problem(60, 90, 7);
  LcpSettings s = settings(false);
  std::vector<std::int64_t> pivots;
  Eigen::Index most = 0;
  s.progress = [&](const LcpResult& r, Eigen::Index free_rows) {
    pivots.push_back(r.pivots);
    most = std::max(most, free_rows);
  };

  const Solved solved = solve_lcp(p, s);

  ASSERT_FALSE(pivots.empty());
  EXPECT_TRUE(std::is_sorted(pivots.begin(), pivots.end()));
  EXPECT_GE(pivots.back(), solved.result.pivots - 1);
  EXPECT_GT(most, 0);
}

TEST(BoundedLcp, ResponseIsTheDerivativeOfTheSolution) {
  Problem p = random_problem(40, 60, 8);
  BoundedLcp lcp(rows_of(p.a), settings(true));
  VectorXd x = VectorXd::Zero(40);
  lcp.solve(p.b, p.lo, p.hi, x);
  Eigen::Index row = 0;
  while (lcp.held(row) != 1) ++row;

  const MatrixXd response = lcp.response({{{row, 2.0}}});
  p.hi[row] += 2e-4;
  VectorXd moved = x;
  lcp.solve(p.b, p.lo, p.hi, moved);

  // piecewise linear: exact as long as no row changes sides
  moved[row] = x[row];
  EXPECT_LT((moved - x - 1e-4 * response).norm(), 1e-9 * response.norm());
  EXPECT_GT(response.norm(), 0.0);
}

TEST(LdlFactor, RowsComeAndGo) {
  Uniform random(9);
  const MatrixXd g = random_matrix(70, 90, random);
  const MatrixXd a = g * g.transpose();
  LdlFactor factor(1e-30);
  std::vector<Eigen::Index> order;
  const auto append = [&](Eigen::Index begin, Eigen::Index end) {
    for (Eigen::Index i = begin; i < end; ++i) order.push_back(i);
    MatrixXd rows = a(order, Eigen::seqN(begin, end - begin));
    factor.append(rows);
  };
  const auto remove = [&](Eigen::Index place) {
    factor.remove(place);
    order.erase(order.begin() + place);
  };

  append(0, 30);
  append(30, 31);
  for (const Eigen::Index place : {30, 0, 17, 17, 3}) remove(place);
  append(31, 70);
  remove(40);

  ASSERT_EQ(factor.size(), static_cast<Eigen::Index>(order.size()));
  const MatrixXd kept = a(order, order);
  const MatrixXd expected = random_matrix(factor.size(), 2, random);
  MatrixXd columns = kept * expected;
  VectorXd single = columns.col(0);
  factor.solve(single);
  factor.solve_columns(columns);
  EXPECT_LT((columns - expected).norm(), 1e-10 * expected.norm());
  EXPECT_LT((single - expected.col(0)).norm(), 1e-10 * expected.norm());
}

}  // namespace
}  // namespace catena
