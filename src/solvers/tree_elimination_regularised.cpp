#include <algorithm>
#include <cmath>
#include <numeric>

#include "catena/base/error.hpp"
#include "tree_elimination_factor.hpp"

namespace catena {
namespace {

/// Of every row where redundant rows were found: far above round-off, far below what moves.
constexpr double kRedundantRegularisation = 1e-9;
/// Pivots (over the diagonal) below this are looked at a second time.
constexpr double kSuspicious = 1e-7;
/// A redundant row's pivot is proportional to epsilon, any other's is not: how much it grows from
/// the first epsilon to the second tells them apart. Geometric mean of no growth and all of it.
const double kGrowth = std::sqrt(kRedundantRegularisation / kJointRegularisation);
/// Null vectors of one mechanism that are worth their memory and time.
constexpr std::size_t kMostNullVectors = 32;
/// Naming redundant rows may cost a factorisation in a poor order up to this size.
constexpr Index kMostRowsNamed = 20000;
constexpr int kRefinements = 8;
constexpr std::size_t kNamed = 100;

/// diag(G M^-1 G^T + Sigma); 1 where a row is empty.
void diagonal(const JointBlocks& joints, std::span<double> out) {
  const GeneralBlocks& blocks = joints.blocks;
  const ProblemBodies& bodies = joints.bodies;
  std::vector<double> f;
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    const auto first = static_cast<std::size_t>(blocks.row_begin[k]);
    const auto rows = static_cast<std::size_t>(blocks.row_begin[k + 1]) - first;
    for (std::size_t r = 0; r < rows; ++r) out[first + r] = blocks.compliance[first + r];
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      const Index body = blocks.body[static_cast<std::size_t>(j)];
      const auto b = static_cast<std::size_t>(body);
      const auto dofs = static_cast<std::size_t>(bodies.dof_begin[b + 1] - bodies.dof_begin[b]);
      const double* g = blocks.jacobian.data() + blocks.jacobian_begin[static_cast<std::size_t>(j)];
      const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
      if (bodies.mass_kind[b] == MassKind::rigid) {
        for (std::size_t r = 0; r < rows; ++r, g += 6) {
          out[first + r] += m[0] * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) + m[1] * g[3] * g[3] +
                            m[4] * g[4] * g[4] + m[6] * g[5] * g[5] +
                            2.0 * (m[2] * g[3] * g[4] + m[3] * g[3] * g[5] + m[5] * g[4] * g[5]);
        }
        continue;
      }
      f.resize(dofs);
      for (std::size_t r = 0; r < rows; ++r, g += dofs) {
        apply_inverse_mass(bodies, body, {g, dofs}, f);
        out[first + r] += std::inner_product(f.begin(), f.end(), g, 0.0);
      }
    }
  }
  for (double& d : out) d = d == 0.0 ? 1.0 : d;
}

/// Per row, which mechanism it belongs to, 0 .. n-1.
std::vector<Index> mechanism_of_rows(const JointBlocks& structure, Index& n) {
  const GeneralBlocks& blocks = structure.blocks;
  std::vector<Index> up(static_cast<std::size_t>(structure.bodies.size()));
  std::iota(up.begin(), up.end(), 0);
  const auto root = [&](Index b) {
    while (up[static_cast<std::size_t>(b)] != b) {
      b = up[static_cast<std::size_t>(b)] =
          up[static_cast<std::size_t>(up[static_cast<std::size_t>(b)])];
    }
    return b;
  };
  const auto first_body = [&](std::size_t k) {
    return blocks.body[static_cast<std::size_t>(blocks.body_begin[k])];
  };
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    CATENA_CHECK(blocks.body_begin[k + 1] > blocks.body_begin[k], "joints have bodies");
    for (Index j = blocks.body_begin[k] + 1; j < blocks.body_begin[k + 1]; ++j) {
      up[static_cast<std::size_t>(root(blocks.body[static_cast<std::size_t>(j)]))] =
          root(first_body(k));
    }
  }
  std::vector<Index> number(up.size(), kNoIndex);
  std::vector<Index> of_row;
  n = 0;
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    Index& mechanism = number[static_cast<std::size_t>(root(first_body(k)))];
    if (mechanism == kNoIndex) mechanism = n++;
    of_row.resize(static_cast<std::size_t>(blocks.row_begin[k + 1]), mechanism);
  }
  return of_row;
}

