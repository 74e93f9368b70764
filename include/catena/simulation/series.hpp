// The series of a run: numbers of each step that are the same on every rank.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/io/result_writer.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/cost_model.hpp"
#include "catena/stepper/time_stepper.hpp"

namespace catena {

/// Names and units, in their order (docs/output.md).
std::vector<SeriesColumn> series_columns();

/// Puts values of series_columns into `row`. `bodies`: over all ranks; `wall`: of the step, s.
void fill_series_row(const StepReport& report, const State& state, std::int64_t bodies, double wall,
                     const WorkBalance& balance, std::vector<double>& row);

}  // namespace catena
