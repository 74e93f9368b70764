#include "solvers/patches/friction_path.hpp"

#include <algorithm>
#include <cmath>

namespace catena {
namespace {

/// Parts of friction from which the path is begun: the first from which sweeps settle.
constexpr double kStarts[] = {0.75, 0.5, 0.25, 0.0};
constexpr int kMostSweeps = 600;
/// |change| of a sweep over |r| at which Newton's method goes on, and its |F| then.
constexpr double kSettled = 1e-8, kStartError = 1e-12;
constexpr double kMostFactors = 400.0;
/// Corrections back to the path; |F| over |r| on it, and by what pieces may be left.
constexpr int kMostCorrections = 20;
constexpr double kOnPath = 1e-11, kOutside = 1e-9;
constexpr int kMostHalvings = 12;
/// A step turns no slip by more than this angle, and changes no x_t by more than this part.
constexpr double kMostTurn = 0.4, kMostChange = 1.0;

}  // namespace

FrictionPath::FrictionPath(const ContactPatch& patch)
    : patch_(patch), rows_(patch.y.size()), size_(patch.r.lpNorm<Eigen::Infinity>()) {}

bool FrictionPath::follow(Eigen::VectorXd& y) {
  for (const double part : kStarts) {
    if (!start(part, y) || !walk()) continue;
    y = u_.head(rows_);
    return true;
  }
  return false;
}

/// A solution for `part` of the friction, and its pieces.
bool FrictionPath::start(double part, const Eigen::VectorXd& guess) {
  Eigen::VectorXd y = guess;
  if (!settle(part, y)) return false;
  const PatchWork work = newton_on_patch(patch_, part, std::pow(kStartError * size_, 2), y);
  factors_ += work.factors;
  if (!work.solved) return false;
  u_.resize(rows_ + 1);
  u_ << y, part;
  pieces_.clear();
  const Eigen::VectorXd x = x_at(u_);
  for (Eigen::Index i = 0; i < patch_.friction.size(); ++i)
    pieces_.push_back(piece_at(x.segment<3>(3 * i), part * patch_.friction[i]));
  tangent_ = Eigen::VectorXd::Unit(rows_ + 1, rows_);
  orientation_ = 0.0;
  crossed_ = {};
  return true;
}

/// Sweeps over the patch.
bool FrictionPath::settle(double part, Eigen::VectorXd& y) {
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    factors_ += 3.0 / static_cast<double>(rows_);
    double change = 0.0;
    for (Eigen::Index i = 0; i < patch_.friction.size(); ++i) {
      const Vec3 x = patch_.a.middleRows<3>(3 * i) * y - patch_.r.segment<3>(3 * i);
      const double friction = part * patch_.friction[i];
      const Vec3 z = value_on(piece_at(x, friction), x, friction).y;
      change = std::max(change, (z - y.segment<3>(3 * i)).lpNorm<Eigen::Infinity>());
      y.segment<3>(3 * i) = z;
    }
    if (change <= kSettled * size_) return true;
  }
  return false;
}

bool FrictionPath::walk() {
  while (factors_ < kMostFactors) {
    if (!turn_along()) return false;
    const Step step = next_step();
    if (!advance(step)) return false;
    if (u_[rows_] >= 1.0) return true;
  }
  return false;
}

Eigen::VectorXd FrictionPath::x_at(const Eigen::VectorXd& u) const {
  return patch_.a * u.head(rows_) - patch_.r;
}

/// F on the contacts' pieces; `jacobian`, if not null: its derivatives, and a last row that is the
/// caller's.
Eigen::VectorXd FrictionPath::law_at(const Eigen::VectorXd& u, Eigen::MatrixXd* jacobian) const {
  const Eigen::VectorXd x = x_at(u);
  Eigen::VectorXd f(rows_);
  if (jacobian != nullptr) jacobian->resize(rows_ + 1, rows_ + 1);
  for (Eigen::Index i = 0; i < patch_.friction.size(); ++i) {
    const PieceValue value =
        value_on(pieces_[i], x.segment<3>(3 * i), u[rows_] * patch_.friction[i]);
    f.segment<3>(3 * i) = u.segment<3>(3 * i) - value.y;
    if (jacobian == nullptr) continue;
    jacobian->block(3 * i, 0, 3, rows_).noalias() = -value.by_x * patch_.a.middleRows<3>(3 * i);
    jacobian->block<3, 3>(3 * i, 3 * i) += Mat3::Identity();
    jacobian->block<3, 1>(3 * i, rows_) = -patch_.friction[i] * value.by_friction;
  }
  return f;
}