class RegularisedElimination final : public JointElimination {
 public:
  RegularisedElimination(const JointBlocks& structure, std::unique_ptr<CholeskyFactor> factor)
      : factor_(std::move(factor)),
        name_(structure.blocks.name),
        row_begin_(structure.blocks.row_begin) {
    mechanism_ = mechanism_of_rows(structure, n_mechanisms_);
    const auto n = static_cast<std::size_t>(structure.blocks.n_rows());
    for (auto* v : {&diagonal_, &added_, &pivot_, &second_pivot_, &change_}) v->resize(n, 1.0);
    sum_.resize(static_cast<std::size_t>(n_mechanisms_));
  }

  void factor(const JointBlocks& joints) override;
  void solve(std::span<const double> b, std::span<double> lambda) override;
  const FactorReport& report() const override { return report_; }

 private:
  void factor_with(const JointBlocks& joints, double epsilon);
  bool suspicious();
  void find_redundant_rows();
  void find_null_vectors();
  void name_redundant_rows();
  void sums(std::span<const double> a, std::span<const double> b);
  void add(std::span<const double> n, bool weighted, std::span<double> x);
  void remove_reactions_at_rest(std::span<double> x);

  std::unique_ptr<CholeskyFactor> factor_;
  std::vector<std::int64_t> name_;
  std::vector<Index> row_begin_;
  Index n_mechanisms_ = 0;
  std::vector<Index> mechanism_;  ///< per row
  FactorReport report_;
  double epsilon_ = 0.0;
  double genuine_ = kSuspicious;  ///< smaller pivots than this have not been seen to be genuine
  bool looked_ = false;           ///< pivots were looked at; costly ones are once
  std::vector<Index> redundant_;  ///< rows, ascending
  /// N: null vectors of A, D-orthonormal within each mechanism; vector i of all mechanisms in one.
  std::vector<std::vector<double>> null_;
  std::vector<double> diagonal_, added_, pivot_, second_pivot_, change_, sum_;
};

void RegularisedElimination::factor_with(const JointBlocks& joints, double epsilon) {
  epsilon_ = epsilon;
  for (std::size_t i = 0; i < added_.size(); ++i) added_[i] = epsilon * diagonal_[i];
  if (factor_->factor(joints, added_)) return;
  if (epsilon < kRedundantRegularisation) return factor_with(joints, kRedundantRegularisation);
  throw Error("the matrix of " + std::to_string(added_.size()) +
                  " joint rows is not positive definite, though regularised",
              "joints", "look for joints with very different masses or lengths",
              ExitCode::runtime_error);
}

/// Reads the pivots; whether any may be that of a redundant row.
bool RegularisedElimination::suspicious() {
  factor_->pivots(pivot_);
  double smallest = 1.0;
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    smallest = std::min(smallest, pivot_[i] / diagonal_[i]);
  }
  report_.smallest_pivot = smallest;
  return smallest < genuine_;
}

void RegularisedElimination::factor(const JointBlocks& joints) {
  report_ = {};
  diagonal(joints, diagonal_);
  const bool costly = factor_->costly_pivots();
  const bool look = !costly || (!looked_ && row_begin_.back() <= kMostRowsNamed);
  if (!look) {
    factor_with(joints, redundant_.empty() ? kJointRegularisation : kRedundantRegularisation);
  } else {
    looked_ = true;
    redundant_.clear();
    factor_with(joints, kJointRegularisation);
    if (suspicious()) {
      const bool again = epsilon_ < kRedundantRegularisation;
      if (again) factor_with(joints, kRedundantRegularisation);
      find_redundant_rows();
      if (redundant_.empty()) {
        genuine_ = 0.3 * report_.smallest_pivot;
        factor_with(joints, kJointRegularisation);
      }
    }
  }
  report_.regularisation = epsilon_;
  report_.raised = factor_->raised();
  report_.flops = factor_->flops();
  find_null_vectors();
  name_redundant_rows();
}

void RegularisedElimination::find_redundant_rows() {
  factor_->pivots(second_pivot_);
  for (std::size_t i = 0; i < pivot_.size(); ++i) {
    if (!(pivot_[i] < kSuspicious * diagonal_[i])) continue;
    // round-off may have taken the first pivot
    const double first = std::max(pivot_[i], kPivotFloor * kJointRegularisation * diagonal_[i]);
    if (second_pivot_[i] > kGrowth * first) redundant_.push_back(static_cast<Index>(i));
  }
}

void RegularisedElimination::name_redundant_rows() {
  for (const Index row : redundant_) {
    if (report_.redundant.size() == kNamed) return;
    const auto above = std::upper_bound(row_begin_.begin(), row_begin_.end(), row);
    const auto k = static_cast<std::size_t>(above - row_begin_.begin()) - 1;
    report_.redundant.push_back({name_[k], static_cast<int>(row - row_begin_[k])});
  }
}

