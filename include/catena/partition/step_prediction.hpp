// What a time step of mechanisms would take on a number of ranks, by counted work and the measured
// costs of a machine (docs/scaling.md, "The time that plan predicts").
#pragma once

#include <span>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/model/state.hpp"
#include "catena/partition/balance.hpp"
#include "catena/partition/cut_plan.hpp"
#include "catena/search/contact_search.hpp"

namespace catena {

/// Seconds of a step of one kind of mechanism.
struct MechanismCosts {
  double factor = 0.0, solve = 0.0;  ///< of a row
  double rows = 0.0;                 ///< of a row: its numbers
  double motion = 0.0;               ///< of a body: all else
};

/// A net of rods whose solves are measured: their entries grow with the logarithm of the joints.
inline constexpr double kNetJoints = 2 * 100 * 99;
/// Multiply-adds of the fronts of `joints` joints of `rows` rows each that make a plane net.
double net_flops(double joints, double rows);

/// Costs of a machine, s; measured by `catena calibrate`.
struct StepCosts {
  int ranks = 1;                                    ///< that were at work together
  MechanismCosts chain;                             ///< eliminated as such
  MechanismCosts tree;                              ///< whole on a rank, and parts of a cut one
  MechanismCosts tree_parts;                        ///< separators of a cut one, by fronts
  MechanismCosts net;                               ///< without net_flops in `factor`
  double front_flop = 0.0, large_front_flop = 0.0;  ///< a multiply-add in fronts of 200, 1,000 rows
  double reduction = 0.0;                           ///< sum over all ranks
  double latency = 0.0;                             ///< of a message; 0: not measured, on one rank
  double byte = 0.0;                                ///< of a message's bytes
};

/// Rows of one kind of mechanism that a planned rank eliminates.
struct KindRows {
  double chain = 0.0, tree = 0.0, tree_parts = 0.0, net = 0.0;
  double net_solve = 0.0;  ///< rows of nets, each times the growth of its solve
  double flops = 0.0;      ///< net_flops of whole nets and of parts
  double single = 0.0;     ///< but in chains: rows of joints of one row, and of all others
  double several = 0.0;
};

/// Seconds of a step by phases of profile.json: `rows`; `solver_setup` (factor), `sweeps` (solve);
/// all other phases of a step (motion). Messages count apart.
struct StepPrediction {
  double rows = 0.0, factor = 0.0, solve = 0.0, motion = 0.0, messages = 0.0;

  double step() const { return rows + factor + solve + motion + messages; }
};

/// Collective. Work on the joints of each of n_ranks planned ranks (any number, not this
/// communicator's), the same on every rank. `part`: the planned rank of each owned body; `cuts`:
/// plan_cuts for as many ranks.
std::vector<KindRows> count_rows(const Communicator& comm, const Bodies& bodies,
                                 const ContactSet& contacts, std::span<const int> part, int n_ranks,
                                 const BalanceSettings& settings, std::span<const CutPlan> cuts);

/// The slowest rank's work, the largest separators from level to level, and their messages.
/// `bodies`: of the rank with most of them.
StepPrediction predict_step(const StepCosts& costs, std::span<const KindRows> ranks, double bodies,
                            std::span<const CutPlan> cuts);

}  // namespace catena
