#include "catena/solvers/apgd.hpp"

#include "catena/base/error.hpp"

namespace catena {

void describe(SettingsVisitor&, ApgdSettings&) {}

std::unique_ptr<Solver> make_apgd(const ApgdSettings&) {
  throw Error("apgd is not available yet", "solver.method");
}

}  // namespace catena
