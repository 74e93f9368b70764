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
  change_g_.assign(depth_, std::vector<double>(size_));
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

/// g and f of the pieces, their changes, the latest first, and the weighted products of f and the
/// changes of it: f.f, then for each change its products with f and with the changes up to it.
void Anderson::take_g() {
  if (known_) {
    std::rotate(change_f_.begin(), change_f_.end() - 1, change_f_.end());
    std::rotate(change_g_.begin(), change_g_.end() - 1, change_g_.end());
    kept_ = std::min(kept_ + 1, depth_);
  }
  known_ = true;
  const std::size_t n = kept_ * (kept_ + 3) / 2 + 1;
  std::vector<Sum> sums(n, Sum(exact_));
  std::vector<Chunk> lanes(n);
  std::size_t at = 0;
  for (const IteratePiece& p : pieces_) {
    std::fill(lanes.begin(), lanes.end(), Chunk{});
    for (std::size_t i = 0; i < p.items; ++i, at += p.width) {
      const double* x = p.first + i * p.stride;
      for (std::size_t j = 0; p.weight != nullptr && j < p.width; j += kChunk)
        add_products(p.weight + i * p.stride + j % p.weights, x + j, at + j,
                     std::min(kChunk, p.width - j), lanes);
      double* change = change_g_.front().data() + at;
      double* g = g_.data() + at;
      for (std::size_t j = 0; j < p.width; ++j) {
        change[j] = x[j] - g[j];
        g[j] = x[j];
      }
    }
    for (std::size_t k = 0; p.weight != nullptr && k < n; ++k)
      for (const double lane : lanes[k]) sums[k] += lane;
  }
  SumWords words(exact_);
  for (const Sum& sum : sums) words.add(sum);
  comm_.sum(words.words());
  products_.resize(n);
  for (std::size_t k = 0; k < n; ++k) products_[k] = words[k];
}

/// f of up to kChunk numbers from place `at` on, and their part of the products.
void Anderson::add_products(const double* weight, const double* x, std::size_t at, std::size_t n,
                            std::span<Chunk> lanes) {
  Chunk f{}, weighted{}, change{};
  float* stored = change_f_.front().data() + at;
  for (std::size_t l = 0; l < n; ++l) {
    f[l] = x[l] - y_[at + l];
    stored[l] = static_cast<float>(f[l] - f_[at + l]);
    f_[at + l] = f[l];
    weighted[l] = weight[l] * f[l];
  }
  const auto add = [n](Chunk& lane, const Chunk& a, const Chunk& b) {
    for (std::size_t l = 0; l < n; ++l) lane[l] += a[l] * b[l];
  };
  std::size_t k = 0;
  add(lanes[k++], weighted, f);
  for (std::size_t a = 0; a < kept_; ++a) {
    for (std::size_t l = 0; l < n; ++l) change[l] = change_f_[a][at + l];
    add(lanes[k++], weighted, change);
    for (std::size_t l = 0; l < n; ++l) change[l] *= weight[l];
    for (std::size_t b = 0; b <= a; ++b) {
      const float* other = change_f_[b].data() + at;
      for (std::size_t l = 0; l < n; ++l) lanes[k][l] += change[l] * other[l];
      ++k;
    }
  }
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
  const double now = products_[0];
  if (!(now <= last_)) kept_ = 0;
  last_ = now;
  const bool mixes = kept_ > 0 && solve_least_squares();
  each([&](double* x, std::size_t width, std::size_t at) {
    for (std::size_t k = 0; mixes && k < kept_; ++k) {
      const double gamma = gamma_[k];
      const double* change = change_g_[k].data() + at;
      for (std::size_t j = 0; j < width; ++j) x[j] -= gamma * change[j];
    }
    std::copy_n(x, width, y_.begin() + at);
  });
}

}  // namespace catena
