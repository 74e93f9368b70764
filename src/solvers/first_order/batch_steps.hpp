// Steps of the contacts that stand in batches.
#pragma once

#include <span>

#include "catena/base/huge_pages.hpp"
#include "solvers/batches/subdomain.hpp"

namespace catena::first_order {

/// Three iterates of the batches of a packed problem, but of those with rolling friction.
class BatchSteps {
 public:
  /// `by_scale`: 1/s of the problem's rows. `packed` outlives it.
  void start(const ConstraintProblem& problem, Subdomain& packed, std::span<const double> by_scale);
  /// Gives the memory of large lists back; start() comes next.
  void rest();

  /// x of a slot becomes the impulses that the batches hold, and the other way.
  void load(int slot);
  void store(int slot) const;
  /// The pass over all batches. Of `curved` only the compliances' part is given; the rest is what
  /// the bodies' velocities say.
  StepSums step(const StepPass& pass);

 private:
  Subdomain* packed_ = nullptr;
  HugeVector<StepBatch> spheres_, arms_, explicit_contacts_;
};

}  // namespace catena::first_order
