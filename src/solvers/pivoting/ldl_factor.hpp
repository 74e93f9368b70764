// L D L^T of the rows that a pivoting method holds free, kept while rows come and go.
#pragma once

#include <Eigen/Core>

#include "catena/base/huge_pages.hpp"

namespace catena {

/// A = L D L^T of a symmetric positive definite matrix, L unit lower triangular, rows in the order
/// in which they came. Rows are appended in blocks (level-3 work) and removed one by one, each
/// removal a rank-one update of what lies behind it. A pivot that is not positive is raised to
/// `floor`, which says that the matrix is not positive definite to working precision.
class LdlFactor {
 public:
  using Index = Eigen::Index;

  /// `floor` > 0, in the units of the diagonal.
  explicit LdlFactor(double floor) : floor_(floor) {}

  Index size() const { return size_; }
  /// Pivots D, size() numbers.
  Eigen::Ref<const Eigen::VectorXd> pivots() const { return pivots_.head(size_); }
  /// Room for so many rows, so that appending them moves nothing.
  void reserve(Index size);
  /// Rows 0 .. size-1 stay. Free.
  void truncate(Index size) { size_ = size; }
  /// Appends m rows: column c of `rows` ((size() + m) x m, overwritten) holds the entries of new
  /// row c with the rows so far and with the new ones. `first`: all entries above it are zero.
  /// Flops: 2 m (size - first)^2 / 2, in triangular solves with m right-hand sides.
  void append(Eigen::Ref<Eigen::MatrixXd> rows, Index first = 0);
  /// Takes row i out. Flops: 4 (size - i)^2 / 2.
  void remove(Index i);
  /// x <- A^-1 x, size() numbers. Flops: 2 size^2.
  void solve(Eigen::Ref<Eigen::VectorXd> x) const;
  /// The same for each column of x.
  void solve_columns(Eigen::Ref<Eigen::MatrixXd> x) const;

 private:
  using Matrix = Eigen::Map<Eigen::MatrixXd>;
  using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;
  Matrix lower() { return {lower_.data(), room_, room_}; }
  ConstMatrix lower() const { return {lower_.data(), room_, room_}; }

  double floor_;
  Index size_ = 0, room_ = 0;
  HugeVector<double> lower_;  ///< room x room by columns, below the diagonal: L
  Eigen::VectorXd pivots_, work_;
};

}  // namespace catena
