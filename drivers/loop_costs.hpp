// What an item of the hot loops moves and computes: for rooflines.
#pragma once

#include "catena/collision/contact.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/model/state.hpp"
#include "solvers/batches/simd/contact_batches.hpp"

namespace catena {

/// Of one item, where nothing of the arrays stays in cache from pass to pass but all that a pass
/// uses of a line while it is there: each array is read once, and what is written is written once.
/// Flops are counted in the source, a multiply-add as two, branches as settled contacts take them;
/// 0 where the work is not arithmetic.
struct LoopCost {
  double bytes = 0.0;
  double flops = 0.0;
};

/// Contacts of a body in the lattice of bench_problems.hpp, whose bodies' lines they share.
inline constexpr double kContactsOfBody = 6.0;
inline constexpr double kLine = 64.0, kVector = 3 * sizeof(double);

template <class Batch>
constexpr double bytes_per_lane(int lanes) {
  return static_cast<double>(sizeof(Batch)) / lanes;
}

/// A contact of a sweep: its lane, the impulse written back, and a body's line read and written; of
/// general ones the line of inertia read, of rolling ones the couple written, too.
inline constexpr LoopCost kSphereSweep = {
    bytes_per_lane<SphereBatch>(kLanes) + kVector + 2.0 * kLine / kContactsOfBody, 150.0};
inline constexpr LoopCost kGeneralSweep = {
    bytes_per_lane<GeneralContactBatch>(kLanes) + kVector + 3.0 * kLine / kContactsOfBody, 300.0};
inline constexpr LoopCost kRollingSweep = {
    bytes_per_lane<RollingBatch>(kLanes) + 2.0 * kVector + 2.0 * kLine / kContactsOfBody, 310.0};
/// G as stored in place of arms, and one line of M^-1 of a body read, of rigid bodies as
/// bench_loops has them.
inline constexpr LoopCost kExplicitSweep = {
    bytes_per_lane<ExplicitContactBatch>(kLanes) + kVector + 3.0 * kLine / kContactsOfBody, 350.0};

/// A contact of an estimate of the energy error: its batch and the bodies' lines read, its impulse
/// kept. Slip 60, the law's error 40.
inline constexpr LoopCost kLook = {
    bytes_per_lane<SphereBatch>(kLanes) + 2.0 * kVector + kLine / kContactsOfBody, 100.0};

/// A contact of an iteration of apgd, in one pass: what its batch says of it and its iterates read,
/// x written, and of its bodies V read and forces added to; a body's pass makes V of the next
/// iterate and of the next y from forces and M^-1. Rows, projection and sums 180, forces 46.
inline constexpr LoopCost kApgdIteration = {bytes_per_lane<SphereBatch>(kLanes) - kVector - 16.0 +
                                                bytes_per_lane<StepBatch>(kLanes) +
                                                11.0 * kLine / kContactsOfBody,
                                            226.0};

/// A body of the contact search in a packing with three contacts a body: constants and state, its
/// probe, box and item of the grid written and read, and of each contact a pair, raw, by id and
/// sorted, and the contact written. Twice as many pairs of boxes overlap as touch.
inline constexpr LoopCost kSearch = {sizeof(BodyConstants) + sizeof(BodyMotionState) +
                                         2.0 * (112.0 + 48.0 + 56.0) +
                                         3.0 * (2.0 * (8.0 + 12.0 + 12.0) + sizeof(Contact)),
                                     0.0};

/// A contact's rows made: the contact, what the last step kept, constants and states of a third of
/// a body twice; rows, what is kept of them, its subdomain and the first guess written.
inline constexpr LoopCost kRows = {
    sizeof(Contact) + sizeof(KeyedImpulse) +
        2.0 / 3.0 * (sizeof(BodyConstants) + sizeof(BodyMotionState)) + sizeof(RigidContact) +
        240.0 + 4.0 + 2.0 * kVector,
    0.0};

/// A contact's impulse stored for the next step: rows, what is kept of them and impulses read, the
/// keyed impulse written.
inline constexpr LoopCost kStore = {sizeof(RigidContact) + 240.0 + kVector + sizeof(KeyedImpulse),
                                    0.0};

/// A joint of three rows eliminated, factor and one solve: its diagonal block and coupling read,
/// both factors written and read again, the right-hand side read and written twice. Multiply-adds
/// are counted by the factor itself (ChainSeconds::flops).
inline constexpr double kChainBytes = 2.0 * 72.0 + 2.0 * 2.0 * 72.0 + 4.0 * kVector;

}  // namespace catena
