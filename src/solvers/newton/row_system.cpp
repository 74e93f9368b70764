#include <algorithm>
#include <cmath>

#include "catena/comm/halo_exchange.hpp"
#include "solvers/newton/condensed_system.hpp"

namespace catena {
namespace {

/// Of an operator's largest entry: differences below are none.
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

  // contact k has columns [column_begin_[k], column_begin_[k + 1]) and thrice as many numbers
  std::vector<std::size_t> column_begin_ = {0};
  std::vector<std::size_t> own_;  ///< place of the contact's own first column among them
  std::vector<double> n_;         ///< N, 3 x columns per contact
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

RowSystem::RowSystem(const ConstraintProblem& problem) {
  const AssembledOperator& op = *problem.assembled;
  pattern_.owned = op.n_rows();
  pattern_.first = problem.comm.exclusive_sum(std::int64_t{pattern_.owned});
  pattern_.total = problem.comm.sum(std::int64_t{pattern_.owned});
  pattern_.block_size = 3;
  symmetric_ = problem.comm.min(std::int64_t{equals_its_transpose(op) ? 1 : 0}) > 0;
  std::vector<double> number(op.n_rows() + op.n_halo_rows);
  for (std::int64_t i = 0; i < op.n_rows(); ++i)
    number[i] = static_cast<double>(pattern_.first) + static_cast<double>(i);
  HaloExchange halo(problem.comm, op.halo, 3, Tag::row_numbers);
  halo.begin(number);
  halo.end(number);
  std::vector<Index> columns;
  for (Index k = 0; k < op.n_rows() / 3; ++k) {
    const auto begin = op.row_begin[3 * k];
    const auto end = op.row_begin[3 * k + 3];
    columns.assign(op.column.begin() + begin, op.column.begin() + end);
    for (Index i = 0; i < 3; ++i) columns.push_back(3 * k + i);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    const auto place = [&](Index c) {
      return std::lower_bound(columns.begin(), columns.end(), c) - columns.begin();
    };
    own_.push_back(place(3 * k));
    const std::size_t first = n_.size();
    n_.resize(first + 3 * columns.size(), 0.0);
    for (Index i = 0; i < 3; ++i) {
      for (std::size_t j = op.row_begin[3 * k + i];
           j < static_cast<std::size_t>(op.row_begin[3 * k + i + 1]); ++j)
        n_[first + Offset{i} * columns.size() + place(op.column[j])] += op.value[j];
      for (const Index c : columns) {
        pattern_.row.push_back(to_index(pattern_.first) + 3 * k + i);
        pattern_.column.push_back(static_cast<Index>(number[c]));
      }
    }
    column_begin_.push_back(column_begin_.back() + columns.size());
  }
}

bool RowSystem::set_values(const BlockMatrices& c, const BlockMatrices* b, double regularisation,
                           std::span<double> values) {
  using Mat3Rows = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>;
  for (std::size_t k = 0; k < own_.size(); ++k) {
    const auto block = to_index(k);
    const Eigen::Index columns = column_begin_[k + 1] - column_begin_[k];
    const Eigen::Index own = own_[k];
    const ConstRows n(n_.data() + 3 * column_begin_[k], 3, columns);
    Rows out(values.data() + 3 * column_begin_[k], 3, columns);
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
