// Certified errors of an approximate solution, distributed, with units
// (docs/theory.md, section "Errors").
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"

namespace catena {

/// Names of the metrics that a stop rule may use, in Metric's order.
enum class Metric {
  energy,
  natural_map,
  natural_map_rms,
  siconos,
  fclib_merit,
  scaled,
  gap,
  fischer_burmeister
};
/// Names of metrics in cases and on the command line, in the order of Metric.
inline constexpr std::array<std::string_view, 8> kMetricNames = {
    "energy", "natural_map", "natural_map_rms",   "siconos", "fclib_merit",
    "scaled", "gap",         "fischer_burmeister"};
/// Unit of each metric: "J", "m/s", "1", or "J^0.5" (fischer_burmeister).
std::string_view metric_unit(Metric metric);

/// What an evaluation gives besides the energy and its parts: nothing, the natural maps, or all.
/// Errors left out are NaN.
enum class ErrorSet { energy, natural_map, all };
/// The least set that holds a metric.
ErrorSet set_of(Metric metric);

/// All errors of one iterate; the same on every rank. A non-finite impulse or slip
/// anywhere makes every error NaN.
struct Errors {
  double energy = 0.0;  ///< J: joint + normal + friction + limit
  /// Bilateral rows; contacts' normal and tangential components; unilateral and boxed rows.
  double energy_joint = 0.0, energy_normal = 0.0, energy_friction = 0.0, energy_limit = 0.0;
  double natural_map = 0.0;          ///< m/s, largest over contacts and linear rows
  double natural_map_rms = 0.0;      ///< m/s
  double natural_map_angular = 0.0;  ///< rad/s, largest over angular rows
  double siconos = 0.0, fclib_merit = 0.0, scaled = 0.0;  ///< relative, dimensionless
  /// |lambda.w| / max(|lambda N lambda|, |r.lambda|) (law ccp); a boxed row brings its
  /// distance to the bound times w. At zero impulses: 0 if they are the solution, else 1.
  double gap = 0.0;
  /// 2-norm over blocks of x + y - (x^2 + y^2)^(1/2) after the energy scaling, J^0.5: its
  /// square is of the size of the energy.
  double fischer_burmeister = 0.0;
  double objective = 0.0;  ///< 1/2 lambda^T N lambda + r^T lambda, J
  /// N s, largest over blocks: the distance of a contact's impulse from its cone (moved by its
  /// cohesion), of another row's from its bounds. Rolling and spinning rows count in N s by the
  /// lengths of the other errors, angular rows of joints at an arm of 1 m. Says nothing of w.
  double cone_violation = 0.0;
  double largest_impulse = 0.0;  ///< ConeViolation::largest
};

/// How far impulses are from what their blocks admit: Errors::cone_violation, and the largest
/// impulse or cohesion of a block, N s, whose round-off the distance is compared with.
struct ConeViolation {
  double distance = 0.0, largest = 0.0;
  bool is_round_off() const { return distance <= kRoundOff * largest; }
  static constexpr double kRoundOff = 1e-13;
};
/// The part of `e` that tells whether impulses lie in their cones.
inline ConeViolation cone_violation_of(const Errors& e) {
  return {e.cone_violation, e.largest_impulse};
}

/// Value of one metric.
double value_of(const Errors& errors, Metric metric);

/// Energy error that round-off leaves, J: 1/2 (8 eps)^2 times a sum of s_i^2/N_ii over rows, s_i
/// the size of the terms that row i adds up.
double energy_round_off(double scales);

/// Evaluates errors. w is recomputed from lambda, never carried. Keeps the diagonal of N as
/// far as the metrics see it: 2 numbers per rigid contact (3 for laws box and frictionless), one
/// per row of general blocks and assembled operators.
class ErrorEvaluator {
 public:
  /// Of no problem yet: start() comes first.
  ErrorEvaluator();
  /// Local. `problem` and `op` must outlive the evaluator.
  ErrorEvaluator(const ConstraintProblem& problem, DelassusOperator& op);
  ~ErrorEvaluator();

  /// Local. Goes over to another problem; its memory stays.
  void start(const ConstraintProblem& problem, DelassusOperator& op);
  /// Local. Gives the memory of large lists back; start() comes next.
  void rest();

  /// Local. The caller has the diagonal of N and w of the general blocks' rows, which then are not
  /// made here: `w` is that of the impulses whenever an evaluation begins.
  void know_general_rows(std::span<const double> diagonal, std::span<const double> w);

  /// Collective. Recomputes V and w from `impulses`. `velocities` (n_dofs, may be
  /// empty) receives V.
  Errors evaluate(std::span<const double> impulses, std::span<double> velocities = {},
                  ErrorSet set = ErrorSet::all);
  /// Collective. The same for `velocities` that are V of `impulses` already.
  Errors evaluate_at(std::span<const double> impulses, std::span<const double> velocities,
                     ErrorSet set = ErrorSet::all);
  /// Collective. Errors of zero impulses.
  Errors evaluate_zero(ErrorSet set = ErrorSet::all);

  /// Collective. evaluate in two halves: begin recomputes w (neighbours) and posts the
  /// reduction; end waits. One evaluation may be under way.
  void begin(std::span<const double> impulses, std::span<double> velocities = {},
             ErrorSet set = ErrorSet::all);
  /// The same for `velocities` that are V of `impulses` already.
  void begin_at(std::span<const double> impulses, std::span<const double> velocities,
                ErrorSet set = ErrorSet::all);
  bool pending() const;
  Errors end();

  /// Collective. Errors::cone_violation of `impulses` alone, at the price of one walk over them.
  ConeViolation cone_violation(std::span<const double> impulses) const;

  /// Collective. Energy error that round-off alone leaves, J: with s_i = sum |G_ij V_free_j|
  /// + |q_i| the size of the terms that row i adds up,
  ///   1/2 sum_i (8 eps s_i)^2 / N_ii,
  /// for rigid contacts with the bound |v_a| + |v_b| + |r_a||w_a| + |r_b||w_b| + |b| of s_i and
  /// the mean of both tangents' N_ii.
  double energy_round_off();

  /// Local: the block with the largest energy error of the last evaluation and its
  /// error, J; kNoIndex if there are no blocks.
  Index worst_block(double* energy = nullptr) const;

  /// Collective. Energy error of each block of this rank at `impulses`, J: over all ranks they add
  /// up to Errors::energy. `velocities` (n_dofs, may be empty) receives V.
  std::vector<double> block_energies(std::span<const double> impulses,
                                     std::span<double> velocities = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace catena
