// Whether a scene has bodies enough for its ranks.
#include <algorithm>
#include <cmath>

#include "catena/simulation/start_check.hpp"

namespace catena {

namespace {

/// Bodies that an insertion may still bring. A rate by mass says nothing of their number.
std::int64_t still_to_come(const InsertionSettings& insertion, std::int64_t made, double from,
                           double until) {
  const std::int64_t left = insertion.count - made;
  if (std::isnan(insertion.number_rate)) return left;
  const double seconds = std::min(until, insertion.end) - std::max(from, insertion.start);
  const double due = std::ceil(insertion.number_rate * std::max(0.0, seconds));
  return due < static_cast<double>(left) ? static_cast<std::int64_t>(due) : left;
}

}  // namespace

std::int64_t bodies_of_run(const Communicator& comm, const CaseSettings& settings,
                           const Bodies& bodies, const State& state) {
  std::int64_t n = comm.sum(std::int64_t{std::ranges::count_if(
      bodies.constants, [](const BodyConstants& body) { return body.kind == BodyKind::dynamic; })});
  std::size_t insertion = 0;
  for (const GeneratorSettings& g : settings.generators) {
    const auto* s = std::get_if<InsertionSettings>(&g.kind);
    if (s == nullptr) continue;
    const std::int64_t made =
        insertion < state.inflow.size() ? state.inflow[insertion].made : std::int64_t{0};
    n += still_to_come(*s, made, state.time, settings.time.end);
    ++insertion;
  }
  return n;
}

std::string few_bodies_warning(std::int64_t bodies, int ranks) {
  if (ranks == 1 || bodies >= kFewBodies * ranks) return {};
  const std::int64_t enough = std::max<std::int64_t>(1, bodies / kFewBodies);
  return "the scene has " + std::to_string(bodies) + (bodies == 1 ? " body" : " bodies") + " for " +
         std::to_string(ranks) + " ranks: with less than some " + std::to_string(kFewBodies) +
         " each they wait for each other longer than they save, on busy cores many times as long; "
         "start it on " +
         std::to_string(enough) + (enough == 1 ? " rank" : " ranks");
}

}  // namespace catena
