// How far a hull reaches beyond a closed surface.
#pragma once

#include "catena/collision/hull_builder.hpp"
#include "scenarios/pack/closed_surface.hpp"

namespace catena::scenarios {

/// The greatest distance outside the body of points on the hull's faces, m: never too small, too
/// large by at most the greater of 5 % and `precision` (by more where that takes too long).
double reach_beyond(const HullFaces& hull, const ClosedSurface& body, double precision);

}  // namespace catena::scenarios
