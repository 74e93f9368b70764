#include "catena/model/curve.hpp"

#include <Eigen/SparseLU>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "catena/base/index.hpp"

namespace catena {
namespace {

/// Slopes of the spline at its knots from the equations of its continuous second derivative
///
///   h_i m_i-1 + 2 (h_i-1 + h_i) m_i + h_i-1 m_i+1 = 3 (h_i s_i-1 + h_i-1 s_i)
///
/// with h_i the length of piece i and s_i its secant (de Boor, A Practical Guide to Splines, IV).
class SlopeEquations {
 public:
  SlopeEquations(const std::vector<Vec3>& point, const std::vector<double>& knot, bool closed)
      : point_(point), knot_(knot), n_(closed ? knot.size() - 1 : knot.size()) {
    right_.resize(to_index(n_), 3);
    for (std::size_t i = closed ? 0 : 1; i < (closed ? n_ : n_ - 1); ++i) add_inner(i);
    if (closed) return;
    const std::size_t last = knot.size() - 2;
    add_end(0, 1, 0, 1);
    add_end(n_ - 1, n_ - 2, last, last - 1);
  }

  std::vector<Vec3> solve() const {
    Eigen::SparseMatrix<double> matrix(to_index(n_), to_index(n_));
    matrix.setFromTriplets(entries_.begin(), entries_.end());
    const Eigen::SparseLU<Eigen::SparseMatrix<double>> factor(matrix);
    const Eigen::MatrixXd slopes = factor.solve(right_);
    std::vector<Vec3> out;
    for (std::size_t i = 0; i < n_; ++i) out.emplace_back(slopes.row(to_index(i)).transpose());
    return out;
  }

 private:
  double h(std::size_t k) const { return knot_[k + 1] - knot_[k]; }
  Vec3 secant(std::size_t k) const { return (point_[k + 1] - point_[k]) / h(k); }
  void put(std::size_t row, std::size_t column, double value) {
    entries_.emplace_back(to_index(row), to_index(column), value);
  }
  void add_inner(std::size_t i) {
    const std::size_t before = i > 0 ? i - 1 : knot_.size() - 2;
    put(i, before, h(i));
    put(i, i, 2.0 * (h(before) + h(i)));
    put(i, (i + 1) % n_, h(before));
    right_.row(to_index(i)) = 3.0 * (h(i) * secant(before) + h(before) * secant(i)).transpose();
  }
  /// Row i with its neighbour, the piece at the end and the next one.
  void add_end(std::size_t i, std::size_t neighbour, std::size_t outer, std::size_t inner) {
    const double both = h(outer) + h(inner);
    put(i, i, h(inner));
    put(i, neighbour, both);
    right_.row(to_index(i)) = (((h(outer) + 2.0 * both) * h(inner) * secant(outer) +
                                h(outer) * h(outer) * secant(inner)) /
                               both)
                                  .transpose();
  }