/// sum_[m] = a . b over the rows of mechanism m.
void RegularisedElimination::sums(std::span<const double> a, std::span<const double> b) {
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum_[static_cast<std::size_t>(mechanism_[i])] += a[i] * b[i];
  }
}

/// x <- x - [D] n sum_, mechanism by mechanism.
void RegularisedElimination::add(std::span<const double> n, bool weighted, std::span<double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] -= (weighted ? diagonal_[i] : 1.0) * n[i] * sum_[static_cast<std::size_t>(mechanism_[i])];
  }
}

/// x <- x - N N^T D x: what is left is of least norm in the metric of D.
void RegularisedElimination::remove_reactions_at_rest(std::span<double> x) {
  for (const std::vector<double>& n : null_) {
    for (std::size_t i = 0; i < x.size(); ++i) change_[i] = diagonal_[i] * x[i];
    sums(n, change_);
    add(n, false, x);
  }
}

/// Inverse iteration from the redundant rows: (A + epsilon D)^-1 D multiplies null vectors by
/// 1/epsilon and all others by no more than 1/(epsilon + sigma).
void RegularisedElimination::find_null_vectors() {
  null_.clear();
  std::vector<std::vector<Index>> rows(static_cast<std::size_t>(n_mechanisms_));
  std::size_t most = 0;
  for (const Index row : redundant_) {
    auto& of = rows[static_cast<std::size_t>(mechanism_[static_cast<std::size_t>(row)])];
    of.push_back(row);
    most = std::max(most, of.size());
  }
  if (most > kMostNullVectors) return;
  std::vector<double> x(diagonal_.size()), kept(diagonal_.size());
  for (std::size_t i = 0; i < most; ++i) {
    std::fill(x.begin(), x.end(), 0.0);
    for (const auto& of : rows) {
      if (i < of.size()) x[static_cast<std::size_t>(of[i])] = 1.0;
    }
    for (int round = 0; round < 4; ++round) {
      for (std::size_t r = 0; r < x.size(); ++r) kept[r] = x[r] * diagonal_[r] * epsilon_;
      factor_->solve(kept);
      remove_reactions_at_rest(kept);
      remove_reactions_at_rest(kept);
      // growth of vectors of unit length: 1 if null
      for (std::size_t r = 0; r < x.size(); ++r) change_[r] = kept[r] * diagonal_[r];
      sums(kept, change_);
      for (std::size_t r = 0; r < x.size(); ++r) {
        const double square = sum_[static_cast<std::size_t>(mechanism_[r])];
        const bool null = square > (round == 3 ? 0.25 : 0.0);
        x[r] = null ? kept[r] / std::sqrt(square) : 0.0;
      }
    }
    null_.push_back(x);
  }
}

/// A x = b - [what N makes contradictory], of least norm. The residual of a solution of the
/// regularised system is epsilon D x, exactly: no product with A is needed to refine.
void RegularisedElimination::solve(std::span<const double> b, std::span<double> lambda) {
  if (lambda.data() != b.data()) std::copy(b.begin(), b.end(), lambda.begin());
  for (const std::vector<double>& n : null_) {
    sums(n, lambda);
    add(n, true, lambda);
  }
  factor_->solve(lambda);
  remove_reactions_at_rest(lambda);
  std::vector<double>& delta = second_pivot_;
  std::copy(lambda.begin(), lambda.end(), delta.begin());
  double before = 0.0;
  for (int round = 0; round < kRefinements; ++round) {
    for (std::size_t i = 0; i < delta.size(); ++i) delta[i] *= added_[i];
    factor_->solve(delta);
    remove_reactions_at_rest(delta);
    double change = 0.0, size = 0.0;
    for (std::size_t i = 0; i < delta.size(); ++i) {
      change += diagonal_[i] * delta[i] * delta[i];
      size += diagonal_[i] * lambda[i] * lambda[i];
    }
    // contradictory rows that were not found: their reactions would grow without end
    if (round > 0 && !(change < 0.25 * before)) {
      looked_ = false;
      return;
    }
    for (std::size_t i = 0; i < delta.size(); ++i) lambda[i] += delta[i];
    before = change;
    if (epsilon_ * std::sqrt(change) <= 1e-16 * std::sqrt(size)) return;
  }
}

}  // namespace

std::unique_ptr<JointElimination> make_regularised(const JointBlocks& structure,
                                                   std::unique_ptr<CholeskyFactor> factor) {
  return std::make_unique<RegularisedElimination>(structure, std::move(factor));
}

}  // namespace catena
