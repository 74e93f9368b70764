#include "catena/math/cone.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <limits>

namespace catena {
namespace {

constexpr int kMaxIterations = 60;  ///< Newton needs 2 to 6; bisection would need about 55
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kLargest = std::numeric_limits<double>::max();

bool is_isotropic(const Mat3& d) {
  return d(0, 1) == 0.0 && d(0, 2) == 0.0 && d(1, 2) == 0.0 && d(1, 1) == d(2, 2);
}

/// The tangential problem on the eigenvectors of S = D_tt - D_tn D_nt / D_nn, with
/// the normal impulse eliminated:
///   z_t(a) = -(S + a I)^-1 rho,   z_n(a) = -(r_n + D_nt z_t) / D_nn.
struct Sliding {
  double cosine, sine;  ///< of the eigenvectors
  double s1, s2;        ///< eigenvalues of S
  double rho1, rho2;    ///< r_t - D_tn r_n / D_nn
  double c1, c2;        ///< D_nt / D_nn
  double z_free;        ///< -r_n / D_nn: the normal impulse without tangential one

  Sliding(const Mat3& d, const Vec3& r) {
    const double inverse = 1.0 / d(0, 0);
    const double ct1 = d(0, 1) * inverse;
    const double ct2 = d(0, 2) * inverse;
    z_free = -r[0] * inverse;
    const double s11 = d(1, 1) - d(0, 1) * ct1;
    const double s12 = d(1, 2) - d(0, 1) * ct2;
    const double s22 = d(2, 2) - d(0, 2) * ct2;
    // Jacobi rotation of the 2x2 matrix
    double tangent = 0.0;
    if (s12 != 0.0) {
      const double tau = (s22 - s11) / (2.0 * s12);
      tangent = std::copysign(1.0, tau) / (std::abs(tau) + std::sqrt(1.0 + tau * tau));
    }
    cosine = 1.0 / std::sqrt(1.0 + tangent * tangent);
    sine = tangent * cosine;
    // round-off may leave the smaller one at or below zero when D is nearly singular
    const double floor = kEpsilon * (std::abs(s11) + std::abs(s22));
    s1 = std::max(s11 - tangent * s12, floor);
    s2 = std::max(s22 + tangent * s12, floor);
    const double rho_t1 = r[1] + d(0, 1) * z_free;
    const double rho_t2 = r[2] + d(0, 2) * z_free;
    rho1 = cosine * rho_t1 - sine * rho_t2;
    rho2 = sine * rho_t1 + cosine * rho_t2;
    c1 = cosine * ct1 - sine * ct2;
    c2 = sine * ct1 + cosine * ct2;
  }

