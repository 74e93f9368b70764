// Constraint problems of any size whose solution takes a known amount of work: for benchmarks and
// calibration.
#pragma once

#include <cstdint>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// About `bodies` spheres of a close-packed lattice, 12 neighbours (6 contacts a body), along a
/// space-filling curve, thrown about so that open, stuck and sliding contacts are all there; law
/// coulomb, friction 0.5. With `arms` the bodies have unequal moments of inertia and the contacts
/// arms off the normal: the general kernels. On this rank alone (Communicator::self).
ConstraintProblem packed_lattice(std::int64_t bodies, bool arms);

/// Numbers of sweeps of two solves with equally many error evaluations (with a check_interval that
/// is larger still), so that the difference of their times is that of sweeps alone.
struct SweepCounts {
  int few = 0, many = 0;
  int more() const { return many - few; }
};

/// At least `more` sweeps apart. Evaluations come after 1, 2, 4, ... sweeps and after the last.
SweepCounts sweep_counts(int more);

/// Seconds of one elimination of a chain.
struct ChainSeconds {
  double factor = 0.0;
  double solve = 0.0;
  int rows = 0;            ///< of all its joints on this rank
  std::int64_t flops = 0;  ///< multiply-adds of both on this rank, counted
};

/// Collective. One chain of spherical joints, `joints` on each rank: factorisation and one solve,
/// the slowest rank's, once for each of `repeats` (after one more, to warm up).
std::vector<ChainSeconds> time_chain(const Communicator& comm, std::int64_t joints, int repeats);

/// Seconds of the elimination of one dense front of `pivots` rows with as many rows below, once for
/// each of `repeats` (after one more), and the multiply-adds of it.
struct FrontSeconds {
  std::vector<double> seconds;
  std::int64_t flops = 0;
};
FrontSeconds time_front(int pivots, int repeats);

}  // namespace catena
