#include "catena/solvers/dantzig.hpp"

#include "catena/base/error.hpp"

namespace catena {

void describe(SettingsVisitor&, DantzigSettings&) {}

std::unique_ptr<Solver> make_dantzig(const DantzigSettings&) {
  throw Error("dantzig is not available yet", "solver.method");
}

}  // namespace catena
