// Chains for tests, dealt to ranks, and what solutions are measured by.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <cmath>
#include <span>
#include <vector>

#include "catena/base/random.hpp"
#include "support/rod_chain.hpp"

namespace catena::test {

inline std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Random well-conditioned chains of `lengths` blocks, one after another; rows 1 to 6 if `rows`
/// is 0.
inline ChainPart random_chains(const std::vector<int>& lengths, int rows, std::uint64_t seed) {
  ChainPart part;
  std::int64_t name = 0;
  const auto rows_at = [&](std::int64_t i) {
    return rows > 0 ? rows : 1 + static_cast<int>(3.0 + 2.999 * uniform_pm1(seed, place(i), 1));
  };
  for (const int length : lengths) {
    for (int i = 0; i < length; ++i, ++name) {
      const int m = rows_at(name);
      const int next = i + 1 < length ? rows_at(name + 1) : 0;
      std::uint64_t draw = 2;
      const auto random = [&] { return uniform_pm1(seed, place(name), draw++); };
      const Eigen::MatrixXd b = Eigen::MatrixXd::NullaryExpr(m, m, random);
      const Eigen::MatrixXd c = Eigen::MatrixXd::NullaryExpr(m, next, random);
      append_block(part, b * b.transpose() + 8.0 * Eigen::MatrixXd::Identity(m, m), c, 10 * name);
    }
  }
  return part;
}

/// Blocks [begin, end) of a whole chain.
inline ChainPart slice(const ChainPart& whole, std::int64_t begin, std::int64_t end) {
  ChainPart part;
  for (std::size_t i = place(begin); i < place(end); ++i) {
    const auto cut = [&](const std::vector<std::int64_t>& starts, const std::vector<double>& from,
                         std::vector<std::int64_t>& begins, std::vector<double>& to) {
      to.insert(to.end(), from.begin() + starts[i], from.begin() + starts[i + 1]);
      begins.push_back(static_cast<std::int64_t>(to.size()));
    };
    cut(whole.diagonal_begin, whole.diagonal, part.diagonal_begin, part.diagonal);
    cut(whole.coupling_begin, whole.coupling, part.coupling_begin, part.coupling);
    part.row_begin.push_back(part.row_begin.back() + whole.row_begin[i + 1] - whole.row_begin[i]);
    part.name.push_back(whole.name[i]);
  }
  return part;
}

inline std::vector<double> random_vector(std::size_t n, std::uint64_t seed) {
  std::vector<double> b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = uniform_pm1(seed, i, 0);
  return b;
}

/// |b - A x| / (|A| |x| + |b|) in the maximum norm (|A|: largest sum of a row), A with
/// A_ii (1 + epsilon). Sums in long double.
inline double backward_error(const ChainPart& a, double epsilon, std::span<const double> x,
                             std::span<const double> b) {
  std::vector<long double> r(b.begin(), b.end());
  std::vector<double> sums(b.size(), 0.0);
  const auto add = [&](std::size_t row, std::size_t column, double value) {
    r[row] -= static_cast<long double>(value) * x[column];
    sums[row] += std::abs(value);
  };
  for (std::size_t i = 0; i < a.name.size(); ++i) {
    const std::size_t first = place(a.row_begin[i]);
    const std::size_t m = place(a.row_begin[i + 1]) - first;
    for (std::size_t p = 0; p < m; ++p)
      for (std::size_t q = 0; q < m; ++q)
        add(first + p, first + q,
            a.diagonal[place(a.diagonal_begin[i]) + p * m + q] * (p == q ? 1.0 + epsilon : 1.0));
    const std::size_t next = (place(a.coupling_begin[i + 1] - a.coupling_begin[i])) / m;
    for (std::size_t p = 0; p < m; ++p)
      for (std::size_t q = 0; q < next; ++q) {
        const double value = a.coupling[place(a.coupling_begin[i]) + p * next + q];
        add(first + p, first + m + q, value);
        add(first + m + q, first + p, value);
      }
  }
  double residual = 0.0, norm = 0.0, size = 0.0, right = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(x[i])) return std::nan("");
    residual = std::max(residual, static_cast<double>(std::abs(r[i])));
    norm = std::max(norm, sums[i]);
    size = std::max(size, std::abs(x[i]));
    right = std::max(right, std::abs(b[i]));
  }
  return residual / (norm * size + right);
}

inline Eigen::MatrixXd dense(const ChainPart& a, double epsilon) {
  const Eigen::Index n = a.row_begin.back();
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(n, n);
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (std::size_t i = 0; i < a.name.size(); ++i) {
    const Eigen::Index first = a.row_begin[i];
    const Eigen::Index m = a.row_begin[i + 1] - first;
    const Eigen::Index next = (a.coupling_begin[i + 1] - a.coupling_begin[i]) / m;
    result.block(first, first, m, m) =
        Eigen::Map<const RowMajor>(a.diagonal.data() + a.diagonal_begin[i], m, m);
    if (next == 0) continue;
    const Eigen::Map<const RowMajor> c(a.coupling.data() + a.coupling_begin[i], m, next);
    result.block(first, first + m, m, next) = c;
    result.block(first + m, first, next, m) = c.transpose();
  }
  result.diagonal() *= 1.0 + epsilon;
  return result;
}

/// Factors with the numbers of `a`.
inline void factor_numbers(ChainFactor& factor, const ChainPart& a) {
  factor.part().diagonal = a.diagonal;
  factor.part().coupling = a.coupling;
  factor.factor();
}

inline JointSolverSettings settings_of(ChainGrouping grouping, int limit) {
  JointSolverSettings settings;
  settings.grouping = grouping;
  settings.cholesky_limit = limit;
  return settings;
}

}  // namespace catena::test
