// The position stage of a step: joints' misfits are projected away.
#include <algorithm>
#include <cmath>

#include "catena/base/timer.hpp"
#include "catena/math/rotation.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "stepper/twists.hpp"

namespace catena {
namespace {

constexpr int kMaxTurns = 10;
/// Halvings of a move that does not lessen the misfit.
constexpr int kMaxHalvings = 4;

double largest(const JointMisfit& misfit) { return std::max(misfit.linear, misfit.angular); }

}  // namespace

/// Collective. Misfits at the present poses.
JointMisfit SemiImplicitStepper::misfits(const Bodies& bodies, const State& state,
                                         std::span<double> rhs) const {
  const JointMisfit own = joints_.misfits(bodies, state, contact_set_, rhs, *problem_);
  return {comm_.max(own.linear), comm_.max(own.angular)};
}

/// A share of what `changes` have for body i; in planar motion what stays in the plane.
Twist SemiImplicitStepper::move_of(std::span<const double> changes, std::size_t i,
                                   double share) const {
  const double* d = changes.data() + 6 * i;
  const Twist move{share * Vec3(d[0], d[1], d[2]), share * Vec3(d[3], d[4], d[5])};
  return model_.planar ? in_plane(move) : move;
}

/// Moves jointed bodies from the poses `from` by a share of `changes`.
void SemiImplicitStepper::move_jointed(const Bodies& bodies, std::span<const Pose> from,
                                       std::span<const double> changes, double share,
                                       State& state) {
  LocalBodies& local = contact_set_.bodies;
  for (std::size_t i = 0; i < local.constants.size(); ++i) {
    const BodyConstants& body = local.constants[i];
    if (body.kind != BodyKind::dynamic || !body.jointed) continue;
    const bool owned = i < bodies.constants.size();
    Pose& pose = owned ? state.body[i].pose : local.state.other(i).pose;
    const Twist move = move_of(changes, i, share);
    pose.p = from[i].p + move.v;
    pose.q = advance_rotation(from[i].q, move.w, 1.0);
  }
}

/// What gravity's potential gains by such a move, body by body, so that the sum does not depend on
/// who owns them.
void SemiImplicitStepper::note_projection_work(const Bodies& bodies, const State& state,
                                               std::span<const double> changes, double share) {
  const Vec3 gravity = model_.gravity_at(state.time);
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic || !body.jointed) continue;
    audit_[EnergyTerm::projection_work] -= body.mass * gravity.dot(move_of(changes, i, share).v);
  }
}

void SemiImplicitStepper::put_back(const Bodies& bodies, std::span<const Pose> from, State& state) {
  for (std::size_t i = 0; i < from.size(); ++i)
    (i < bodies.constants.size() ? state.body[i] : contact_set_.bodies.state.other(i)).pose =
        from[i];
}

/// Local. Joints are in boxes alone that do not move, so that velocities stay.
void SemiImplicitStepper::put_jointed_inside(const Bodies& bodies, State& state) {
  LocalBodies& local = contact_set_.bodies;
  for (std::size_t i = 0; i < local.constants.size(); ++i) {
    const BodyConstants& body = local.constants[i];
    if (body.kind != BodyKind::dynamic || !body.jointed) continue;
    const bool owned = i < bodies.constants.size();
    Vec3& p = owned ? state.body[i].pose.p : local.state.other(i).pose.p;
    const Vec3 by = box_.wrapped(p) - p;
    if (by.isZero(0.0)) continue;
    if (owned)
      audit_[EnergyTerm::external_work] -= body.mass * model_.gravity_at(state.time).dot(by);
    p += by;
    put_back_.push_back({body.id, by});
  }
}

/// A full move is Newton's with the factors of the step's start. Near positions in which rows are
/// nearly dependent it overshoots, the more the softer the direction: its square then weighs more
/// than the misfit that it is to remove, and the next move more again. So a move counts only if the
/// largest misfit falls.
void SemiImplicitStepper::project_joints(const Bodies& bodies, State& state) {
  report_.projections = report_.projection_cuts = 0;
  report_.projection_dropped = false;
  report_.projected = {};
  report_.projection_momentum = Vec3::Zero();
  if (std::isnan(settings_.projection)) return;
  if (comm_.max(std::ssize(bodies.joints)) == 0) return;
  const ScopedTimer timer(report_.times[StepStage::project_joints]);
  const Vec3 momentum = total_energy_and_momentum(comm_, model_, bodies, state).angular;
  std::vector<double> rhs(impulses_.size()), changes(velocities_.size());
  std::vector<Pose> from(contact_set_.bodies.constants.size());
  report_.projected = misfits(bodies, state, rhs);
  while (largest(report_.projected) > settings_.projection && report_.projections < kMaxTurns) {
    solver_->move_joints(*problem_, rhs, changes);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = i < bodies.constants.size() ? state.body[i].pose
                                            : contact_set_.bodies.state.other(i).pose;
    double share = 1.0;
    for (int halvings = 0;; ++halvings, share *= 0.5) {
      move_jointed(bodies, from, changes, share, state);
      const JointMisfit after = misfits(bodies, state, rhs);
      if (largest(after) < largest(report_.projected)) {
        note_projection_work(bodies, state, changes, share);
        report_.projected = after;
        break;
      }
      if (halvings == kMaxHalvings) {
        put_back(bodies, from, state);
        report_.projection_dropped = true;
        break;
      }
    }
    if (report_.projection_dropped) break;
    ++report_.projections;
    if (share < 1.0) ++report_.projection_cuts;
  }
  if (report_.projections == 0) return;
  joints_.update_angles(bodies, contact_set_, state);
  if (model_.periodic.any()) put_jointed_inside(bodies, state);
  report_.projection_momentum =
      total_energy_and_momentum(comm_, model_, bodies, state).angular - momentum;
}

}  // namespace catena
