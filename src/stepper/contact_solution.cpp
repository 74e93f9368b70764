#include "stepper/contact_solution.hpp"

#include <algorithm>
#include <cmath>

#include "catena/constraints/contact_cone.hpp"

namespace catena {

namespace {

/// axis . I^-1 axis of a rigid body, 1/(kg m^2).
double body_mobility(const ProblemBodies& bodies, Index b, const Vec3& axis) {
  if (bodies.is_prescribed(b)) return 0.0;
  const std::array<double, 6> torque = {0.0, 0.0, 0.0, axis.x(), axis.y(), axis.z()};
  std::array<double, 6> change;
  apply_inverse_mass(bodies, b, torque, change);
  return axis.x() * change[3] + axis.y() * change[4] + axis.z() * change[5];
}

/// Puts the work of a contact where it belongs: `normal_work` and `all_work` of its impulse on the
/// pair, `after` the normal row of G V.
void add_to_terms(double lambda_n, double normal_work, double all_work, double after,
                  bool recovering, AuditTerms& work) {
  work[EnergyTerm::dissipation_friction] -= all_work - normal_work;
  if (lambda_n < 0.0) {
    work[EnergyTerm::cohesion_work] += normal_work;
    return;
  }
  const double recovery = recovering ? std::max(0.0, 0.5 * lambda_n * after) : 0.0;
  work[EnergyTerm::dissipation_impact] -= normal_work - recovery;
  work[EnergyTerm::recovery_work] += recovery;
}

}  // namespace

double turn_mobility(const ProblemBodies& bodies, const RigidContact& rows, const Vec3& axis) {
  return body_mobility(bodies, rows.body_a, axis) + body_mobility(bodies, rows.body_b, axis);
}

template <class X>
double ContactSolution::add_couples(double sum, X&& x_of) const {
  if (!kept.couples) return sum;
  const GeneralBlocks& blocks = problem.blocks;
  const ContactFrame own = frame();
  double rolled = 0.0;
  for (Index r = 3; r < own.rows; ++r) {
    const double x = x_of(r, own.axis[r]);
    if (is_spinning(r))
      sum += blocks.spinning[kept.slot] * std::abs(x);
    else
      rolled += x * x;
  }
  return sum + std::max(0.0, blocks.rolling[kept.slot]) * std::sqrt(rolled);
}

double ContactSolution::pressing(const Vec3& u) const {
  // the rows that are kept of coupled contacts hold no shift
  const double shift =
      kept.couples && problem.lagged ? problem.shift[problem.contacts.size() + kept.slot] : 0.0;
  const double impulse = lambda[0] + rows.cohesion;
  const double w_n = u[0] + rows.compliance * lambda[0] + rows.bias + shift;
  // D x, m/s
  double pull = kept.diagonal[0] * impulse - w_n;
  if (law_form(problem.law).is_associated()) {
    std::array<double, 2> x;
    for (std::size_t i = 0; i < 2; ++i)
      x[i] = kept.diagonal[1] * lambda[i + 1] - u[to_index(i) + 1] -
             rows.tangent_compliance * lambda[i + 1] - rows.tangent_bias[i];
    pull += rows.friction * std::sqrt(x[0] * x[0] + x[1] * x[1]);
    pull += add_couples(0.0, [&](Index r, const Vec3& axis) {
      return turn_mobility(problem.bodies, rows, axis) * lambda[r] - axis.dot(relative_spin()) +
             problem.blocks.q[row(r)];
    });
  }
  return pull > 0.0 ? impulse : 0.0;
}

double ContactSolution::friction_slip(const Vec3& u) const {
  const double w1 = u[1] + rows.tangent_compliance * lambda[1];
  const double w2 = u[2] + rows.tangent_compliance * lambda[2];
  const double slid =
      rows.friction * std::hypot(w1 + rows.tangent_bias[0], w2 + rows.tangent_bias[1]);
  return add_couples(slid, [&](Index r, const Vec3& axis) { return couple_slip(r, axis); });
}

void ContactSolution::add_work(const PointVelocities& at_point, const LocalBodies& local,
                               AuditTerms& audit) const {
  if (kept.couples)
    add_block_work(local, audit);
  else if (!is_zero(lambda))
    add_rigid_work(at_point, audit);
}

void ContactSolution::add_rigid_work(const PointVelocities& at_point, AuditTerms& audit) const {
  const auto& [before_a, before_b, after_a, after_b] = at_point;
  const Vec3 tangent2 = rows.normal.cross(rows.tangent);
  const Vec3 impulse = lambda[0] * rows.normal + lambda[1] * rows.tangent + lambda[2] * tangent2;
  const Vec3 mean = 0.5 * ((after_b - after_a) + (before_b - before_a));
  const double drift_work = work_of_drift();
  add_to_terms(lambda[0], lambda[0] * (rows.normal.dot(mean) + kept.drift[0]),
               impulse.dot(mean) + drift_work, rows.normal.dot(after_b - after_a) + kept.drift[0],
               kept.recovering, audit);
  audit[EnergyTerm::external_work] -= drift_work;

  // u holds the prescribed bodies' velocity too: what they put in is not from the dynamic ones
  if (problem.bodies.is_prescribed(rows.body_a))
    audit[EnergyTerm::external_work] += 0.5 * impulse.dot(after_a + before_a);
  if (problem.bodies.is_prescribed(rows.body_b))
    audit[EnergyTerm::external_work] -= 0.5 * impulse.dot(after_b + before_b);
}

/// The same of a contact with explicit rows.
void ContactSolution::add_block_work(const LocalBodies& local, AuditTerms& audit) const {
  const GeneralBlocks& blocks = problem.blocks;
  const Index n_rows = blocks.rows(kept.slot);
  double normal_work = lambda[0] * kept.drift[0], all_work = work_of_drift();
  double after = kept.drift[0];
  audit[EnergyTerm::external_work] -= all_work;
  for (Index j = blocks.body_begin[kept.slot]; j < blocks.body_begin[kept.slot + 1]; ++j) {
    const double* jacobian = blocks.jacobian.data() + blocks.jacobian_begin[j];
    const double* twist = twists.data() + Offset{6} * blocks.body[j];
    const Twist& before = local.twist(blocks.body[j]);
    double on_body = 0.0;
    for (Index row = 0; row < n_rows; ++row, jacobian += 6) {
      double before_row = 0.0, after_row = 0.0;
      for (int c = 0; c < 6; ++c) {
        before_row += jacobian[c] * (c < 3 ? before.v[c] : before.w[c - 3]);
        after_row += jacobian[c] * twist[c];
      }
      const double row_work = 0.5 * lambda[row] * (before_row + after_row);
      on_body += row_work;
      if (row == 0) normal_work += row_work, after += after_row;
    }
    all_work += on_body;
    if (problem.bodies.is_prescribed(blocks.body[j])) audit[EnergyTerm::external_work] -= on_body;
  }
  add_to_terms(lambda[0], normal_work, all_work, after, kept.recovering, audit);
}

}  // namespace catena
