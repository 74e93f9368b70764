#include "catena/solvers/interior_point.hpp"

#include "catena/base/error.hpp"

namespace catena {

void describe(SettingsVisitor&, InteriorPointSettings&) {}

std::unique_ptr<Solver> make_interior_point(const InteriorPointSettings&) {
  throw Error("interior_point is not available yet", "solver.method");
}

}  // namespace catena
