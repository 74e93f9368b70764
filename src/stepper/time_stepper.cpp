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
  for (const EnergyTermEntry& e : kEnergyTerms)
    if (e.in_steps) added.add(terms[e.term]);
  comm.sum(added.words());
  std::size_t i = 0;
  double explained = state.audit[EnergyTerm::initial_energy];
  for (const EnergyTermEntry& e : kEnergyTerms) {
    if (e.term == EnergyTerm::elastic_energy)
      state.audit[e.term] = added[i++];
    else if (e.in_steps)
      state.audit[e.term] += added[i++];
    if (e.term != EnergyTerm::initial_energy) explained += e.sign * state.audit[e.term];
  }
  report.audit = state.audit;
  report.energy_residual = em.kinetic + em.potential - explained;
}

}  // namespace catena
