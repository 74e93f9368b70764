#include "catena/simulation/model_changes.hpp"

namespace catena {

ModelChanges::ModelChanges(const Communicator& comm, const CaseSettings& settings,
                           const Model& model)
    : comm_(comm),
      settings_(settings),
      model_(model),
      breaking_(comm, model, settings.time.step),
      inflow_(comm, settings, model) {}

void ModelChanges::begin(State& state) const {
  state.inflow.resize(inflow_.insertions().size());
  state.outflow.resize(settings_.outflow.size());
}

bool ModelChanges::belongs_to(const State& state) const {
  return state.inflow.size() == inflow_.insertions().size() &&
         state.outflow.size() == settings_.outflow.size();
}

void ModelChanges::apply(Bodies& bodies, State& state) {
  breaking_.take_out(bodies, state);
  std::int64_t& flowed = state.balance.flowed;
  flowed += remove_outflow(comm_, model_, settings_.outflow, bodies, state, &staying_,
                           !breaking_.taken().empty());
  if (inflow_.none()) return;
  const int n_parts = subdomains_of(settings_.parallel, comm_.size());
  flowed += inflow_.insert(settings_.time.step, n_parts, bodies, state);
}

}  // namespace catena
