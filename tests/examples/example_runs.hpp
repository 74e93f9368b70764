// Cases of configs/examples as tests run them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"

namespace catena::test {

inline std::unique_ptr<Simulation> example(const std::string& name,
                                           const std::vector<std::string>& sets = {}) {
  const Communicator comm = Communicator::self();
  return std::make_unique<Simulation>(
      comm, read_case(comm, std::string(CATENA_CONFIGS) + "/examples/" + name + ".yaml", sets));
}

inline GlobalId id_of(const Simulation& sim, const std::string& name) {
  for (const BodyConstants& body : sim.bodies().constants)
    if (sim.model().names.name_of(body.id) == name) return body.id;
  throw std::runtime_error("no body " + name);
}

inline const BodyMotionState& named(const Simulation& sim, const std::string& name) {
  return body_of(sim, id_of(sim, name));
}

}  // namespace catena::test
