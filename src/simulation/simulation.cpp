#include "catena/simulation/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/impulse_homes.hpp"
#include "catena/partition/plan.hpp"
#include "catena/partition/tiles.hpp"
#include "catena/simulation/bonds.hpp"
#include "catena/simulation/memory_check.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "simulation/initial/earlier_run.hpp"
#include "simulation/initial/relaxed_overlaps.hpp"

namespace catena {

namespace {

std::unique_ptr<Solver> make_step_solver(SolverSettings settings, const Watch& watch) {
  settings.stop.watch = &watch;
  // what a step shows of its errors
  settings.stop.history_set = ErrorSet::energy;
  settings.stop.report_set = ErrorSet::natural_map;
  return make_solver(settings);
}

/// Rows of the joints that this rank holds.
std::int64_t held_joint_rows(const Bodies& bodies) {
  std::int64_t rows = 0;
  // joints of a type mostly stand together
  JointType type = JointType::spherical;
  std::int64_t of_type = rows_of(type);
  for (const JointConstants& joint : bodies.joints) {
    if (joint.type != type) of_type = rows_of(type = joint.type);
    rows += of_type;
  }
  return rows;
}

}  // namespace

std::unique_ptr<TimeStepper> Simulation::make_stepper() const {
  const CaseSettings& s = settings_;
  if (s.time.stepper == StepperKind::natural)
    return std::make_unique<NaturalStepper>(comm_, model_, s.time.step, s.time.natural,
                                            s.solver.joints, &watch_);
  return std::make_unique<SemiImplicitStepper>(
      comm_, model_,
      StepperSettings{s.time.stepper, s.time.step, s.step_solve.warm_start, s.step_solve.projection,
                      s.step_solve.geometric_stiffness, s.solver.stop.relative_tolerance,
                      std::ranges::count(s.probes, ProbeType::cell, &ProbeSettings::type) > 0},
      make_step_solver(s.solver, watch_));
}

void Simulation::begin() {
  const bool sweeps = settings_.solver.method == SolverMethod::gauss_seidel ||
                      settings_.solver.method == SolverMethod::automatic;
  if (sweeps && settings_.solver.gauss_seidel.formulation == Formulation::residual &&
      number_of_parts() > 1) {
    throw Error("`residual` runs on one subdomain only", "solver.formulation",
                "use formulation: velocity, or set parallel.subdomains to 1");
  }
  set_petsc_options(comm_, settings_.solver.petsc);
}

Simulation::Simulation(const Communicator& comm, const CaseSettings& settings)
    : Simulation(comm, settings, earlier_run(comm, settings)) {}

Simulation::Simulation(const Communicator& comm, const CaseSettings& settings,
                       std::unique_ptr<EarlierRun> earlier) try
    : comm_(comm),
      settings_(settings),
      model_(earlier ? earlier->make_model()
                     : make_model(settings, comm, settings.parallel.deterministic)),
      warnings_(model_.warnings),
      changes_(comm_, settings_, model_),
      probes_(comm_, settings_.probes, settings_, model_, settings_.time.step),
      stop_when_(settings_.stop_when, probes_, settings_.stop_when_place),
      controls_(comm_, settings_.controllers, settings_, model_, probes_, settings_.time.step),
      scene_(comm_, model_, settings_.time.stepper == StepperKind::natural, bodies_, state_,
             [this] { note_change(); }) {
  const double start_wall = wall_seconds();
  begin();
  const double available = available_memory();
  refuse_beyond_memory(memory_need(comm_, settings_, model_, available));
  stepper_ = make_stepper();
  if (earlier) {
    take_bodies(*earlier);
  } else {
    make_bodies();
    place_bodies();
  }
  check_memory(available);
  probes_.begin(state_);
  controls_.begin(bodies_, state_);
  stepper_->check_start(bodies_, state_);
  setup_seconds_ = comm_.max(wall_seconds() - start_wall);
} catch (const BlowUp&) {
  throw;
} catch (const Error& error) {
  throw with_place(settings, error);
}

Simulation::~Simulation() = default;

void Simulation::make_bodies() {
  generate_bodies(settings_, comm_, model_, bodies_, state_);
  state_.subdomain.assign(bodies_.constants.size(), 0);
  changes_.begin(state_);
  start_cell(model_, bodies_, settings_.time.step, state_);
  const EnergyMomentum start = total_energy_and_momentum(comm_, model_, bodies_, state_);
  state_.audit[EnergyTerm::initial_energy] = start.kinetic + start.potential;
}

void Simulation::take_bodies(EarlierRun& earlier) {
  starts_ = earlier.moved_starts();
  earlier.take_up(model_, changes_.inflow().insertions(), bodies_, state_);
  bring_impulses_home(comm_, bodies_, state_);
  const auto is_new = [&](const GeneratorSettings& g) {
    return g.is<BondSettings>() &&
           std::ranges::find(earlier.bonds_gone_on(), g.name()) == earlier.bonds_gone_on().end();
  };
  if (earlier.keeps_places() && std::ranges::none_of(settings_.generators, is_new)) {
    restore_places(earlier.checkpoint());
  } else {
    state_.balance = {};
    place_bodies(earlier.bonds_gone_on());
  }
  n_bonds_ += earlier.n_bonds();
  relax_overlaps(comm_, model_, earlier, *stepper_, bodies_, state_);
  earlier_checkpoint_ = earlier.path();
  remarks_ = earlier.remarks();
  for (const std::string& warning : earlier.warnings()) warnings_.push_back(warning);
}

void Simulation::place_bodies(std::span<const std::string> bonds_gone_on) {
  const int n_parts = number_of_parts();
  migrate(comm_, bodies_, state_, partition_by_curve(comm_, bodies_, state_, n_parts), n_parts);
  n_bonds_ = make_bonds(comm_, settings_, model_, bonds_gone_on, bodies_, state_);
  // refuses bodies that do not fit the periodic box or the plane before any file is touched
  const bool may_not_fit = model_.planar || model_.periodic.any();
  if (n_parts == 1 && may_not_fit) stepper_->find_contacts(bodies_, state_);
  distribute();
}

/// Collective. Once bodies are placed: which mechanisms there are, and thus what their elimination
/// takes, is not known before. Nothing of it has been allocated yet.
void Simulation::check_memory(double available) {
  std::vector<double> elimination;
  if (comm_.sum(std::ssize(bodies_.joints)) > 0) {
    ContactSet contacts;
    ContactSearch(comm_, model_).find(bodies_, state_, settings_.time.step, contacts);
    const std::vector<int> here(bodies_.constants.size(), comm_.rank());
    elimination =
        elimination_memory(comm_, bodies_, contacts, here, comm_.size(), settings_.parallel);
  }
  const MemoryNeed need = memory_need(comm_, settings_, model_, available, elimination);
  refuse_beyond_memory(need);
  if (std::string warning = memory_warning(need); !warning.empty())
    warnings_.push_back(std::move(warning));
}

std::int64_t Simulation::n_steps() const {
  return std::llround(settings_.time.end / settings_.time.step);
}

int Simulation::number_of_parts() const {
  if (model_.deterministic) return count_tiles(comm_, bodies_, settings_.parallel.tile_bodies);
  return subdomains_of(settings_.parallel, comm_.size());
}

void Simulation::distribute() {
  if (model_.deterministic) return distribute_tiles();
  if (number_of_parts() == 1) return;
  const ContactSet& contacts = stepper_->find_contacts(bodies_, state_);
  quality_ = rebalance(comm_, bodies_, state_, contacts, settings_.parallel);
}

void Simulation::distribute_tiles() {
  const int n_tiles = number_of_parts();
  deal_present_tiles(partition_by_curve(comm_, bodies_, state_, n_tiles), n_tiles);
}

void Simulation::deal_present_tiles(const std::vector<int>& tile, int n_tiles) {
  const ContactSet& contacts = stepper_->find_contacts(bodies_, state_);
  const std::vector<int> rank =
      assign_tiles(comm_, bodies_, contacts, tile, n_tiles, settings_.parallel, quality_);
  quality_.moved = migrate(comm_, bodies_, state_, tile, rank);
}

void Simulation::renew_order() {
  const std::vector<std::int32_t> part = state_.subdomain;
  migrate(comm_, bodies_, state_, part, number_of_parts());
}

void Simulation::note_change() {
  shows_step_ = false;
  stepper_->find_contacts(bodies_, state_);
}

void Simulation::apply_changes() {
  const ScopedTimer timer(loop_times_.flow);
  changes_.apply(bodies_, state_);
  if (const Breaking& breaking = changes_.breaking(); breaking.frees())
    breaking.let_overlaps_relax(stepper_->find_contacts(bodies_, state_), state_);
}

void Simulation::maybe_rebalance() {
  /// Part of the bodies that may come or go before the balance is checked early.
  constexpr double kMaxFlow = 0.2;
  const ScopedTimer timer(loop_times_.balance);
  const BalanceSettings& settings = settings_.parallel;
  BalanceSums& sums = state_.balance;
  if (settings.rebalance_steps == 0 || state_.step == 0) return;
  const bool due = state_.step % settings.rebalance_steps == 0;
  const bool grown = static_cast<double>(sums.flowed) > kMaxFlow * static_cast<double>(sums.bodies);
  if (model_.deterministic) {
    if (!due && !grown) return;
    distribute_tiles();
    sums.flowed = 0;
    return;
  }
  const int n_parts = number_of_parts();
  // subdomains of one rank do not show in the ranks' balance: new bodies join their neighbours'
  const bool flowed = sums.flowed > 0 && (due || grown) &&
                      (n_parts > comm_.size() || (grown && imbalance() > settings.imbalance));
  if (n_parts > 1 && (flowed || split_pays(sums, settings, comm_.size(), due))) {
    if (sums.steps > 0) rate_.sweeps = sums.sweeps / static_cast<double>(sums.steps);
    const ContactSet& contacts = stepper_->find_contacts(bodies_, state_);
    look_ = rebalance_if_it_pays(comm_, bodies_, state_, contacts, settings, rate_);
    if (look_.taken) quality_ = look_.quality;
  } else if (due) {
    renew_order();
  } else {
    return;
  }
  sums.sweeps = 0.0;
  sums.steps = sums.flowed = 0;
}

void Simulation::note_balance(const StepReport& report, double own_seconds) {
  const auto& all = bodies_.constants;
  const auto bodies = std::ranges::count_if(
      all, [](const BodyConstants& body) { return body.kind == BodyKind::dynamic; });
  RankLoad load;
  load.contact_rows = 3 * static_cast<std::int64_t>(stepper_->n_contacts());
  load.bodies = bodies;
  // rows of a mechanism are the work of whoever eliminates them; rows that are swept lie with
  // bodies
  load.joint_rows = report.solve.joints.own_rows;
  if (load.joint_rows < 0) load.joint_rows = held_joint_rows(bodies_);
  const double sweeps = std::max(1, report.solve.iterations);
  if (settings_.parallel.weights == WorkWeights::measured) {
    /// What a step keeps of all that is known of the clock so far.
    constexpr double kKept = 0.98;
    own_seconds_ = kKept * own_seconds_ + own_seconds;
    own_work_ = kKept * own_work_ + counted_work(load.contact_rows, sweeps, bodies) +
                joint_work(load.joint_rows, sweeps);
    const double seconds = comm_.sum(own_seconds_), work = comm_.sum(own_work_);
    // a rank without work has no clock
    rate_.factor =
        own_work_ > 0.0 && seconds > 0.0 ? own_seconds_ / own_work_ * work / seconds : 1.0;
  }
  work_balance_ = note_work(comm_, load, sweeps, rate_.factor, state_.balance);
}

const StepReport& Simulation::step() {
  loop_times_ = {};
  scene_.close(false);
  // a step that was broken off and is made again
  if (state_.prepared != state_.step) {
    call(before_);
    apply_changes();
    maybe_rebalance();
    state_.prepared = state_.step;
  }
  probes_.before_step(state_);
  const double start = wall_seconds() - comm_.traffic().waited_s;
  const StepReport& report = take_step();
  state_.prepared = -1;
  shows_step_ = true;
  const double own_seconds = wall_seconds() - comm_.traffic().waited_s - start;
  changes_.after_step(*stepper_, bodies_, state_);
  measure();
  {
    const ScopedTimer timer(loop_times_.balance);
    note_balance(report, own_seconds);
  }
  scene_.close(true);
  call(after_);
  scene_.close(false);
  return report;
}

void Simulation::call(const std::vector<StepCallback>& callbacks) {
  for (const StepCallback& callback : callbacks) all_or_none(comm_, [&] { callback(*this); });
}

void Simulation::measure() {
  const ScopedTimer timer(loop_times_.probes);
  probes_.after_step(bodies_, state_, *stepper_);
  controls_.after_step(bodies_, state_);
}

const StepReport& Simulation::take_step() {
  const ScopedTimer timer(loop_times_.step);
  try {
    return stepper_->step(bodies_, state_);
  } catch (const BlowUp& blow_up) {
    if (controls_.none()) throw;
    throw BlowUp(blow_up.found() + " (driven by " + controls_.outputs(state_) + ")",
                 blow_up.fix() + "; lower the controller's gains, or give it limits");
  } catch (const Error& error) {
    throw with_place(settings_, error);
  }
}

}  // namespace catena
