// One time step's constraint problem: the one type that every solver and stepper shares.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/math/types.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Which condition holds between w and lambda of a block.
enum class BlockKind : std::uint8_t {
  bilateral,   ///< w = 0, lambda free (joint)
  unilateral,  ///< 0 <= w _|_ lambda >= 0 (limit)
  boxed,       ///< lo <= lambda <= hi, w = w_l - w_u, each _|_ its bound (motor, joint friction)
  contact,     ///< rows (normal, tangent, tangent) under the problem's law
};

/// How a body's inverse mass is stored.
enum class MassKind : std::uint8_t {
  prescribed,  ///< M^-1 = 0, nothing stored: fixed and kinematic bodies
  rigid,  ///< 7 numbers: 1/m, and R I^-1 R^T as xx, xy, xz, yy, yz, zz; 6 velocities (v, omega)
  dense,  ///< n x n numbers, row by row, for n velocities
};

/// Bodies of a problem, this rank's: n_owned owned ones, then ghosts, then bodies every
/// rank knows. Velocities of body b are [dof_begin[b], dof_begin[b+1]) of any
/// velocity vector.
struct ProblemBodies {
  std::vector<GlobalId> id;
  std::vector<MassKind> mass_kind;
  std::vector<Index> dof_begin = {0};   ///< size n + 1
  std::vector<Index> mass_begin = {0};  ///< size n + 1, into inverse_mass
  std::vector<double> inverse_mass;     ///< M^-1, world frame
  std::vector<double> free_velocity;    ///< V_free: the step's other forces applied; m/s, rad/s
  Index n_owned = 0;
  /// Per owned velocity its number in the problem file the bodies were read from (io/fclib);
  /// empty for bodies made otherwise.
  std::vector<std::int64_t> file_velocity;

  Index size() const { return to_index(id.size()); }
  Index n_dofs() const { return dof_begin.back(); }
  /// Velocities of body b.
  Index dofs(Index b) const { return dof_begin[b + 1] - dof_begin[b]; }
  /// Whether its motion is given: impulses do not change it.
  bool is_prescribed(Index b) const { return mass_kind[b] == MassKind::prescribed; }
  /// Room for n rigid bodies.
  void reserve(std::size_t n);
  /// No bodies; the memory stays.
  void clear();
  /// Appends a body with M^-1 = 0 moving with `twist`.
  void add_prescribed(GlobalId body, const Twist& twist);
  /// Appends a rigid body; `inverse_inertia` in the world frame.
  void add_rigid(GlobalId body, double inverse_mass, const Mat3& inverse_inertia,
                 const Twist& free_twist);
  /// The same for a body whose inertia is the same about all axes.
  void add_rigid(GlobalId body, double inverse_mass, double inverse_inertia,
                 const Twist& free_twist);
  /// Appends a body with a dense inverse mass (n x n, row by row) and n free velocities.
  void add_dense(GlobalId body, std::span<const double> inverse_mass_block,
                 std::span<const double> free_velocities);
};

/// Three rows of a contact between two rigid bodies, from which G is recomputed where
/// it is used: u = (n, t1, t2)^T (v_b + w_b x r_b - v_a - w_a x r_a), t2 = n x t1.
struct RigidContact {
  Index body_a = kNoIndex;  ///< local bodies
  Index body_b = kNoIndex;
  Vec3 normal;                           ///< unit, from a to b
  Vec3 tangent;                          ///< t1
  Vec3 arm_a, arm_b;                     ///< r: from the centre of mass to where it acts, world, m
  double bias = 0.0;                     ///< b of the normal row in w = u + Sigma lambda + b, m/s
  double friction = 0.0;                 ///< mu
  std::array<double, 2> tangent_bias{};  ///< b of the tangents' rows, m/s
  double compliance = 0.0;               ///< Sigma of the normal row, 1/kg; 0: rigid
  double tangent_compliance = 0.0;       ///< Sigma of both tangents' rows, 1/kg
  /// Largest tensile impulse c >= 0, N s: the law holds for lambda + c n in place of lambda
  /// (lambda_n >= -c, |lambda_t| <= mu (lambda_n + c)).
  double cohesion = 0.0;
  ContactKey key;
};

/// b of a contact's three rows, m/s.
inline Vec3 bias_of(const RigidContact& c) {
  return {c.bias, c.tangent_bias[0], c.tangent_bias[1]};
}
/// Diagonal of Sigma of a contact's three rows, 1/kg.
inline Vec3 compliance_of(const RigidContact& c) {
  return {c.compliance, c.tangent_compliance, c.tangent_compliance};
}

