#include "catena/stepper/time_stepper.hpp"

namespace catena {

void record_energies(const Communicator& comm, const Model& model, const Bodies& bodies,
                     const State& state, StepReport& report) {
  const EnergyMomentum em = energy_and_momentum(model, bodies, state);
  const AuditSums& audit = state.audit;
  std::array<double, 18> sums = {em.kinetic,
                                 em.potential,
                                 em.linear[0],
                                 em.linear[1],
                                 em.linear[2],
                                 em.angular[0],
                                 em.angular[1],
                                 em.angular[2],
                                 audit.dissipation_friction,
                                 audit.dissipation_impact,
                                 audit.recovery_work,
                                 audit.external_work,
                                 audit.initial_energy,
                                 audit.cohesion_work,
                                 audit.flow_energy,
                                 audit.joint_work,
                                 audit.motor_work,
                                 audit.projection_work};
  comm.sum(sums);
  report.kinetic = sums[0];
  report.potential = sums[1];
  report.linear_momentum = Vec3(sums[2], sums[3], sums[4]);
  report.angular_momentum = Vec3(sums[5], sums[6], sums[7]);
  report.audit = {sums[8],  sums[9],  sums[10], sums[11], sums[12],
                  sums[13], sums[14], sums[15], sums[16], sums[17]};
  const AuditSums& all = report.audit;
  report.energy_residual =
      sums[0] + sums[1] -
      (all.initial_energy - all.dissipation_friction - all.dissipation_impact + all.recovery_work +
       all.external_work + all.cohesion_work + all.flow_energy + all.joint_work + all.motor_work +
       all.projection_work);
}

}  // namespace catena