  /// A tangential vector given on the eigenvectors, in the contact's frame.
  Vec3 impulse(double normal, double t1, double t2) const {
    return {normal, cosine * t1 + sine * t2, cosine * t2 - sine * t1};
  }
};

/// The a > 0 where |z_t(a)| = mu z_n(a), given that sticking (a = 0) fails and that
/// r_n < 0. Newton on psi(a) = mu z_n / |z_t| - 1, which is linear in a where S is a
/// multiple of I, inside a bracket that bisection shrinks where Newton leaves it.
double sliding_ratio(const Sliding& p, double mu) {
  const double rho = std::sqrt(p.rho1 * p.rho1 + p.rho2 * p.rho2);
  const double c = std::sqrt(p.c1 * p.c1 + p.c2 * p.c2);
  const double s_min = std::min(p.s1, p.s2);
  const double by_mu = 1.0 / mu;
  double low = 0.0;
  // |z_t| <= |rho|/a and z_n >= z_free - |c| |rho|/a: psi >= 0 from here on
  double high = std::min(rho * (1.0 + mu * c) / (mu * p.z_free), kLargest);
  double a = 0.0;
  for (int i = 0; i < kMaxIterations; ++i) {
    const double x1 = p.s1 + a;
    const double x2 = p.s2 + a;
    const double inverse = 1.0 / (x1 * x2);
    const double y1 = x2 * inverse;
    const double y2 = x1 * inverse;
    const double t1 = p.rho1 * y1;  // -z_t
    const double t2 = p.rho2 * y2;
    const double m2 = t1 * t1 + t2 * t2;
    const double normal = p.z_free + p.c1 * t1 + p.c2 * t2;
    const double excess = normal - std::sqrt(m2) * by_mu;  // has the sign of psi
    // psi / psi', multiplied out
    const double curve = t1 * t1 * y1 + t2 * t2 * y2;
    const double slope = normal * curve - m2 * (p.c1 * t1 * y1 + p.c2 * t2 * y2);
    const double newton = a - excess * m2 / slope;
    (excess < 0.0 ? low : high) = a;
    // quadratic convergence: the error left is about the square of this step
    if (std::abs(newton - a) <= 1e-9 * (s_min + a)) return newton;
    if (!(high - low > kEpsilon * (s_min + high))) break;
    a = newton > low && newton < high ? newton : 0.5 * (low + high);
  }
  return a;
}

}  // namespace

Vec3 project_cone(const Vec3& x, double mu) {
  const double n = x[0];
  const double t = std::sqrt(x[1] * x[1] + x[2] * x[2]);
  if (n >= 0.0 && t <= mu * n) return x;
  if (mu * t <= -n) return Vec3::Zero();  // inside the polar cone
  const double normal = (n + mu * t) / (1.0 + mu * mu);
  const double scale = mu * normal / t;
  return {normal, scale * x[1], scale * x[2]};
}

Vec3 solve_one_contact_coulomb(const Mat3& d, const Vec3& r, double mu) {
  if (r[0] >= 0.0) return Vec3::Zero();  // takes off
  if (mu <= 0.0) return {-r[0] / d(0, 0), 0.0, 0.0};
  if (is_isotropic(d)) return solve_one_contact_isotropic(d(0, 0), d(1, 1), r, mu);

  const Sliding p(d, r);
  const double stick1 = -p.rho1 / p.s1;
  const double stick2 = -p.rho2 / p.s2;
  const double stick_normal = p.z_free - p.c1 * stick1 - p.c2 * stick2;
  if (std::sqrt(stick1 * stick1 + stick2 * stick2) <= mu * stick_normal)
    return p.impulse(stick_normal, stick1, stick2);

  const double a = sliding_ratio(p, mu);
  const double t1 = -p.rho1 / (p.s1 + a);
  const double t2 = -p.rho2 / (p.s2 + a);
  const double m = std::sqrt(t1 * t1 + t2 * t2);
  // From the direction alone w_n = 0 holds to round-off, unless the coupling nearly
  // cancels the normal stiffness (large mu); then the size comes from a as well.
  const double stiffness = 1.0 + mu * (p.c1 * t1 + p.c2 * t2) / m;
  if (stiffness < 0.25) return p.impulse(m / mu, t1, t2);
  const double normal = p.z_free / stiffness;
  const double scale = mu * normal / m;
  return p.impulse(normal, scale * t1, scale * t2);
}

namespace {

/// L^-1 for D = L L^T.
Mat3 inverse_of_cholesky_factor(const Mat3& d) {
  const double a = 1.0 / std::sqrt(d(0, 0));
  const double l10 = d(1, 0) * a;
  const double l20 = d(2, 0) * a;
  const double b = 1.0 / std::sqrt(d(1, 1) - l10 * l10);
  const double l21 = (d(2, 1) - l20 * l10) * b;
  const double c = 1.0 / std::sqrt(d(2, 2) - l20 * l20 - l21 * l21);
  Mat3 inverse;
  inverse << a, 0.0, 0.0,    //
      -l10 * a * b, b, 0.0,  //
      (l10 * b * l21 - l20) * a * c, -l21 * b * c, c;
  return inverse;
}

/// The point of the cone's boundary that minimises 1/2 z^T D z + r^T z, given that
/// neither 0 nor an interior point does.
///
/// Its KKT conditions are (D + a J) z = -r, z^T J z = 0, a > 0, z_n > 0 with
/// J = diag(-mu^2, 1, 1). With D = L L^T and the eigenvectors of L^-1 J L^-T
/// (eigenvalues -l0 < 0 < l1 <= l2) they are, y and p in that basis,
///   y_i = p_i / (1 + a l_i),   m(a)^2 = l1 y_1^2 + l2 y_2^2,
///   F(a) = 1 - a l0 - p_0 sqrt(l0) / m(a) = 0,   y_0 = m / sqrt(l0) > 0:
/// a form that passes a = 1/l0 (p_0 = 0) smoothly. 1/m is concave, so F is convex
/// or concave and has one root.
class ConeBoundary {
 public:
  ConeBoundary(const Mat3& d, const Vec3& r, double mu) : d_(d), r_(r), mu_(mu) {
    const Mat3 l_inverse = inverse_of_cholesky_factor(d);
    const Vec3 j(-mu * mu, 1.0, 1.0);
    const Mat3 a = l_inverse * j.asDiagonal() * l_inverse.transpose();
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(a);
    basis_ = l_inverse.transpose() * eigen.eigenvectors();
    // the half with z_n > 0 is y_0 > 0
    if (basis_(0, 0) < 0.0) basis_.col(0) = -basis_.col(0);
    p_ = -basis_.transpose() * r;
    l0_ = -eigen.eigenvalues()[0];
    l1_ = eigen.eigenvalues()[1];
    l2_ = eigen.eigenvalues()[2];
  }

