#include "catena/solvers/apgd.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "solvers/first_order/first_order_solver.hpp"

namespace catena {
namespace {

using namespace first_order;

/// Power of c_k in the scales: between the block diagonal alone and what is safe.
constexpr double kSplitting = 0.5;
/// After a step L falls by this, so that it follows the largest curvature met on the way ...
constexpr double kLower = 0.98;
/// ... and where the model fails it grows at least by this.
constexpr double kRaise = 2.0;
/// L falls no further below the largest ever needed.
constexpr double kLeast = 0.01;
/// Squared length of a step over that of x at which its curvature is round-off.
constexpr double kRest = 1e-28;

/// theta_k+1^2 = (1 - theta_k+1) theta_k^2, beta = theta_k (1 - theta_k)/(theta_k^2 + theta_k+1).
struct Momentum {
  double theta = 1.0, beta = 0.0;

  MomentumPoint y() const { return {1.0 + beta, -beta}; }

  void grow() {
    const double squared = theta * theta;
    const double next = 0.5 * (theta * std::sqrt(squared + 4.0) - squared);
    beta = theta * (1.0 - theta) / (squared + next);
    theta = next;
  }
};

/// The curvature that steps are made for.
struct Curvature {
  double l = 1.0, largest = 1.0;

  void raise(double met) {
    l = std::max(kRaise * l, met);
    largest = std::max(largest, l);
  }
  void lower() { l = std::max(kLower * l, kLeast * largest); }
};

/// One product. Sums over all ranks.
StepSums advance(Run& run, const StepWeights& weights) {
  const StepSums own = run.iterates().step(weights);
  if (run.comm().size() == 1) return own;
  std::array<double, 4> all = {own.moved, own.along, own.size, own.curved};
  run.comm().sum(all);
  return {all[0], all[1], all[2], all[3]};
}

/// x_k+1 = P(y - g(y)/L), y = x_k + beta (x_k - x_k-1). g is affine, so that g(y) needs no product,
/// and the product with the new point gives the curvature of the step as well.
std::string iterate(const ApgdSettings& settings, Run& run) {
  Momentum momentum;
  Curvature curvature;
  int restarts = 0, raised = 0, steps = 0;
  bool again = false, due = false;
  for (int product = 1;; ++product) {
    // a step that is made again starts from the same y
    Momentum next = momentum;
    next.grow();
    const StepWeights weights{momentum.y(), 1.0 / curvature.l,
                              run.coulomb() && !again && steps % settings.shift_interval == 0,
                              next.y()};
    const StepSums step = advance(run, weights);
    const bool last = run.is_last(product);
    due = due || last || run.due(product);
    again = step.moved > kRest * step.size && step.curved > curvature.l * step.moved;
    if (again) {
      curvature.raise(step.curved / step.moved);
      ++raised;
      if (!last) continue;
      // nothing follows: the last point that was good is judged
      run.iterates().reject();
    } else {
      run.iterates().accept();
      ++steps;
      if (settings.restart && step.along > 0.0) {
        momentum = {};
        ++restarts;
      } else {
        momentum = next;
      }
      curvature.lower();
      if (!due) continue;
    }
    due = false;
    if (run.evaluate(product, step.moved / run.comm().size(), last)) break;
  }
  return std::to_string(restarts) + " restarts, " + std::to_string(raised) + " steps cut";
}

}  // namespace

void describe(SettingsVisitor& visit, ApgdSettings& s) {
  visit.visit("restart", s.restart,
              {.help = "drop the momentum where it points uphill (adaptive restart)"});
  visit.visit(
      "shift_interval", s.shift_interval,
      {.min = 1,
       .help = "law coulomb: steps between renewals of the shift, mu times the sliding speed"});
}

std::unique_ptr<Solver> make_apgd(const StopRule& stop, const JointSolverSettings& joints,
                                  const ApgdSettings& settings, const PackedBy& packed) {
  return make_first_order(
      "apgd", stop, joints, kSplitting, [settings](Run& run) { return iterate(settings, run); },
      packed);
}

}  // namespace catena