/// Blocks with explicit Jacobians: any number of rows, bodies and velocities. Flat
/// arrays; block k owns rows [row_begin[k], row_begin[k+1]), references
/// [body_begin[k], body_begin[k+1]) of `body`, and for reference j a Jacobian of
/// rows x dofs(body[j]) numbers, row by row, from jacobian_begin[j].
struct GeneralBlocks {
  std::vector<BlockKind> kind;
  std::vector<std::int64_t> name;  ///< the user's number of the block (joint id, contact number)
  std::vector<Index> row_begin = {0};
  std::vector<Index> body_begin = {0};
  std::vector<Index> body;
  std::vector<std::int64_t> jacobian_begin = {0};
  std::vector<double> jacobian;
  std::vector<double> friction;  ///< per block; 0 unless a contact
  /// Per block, empty if no block has any: contacts of 4 to 6 rows (normal, two tangents, then
  /// two rolling rows about the tangents where rolling >= 0, then a spinning row about the normal
  /// where spinning >= 0; -1: no such rows) with |lambda_r| <= rolling (lambda_n + c),
  /// |lambda_s| <= spinning (lambda_n + c), m; and c of RigidContact::cohesion, N s.
  std::vector<double> rolling, spinning, cohesion;
  std::vector<ContactKey> key;  ///< per block, empty or of contacts of a step
  /// Per block, empty if no block has any: how many of the last rows of a bilateral one are at
  /// rest, G = 0 and q = 0, so that their lambda is 0 and nothing else depends on them.
  std::vector<std::uint8_t> at_rest;
  std::vector<double> q;           ///< per row: w = G V + Sigma lambda - q
  std::vector<double> compliance;  ///< per row: Sigma's diagonal, >= 0
  /// Per row the velocity of a problem file (io/fclib) that stands for its compliance, Sigma
  /// lambda; -1: none. Empty for blocks made otherwise.
  std::vector<std::int64_t> file_velocity;
  std::vector<double> lower, upper;   ///< per row, boxed only; N s
  std::vector<std::uint8_t> angular;  ///< per row: 1 if w is in rad/s

  Index size() const { return static_cast<Index>(kind.size()); }
  Index n_rows() const { return row_begin.back(); }
  /// Rows of block k.
  Index rows(Index k) const { return row_begin[k + 1] - row_begin[k]; }
  /// Those of them that are not at rest.
  Index live_rows(Index k) const { return rows(k) - (at_rest.empty() ? 0 : at_rest[k]); }
  /// No blocks; the memory stays.
  void clear();
};

/// An assembled operator instead of bodies: w = N lambda + r. Rows of whole blocks
/// (3 per contact); columns are local rows first, then halo rows.
struct AssembledOperator {
  std::vector<std::int64_t> row_begin = {0};  ///< CSR, local rows
  std::vector<Index> column;
  std::vector<double> value;
  std::vector<double> r;           ///< per local row
  std::vector<double> friction;    ///< per contact (3 rows)
  std::vector<std::int64_t> name;  ///< global number per contact
  Index n_halo_rows = 0;
  /// In blocks of 3 rows: own blocks to halo blocks, which are numbered as the columns
  /// are (halo block j is n_rows()/3 + j).
  HaloPlan halo;
  Index n_rows() const { return to_index(row_begin.size()) - 1; }
};

class FrictionLaw;

/// Counts the matrices that a problem has had. A copy, which may be changed on its own, starts
/// again from 0, as what is not numbered.
class MatrixNumber {
 public:
  MatrixNumber() = default;
  MatrixNumber(const MatrixNumber& /*other*/) {}
  MatrixNumber(MatrixNumber&& other) noexcept = default;
  MatrixNumber& operator=(const MatrixNumber& other) { return *this = MatrixNumber(other); }
  MatrixNumber& operator=(MatrixNumber&& other) noexcept = default;
  ~MatrixNumber() = default;

  MatrixNumber& operator++() {
    ++value_;
    return *this;
  }
  std::int64_t value() const { return value_; }

 private:
  std::int64_t value_ = 0;
};