  Vec3 solve() const {
    const double a = root();
    const Vec3 y(std::sqrt(squares(a) / l0_), p_[1] / (1.0 + a * l1_), p_[2] / (1.0 + a * l2_));
    return polished(basis_ * y);
  }

 private:
  double squares(double a) const {
    const double y1 = p_[1] / (1.0 + a * l1_);
    const double y2 = p_[2] / (1.0 + a * l2_);
    return l1_ * y1 * y1 + l2_ * y2 * y2;
  }

  double root() const {
    const double k = p_[0] * std::sqrt(l0_);
    double low = 0.0;
    double high = std::numeric_limits<double>::infinity();
    double a = p_[0] < 0.0 ? 1.0 / l0_ : 0.0;
    for (int i = 0; i < 4 * kMaxIterations; ++i) {
      const double x1 = 1.0 / (1.0 + a * l1_);
      const double x2 = 1.0 / (1.0 + a * l2_);
      const double q1 = l1_ * p_[1] * p_[1] * x1 * x1;
      const double q2 = l2_ * p_[2] * p_[2] * x2 * x2;
      const double m2 = q1 + q2;
      const double by_m = 1.0 / std::sqrt(m2);
      const double f = 1.0 - a * l0_ - k * by_m;
      const double slope = -l0_ - k * by_m * (q1 * l1_ * x1 + q2 * l2_ * x2) / m2;
      (f > 0.0 ? low : high) = a;
      const double newton = a - f / slope;
      if (std::abs(newton - a) <= 1e-9 * a) return newton;
      if (std::isnan(newton) || (std::isfinite(high) && high - low <= kEpsilon * high)) break;
      if (newton > low && newton < high)
        a = newton;
      else
        a = std::isinf(high) ? 2.0 * a + 1.0 / l0_ : 0.5 * (low + high);
    }
    return a;
  }

