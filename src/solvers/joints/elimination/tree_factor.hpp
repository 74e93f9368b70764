// Cholesky factors of A = G M^-1 G^T + Sigma for eliminations of joints, and what they share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "solvers/joints/elimination/elimination.hpp"

namespace catena {

class Guests;

/// Factor of A + diag(added) for a fixed structure; one way of elimination each. No ranks take
/// part but this one, or all that a mechanism is cut over: then vectors have this rank's rows.
class CholeskyFactor {
 public:
  virtual ~CholeskyFactor() = default;
  /// False: the matrix was not positive definite to round-off; then solve() may not be called.
  /// Numbers that are not finite are passed on to the solution.
  virtual bool factor(const MechanismRows& joints, std::span<const double> added) = 0;
  /// x = (A + diag(added))^-1 x.
  virtual void solve(std::span<double> x) = 0;
  /// Pivots of the last factor(), per row, before they were raised.
  virtual void pivots(std::span<double> out) = 0;
  /// Whether pivots() costs more than a factorisation.
  virtual bool costly_pivots() const { return false; }
  virtual std::int64_t raised() const = 0;  ///< rows whose pivot was raised in the last factor()
  virtual std::int64_t flops() const = 0;   ///< multiply-adds of the last factor()
};

/// The elimination that a factor makes (docs/theory.md, "Trees and loops"): chooses epsilon, finds
/// and names redundant rows, keeps the reactions free of what they cannot decide, and refines, so
/// that w of the unregularised A is at round-off. With `guests`, which must outlive it, the factor
/// is one of all ranks, and so are all of this.
std::unique_ptr<JointElimination> make_regularised(const MechanismRows& structure,
                                                   std::unique_ptr<CholeskyFactor> factor,
                                                   Guests* guests = nullptr);

/// Collective. The factor of make_cut_elimination: where most joints are branches, which are
/// eliminated from the leaves on without fill, these are set apart; the others are dissected.
std::unique_ptr<CholeskyFactor> make_cut_factor(const MechanismRows& structure,
                                                const BlockNodes& nodes);
/// Collective where `nodes` has guests. The factor of make_dissected_elimination, and of a cut
/// mechanism without branches.
std::unique_ptr<CholeskyFactor> make_dissected_factor(const MechanismRows& structure,
                                                      const BlockNodes& nodes);

/// Pivots below this part of `added` are raised to `added`.
inline constexpr double kPivotFloor = 0.01;

/// Bodies of a tree that its own joints leave to others, which are eliminated later.
struct TreeRoots {
  Index last = kNoIndex;   ///< every joint's parent is on its way there
  Index first = kNoIndex;  ///< another one, or none; the joints between the two are a path

  Index size() const { return first == kNoIndex ? 1 : 2; }
};

/// A forest's factor, joints from the leaves to the roots; as far as that allows from the last row
/// to the first, so that memory is read in its order where names go from the roots to the leaves.
/// Reads the Jacobians of the last factor() in solves: they must still be as they were. With W_b
/// the inverse mass of body b as the joints eliminated so far leave it (M_b^-1 at first), joint j
/// from child c to parent p has
///
///   T_j = Sigma_j + G_c W_c G_c^T + G_p W_p G_p^T = L_j L_j^T,
///   X_j = L_j^-1 G_p W_p,   W_p <- W_p - X_j^T X_j,
///
/// which is the Cholesky factorisation of A in that order; L's entries between joints at p are
/// G_kp X_j^T and are never formed. Joints to the world have no child.
///
/// Of a path between two roots z and a, W_zp is carried along from z on to a: of its joint j
///
///   Z_j = L_j^-1 G_c W_cz,   W_pz = -X_j^T Z_j,   W_z <- W_z - Z_j^T Z_j.
class TreeFactor final : public CholeskyFactor {
 public:
  /// Blocks with in_forest != 0 (empty: all). `roots`: each of another tree. Throws
  /// std::logic_error where the blocks close a loop, or are not of rigid bodies, one or two per
  /// block, and 1 to 6 rows.
  TreeFactor(const MechanismRows& structure, std::span<const char> in_forest,
             std::span<const TreeRoots> roots = {});

  bool factor(const MechanismRows& joints, std::span<const double> added) override;
  void solve(std::span<double> x) override {
    forward(x);
    backward(x);
  }
  void pivots(std::span<double> out) override;
  std::int64_t raised() const override { return raised_; }
  std::int64_t flops() const override { return flops_; }

  /// x = L^-1 x and x = L^-T x; rows that are not of the forest stay as they are.
  void forward(std::span<double> x);
  void backward(std::span<double> x);

  /// What tree i of `roots` leaves to joints that are eliminated later: W of its last root, 6 x 6,
  /// or of both, 12 x 12; after forward(x) the velocities that the tree's impulses give these.
  const double* inverse_mass_left(Index i) const;
  const double* velocity(Index i) const;
  /// backward(x) where other joints give the roots impulses: 6 each, in the order of `roots`.
  void backward(std::span<double> x, std::span<const double> impulses);

 private:
  struct Joint {
    Index parent, child;  ///< bodies; child kNoIndex: none
    Offset g_p, g_c;      ///< their Jacobians among the blocks'
    Offset data;          ///< X: 6 rows each, L: rows x rows, Z if on a path: 6 rows each
    Index row;
    Index path;  ///< kNoIndex: on none
    std::int16_t rows;
    bool first_at_parent;  ///< no joint before it changes W of the parent
    bool leaf;             ///< nor does any change W of the child
  };
  /// From the first root of a tree to its last.
  struct Path {
    TreeRoots ends;
    std::array<double, 36> coupling;  ///< W_pz of the joint reached
    std::array<double, 144> left;     ///< W of both ends, the last root's first
    std::array<double, 12> velocity;
  };
  void order(const MechanismRows& structure, std::span<const char> in_forest);
  void visit(const MechanismRows& structure, Index root, std::span<char> done, std::span<char> met);
  void mark_paths(std::span<const Index> above);
  void sort_from_leaves(Index n_bodies);
  void list_blocks_of_bodies(const MechanismRows& structure, std::span<const char> in_forest);
  template <int kM>
  void factor_joint(const Joint& joint, const MechanismRows& joints, std::span<const double> added);
  template <int kM>
  void carry_first(const Joint& joint, const MechanismRows& joints, const double* g_c_w_c);
  template <int kM>
  void forward_joint(const Joint& joint, std::span<double> x);
  template <int kM>
  void backward_joint(const Joint& joint, std::span<double> x);

  std::vector<Joint> joints_;  ///< in pivot order
  std::vector<TreeRoots> given_;
  std::vector<Index> roots_;  ///< bodies that are no joint's child, and given ones, these first
  std::vector<Path> paths_;
  std::vector<Index> path_of_;  ///< per given tree; kNoIndex: it has one root
  std::vector<double> data_, pivot_;
  const double* jacobian_ = nullptr;       ///< of the last factor()
  std::vector<std::array<double, 36>> w_;  ///< per body
  std::vector<std::array<double, 6>> u_;   ///< per body: velocities (forward), impulses (backward)
  std::vector<Index> block_begin_, block_of_body_;
  std::int64_t raised_ = 0, flops_ = 0;
};

}  // namespace catena
