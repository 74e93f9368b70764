// [F14]'s interior point: the friction cone as two smooth constraints per contact.
#pragma once

#include <memory>

#include "catena/solvers/interior_point.hpp"

namespace catena {

/// Forms kkt, schur and schur_pcg of interior_point, law ccp.
std::unique_ptr<Solver> make_fang_interior_point(const StopRule& stop,
                                                 const InteriorPointSettings& settings);

}  // namespace catena
