// Contact problems in FCLIB's HDF5 layouts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena {

/// What a problem file says of itself.
struct FclibInfo {
  std::string form;  ///< "local" or "global"
  std::string title, description, math_info;
  std::int64_t n_contacts = 0;
  std::int64_t n_velocities = 0;  ///< 0 for local
  std::int64_t n_bodies = 0;      ///< diagonal blocks of M; 0 for local
  std::int64_t n_bilateral = 0;   ///< rows of G; 0 for local
  std::int64_t n_boxed = 0;       ///< boxed rows of a Catena dump
  bool dumped = false;            ///< by Catena (group /catena)
  bool has_guess = false;         ///< /guesses/1/r is there
};

/// Collective. Reads a local (W, q, mu: assembled operator) or global (M, H, f, w, mu:
/// bodies with dense mass from the diagonal blocks of M, contacts as general blocks)
/// problem, each rank its share: contacts dealt in contiguous ranges for local files;
/// bodies for global ones, each contact on the rank that owns its first body. A block's
/// name is its contact number in the file. Rows of G (G^T v + b = 0) become bilateral
/// blocks named by their first row. Catena's own dumps (group /catena) bring unilateral and
/// boxed rows, blocks and the law back.
///
/// A body is six consecutive velocities where M has no entries between such groups, else a
/// connected diagonal block of M. W is kept as it stands, also where it is slightly
/// unsymmetric, and so is M, whose symmetric part must be positive definite.
///
/// While it reads, every rank holds the whole file: O(file) memory on each, which published
/// problems and dumps of single steps allow; afterwards only its share.
/// Throws Error(input_output) if it cannot be read, Error(bad_input) if the content is
/// inconsistent (sizes, indices, non-finite, negative friction, mass not positive
/// definite), naming the dataset.
ConstraintProblem read_fclib(const Communicator& comm, const std::string& path, FclibInfo& info);

/// Collective. A first guess, block by block in the order of a problem from read_fclib(): that of
/// contacts from /guesses/1/r, of other rows from where write_fclib() leaves it; zeros where the
/// file has none. Throws Error(bad_input) if it does not fit or is not finite.
std::vector<double> read_fclib_guess(const std::string& path, const ConstraintProblem& problem);

/// A step that a run dumped, as the run held it: contacts by their frames and arms, bodies, blocks
/// and subdomains in the run's order, of several ranks one after the other. Solvers take the same
/// way on it as in the run, which the order of FCLIB's rows does not allow.
struct DumpedStep {
  ConstraintProblem problem;
  /// Row of `problem` per row of what read_fclib() gives on one rank.
  std::vector<Index> row;
};

/// On one rank. Nothing where the file holds no such step, or where FCLIB's data, which have the
/// last word, have been changed since it was written.
std::optional<DumpedStep> read_dumped_step(const Communicator& comm, const std::string& path);

/// Collective. Writes a problem with bodies as FCLIB global problem: FCLIB's r is lambda,
/// its u our w; Sigma becomes an extra velocity of mass 1/Sigma, unilateral rows contacts
/// with mu = 0 and zero tangents, bilateral rows the G block (with vectors/b), boxed rows
/// a group /catena. Prescribed bodies have no velocities in the file: their motion is in w.
/// Contacts stand in the order of their keys (general blocks by name, after them), bodies by
/// id. Contacts stand in FCLIB with their three rows; what it cannot say of them (rolling and
/// spinning rows, cohesion) stands in a group /catena/couples and is read back: the same file
/// whatever the rank count. With `impulses`, also /solution/{v, u, r, l}; with `guess`, the first
/// guess of the solve, /guesses/1/{v, u, r} (of all rows but the contacts' three in /catena), and
/// the step for read_dumped_step(). With `stretches` (TimeStepper::stretches), /catena/stretch and
/// /catena/couples/turn, for who reads the file: the rows' b holds them already. Rank 0 holds the
/// whole problem while it writes.
void write_fclib(const std::string& path, const ConstraintProblem& problem,
                 const std::string& title, std::span<const double> impulses = {},
                 std::span<const double> guess = {}, std::span<const double> stretches = {});

/// Collective. /solution/{v, u, r} in the order of the file the problem was read from.
void write_fclib_solution(const std::string& path, const ConstraintProblem& problem,
                          std::span<const double> impulses);

}  // namespace catena
