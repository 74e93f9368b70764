#include "catena/simulation/rehearsal.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/probes/probe_set.hpp"
#include "catena/scenarios/insertion.hpp"
#include "catena/simulation/memory_check.hpp"
#include "catena/simulation/simulation.hpp"
#include "catena/simulation/start_check.hpp"
#include "catena/solvers/linear_settings.hpp"
#include "simulation/diagnosis/post_mortem.hpp"

namespace catena {

void refuse_unused_options(const Communicator& comm, const CaseSettings& settings) {
  const std::vector<std::string> unused = unused_petsc_options(comm, settings.solver.petsc);
  if (unused.empty()) return;
  throw with_place(settings, Error("no solver asked for this option", unused.front(),
                                   "see PETSc's manual, and solver.method"));
}

std::vector<std::string> rehearse(const Communicator& comm, const CaseSettings& settings,
                                  GlobalId most_bodies) {
  {
    const Model model = make_model(settings, comm, settings.parallel.deterministic);
    const GlobalId bodies = bodies_at_start(settings, model);
    if (bodies > most_bodies * comm.size()) {
      make_insertions(settings, comm, model);
      const ProbeSet probes(comm, settings.probes, settings, model, settings.time.step);
      const ProbeCondition stop_when(settings.stop_when, probes, settings.stop_when_place);
      const Controls controls(comm, settings.controllers, settings, model, probes,
                              settings.time.step);
      std::vector<std::string> remarks = model.warnings;
      // on this machine: the case may be meant for a larger one
      const std::string memory =
          memory_warning(memory_need(comm, settings, model, available_memory()));
      if (!memory.empty()) remarks.push_back(memory);
      remarks.push_back("the case has " + std::to_string(bodies) +
                        " bodies: they were not made and no step was tried; a check on " +
                        std::to_string((bodies + most_bodies - 1) / most_bodies) +
                        " ranks does both");
      return remarks;
    }
  }
  // what a first step refuses shows whatever its accuracy
  constexpr int kSweeps = 50;
  CaseSettings tried = settings;
  int& sweeps = tried.solver.stop.max_iterations;
  sweeps = std::min(sweeps, kSweeps);
  Simulation simulation(comm, tried);
  if (simulation.n_steps() > 0) {
    try {
      simulation.step();
    } catch (const BlowUp& blow_up) {
      const std::string what = blow_up.what();
      const std::string advice = examine_step(simulation, &what, TrialTime::on_the_way).advice.text;
      // a remedy of its own is told first
      const bool own = blow_up.fix() != BlowUp("").fix();
      throw BlowUp(blow_up.found(), own ? blow_up.fix() + "; " + advice : advice);
    }
    refuse_unused_options(comm, settings);
  }
  std::vector<std::string> remarks = simulation.remarks();
  for (const std::string& warning : simulation.warnings()) remarks.push_back(warning);
  // an earlier run's overlaps are those of bodies that press on each other
  const std::string overlaps =
      settings.initial.present ? "" : overlaps_at_start(comm, settings, simulation.model());
  if (!overlaps.empty()) remarks.push_back(overlaps);
  const std::string few = few_bodies_warning(
      bodies_of_run(comm, settings, simulation.bodies(), simulation.state()), comm.size());
  if (!few.empty()) remarks.push_back(few);
  return remarks;
}

}  // namespace catena
