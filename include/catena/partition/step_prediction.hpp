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

/// Joints of a rank up to which its data stay in cache, and from which they do not: those of the
/// mechanisms that `catena calibrate` measures.
inline constexpr double kCachedJoints = 8000.0, kLargeJoints = 100000.0;

/// The costs of one kind on ranks with few and with many joints.
struct SizedCosts {
  MechanismCosts cached, large;

  /// In between by the logarithm of the joints.
  MechanismCosts of(double joints) const;
};

/// Multiply-adds of the fronts of a mechanism with so many loops, of joints of `rows` rows each:
/// those of a plane net, which has a loop for every two joints.
double net_flops(double loops, double rows);
/// How a net's solve grows with its joints: their levels of separators.
double net_levels(double joints);

/// Costs of a machine, s; measured by `catena calibrate`.
struct StepCosts {
  int ranks = 1;     ///< that were at work together
  SizedCosts chain;  ///< eliminated as such
  SizedCosts tree;   ///< of joints of several rows
  SizedCosts cords;  ///< trees of joints of one row
  SizedCosts net;    ///< without net_flops in `factor`, `solve` of a row and level
  double front_flop = 0.0, large_front_flop = 0.0;  ///< a multiply-add in fronts of 200, 1,000 rows
  double reduction = 0.0;                           ///< sum over all ranks
  double latency = 0.0;                             ///< of a message; 0: not measured, on one rank
  double byte = 0.0;                                ///< of a message's bytes
};

/// Rows that a planned rank eliminates, by what they cost.
struct KindRows {
  double joints = 0.0;             ///< of all kinds
  double chain = 0.0;              ///< of chains
  double tree = 0.0, cords = 0.0;  ///< of trees and paths: of joints of several rows, of one
  double net = 0.0;                ///< that loops leave to fronts,
  double net_several = 0.0;        ///< of joints of several rows among them,
  double net_solve = 0.0;          ///< each times net_levels
  double flops = 0.0;              ///< net_flops of whole mechanisms and of parts
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
