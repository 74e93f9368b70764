// Many limits, bounded motors and friction of joints, by the factor of the joints themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catena/constraints/delassus.hpp"
#include "solvers/joints/drives/drive_barrier.hpp"
#include "solvers/joints/drives/drive_rows.hpp"
#include "solvers/joints/joint_system.hpp"

namespace catena {

/// Any number of drives at a cost linear in them. A drive between its bounds is one more row of its
/// joint, one at a bound pushes with that: where the set F of those between is right,
///
///   w_f = 0 and lo <= lambda_f <= hi on F,    w_f >= 0 at lo,   w_f <= 0 at hi,
///
/// all of it is one solve of the joints with the rows F. Block principal pivoting finds the set (J.
/// J. Judice, F. M. Pires, Solution of large-scale separable strictly convex quadratic programs on
/// the simplex, 1992, and A block principal pivoting algorithm for large-scale strictly monotone
/// linear complementarity problems, 1994): all rows that are on the wrong side change it as long as
/// they become fewer. Where they no longer do, an interior-point method (DriveBarrier) says where
/// they stand, and pivoting goes on from there. Rows of one coordinate (a limit, a motor, friction)
/// share a *slot* of their joint's block, of which one drive at most is between its bounds; an
/// empty slot is a row of its own without bodies, so that the blocks stay the same ones. In a loop
/// rows of F may contradict each other (a motor against a stop): then all of them yield, and one
/// that yields with a bound before it goes there. The set of the last solve is where the next one
/// begins.
class DrivenJoints final : public DriveRows {
 public:
  /// Local. `joints` is not prepared: this object does it with its own problem. `mixed`: impulses
  /// are mixed between solves, so that of rows that do not determine theirs each solve begins anew
  /// (JointSystem::solve_anew).
  DrivenJoints(const ConstraintProblem& problem, std::vector<Index> drives, DelassusOperator& op,
               JointSystem& joints, bool mixed);

  /// Collective. As JointDrives::solve, whether or not `velocities` meet the joints.
  void solve(std::span<double> impulses, std::span<double> velocities);

 private:
  /// Where a drive's impulse stands against its bounds.
  enum class Side : std::uint8_t { lower, between, upper };
  /// A row of a joint's block for the drives of one coordinate.
  struct Slot {
    std::size_t like = 0;  ///< a drive whose bodies and, up to the sign, Jacobian it has
    Index block = 0;       ///< of the own problem
    Index row = 0;         ///< within the block
    Index of = kNoIndex;   ///< the drive between its bounds
  };

  void find_slots();
  void make_blocks();
  void copy_joints();
  void fill_slots();
  double sign_between(std::size_t a, std::size_t b) const;
  double sign_in_slot(std::size_t own) const { return sign_between(slots_[slot_[own]].like, own); }
  template <class Visit>
  void for_each_joint_row(Visit&& visit) const;
  void choose_sides(std::span<const double> impulses, std::span<const double> velocities);
  void settle(std::span<double> impulses, std::span<double> velocities);
  void push_to_bounds(std::span<double> impulses, std::span<double> velocities);
  void push_by_changes(std::span<double> velocities);
  bool find_set(std::span<double> impulses, std::span<double> velocities);
  void find_sides_inside(std::span<double> impulses, std::span<double> velocities);
  DriveBarrier make_barrier(std::span<const std::size_t> drives, std::span<double> impulses,
                            std::span<double> velocities);
  void fill_slots(const DriveBarrier& barrier, std::span<const std::size_t> drives);
  void step_inside(DriveBarrier& barrier, std::span<const std::size_t> drives,
                   std::span<double> impulses, std::span<double> velocities);
  double inverse_inertia(std::size_t own) const;
  void solve_joints(std::span<double> impulses, std::span<double> velocities);
  std::vector<std::size_t> on_the_wrong_side(std::span<const double> impulses,
                                             std::span<const double> velocities);
  void change_side(std::size_t own, std::span<const double> impulses);

  DelassusOperator& op_;
  JointSystem& joints_;
  ConstraintProblem with_drives_;  ///< joints alone, each with its slots
  std::vector<Index> joint_;       ///< per block of it: the problem's, or kNoIndex
  std::vector<Slot> slots_;
  std::vector<std::size_t> slot_;       ///< of each own drive
  std::vector<Side> side_;              ///< of each own drive
  std::vector<double> slip_;            ///< of each own drive, after the last solve of a set
  std::vector<double> lambda_;          ///< of all rows of with_drives_
  std::vector<double> push_, changes_;  ///< scratch: of all rows, of all velocities
  bool begun_ = false;                  ///< sides are chosen
  bool mixed_ = false;                  ///< impulses are, between solves
  bool anew_ = true;                    ///< no solve yet since impulses changed from outside
  bool changed_ = true;                 ///< the set, since it was factored
};

}  // namespace catena
