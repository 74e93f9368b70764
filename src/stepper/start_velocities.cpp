// What joints take from velocities that they do not allow, in the first step of spook and dvi.

#include "catena/base/timer.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "solvers/joints/joint_system.hpp"
#include "stepper/soundness.hpp"

namespace catena {

/// The nearest velocities that rigid rows allow, in the metric of M, are those after a plastic
/// impact; the step makes it, whatever else it does.
void SemiImplicitStepper::note_forbidden(const Bodies& bodies, const State& state) {
  const ScopedTimer timer(report_.times[StepStage::note_forbidden]);
  /// Slips that velocities typed with nine digits have, m/s or rad/s.
  constexpr double kTyped = 1e-7;
  report_.forbidden_energy = 0.0;
  report_.forbidding_joint = kNoBody;
  if (state.step != 0 || !any_joints_) return;
  const LocalBodies& local = contact_set_.bodies;
  std::vector<double> rhs(problem_->n_rows()), changes(problem_->bodies.n_dofs());
  double largest = 0.0;
  const GlobalId id = joints_.start_slips(bodies, local, *problem_, rhs, largest);
  const double over_all = comm_.max(largest);
  if (!(over_all > kTyped)) return;
  JointSystem system{JointSolverSettings{}};
  if (!system.prepare(*problem_)) return;
  system.move(*problem_, rhs, changes);
  double lost = 0.0;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    const BodyConstants& body = bodies.constants[i];
    if (body.kind != BodyKind::dynamic) continue;
    const Twist& before = local.twist(to_index(i));
    const double* d = changes.data() + 6 * i;
    const Vec3 dv(d[0], d[1], d[2]), dw(d[3], d[4], d[5]);
    const Quat& q = local.state[i].pose.q;
    const Vec3 own = q.conjugate() * dw, mean = q.conjugate() * (before.w + 0.5 * dw);
    lost -= body.mass * dv.dot(before.v + 0.5 * dv) + own.dot(body.inertia.cwiseProduct(mean));
  }
  report_.forbidden_energy = comm_.sum(lost);
  report_.forbidding_joint = least_id(comm_, largest == over_all && id != kNoBody, id);
}

}  // namespace catena
