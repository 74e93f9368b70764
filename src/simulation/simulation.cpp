#include "catena/simulation/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "catena/partition/balance.hpp"

namespace catena {

namespace {

int number_of_parts(const Communicator& comm, const BalanceSettings& settings) {
  return settings.subdomains > 0 ? settings.subdomains : comm.size();
}

std::unique_ptr<Solver> make_solver(const SolverSettings& settings) {
  return make_gauss_seidel(settings.gauss_seidel);
}

/// Sweeping one contact's rows costs about what a body's share of the rest of a step does.
double counted_work(const Stepper& stepper, const Bodies& bodies) {
  return static_cast<double>(stepper.contacts().contacts.size()) *
             (4.0 + stepper.report().solve.iterations) +
         static_cast<double>(bodies.size());
}

}  // namespace

Simulation::Simulation(const Communicator& comm, const CaseSettings& settings)
    : comm_(comm), settings_(settings), model_(make_model(settings, comm)) {
  generate_bodies(settings_, comm_, model_, bodies_, state_);
  state_.subdomain.assign(bodies_.constants.size(), 0);
  const EnergyMomentum start = energy_and_momentum(model_, bodies_, state_);
  state_.audit.initial_energy = start.kinetic + start.potential;

  const int n_parts = number_of_parts(comm_, settings_.parallel);
  migrate(comm_, bodies_, state_, partition_by_curve(comm_, bodies_, state_, n_parts), n_parts);
  stepper_ = std::make_unique<Stepper>(
      comm_, model_,
      StepperSettings{settings_.time.stepper, settings_.time.step, settings_.solver.warm_start},
      make_solver(settings_.solver));
  distribute();
}

Simulation::~Simulation() = default;

std::int64_t Simulation::n_steps() const {
  return std::llround(settings_.time.end / settings_.time.step);
}

void Simulation::distribute() {
  const int n_parts = number_of_parts(comm_, settings_.parallel);
  if (n_parts == 1) return;
  stepper_->find_contacts(bodies_, state_);
  std::vector<int> part = partition_bodies(comm_, bodies_, state_, stepper_->contacts(), n_parts,
                                           settings_.parallel, quality_);
  relabel_parts(comm_, part, n_parts);
  quality_.moved = migrate(comm_, bodies_, state_, part, n_parts);
}

const StepReport& Simulation::step() {
  const int interval = settings_.parallel.rebalance_steps;
  if (interval > 0 && state_.step > 0 && state_.step % interval == 0 &&
      imbalance_ > settings_.parallel.imbalance) {
    distribute();
  }
  const StepReport& report = stepper_->step(bodies_, state_);
  const double work = counted_work(*stepper_, bodies_);
  const double mean = comm_.sum(work) / comm_.size();
  imbalance_ = mean > 0.0 ? comm_.max(work) / mean : 1.0;
  return report;
}

}  // namespace catena