  const std::vector<Vec3>& point_;
  const std::vector<double>& knot_;
  std::size_t n_;
  std::vector<Eigen::Triplet<double>> entries_;
  Eigen::Matrix<double, Eigen::Dynamic, 3> right_;
};

std::vector<Vec3> slopes_of(const std::vector<Vec3>& point, const std::vector<double>& knot,
                            bool closed) {
  const auto secant = [&](std::size_t k) {
    return Vec3((point[k + 1] - point[k]) / (knot[k + 1] - knot[k]));
  };
  if (point.size() == 2) return {secant(0), secant(0)};
  if (point.size() > 3 || closed) return SlopeEquations(point, knot, closed).solve();
  const double h0 = knot[1] - knot[0], h1 = knot[2] - knot[1];
  const Vec3 middle = (h1 * secant(0) + h0 * secant(1)) / (h0 + h1);
  return {2.0 * secant(0) - middle, middle, 2.0 * secant(1) - middle};
}

}  // namespace

Curve::Curve(std::vector<Vec3> points, bool closed) : closed_(closed), point_(std::move(points)) {
  if (closed_) point_.push_back(point_.front());
  knot_.push_back(0.0);
  for (std::size_t k = 1; k < point_.size(); ++k)
    knot_.push_back(knot_.back() + (point_[k] - point_[k - 1]).norm());
  slope_ = slopes_of(point_, knot_, closed_);
  if (closed_) slope_.push_back(slope_.front());
  way_.push_back(0.0);
  for (std::size_t k = 0; k < pieces(); ++k) way_.push_back(way_[k] + way_on(k, knot_[k + 1]));
}

double Curve::in_lap(double u, double& laps) const {
  laps = closed_ ? std::floor(u / end()) : 0.0;
  return u - laps * end();
}

std::size_t Curve::piece_of(double u) const {
  const auto after = std::upper_bound(knot_.begin() + 1, knot_.end() - 1, u);
  return static_cast<std::size_t>(after - knot_.begin()) - 1;
}

CurvePoint Curve::on_piece(std::size_t k, double u) const {
  const double h = knot_[k + 1] - knot_[k], s = (u - knot_[k]) / h;
  const Vec3 m0 = h * slope_[k], m1 = h * slope_[k + 1], rise = point_[k + 1] - point_[k];
  const Vec3 c2 = 3.0 * rise - 2.0 * m0 - m1, c3 = m0 + m1 - 2.0 * rise;
  return {point_[k] + s * (m0 + s * (c2 + s * c3)), (m0 + s * (2.0 * c2 + 3.0 * s * c3)) / h,
          (2.0 * c2 + 6.0 * s * c3) / (h * h)};
}

CurvePoint Curve::at(double u) const {
  double laps = 0.0;
  const double in = in_lap(u, laps);
  if (in < 0.0) return {point_.front() + in * slope_.front(), slope_.front(), Vec3::Zero()};
  if (in > end())
    return {point_.back() + (in - end()) * slope_.back(), slope_.back(), Vec3::Zero()};
  return on_piece(piece_of(in), in);
}

/// From the start of piece k, by Gauss and Legendre's rule of five points.
double Curve::way_on(std::size_t k, double u) const {
  constexpr std::array<double, 3> kPlace = {0.0, 0.5384693101056831, 0.9061798459386640};
  constexpr std::array<double, 3> kWeight = {0.5688888888888889, 0.4786286704993665,
                                             0.2369268850561891};
  const double half = 0.5 * (u - knot_[k]), middle = knot_[k] + half;
  const auto speed = [&](double x) { return on_piece(k, middle + half * x).slope.norm(); };
  double sum = kWeight[0] * speed(kPlace[0]);
  for (std::size_t i = 1; i < kPlace.size(); ++i)
    sum += kWeight[i] * (speed(kPlace[i]) + speed(-kPlace[i]));
  return half * sum;
}

double Curve::way(double u) const {
  double laps = 0.0;
  const double in = in_lap(u, laps);
  if (in < 0.0) return in * slope_.front().norm();
  if (in > end()) return length() + (in - end()) * slope_.back().norm();
  const std::size_t k = piece_of(in);
  return laps * length() + way_[k] + way_on(k, in);
}

double Curve::nearest(const Vec3& p, double from) const {
  constexpr int kMaxSteps = 30;
  constexpr double kRounding = 1e-15;
  // where the curve bends away from p by nearly its radius, steps go by the slope alone
  constexpr double kLeast = 0.1;
  double u = from;
  for (int i = 0; i < kMaxSteps; ++i) {
    const CurvePoint c = at(u);
    const Vec3 off = p - c.p;
    const double square = c.slope.squaredNorm(), bent = square - off.dot(c.bend);
    const double step = off.dot(c.slope) / (bent > kLeast * square ? bent : square);
    u += step;
    if (std::abs(step) <= kRounding * end()) break;
  }
  return u;
}

double Curve::nearest(const Vec3& p) const {
  constexpr int kSamples = 8;  // of a piece
  double best = 0.0, least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < pieces(); ++k) {
    for (int i = 0; i <= kSamples; ++i) {
      const double u = knot_[k] + i * (knot_[k + 1] - knot_[k]) / kSamples;
      const double distance = (p - on_piece(k, u).p).squaredNorm();
      if (!(distance < least)) continue;
      least = distance;
      best = u;
    }
  }
  return nearest(p, best);
}

}  // namespace catena
