#include "catena/solvers/automatic.hpp"

#include "catena/base/error.hpp"

namespace catena {

std::unique_ptr<Solver> make_automatic(const MethodSettings&) {
  throw Error("auto is not available yet", "solver.method");
}

}  // namespace catena