/// The tangent, in the direction in which the path goes on.
bool FrictionPath::turn_along() {
  Eigen::MatrixXd jacobian;
  law_at(u_, &jacobian);
  jacobian.row(rows_) = tangent_.transpose();
  factor_.compute(jacobian);
  factors_ += 1.0;
  const Eigen::VectorXd t = factor_.solve(Eigen::VectorXd::Unit(rows_ + 1, rows_));
  if (!t.allFinite()) return false;
  double sign = factor_.permutationP().determinant() < 0 ? -1.0 : 1.0;
  for (Eigen::Index i = 0; i <= rows_; ++i)
    if (factor_.matrixLU()(i, i) < 0.0) sign = -sign;
  if (orientation_ == 0.0) orientation_ = sign;
  tangent_ = t.normalized();
  if (sign != orientation_) tangent_ = -tangent_;
  return true;
}

std::vector<FrictionPath::Boundary> FrictionPath::boundaries() const {
  std::vector<Boundary> all;
  for (Eigen::Index i = 0; i < patch_.friction.size(); ++i) {
    if (pieces_[i] != ContactPiece::sticks) all.push_back({i, true});
    if (pieces_[i] != ContactPiece::open) all.push_back({i, false});
  }
  return all;
}

/// How far inside its piece a contact is: positive inside, linear in x along a ray.
double FrictionPath::distance(const Boundary& boundary, const Eigen::VectorXd& u,
                              const Eigen::VectorXd& x) const {
  const Eigen::Index i = boundary.contact;
  const double normal = x[3 * i];
  if (boundary.opening) return pieces_[i] == ContactPiece::open ? -normal : normal;
  const double room = u[rows_] * patch_.friction[i] * normal - x.segment<2>(3 * i + 1).norm();
  return pieces_[i] == ContactPiece::sticks ? room : -room;
}

Vec3 FrictionPath::by_x(const Boundary& boundary, const Eigen::VectorXd& x, double part) const {
  const Eigen::Index i = boundary.contact;
  if (boundary.opening) return {pieces_[i] == ContactPiece::open ? -1.0 : 1.0, 0.0, 0.0};
  const Eigen::Vector2d tangential = x.segment<2>(3 * i + 1);
  const double size = tangential.norm();
  Vec3 room(part * patch_.friction[i], 0.0, 0.0);
  if (size > 0.0) room.tail<2>() = -tangential / size;
  return pieces_[i] == ContactPiece::sticks ? room : -room;
}

double FrictionPath::by_part(const Boundary& boundary, const Eigen::VectorXd& x) const {
  const Eigen::Index i = boundary.contact;
  if (boundary.opening) return 0.0;
  const double room = patch_.friction[i] * x[3 * i];
  return pieces_[i] == ContactPiece::sticks ? room : -room;
}

/// To the first boundary along the tangent, or to all of the friction.
FrictionPath::Step FrictionPath::next_step() const {
  const Eigen::VectorXd x = x_at(u_), dx = patch_.a * tangent_.head(rows_);
  Step step{HUGE_VAL, Step::End::nothing, {}};
  if (tangent_[rows_] > 0.0)
    step = {(1.0 - u_[rows_]) / tangent_[rows_], Step::End::all_friction, {}};
  for (const Boundary& boundary : boundaries()) {
    if (boundary == crossed_) continue;
    const double rate = by_x(boundary, x, u_[rows_]).dot(dx.segment<3>(3 * boundary.contact)) +
                        by_part(boundary, x) * tangent_[rows_];
    if (!(rate < 0.0)) continue;
    const double length = std::max(0.0, distance(boundary, u_, x)) / -rate;
    if (length < step.length) step = {length, Step::End::boundary, boundary};
  }
  shorten_for_slip(dx, step);
  return step;
}

