// Work of ranks and prices of moving it, counted instead of timed, so that what is decided from
// them can be repeated.
//
// The unit is the row sweep: one row of a contact in one sweep. All constants are ratios of times
// that bench_balance measured on one core (docs/performance.md, "Rebalancing"); ratios differ by
// less between machines than times do, and prices need no digits.
#pragma once

#include <array>
#include <cstdint>

#include "catena/model/joint.hpp"

namespace catena {

/// What a row costs in a step besides the sweeps, and a body: search, rows, errors, audit, motion.
inline constexpr double kStepPerRow = 70.0;
inline constexpr double kStepPerBody = 60.0;  ///< as kStepPerRow, of a body
/// A row of a joint: each iteration solves the joints and adds their impulses, each step eliminates
/// them. Measured from a chain (18 and 50) to hinges in rings, with their redundant rows (28 and
/// 240).
inline constexpr double kSweepsPerJointRow = 20.0;
inline constexpr double kStepPerJointRow = 100.0;  ///< as kStepPerRow, of a row of a joint
/// Sweeps of a step where none has been done yet.
inline constexpr double kSweepsAtStart = 20.0;

/// Rows of the bilateral block of a joint.
std::int64_t rows_of(JointType type);

/// Work of a rank in a step but for its joints. `rows`: of its contacts.
double counted_work(std::int64_t rows, double sweeps, std::int64_t bodies);
/// The same for joints of so many rows.
double joint_work(std::int64_t rows, double sweeps);

/// Work in row sweeps, in the two parts of an iteration between which ranks wait for each other:
/// the joints', and all else.
struct PartWork {
  std::int64_t contacts = 0;  ///< and bodies
  std::int64_t joints = 0;

  std::int64_t all() const { return contacts + joints; }
  PartWork& operator+=(const PartWork& other) {
    contacts += other.contacts;
    joints += other.joints;
    return *this;
  }
};

/// The largest rank's work over the mean. `all`: the sum of the largest work of either part, as
/// ranks wait for each other between these, over the mean of both. 1: there is none.
struct WorkBalance {
  double all = 1.0, contacts = 1.0, joints = 1.0;
};
/// Of the largest and the mean work of ranks: but for the joints', and the joints'.
WorkBalance balance_of(const std::array<double, 2>& largest, const std::array<double, 2>& mean);

/// What bodies weigh when they are dealt to parts.
struct WorkRate {
  double sweeps = kSweepsAtStart;  ///< of a step
  double factor = 1.0;             ///< on all weights of this rank: its clock time over the counted
};

/// A scene as the price of moving it depends on it, over all ranks.
struct WorkSize {
  std::int64_t bodies = 0;
  std::int64_t rows = 0;
  std::int64_t max_graph = 0;  ///< vertices of the graph at most
  int ranks = 1;
};

/// Times that METIS is tried on a graph, of which the best split is taken: cuts of one try scatter
/// by up to 40 % above the best. Small graphs get several, at no more time than a graph of 200,000
/// vertices takes for one.
int split_tries(std::int64_t vertices);

/// What the busiest rank does, or waits for, while contacts are found for a split and the graph
/// is made and split (on one rank).
double price_of_split(const WorkSize& size);
/// The same for moving bodies to their new ranks.
double price_of_move(const WorkSize& size);

}  // namespace catena
