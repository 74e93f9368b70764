#include "solvers/pivoting/ldl_factor.hpp"

#include <algorithm>

namespace catena {

void LdlFactor::reserve(Index size) {
  if (size <= room_) return;
  const Index room = std::max(size, room_ + room_ / 2);
  HugeVector<double> larger(room * room);
  for (Index c = 0; c < size_; ++c)
    std::copy_n(lower_.data() + c * room_, size_, larger.data() + c * room);
  lower_.swap(larger);
  room_ = room;
  pivots_.conservativeResize(room);
  work_.resize(room);
}

void LdlFactor::append(Eigen::Ref<Eigen::MatrixXd> rows, Index first) {
  const Index m = rows.cols();
  const Index k = size_;
  reserve(k + m);
  Matrix lower = this->lower();
  auto own = lower.block(k, k, m, m);
  own = rows.bottomRows(m);
  const Index behind = k - first;
  if (behind > 0) {
    // W = L^-1 A_12;  L_21 = (D^-1 W)^T;  own block less W^T D^-1 W
    auto w = rows.middleRows(first, behind);
    lower.block(first, first, behind, behind).triangularView<Eigen::UnitLower>().solveInPlace(w);
    auto l = lower.block(k, first, m, behind);
    l.noalias() = w.transpose() * pivots_.segment(first, behind).cwiseInverse().asDiagonal();
    own.noalias() -= l * w;
  }
  lower.block(k, 0, m, first).setZero();
  for (Index j = 0; j < m; ++j) {
    const double pivot = std::max(own(j, j), floor_);
    pivots_[k + j] = pivot;
    const Index rest = m - j - 1;
    if (rest == 0) break;
    auto column = own.col(j).tail(rest);
    own.bottomRightCorner(rest, rest).noalias() -= column * (column / pivot).transpose();
    column /= pivot;
  }
  size_ = k + m;
}

void LdlFactor::remove(Index i) {
  const Index rest = size_ - i - 1;
  Matrix lower = this->lower();
  for (Index c = 0; c < i; ++c) {
    double* column = lower.col(c).data();
    std::copy(column + i + 1, column + size_, column + i);
  }
  // L_33 D_3 L_33^T + d l l^T, moved up and left by one on the way (method C1 of Gill, Golub,
  // Murray and Saunders, 1974): d > 0, so nothing is lost
  double weight = pivots_[i];
  double* w = work_.data();
  std::copy_n(lower.col(i).data() + i + 1, rest, w);
  for (Index c = 0; c < rest; ++c) {
    const double p = w[c];
    const double old = pivots_[i + 1 + c];
    const double pivot = old + weight * p * p;
    const double beta = weight * p / pivot;
    weight *= old / pivot;
    pivots_[i + c] = pivot;
    const double* from = lower.col(i + 1 + c).data() + i + 1;
    double* to = lower.col(i + c).data() + i;
    for (Index r = c + 1; r < rest; ++r) {
      w[r] -= p * from[r];
      to[r] = from[r] + beta * w[r];
    }
  }
  --size_;
}

void LdlFactor::solve(Eigen::Ref<Eigen::VectorXd> x) const {
  const auto l = lower().topLeftCorner(size_, size_).triangularView<Eigen::UnitLower>();
  l.solveInPlace(x);
  x.array() /= pivots_.head(size_).array();
  l.transpose().solveInPlace(x);
}

void LdlFactor::solve_columns(Eigen::Ref<Eigen::MatrixXd> x) const {
  const auto l = lower().topLeftCorner(size_, size_).triangularView<Eigen::UnitLower>();
  l.solveInPlace(x);
  x.array().colwise() /= pivots_.head(size_).array();
  l.transpose().solveInPlace(x);
}

}  // namespace catena
