// What benchmarks measure with: the thread's clock, the machine's limits, and the cost of one
// iteration of a method. Thread CPU time, so that other programs on the machine count little.
#pragma once

#include <span>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/solvers/solver_factory.hpp"

namespace catena {

/// CPU time of this thread, s.
double cpu_seconds();

/// GB/s of a = b + s c on three arrays on huge pages that no cache holds, 24 bytes an element
/// counted: the best of several passes.
double triad_bandwidth();

/// GFLOP/s of independent multiply-adds in registers, two flops each, by the widest instructions
/// that the processor has: the best of several passes.
double peak_flops();

/// `settings` with as few evaluations of the error as there are.
SolverSettings without_looks(SolverSettings settings);

/// Seconds of one iteration: the difference of solves of few and of at least `more` more, neither
/// stopped by a tolerance, so that set-up cancels, and evaluations of the error do where there are
/// few (without_looks). `guess` may be empty: zeros.
double seconds_per_iteration(const ConstraintProblem& problem, const SolverSettings& settings,
                             std::span<const double> guess, int more);

}  // namespace catena
