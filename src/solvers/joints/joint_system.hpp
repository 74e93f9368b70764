// The bilateral blocks of a problem as one block of the outer iteration, solved exactly.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/constraints/ordered_sums.hpp"
#include "catena/partition/mechanisms.hpp"
#include "catena/solvers/joint_solver_settings.hpp"
#include "catena/solvers/solver.hpp"
#include "solvers/joints/chain/chain_factor.hpp"
#include "solvers/joints/elimination.hpp"

namespace catena {

/// Solves all bilateral blocks of a problem exactly while the others stand still:
///
///   A dlambda = -w(lambda) on the bilateral rows,  A = G M^-1 G^T + Sigma,
///   lambda += dlambda,  V += M^-1 G^T dlambda   (true masses)
///
/// Kept from step to step: the mechanisms, who eliminates what and the paths of the numbers, as
/// long as the same blocks stand in the same order on every rank. Each step: the numbers of blocks
/// that another rank eliminates travel there once, factors are made once; each solve sends their w
/// there and dlambda back, besides the velocities of the bodies that joints hold.
///
/// solve_refined takes out again what regularisation and round-off leave, by more solves with the
/// same factors.
class JointSystem {
 public:
  explicit JointSystem(const JointSolverSettings& settings) : settings_(settings) {}

  /// Collective. Looks at the problem's bilateral blocks and factors them; false if there are none
  /// on any rank. Throws Error(bad_input) where the method refuses a mechanism.
  bool prepare(const ConstraintProblem& problem);

  /// Neighbours, and what the eliminations say. `velocities` (n_dofs): V of all bodies that joints
  /// hold, right at their owners on entry, at ghosts too on return. `impulses`: all rows.
  void solve(const ConstraintProblem& problem, std::span<double> impulses,
             std::span<double> velocities);

  /// Collective. Solves until all |w| are below 1e-12 m/s (rad/s) or no longer fall, at most four
  /// times; velocities are those of the impulses, recomputed.
  void solve_refined(const ConstraintProblem& problem, DelassusOperator& op,
                     std::span<double> impulses, std::span<double> velocities);

  /// The same for a given right-hand side of the bilateral rows: A lambda = rhs;
  /// changes = M^-1 G^T lambda, all other bodies 0. `impulses`, unless empty, get lambda.
  void move(const ConstraintProblem& problem, std::span<const double> rhs,
            std::span<double> changes, std::span<double> impulses = {});

  /// Per local body: whether a joint of any rank acts on it.
  std::span<const char> touched() const { return touched_; }
  /// The same on every rank.
  const JointReport& report() const { return report_; }

 private:
  /// A block that this rank eliminates.
  struct AssignedBlock {
    bool local;
    std::size_t index;  ///< of the local block, or of those received
    std::int64_t name = 0;
    int rows = 0;
    int drives = 0;  ///< of them, the last ones: motors without bound
    JointPlace place;
    std::int64_t position = -1;       ///< among the chains of all ranks
    std::vector<GlobalId> body;       ///< dynamic ones
    std::vector<Index> dofs;          ///< of each
    std::vector<MassKind> mass_kind;  ///< of each
    std::size_t payload = 0;          ///< received ones: where their numbers begin
  };
  /// Where a dealt block's numbers are.
  struct View {
    const double* compliance;
    std::array<const double*, 4> jacobian, inverse_mass;
  };
  /// Mechanisms that are no chains, with their elimination.
  struct Group {
    std::vector<std::size_t> dealt;  ///< in the order of blocks
    MechanismRows joints;
    std::unique_ptr<JointElimination> elimination;
    std::size_t first_row = 0, n_rows = 0;                       ///< among rows_
    std::vector<std::pair<std::size_t, std::size_t>> mass_from;  ///< per body: block, its body
    bool sparse = false;
  };

