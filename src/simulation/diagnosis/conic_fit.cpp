#include "simulation/diagnosis/conic_fit.hpp"

#include <Eigen/Jacobi>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

namespace catena {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// First entry and number of entries of each disc of a contact.
constexpr std::array<std::size_t, 3> kDiscFirst = {1, 3, 5};
constexpr std::array<std::size_t, 3> kDiscEntries = {2, 2, 1};

/// A ray of a group: what its entries are for the coefficient 1.
struct Ray {
  std::size_t group = 0;
  std::array<double, 6> part{};
};

/// Q R of the columns taken up, with columns added at the end and removed anywhere.
class GrowingFactor {
 public:
  GrowingFactor(Eigen::Index rows, Eigen::Index most)
      : q_(rows, most), r_(MatrixXd::Zero(most, most)) {}

  Eigen::Index size() const { return size_; }

  /// False where the column depends on those before to round-off.
  bool add(const VectorXd& column) {
    constexpr double kDependent = 1e-9;
    if (size_ == q_.cols()) return false;
    VectorXd rest = column;
    VectorXd r = VectorXd::Zero(size_);
    // twice is enough: W. Kahan's rule
    for (int pass = 0; pass < 2 && size_ > 0; ++pass) {
      const VectorXd part = q_.leftCols(size_).transpose() * rest;
      rest.noalias() -= q_.leftCols(size_) * part;
      r += part;
    }
    const double left = rest.norm();
    if (!(left > kDependent * column.norm())) return false;
    q_.col(size_) = rest / left;
    r_.col(size_).setZero();
    r_.col(size_).head(size_) = r;
    r_(size_, size_) = left;
    ++size_;
    return true;
  }

  void remove(Eigen::Index k) {
    for (Eigen::Index j = k; j + 1 < size_; ++j) r_.col(j) = r_.col(j + 1);
    for (Eigen::Index j = k; j + 1 < size_; ++j) {
      Eigen::JacobiRotation<double> turn;
      turn.makeGivens(r_(j, j), r_(j + 1, j));
      r_.leftCols(size_ - 1).applyOnTheLeft(j, j + 1, turn.adjoint());
      q_.applyOnTheRight(j, j + 1, turn);
    }
    --size_;
  }

  /// Coefficients of the columns that fit `target` best.
  VectorXd solve(const VectorXd& target) const {
    const VectorXd y = q_.leftCols(size_).transpose() * target;
    return r_.topLeftCorner(size_, size_).triangularView<Eigen::Upper>().solve(y);
  }

 private:
  MatrixXd q_, r_;
  Eigen::Index size_ = 0;
};

class Fit {
 public:
  Fit(const Eigen::SparseMatrix<double>& e, const std::vector<RayGroup>& groups,
      const VectorXd& target)
      : e_(e),
        groups_(groups),
        target_(target),
        factor_(e.rows(), std::min<Eigen::Index>(e.rows(), 2 * e.cols() + 1)),
        banned_(groups.size(), 0) {}

  ConicFit run() {
    take_free_entries();
    residual_ = target_ - product();
    const Eigen::Index most = 3 * e_.cols() + 50;
    for (Eigen::Index round = 0; round < most && residual_.norm() > kMet * target_.norm();
         ++round) {
      Ray ray;
      if (!best_ray(ray)) break;
      if (take_up(ray)) {
        std::fill(banned_.begin(), banned_.end(), char{0});
      } else {
        banned_[ray.group] = 1;
      }
      residual_ = target_ - product();
    }
    ConicFit fit;
    fit.x = entries();
    fit.residual = (e_ * fit.x - target_).norm();
    return fit;
  }

 private:
  static constexpr double kMet = 1e-11;

  VectorXd column_of(const Ray& ray) const {
    VectorXd column = VectorXd::Zero(e_.rows());
    const RayGroup& group = groups_[ray.group];
    for (std::size_t i = 0; i < 6; ++i) {
      if (group.entry[i] < 0 || ray.part[i] == 0.0) continue;
      column += ray.part[i] * e_.col(group.entry[i]);
    }
    return column;
  }