/// This rank's part of one step's problem:
///
///   V = V_free + M^-1 G^T lambda,   w = G V + Sigma lambda - q,
///   (w, lambda) complementary block by block (docs/theory.md, "The step's problem").
///
/// Distributed: every block is held by exactly one rank, which knows all its bodies
/// (owned or ghost). Rows: 3 per rigid contact in order, then those of the general
/// blocks. lambda in N s (N m s for angular rows), w in m/s (rad/s). A problem has
/// either bodies or an assembled operator.
struct ConstraintProblem {
  explicit ConstraintProblem(const Communicator& communicator) : comm(communicator) {}

  Communicator comm;
  ContactLaw law = ContactLaw::coulomb;
  /// Law lagged (`law` is then ccp), on all ranks alike, and per block its s, m/s, which b of a
  /// contact's normal row holds already, and that b (or -q) without it; 0 of other blocks.
  bool lagged = false;
  std::vector<double> shift, unshifted;
  /// A law that ContactLaw does not list, which changes the contacts' cones from those of `law`;
  /// must outlive the problem. nullptr: none.
  const FrictionLaw* friction_law = nullptr;
  ProblemBodies bodies;
  std::vector<RigidContact> contacts;
  GeneralBlocks blocks;
  std::optional<AssembledOperator> assembled;
  /// Largest misfit of the bilateral blocks' positions over all ranks, rad, or as a part of a
  /// joint's arm: which of their rows depend on others is not known better than this.
  double joint_misfit = 0.0;

  /// Owned dynamic bodies to their ghosts, in bodies; prescribed bodies are left out. Every
  /// dynamic body that is not owned is received exactly once.
  HaloPlan ghosts;
  /// Global number of the subdomain that sweeps each block (contacts, then general
  /// blocks); empty: one subdomain per rank, numbered by rank. A subdomain lies on one rank.
  std::vector<Index> block_subdomain;
  /// Per owned body, the subdomain that it belongs to, which lies here and sweeps most of its
  /// blocks; empty: this rank's own.
  std::vector<Index> body_subdomain;
  /// Solvers sum and sweep in the order of blocks over all ranks (contacts by key, joints by name),
  /// so that the same subdomains on other ranks give the same bits. Blocks stand in that order on
  /// each rank, and bodies have six velocities.
  bool ordered = false;
  /// Number of the bilateral blocks' G, Sigma and M^-1 among those that the problem has had, the
  /// same on all ranks; 0: they are not numbered. A solver that has factored those of a number need
  /// not do so again.
  MatrixNumber joint_matrix;

  Index n_blocks() const {
    return assembled ? assembled->n_rows() / 3 : to_index(contacts.size()) + blocks.size();
  }
  Index n_rows() const {
    return assembled ? assembled->n_rows() : first_general_row() + blocks.n_rows();
  }
  /// The general blocks' first row: behind those of the rigid contacts.
  Index first_general_row() const { return 3 * to_index(contacts.size()); }
};

/// One block's rows, whatever its storage: the view by which metrics and solvers that
/// are not in a hurry walk a problem.
struct BlockView {
  BlockKind kind;
  Index row;  ///< first row
  Index rows;
  double friction;                         ///< contacts only, and so are the others
  double rolling = -1.0, spinning = -1.0;  ///< m; -1: no such rows
  double cohesion = 0.0;                   ///< N s
};
/// Local: one block, whatever its storage.
BlockView block_view(const ConstraintProblem& problem, Index block);

/// Where the rows in full of a contact (normal, two tangents, two rolling rows, spinning row)
/// stand among its own rows; -1: it has no such row.
std::array<int, 6> standard_row_slots(const BlockView& contact);

/// The law as the user names it.
inline ContactLaw named_law(const ConstraintProblem& problem) {
  return problem.lagged ? ContactLaw::lagged : problem.law;
}
/// Local, to be called on all ranks. Makes the problem one of law lagged with these shifts, >= 0,
/// one per block, in place of those that it has.
void set_shift(ConstraintProblem& problem, std::vector<double> shift);
/// Local, to be called on all ranks. Takes the shifts back: the problem is one of law coulomb.
void remove_shift(ConstraintProblem& problem);

/// Explicit Jacobian of a rigid contact for its two bodies, 3 x 6 each, row by row.
void contact_jacobian(const RigidContact& contact, std::span<double, 18> g_a,
                      std::span<double, 18> g_b);

/// y = M_b^-1 f for body b; spans of the body's velocities.
void apply_inverse_mass(const ProblemBodies& bodies, Index b, std::span<const double> f,
                        std::span<double> y);

/// Throws std::logic_error naming the first inconsistency (sizes, indices, non-finite data).
void check_problem(const ConstraintProblem& problem);

}  // namespace catena
