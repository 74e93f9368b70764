#include "solvers/batches/local/local_solve.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "catena/math/cone.hpp"

namespace catena {
namespace {

/// Tangents of z cut to |z_t| <= mu z_n, their direction kept.
Vec3 cut_tangents(const Vec3& z, double friction) {
  const double limit = friction * z[0];
  const double t = std::hypot(z[1], z[2]);
  if (t <= limit) return z;
  return {z[0], z[1] * (limit / t), z[2] * (limit / t)};
}

Vec3 relaxed(double omega, const Vec3& z, const Vec3& lambda, double friction) {
  if (omega == 1.0) return z;
  return project_cone(lambda + omega * (z - lambda), friction);
}

/// Sticking solution z = lambda - D^-1 w if the cone admits it.
bool sticks(const Vec3& z, double friction) {
  return z[0] > 0.0 && z[1] * z[1] + z[2] * z[2] <= friction * friction * z[0] * z[0];
}

Vec3 solve_exact(const LocalSolveOptions& rules, const ContactBlock& block, const Vec3& w,
                 const Vec3& lambda, double friction) {
  const Vec3 q = w - block.d * lambda;  // w at z = 0
  const bool coulomb = law_form(rules.law).shifted;
  const double slip = coulomb ? 0.0 : friction * std::hypot(q[1], q[2]);
  if (q[0] >= slip) return Vec3::Zero();
  Vec3 z = lambda - block.d_inverse * w;
  if (sticks(z, friction)) return z;
  if (friction == 0.0) return {-q[0] / block.d(0, 0), 0.0, 0.0};
  return coulomb ? solve_one_contact_coulomb(block.d, q, friction)
                 : solve_one_contact_convex(block.d, q, friction);
}

Vec3 solve_sliding(const ContactBlock& block, const Vec3& w, const Vec3& lambda, double friction) {
  Vec3 z = lambda - block.d_inverse * w;  // (18)
  if (z[0] <= 0.0) return Vec3::Zero();
  const double t = std::hypot(z[1], z[2]);
  if (t <= friction * z[0]) return z;
  const double c = z[1] / t, s = z[2] / t;
  // (21): (d11 + mu (d12 c + d13 s)) z_1 = -r_1 + (D lambda)_1
  const double slope = block.d(0, 0) + friction * (block.d(0, 1) * c + block.d(0, 2) * s);
  const double load = (block.d * lambda)[0] - w[0];
  if (slope <= 0.0 || load <= 0.0) return Vec3::Zero();
  const double z_1 = load / slope;
  return {z_1, friction * z_1 * c, friction * z_1 * s};
}

/// One row's step with w carried along.
double step_row(const Mat3& d, int i, double omega, double lower, double upper, Vec3& w, Vec3& z) {
  const double next = std::clamp(z[i] - omega * w[i] / d(i, i), lower, upper);
  w += d.col(i) * (next - z[i]);
  z[i] = next;
  return next;
}

Vec3 solve_scalar(const LocalSolveOptions& rules, const Mat3& d, Vec3 w, Vec3 z, double friction) {
  const double normal = step_row(d, 0, rules.omega, 0.0, kInfinity, w, z);
  const LawForm form = law_form(rules.law);
  if (form.frictionless) return {normal, 0.0, 0.0};
  const double bound = form.box ? friction * normal : kInfinity;
  step_row(d, 1, rules.omega, -bound, bound, w, z);
  step_row(d, 2, rules.omega, -bound, bound, w, z);
  return form.box ? z : cut_tangents(z, friction);
}

}  // namespace

void check_local_rules(const LocalSolveOptions& rules) {
  const bool cone = rules.local == LocalSolve::cone;
  const bool associated = law_form(rules.law).is_associated();
  if (cone && !associated)
    throw Error("local solve 'cone' is for law 'ccp' only", "solver.local", "use local: exact");
  if (!cone && rules.local != LocalSolve::exact && associated)
    throw Error("local solves 'project', 'sliding' and 'scalar' solve Coulomb's law, not 'ccp'",
                "solver.local", "use local: exact or cone");
}

ContactBlock make_contact_block(const Mat3& d) {
  ContactBlock block{d, Mat3::Zero(), 0.0};
  const double trace = d.trace();
  if (!(trace > 0.0)) return block;
  const double mean = trace / 3.0;
  if (!(block.d.determinant() > 1e-12 * mean * mean * mean))
    block.d.diagonal().array() += 1e-10 * trace;
  block.d_inverse = block.d.inverse();
  block.largest = largest_eigenvalue(block.d);
  return block;
}

Vec3 solve_contact(const LocalSolveOptions& rules, const ContactBlock& block, const Vec3& w,
                   const Vec3& lambda, double friction) {
  if (block.largest == 0.0) return Vec3::Zero();
  if (!law_form(rules.law).is_cone() || rules.local == LocalSolve::scalar)
    return solve_scalar(rules, block.d, w, lambda, friction);
  switch (rules.local) {
    case LocalSolve::cone:
      return project_cone(lambda - (rules.omega / block.largest) * w, friction);
    case LocalSolve::project: {
      const Vec3 z = lambda - block.d_inverse * w;
      return relaxed(rules.omega, z[0] <= 0.0 ? Vec3(Vec3::Zero()) : cut_tangents(z, friction),
                     lambda, friction);
    }
    case LocalSolve::sliding:
      return relaxed(rules.omega, solve_sliding(block, w, lambda, friction), lambda, friction);
    default:
      return relaxed(rules.omega, solve_exact(rules, block, w, lambda, friction), lambda, friction);
  }
}

Vec3 admissible_contact(ContactLaw law, const Vec3& lambda, double friction) {
  const LawForm form = law_form(law);
  if (form.is_cone()) return project_cone(lambda, friction);
  const double normal = std::max(lambda[0], 0.0);
  if (form.frictionless) return {normal, 0.0, 0.0};
  const double bound = friction * normal;
  return {normal, std::clamp(lambda[1], -bound, bound), std::clamp(lambda[2], -bound, bound)};
}

void solve_rows(std::span<const double> d, double omega, std::span<const double> lower,
                std::span<const double> upper, std::span<double> w, std::span<double> lambda) {
  const std::size_t rows = lambda.size();
  for (std::size_t i = 0; i < rows; ++i) {
    const double d_ii = d[i * rows + i];
    if (!(d_ii > 0.0)) continue;
    const double next = std::clamp(lambda[i] - omega * w[i] / d_ii, lower[i], upper[i]);
    const double change = next - lambda[i];
    lambda[i] = next;
    for (std::size_t j = 0; j < rows; ++j) w[j] += d[j * rows + i] * change;
  }
}

Vec3 solve_one_contact(const Mat3& d, const Vec3& w, double friction) {
  const LocalSolveOptions exact{ContactLaw::coulomb, LocalSolve::exact, 1.0};
  return solve_contact(exact, make_contact_block(d), w, Vec3::Zero(), friction);
}

}  // namespace catena