  void take_free_entries() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].kind != RayKind::free) continue;
      const Ray ray{g, {1.0}};
      if (!factor_.add(column_of(ray))) continue;
      taken_.push_back(ray);
    }
    x_ = factor_.size() > 0 ? factor_.solve(target_) : VectorXd();
  }

  /// The ray of group g that the residual points along most; returns how much.
  double steepest(std::size_t g, const VectorXd& slope, Ray& ray) const {
    const RayGroup& group = groups_[g];
    const auto slope_of = [&](std::size_t i) {
      return group.entry[i] < 0 ? 0.0 : slope[group.entry[i]];
    };
    ray = {g, {1.0}};
    if (group.kind == RayKind::up) return slope_of(0);
    if (group.kind == RayKind::down) {
      ray.part[0] = -1.0;
      return -slope_of(0);
    }
    double gain = slope_of(0);
    for (std::size_t d = 0; d < kDiscFirst.size(); ++d) {
      double length = 0.0;
      for (std::size_t i = kDiscFirst[d]; i < kDiscFirst[d] + kDiscEntries[d]; ++i)
        length = std::hypot(length, slope_of(i));
      if (!(length > 0.0) || group.bound[d] == 0.0) continue;
      gain += group.bound[d] * length;
      for (std::size_t i = kDiscFirst[d]; i < kDiscFirst[d] + kDiscEntries[d]; ++i)
        ray.part[i] = group.bound[d] * slope_of(i) / length;
    }
    return gain;
  }

  bool best_ray(Ray& best) const {
    constexpr double kNoGain = 1e-10;
    const VectorXd slope = e_.transpose() * residual_;
    double most = kNoGain * residual_.norm();
    bool found = false;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].kind == RayKind::free || banned_[g] != 0) continue;
      Ray ray;
      const double gain = steepest(g, slope, ray);
      if (!(gain > most)) continue;
      most = gain;
      best = ray;
      found = true;
    }
    return found;
  }

  bool is_free(std::size_t k) const { return groups_[taken_[k].group].kind == RayKind::free; }

  void drop(std::size_t k) {
    factor_.remove(to_index(k));
    taken_.erase(taken_.begin() + k);
    const VectorXd old = x_;
    const auto i = to_index(k);
    x_.resize(old.size() - 1);
    x_.head(i) = old.head(i);
    x_.tail(x_.size() - i) = old.tail(x_.size() - i);
  }

  /// False where the ray does not help: what was taken up before stays.
  bool take_up(const Ray& ray) {
    if (!factor_.add(column_of(ray))) return false;
    taken_.push_back(ray);
    x_.conservativeResize(x_.size() + 1);
    x_[x_.size() - 1] = 0.0;
    VectorXd best = factor_.solve(target_);
    if (!(best[best.size() - 1] > 0.0)) {
      drop(taken_.size() - 1);
      return false;
    }
    for (;;) {
      // as far as all coefficients stay in their cones
      double way = 1.0;
      Eigen::Index first = -1;
      for (Eigen::Index k = 0; k < best.size(); ++k) {
        if (is_free(k) || best[k] > 0.0) continue;
        const double reach = x_[k] / (x_[k] - best[k]);
        if (first < 0 || reach < way) {
          way = reach;
          first = k;
        }
      }
      if (first < 0) break;
      x_ += way * (best - x_);
      drop(first);
      if (x_.size() == 0) return true;
      best = factor_.solve(target_);
    }
    x_ = best;
    return true;
  }

  VectorXd entries() const {
    VectorXd x = VectorXd::Zero(e_.cols());
    for (std::size_t k = 0; k < taken_.size(); ++k) {
      const RayGroup& group = groups_[taken_[k].group];
      for (std::size_t i = 0; i < 6; ++i)
        if (group.entry[i] >= 0) x[group.entry[i]] += x_[k] * taken_[k].part[i];
    }
    return x;
  }

  VectorXd product() const { return e_ * entries(); }

  const Eigen::SparseMatrix<double>& e_;
  const std::vector<RayGroup>& groups_;
  const VectorXd& target_;
  GrowingFactor factor_;
  std::vector<char> banned_;  ///< groups whose ray did not help since the last one that did
  std::vector<Ray> taken_;
  VectorXd x_;  ///< their coefficients
  VectorXd residual_;
};

}  // namespace

ConicFit fit_in_cones(const Eigen::SparseMatrix<double>& e, const std::vector<RayGroup>& groups,
                      const Eigen::VectorXd& target) {
  return Fit(e, groups, target).run();
}

}  // namespace catena
