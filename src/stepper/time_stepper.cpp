#include "catena/stepper/time_stepper.hpp"

#include "catena/comm/sums.hpp"

namespace catena {

void record_energies(const Communicator& comm, const Model& model, const Bodies& bodies,
                     const AuditTerms& terms, State& state, StepReport& report) {
  const EnergyMomentum em = total_energy_and_momentum(comm, model, bodies, state);
  report.kinetic = em.kinetic;
  report.potential = em.potential;
  report.linear_momentum = em.linear;
  report.angular_momentum = em.angular;

  SumWords added(model.deterministic);
  for (const Sum* term : {&terms.dissipation_friction, &terms.dissipation_impact,
                          &terms.recovery_work, &terms.external_work, &terms.cohesion_work,
                          &terms.joint_work, &terms.motor_work, &terms.projection_work})
    added.add(*term);
  comm.sum(added.words());
  AuditSums& all = state.audit;
  all.dissipation_friction += added[0];
  all.dissipation_impact += added[1];
  all.recovery_work += added[2];
  all.external_work += added[3];
  all.cohesion_work += added[4];
  all.joint_work += added[5];
  all.motor_work += added[6];
  all.projection_work += added[7];
  report.audit = all;
  report.energy_residual =
      em.kinetic + em.potential -
      (all.initial_energy - all.dissipation_friction - all.dissipation_impact + all.recovery_work +
       all.external_work + all.cohesion_work + all.flow_energy + all.joint_work + all.motor_work +
       all.projection_work);
}

}  // namespace catena
