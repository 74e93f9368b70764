#include "catena/solvers/jacobi.hpp"

#include "catena/base/error.hpp"

namespace catena {

void describe(SettingsVisitor&, JacobiSettings&) {}

std::unique_ptr<Solver> make_jacobi(const JacobiSettings&) {
  throw Error("jacobi is not available yet", "solver.method");
}

}  // namespace catena
