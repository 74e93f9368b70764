#include "catena/solvers/jacobi.hpp"

#include "solvers/first_order/first_order_solver.hpp"

namespace catena {
namespace {

using namespace first_order;

/// x <- P(x - omega g) in rows scaled so that N <= 1.
std::string iterate(double relaxation, Run& run) {
  const StepWeights weights{.inverse_l = relaxation, .renew = run.coulomb()};
  for (int sweep = 1;; ++sweep) {
    const StepSums sums = run.iterates().step(weights);
    run.iterates().accept();
    const bool last = run.is_last(sweep);
    if (!last && !run.due(sweep)) continue;
    if (run.evaluate(sweep, sums.moved, last)) return {};
  }
}

}  // namespace

void describe(SettingsVisitor& visit, JacobiSettings& s) {
  visit.visit("relaxation", s.relaxation,
              {.min = 0.01, .max = 1.99, .help = "part of the safe step; descent up to 1"});
}

std::unique_ptr<Solver> make_jacobi(const StopRule& stop, const JointSolverSettings& joints,
                                    const JacobiSettings& settings) {
  return make_first_order("jacobi", stop, joints, 1.0,
                          [omega = settings.relaxation](Run& run) { return iterate(omega, run); });
}

}  // namespace catena