  void list_blocks(const ConstraintProblem& problem);
  void make_structure(const ConstraintProblem& problem);
  void deal(const ConstraintProblem& problem, std::span<const JointEdge> edges,
            std::span<const JointPlace> places);
  void receive_blocks(const ConstraintProblem& problem,
                      const std::map<int, std::vector<std::int64_t>>& words);
  /// Numbers of G and M^-1 of one body of a block.
  static std::size_t numbers_of(const AssignedBlock& dealt, std::size_t body);
  void refuse(const Communicator& comm, std::span<const JointPlace> places) const;
  void send_numbers(const ConstraintProblem& problem);
  void connect_velocities(const ConstraintProblem& problem);
  View view_of(const ConstraintProblem& problem, const AssignedBlock& dealt) const;
  void make_chain(const ConstraintProblem& problem);
  void fill_chain(const ConstraintProblem& problem);
  int previous_rank(const Communicator& comm) const;
  void connect_first(const ConstraintProblem& problem);
  void send_first(const ConstraintProblem& problem);
  void make_groups(const ConstraintProblem& problem);
  void lay_out_group(Group& group) const;
  void lay_out_rows();
  void factor_groups(const ConstraintProblem& problem);
  static void fill_group(const std::vector<View>& views, Group& group);
  template <class Visit>
  void for_each_received(const Visit& visit) const;
  void eliminate(const ConstraintProblem& problem);
  double residual(const ConstraintProblem& problem, std::span<const double> impulses,
                  std::span<const double> velocities);
  void share(std::span<double> velocities);
  void add_impulses(const ConstraintProblem& problem, double* lambda) const;
  void add_changes(const ConstraintProblem& problem, double* lambda, std::span<double> velocities);
  void add_change_of(const ConstraintProblem& problem, std::size_t i, std::size_t j,
                     double* v_b) const;
  void complete_in_order(const ConstraintProblem& problem);
  void make_report(const ConstraintProblem& problem);

  JointSolverSettings settings_;
  JointReport report_;
  // of this problem: the bilateral blocks held here
  std::vector<Index> block_;                     ///< number among the general blocks
  std::vector<std::array<Index, 4>> reference_;  ///< per block: its dynamic bodies' references
  // structure, kept
  struct Signature {
    std::int64_t name;
    int rows;
    int bodies;
    int drives;
    bool operator==(const Signature&) const = default;
  };
  std::vector<Signature> signature_;             ///< of this problem ...
  std::optional<std::vector<Signature>> known_;  ///< ... and of the structure kept
  bool any_ = false;
  std::vector<AssignedBlock> dealt_;  ///< chains by position, then the others by mechanism and name
  std::size_t n_chain_ = 0;
  std::vector<std::pair<int, std::vector<std::size_t>>> sent_;  ///< local blocks per rank
  std::vector<double> payload_;                                 ///< numbers of received blocks
  int width_ = 6;                                               ///< most rows of a block
  std::optional<HaloExchange> to_dealt_, from_dealt_;
  std::optional<HaloExchange> forward_;
  std::optional<GhostSum> backward_;
  std::optional<OrderedSums> ordered_;  ///< in place of backward_ where the problem is ordered
  int item_width_ = 6;                  ///< velocities in an item of these two
  /// w and then dlambda: rows of all dealt blocks in their order, then width_ places for each local
  /// block that another rank eliminates.
  std::vector<double> rows_;
  std::size_t n_dealt_rows_ = 0;
  std::vector<std::size_t> place_;           ///< per local block: its first place in rows_
  std::vector<std::size_t> received_place_;  ///< per received block
  std::vector<double> received_;             ///< width_ numbers per received block
  ChainPart chain_;
  std::optional<ChainFactor> chain_factor_;
  std::vector<std::int64_t> first_place_;  ///< JointAssignment::first
  int next_rows_ = 0;               ///< rows of the next rank's first block, if it couples; else 0
  std::vector<double> next_first_;  ///< G M^-1 of that block at the body that both hold
  std::vector<Group> groups_;
  bool any_groups_ = false;  ///< on any rank
  std::vector<char> touched_;
  std::vector<double> change_;
};

}  // namespace catena
