// Contacts with stored Jacobians, as batches hold them.
#pragma once

#include <functional>
#include <span>

#include "catena/base/huge_pages.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "solvers/batches/explicit_blocks.hpp"
#include "solvers/batches/simd/contact_batches.hpp"

namespace catena {

/// Whether general block `block` of the problem fits an ExplicitContactBatch: a contact of three
/// rows under a law with kernels, for one or two bodies of six velocities each and symmetric M^-1.
bool fits_explicit_batch(const ConstraintProblem& problem, Index block);

/// Puts such a contact into a lane that was zero, its first guess made admissible from `impulses`.
/// `place(b)`: where body b is; lines of eight numbers. One that nothing moves gets no bodies and
/// keeps no impulse.
void pack_explicit_contact(const ConstraintProblem& problem, Index block, ContactLaw law,
                           std::span<const double> impulses,
                           const std::function<BodyPlace(Index)>& place,
                           ExplicitContactBatch& batch, int lane);

/// Its lambda, without cohesion.
void unpack_explicit_contact(const ConstraintProblem& problem, Index block,
                             const ExplicitContactBatch& batch, int lane,
                             std::span<double> impulses);
/// The other way: `impulses` need not be admissible.
void load_explicit_contact(const ConstraintProblem& problem, Index block,
                           std::span<const double> impulses, ExplicitContactBatch& batch, int lane);

/// What InverseMassLines shows.
class InverseMasses {
 public:
  InverseMasses() = default;
  /// Of all `bodies` with six velocities; `n_lines` in all.
  InverseMasses(const ConstraintProblem& problem, std::span<const Index> bodies,
                const std::function<BodyPlace(Index)>& place, std::size_t n_lines);

  InverseMassLines lines() const { return {lines_.data(), n_lines_, form_}; }

 private:
  HugeVector<BodyLine> lines_;
  std::size_t n_lines_ = 0;
  MassForm form_ = MassForm::diagonal;
};

}  // namespace catena
