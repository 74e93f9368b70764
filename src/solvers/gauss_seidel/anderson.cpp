#include "solvers/gauss_seidel/anderson.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "catena/comm/sums.hpp"

namespace catena {

Anderson::Anderson(const Communicator& comm, std::vector<IteratePiece> pieces, int depth,
                   bool exact)
    : comm_(comm), pieces_(std::move(pieces)), depth_(depth), exact_(exact) {
  std::stable_partition(pieces_.begin(), pieces_.end(),
                        [](const IteratePiece& p) { return p.weight != nullptr; });
  for (const IteratePiece& p : pieces_) {
    size_ += p.items * p.width;
    if (p.weight != nullptr) weighted_ += p.items * p.width;
  }
  y_.resize(size_);
  g_.resize(size_);
  f_.resize(weighted_);
  change_f_.assign(depth_, std::vector<float>(weighted_));
  change_g_.assign(depth_, std::vector<float>(size_));
}

/// Calls visit(numbers, width, place) for every group, `place` counting numbers.
template <class Visit>
void Anderson::each(Visit&& visit) const {
  std::size_t at = 0;
  for (const IteratePiece& p : pieces_)
    for (std::size_t i = 0; i < p.items; ++i, at += p.width)
      visit(p.first + i * p.stride, p.width, at);
}

void Anderson::start() {
  each([&](const double* x, std::size_t width, std::size_t at) {
    std::copy_n(x, width, y_.begin() + at);
  });
  known_ = false;
  kept_ = 0;
  last_ = kInfinity;
}

/// g and f of the pieces, and their changes, the latest first.
void Anderson::take_g() {
  if (known_) {
    std::rotate(change_f_.begin(), change_f_.end() - 1, change_f_.end());
    std::rotate(change_g_.begin(), change_g_.end() - 1, change_g_.end());
    kept_ = std::min(kept_ + 1, depth_);
  }
  float* change_f = change_f_.front().data();
  float* change_g = change_g_.front().data();
  each([&](const double* x, std::size_t width, std::size_t at) {
    for (std::size_t j = 0; at < weighted_ && j < width; ++j) {
      const double f = x[j] - y_[at + j];
      change_f[at + j] = static_cast<float>(f - f_[at + j]);
      f_[at + j] = f;
    }
    for (std::size_t j = 0; j < width; ++j) {
      change_g[at + j] = static_cast<float>(x[j] - g_[at + j]);
      g_[at + j] = x[j];
    }
  });
  known_ = true;
}

void Anderson::multiply() {
  const std::size_t n = kept_ + 1;  // f, then the changes
  std::vector<Sum> sums(n * (n + 1) / 2, Sum(exact_));
  std::vector<double> piece(sums.size());
  std::size_t at = 0;
  for (const IteratePiece& p : pieces_) {
    if (p.weight == nullptr) break;
    std::fill(piece.begin(), piece.end(), 0.0);
    for (std::size_t item = 0; item < p.items; ++item) {
      const double* weight = p.weight + item * p.stride;
      for (std::size_t j = 0; j < p.width; ++j, ++at) {
        const double w = weight[j % p.weights];
        const double f = w * f_[at];
        std::size_t k = 0;
        piece[k++] += f * f_[at];
        for (std::size_t a = 0; a < kept_; ++a) {
          const double change = change_f_[a][at];
          piece[k++] += f * change;
          for (std::size_t b = 0; b <= a; ++b) piece[k++] += w * change * change_f_[b][at];
        }
      }
    }
    for (std::size_t k = 0; k < piece.size(); ++k) sums[k] += piece[k];
  }
  SumWords words(exact_);
  for (const Sum& sum : sums) words.add(sum);
  comm_.sum(words.words());
  products_.resize(sums.size());
  for (std::size_t k = 0; k < sums.size(); ++k) products_[k] = words[k];
}

/// gamma from the normal equations; false: they tell nothing.
bool Anderson::solve_least_squares() {
  const auto n = to_index(kept_);
  Eigen::MatrixXd a(n, n);
  Eigen::VectorXd b(n);
  std::size_t k = 1;
  for (Index i = 0; i < n; ++i) {
    b[i] = products_[k++];
    for (Index j = 0; j <= i; ++j) a(i, j) = a(j, i) = products_[k++];
  }
  const double trace = a.trace();
  if (!(trace > 0.0) || !a.allFinite() || !b.allFinite()) return false;
  a.diagonal().array() += 1e-10 * trace;
  const Eigen::VectorXd gamma = a.ldlt().solve(b);
  if (!gamma.allFinite()) return false;
  gamma_.assign(gamma.begin(), gamma.end());
  return true;
}

void Anderson::mix() {
  take_g();
  multiply();
  const double now = products_[0];
  if (!(now <= last_)) kept_ = 0;
  last_ = now;
  const bool mixes = kept_ > 0 && solve_least_squares();
  each([&](double* x, std::size_t width, std::size_t at) {
    for (std::size_t j = 0; mixes && j < width; ++j) {
      double next = x[j];
      for (std::size_t k = 0; k < kept_; ++k) next -= gamma_[k] * change_g_[k][at + j];
      x[j] = next;
    }
    std::copy_n(x, width, y_.begin() + at);
  });
}

}  // namespace catena
