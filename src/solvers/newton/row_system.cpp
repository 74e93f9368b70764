#include <algorithm>
#include <cmath>

#include "catena/constraints/delassus_matrix.hpp"
#include "solvers/newton/condensed_system.hpp"

namespace catena {
namespace {

/// Differences below this part of an operator's largest entry are none.
constexpr double kRoundOff = 1e-12;

/// C + B (N + regularisation D), rows of three per contact.
class RowSystem : public CondensedSystem {
 public:
  explicit RowSystem(const ConstraintProblem& problem);

  bool set_values(const BlockMatrices& c, const BlockMatrices* b, double regularisation,
                  std::span<double> values) override;
  bool is_symmetric() const override { return symmetric_; }
  void reduce(std::span<const double> r, std::span<double> right) override {
    std::copy(r.begin(), r.end(), right.begin());
  }
  void recover(std::span<const double>, std::span<const double> z,
               std::span<double> dlambda) override {
    std::copy(z.begin(), z.end(), dlambda.begin());
  }

 private:
  using Rows = Eigen::Map<Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::RowMajor>>;
  using ConstRows = Eigen::Map<const Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::RowMajor>>;

  DelassusMatrix n_;
  std::vector<std::size_t> own_;  ///< per contact: place of its own first column in its rows
  bool symmetric_ = true;
};

/// Files hold operators that are not symmetric to some per mille. What other ranks hold is not
/// compared.
bool equals_its_transpose(const AssembledOperator& op) {
  double largest = 0.0, difference = 0.0;
  for (Index i = 0; i < op.n_rows(); ++i)
    for (std::size_t j = op.row_begin[i]; j < static_cast<std::size_t>(op.row_begin[i + 1]); ++j) {
      const Index column = op.column[j];
      if (column >= op.n_rows()) continue;
      double mirrored = 0.0;
      for (std::size_t k = op.row_begin[column];
           k < static_cast<std::size_t>(op.row_begin[column + 1]); ++k)
        if (op.column[k] == i) mirrored += op.value[k];
      largest = std::max(largest, std::abs(op.value[j]));
      difference = std::max(difference, std::abs(op.value[j] - mirrored));
    }
  return difference <= kRoundOff * largest;
}

RowSystem::RowSystem(const ConstraintProblem& problem) : n_(assemble_delassus(problem)) {
  pattern_.owned = n_.n_rows();
  pattern_.first = n_.first;
  pattern_.total = n_.total;
  pattern_.block_size = 3;
  symmetric_ = problem.comm.min(std::int64_t{equals_its_transpose(*problem.assembled) ? 1 : 0}) > 0;
  pattern_.column = n_.column;
  for (Index i = 0; i < n_.n_rows(); ++i) {
    const auto begin = n_.column.begin() + n_.row_begin[i],
               end = n_.column.begin() + n_.row_begin[i + 1];
    pattern_.row.insert(pattern_.row.end(), end - begin, to_index(n_.first) + i);
    if (i % 3 == 0) own_.push_back(std::lower_bound(begin, end, to_index(n_.first) + i) - begin);
  }
}

bool RowSystem::set_values(const BlockMatrices& c, const BlockMatrices* b, double regularisation,
                           std::span<double> values) {
  using Mat3Rows = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
  for (std::size_t k = 0; k < own_.size(); ++k) {
    const auto block = to_index(k);
    const std::int64_t begin = n_.row_begin[3 * k];
    const Eigen::Index columns = n_.row_begin[3 * k + 1] - begin;
    const Eigen::Index own = own_[k];
    const ConstRows n(n_.value.data() + begin, 3, columns);
    Rows out(values.data() + begin, 3, columns);
    out = n;
    for (Eigen::Index i = 0; i < 3; ++i) {
      const double d = n(i, own + i);
      out(i, own + i) += regularisation * (d > 0.0 ? d : 1.0);
    }
    if (b != nullptr) out = (Mat3Rows(b->block(block)) * out).eval();
    out.middleCols<3>(own) += Mat3Rows(c.block(block));
    if (!out.allFinite()) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<CondensedSystem> make_row_system(const ConstraintProblem& problem) {
  return std::make_unique<RowSystem>(problem);
}

}  // namespace catena
