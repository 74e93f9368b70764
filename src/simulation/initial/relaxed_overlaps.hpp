// Overlaps that a case's contacts would not have by themselves, where it begins with the end of an
// earlier run.
#pragma once

#include "catena/constraints/contact_stiffness.hpp"
#include "catena/stepper/time_stepper.hpp"
#include "simulation/initial/earlier_run.hpp"

namespace catena {

/// Collective. Where the law of contacts is another one than the earlier run's, overlaps that are
/// larger than the forces on them would make now, and, where time goes on, those of new bodies, are
/// relaxed as overlaps of a start are (docs/theory.md, "Compliant contacts"): they are put into the
/// state. What they go from and to is added to the earlier run's remarks. Impulses are with their
/// bodies.
void relax_overlaps(const Communicator& comm, const Model& model, EarlierRun& earlier,
                    TimeStepper& stepper, const Bodies& bodies, State& state);

/// The overlap at which a contact of this law bears `force` (N) at rest, m.
double overlap_at_rest(const ContactRowsGiven& law, double force);

}  // namespace catena