  /// Newton in the angle t of z = z_n (1, mu cos t, mu sin t) =: z_n e on the stationarity
  ///   (r . e') (e . D e) - (r . e) (e' . D e) = 0,
  /// which removes what the factorisation of an ill-conditioned D lost.
  Vec3 polished(const Vec3& z) const {
    double t = std::atan2(z[2], z[1]);
    double last = std::numeric_limits<double>::infinity();
    Vec3 e;
    for (int i = 0; i < 4; ++i) {
      const double c = mu_ * std::cos(t);
      const double s = mu_ * std::sin(t);
      e = {1.0, c, s};
      const Vec3 e1(0.0, -s, c);
      const Vec3 e2(0.0, -c, -s);
      const Vec3 de = d_ * e;
      const Vec3 de1 = d_ * e1;
      const double re = r_.dot(e);
      const double re1 = r_.dot(e1);
      const double g = re1 * e.dot(de) - re * e1.dot(de);
      const double slope =
          r_.dot(e2) * e.dot(de) + re1 * e1.dot(de) - re * (e2.dot(de) + e1.dot(de1));
      const double step = -g / slope;
      // only ever a small correction; not one towards another stationary point
      if (!(std::abs(step) < 0.5 * last) || !(std::abs(step) < 1e-3)) break;
      last = std::abs(step);
      t += step;
      if (last < kEpsilon) break;
    }
    e = {1.0, mu_ * std::cos(t), mu_ * std::sin(t)};
    // where D is too thin for any digits the normal impulse may come out with the wrong sign
    const double normal = -r_.dot(e) / e.dot(d_ * e);
    return normal < 0.0 ? Vec3(Vec3::Zero()) : Vec3(normal * e);
  }

  Mat3 d_;
  Vec3 r_;
  double mu_;
  Mat3 basis_;
  Vec3 p_;
  double l0_, l1_, l2_;
};

/// Decoupled and isotropic: by symmetry the minimiser slides against r_t.
Vec3 convex_isotropic(double d_n, double d_t, const Vec3& r, double mu) {
  const double t = std::sqrt(r[1] * r[1] + r[2] * r[2]);
  if (r[0] >= mu * t) return Vec3::Zero();
  const double stick_normal = -r[0] / d_n;
  if (t / d_t <= mu * stick_normal) return {stick_normal, -r[1] / d_t, -r[2] / d_t};
  const double normal = (mu * t - r[0]) / (d_n + mu * mu * d_t);
  const double scale = -mu * normal / t;
  return {normal, scale * r[1], scale * r[2]};
}

}  // namespace

Vec3 solve_one_contact_convex(const Mat3& d, const Vec3& r, double mu) {
  if (mu <= 0.0) return {r[0] >= 0.0 ? 0.0 : -r[0] / d(0, 0), 0.0, 0.0};
  if (is_isotropic(d)) return convex_isotropic(d(0, 0), d(1, 1), r, mu);
  if (r[0] >= mu * std::sqrt(r[1] * r[1] + r[2] * r[2])) return Vec3::Zero();

  const Sliding p(d, r);
  const double stick1 = -p.rho1 / p.s1;
  const double stick2 = -p.rho2 / p.s2;
  const double stick_normal = p.z_free - p.c1 * stick1 - p.c2 * stick2;
  if (std::sqrt(stick1 * stick1 + stick2 * stick2) <= mu * stick_normal)
    return p.impulse(stick_normal, stick1, stick2);
  return ConeBoundary(d, r, mu).solve();
}

double largest_eigenvalue(const Mat3& d) {
  const double q = d.trace() / 3.0;
  const double off = d(0, 1) * d(0, 1) + d(0, 2) * d(0, 2) + d(1, 2) * d(1, 2);
  const Vec3 deviation = d.diagonal().array() - q;
  const double p = std::sqrt((deviation.squaredNorm() + 2.0 * off) / 6.0);
  if (p == 0.0) return q;
  const Mat3 b = (d - q * Mat3::Identity()) / p;
  const double half_det = std::clamp(0.5 * b.determinant(), -1.0, 1.0);
  return q + 2.0 * p * std::cos(std::acos(half_det) / 3.0);
}

}  // namespace catena
