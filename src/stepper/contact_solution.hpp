// A contact of a step with what the solver found for it: directions, force, slips, work.
#pragma once

#include <array>
#include <span>

#include "catena/constraints/delassus.hpp"
#include "catena/stepper/contact_stretches.hpp"
#include "stepper/twists.hpp"

namespace catena {

/// Less of an overlap of the start counts as none, m.
inline constexpr double kLeastStartOverlap = 1e-12;

/// Directions of a contact's rows, of the force, then of the couple, and their number.
struct ContactFrame {
  std::array<Vec3, 6> axis;
  Index rows;
};

/// World frame, on body b.
struct ContactForce {
  Vec3 impulse = Vec3::Zero(), couple = Vec3::Zero();
};

inline ContactFrame frame_of(const KeptContact& kept, const RigidContact& rows,
                             const GeneralBlocks& blocks) {
  ContactFrame frame{{rows.normal, rows.tangent, rows.normal.cross(rows.tangent)}, 3};
  if (!kept.couples) return frame;
  if (blocks.rolling[kept.slot] >= 0.0) {
    frame.axis[3] = frame.axis[1];
    frame.axis[4] = frame.axis[2];
    frame.rows = 5;
  }
  if (blocks.spinning[kept.slot] >= 0.0) frame.axis[frame.rows++] = rows.normal;
  return frame;
}

/// What the contact's rows `lambda` do.
inline ContactForce force_of(const KeptContact& kept, const RigidContact& rows,
                             const GeneralBlocks& blocks, const double* lambda) {
  ContactForce force;
  force.impulse = lambda[0] * rows.normal + lambda[1] * rows.tangent +
                  lambda[2] * rows.normal.cross(rows.tangent);
  if (!kept.couples) return force;
  const ContactFrame frame = frame_of(kept, rows, blocks);
  for (Index i = 3; i < frame.rows; ++i) force.couple += lambda[i] * frame.axis[i];
  return force;
}

inline Vec3 velocity_at(const Twist& twist, const Vec3& arm) {
  return twist.v + twist.w.cross(arm);
}

/// axis . I^-1 axis of both bodies, 1/(kg m^2): N of a row of rolling or spinning.
double turn_mobility(const ProblemBodies& bodies, const RigidContact& rows, const Vec3& axis);

inline bool is_zero(const double* lambda) {
  return lambda[0] == 0.0 && lambda[1] == 0.0 && lambda[2] == 0.0;
}

/// Velocities of both bodies at the contact point, before and after the step.
struct PointVelocities {
  Vec3 before_a, before_b, after_a, after_b;
};

/// A contact and a solution of its problem.
struct ContactSolution {
  const KeptContact& kept;
  const RigidContact& rows;  ///< key, frame and first three rows
  const ConstraintProblem& problem;
  const double* lambda;            ///< of the contact's rows
  std::span<const double> twists;  ///< V of all bodies, 6 numbers each

  ContactFrame frame() const { return frame_of(kept, rows, problem.blocks); }
  /// G V of the contact's three rows, without bias and compliance: `u` of those that take it.
  Vec3 slip() const {
    return contact_slip(rows, twists.data() + 6 * Offset{rows.body_a},
                        twists.data() + 6 * Offset{rows.body_b});
  }
  Vec3 spin(Index body) const {
    return Eigen::Map<const Vec3>(twists.data() + 6 * Offset{body} + 3);
  }
  Vec3 relative_spin() const { return spin(rows.body_b) - spin(rows.body_a); }
  PointVelocities point_velocities(const LocalBodies& local) const {
    return {velocity_at(local.twist(rows.body_a), rows.arm_a),
            velocity_at(local.twist(rows.body_b), rows.arm_b),
            velocity_at(get_twist(twists, rows.body_a), rows.arm_a),
            velocity_at(get_twist(twists, rows.body_b), rows.arm_b)};
  }
  /// Place of row r of a contact with couples among those of general blocks.
  std::size_t row(Index r) const { return problem.blocks.row_begin[kept.slot] + r; }
  /// Whether row r of a contact with couples is about the normal.
  bool is_spinning(Index r) const { return problem.blocks.rolling[kept.slot] < 0.0 || r == 5; }

  /// w of row r of rolling or spinning, about `axis`, rad/s.
  double couple_slip(Index r, const Vec3& axis) const {
    const GeneralBlocks& blocks = problem.blocks;
    return axis.dot(relative_spin()) + blocks.compliance[row(r)] * lambda[r] - blocks.q[row(r)];
  }

  /// The normal impulse by which friction is bounded: that of the contact with its cohesion, none
  /// where x = lambda - D^-1 w says that it opens: x_n <= 0, or under the convex laws, where w_n is
  /// mu |w_t| while a contact slides, x in the polar cone of theirs. Methods that end within the
  /// cones leave impulses on contacts that are open.
  double pressing(const Vec3& u) const;
  /// mu |w_t|, and the same of rolling and spinning where it has them, m/s.
  double friction_slip(const Vec3& u) const;
  /// Adds the work of the contact's impulse (StepContacts::add_work).
  void add_work(const PointVelocities& at_point, const LocalBodies& local, AuditTerms& audit) const;

 private:
  /// `sum` and the coefficients of rolling and spinning times |x| of their discs; x_of(r, axis).
  template <class X>
  double add_couples(double sum, X&& x_of) const;
  /// Of the impulse against the drift, J: what drives surfaces and images puts in the opposite.
  double work_of_drift() const {
    return lambda[0] * kept.drift[0] + lambda[1] * kept.drift[1] + lambda[2] * kept.drift[2];
  }
  void add_rigid_work(const PointVelocities& at_point, AuditTerms& audit) const;
  void add_block_work(const LocalBodies& local, AuditTerms& audit) const;
};

}  // namespace catena