/// Slip that turns bends the path.
void FrictionPath::shorten_for_slip(const Eigen::VectorXd& dx, Step& step) const {
  const Eigen::VectorXd x = x_at(u_);
  for (Eigen::Index i = 0; i < patch_.friction.size(); ++i) {
    if (pieces_[i] != ContactPiece::slips) continue;
    const Eigen::Vector2d at = x.segment<2>(3 * i + 1), d = dx.segment<2>(3 * i + 1);
    const double turn = std::abs(at[0] * d[1] - at[1] * d[0]) / at.squaredNorm();
    const double change = d.norm() / at.norm();
    const double most = std::min(kMostTurn / turn, kMostChange / change);
    if (most < step.length) step = {most, Step::End::nothing, {}};
  }
}

/// Takes the step, or less of it where its end is not found or lies outside of the pieces.
bool FrictionPath::advance(Step step) {
  if (!std::isfinite(step.length)) return false;
  for (int halving = 0; halving < kMostHalvings; ++halving) {
    Eigen::VectorXd u = u_ + step.length * tangent_;
    if (correct(step, u) && keeps_to_pieces(step, u)) {
      u_ = u;
      if (step.end == Step::End::all_friction) u_[rows_] = 1.0;
      crossed_ = {};
      if (step.end == Step::End::boundary) cross(step.at);
      return true;
    }
    step = {0.5 * step.length, Step::End::nothing, {}};
  }
  return false;
}

/// How far u is from the step's end; `slope`: its derivative along the tangent.
double FrictionPath::miss(const Step& step, const Eigen::VectorXd& u, double& slope) const {
  if (step.end == Step::End::all_friction) {
    slope = tangent_[rows_];
    return u[rows_] - 1.0;
  }
  if (step.end == Step::End::nothing) {
    slope = 1.0;
    return tangent_.dot(u - u_) - step.length;
  }
  const Eigen::VectorXd x = x_at(u);
  const Eigen::Index row = 3 * step.at.contact;
  const Vec3 dx = patch_.a.middleRows<3>(row) * tangent_.head(rows_);
  slope = by_x(step.at, x, u[rows_]).dot(dx) + by_part(step.at, x) * tangent_[rows_];
  return distance(step.at, u, x);
}

/// Back to the path, at the step's end: Newton's method with the derivatives of the step's begin,
/// whose factor solves for what F takes, and the tangent for what the end takes.
bool FrictionPath::correct(const Step& step, Eigen::VectorXd& u) const {
  double before = HUGE_VAL;
  for (int k = 0; k < kMostCorrections; ++k) {
    Eigen::VectorXd residual = Eigen::VectorXd::Zero(rows_ + 1);
    residual.head(rows_) = law_at(u, nullptr);
    double slope = 0.0;
    const double end = miss(step, u, slope);
    const double now = std::hypot(residual.norm(), end * size_);
    if (now <= kOnPath * size_) return true;
    if (!(now < 2.0 * before)) return false;
    before = now;
    u -= factor_.solve(residual);
    u -= miss(step, u, slope) / slope * tangent_;
  }
  return false;
}

bool FrictionPath::keeps_to_pieces(const Step& step, const Eigen::VectorXd& u) const {
  const Eigen::VectorXd x = x_at(u);
  const std::vector<Boundary> all = boundaries();
  return std::all_of(all.begin(), all.end(), [&](const Boundary& boundary) {
    const bool met = step.end == Step::End::boundary && boundary == step.at;
    return met || distance(boundary, u, x) >= -kOutside * size_;
  });
}

void FrictionPath::cross(const Boundary& boundary) {
  ContactPiece& piece = pieces_[boundary.contact];
  if (piece != ContactPiece::slips)
    piece = ContactPiece::slips;
  else
    piece = boundary.opening ? ContactPiece::open : ContactPiece::sticks;
  crossed_ = boundary;
}

}  // namespace catena
