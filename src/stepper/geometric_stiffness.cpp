#include "catena/stepper/geometric_stiffness.hpp"

#include <algorithm>
#include <array>

#include "catena/comm/ghost_sum.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/constraints/ordered_sums.hpp"
#include "stepper/body_kernels.hpp"

namespace catena {
namespace {

constexpr double kFollowed = 1.0;  ///< h^2 K / I that the step follows as it is
constexpr double kRaise = 0.35;    ///< h^2 K / I^ stays below 1/kRaise < 4
constexpr int kWidth = 6;

/// A symmetric matrix: xx, yy, zz, xy, xz, yz.
using Packed = std::array<double, kWidth>;

/// Largest sum of a row's magnitudes.
double row_bound(const double* k) {
  const double xy = std::abs(k[3]), xz = std::abs(k[4]), yz = std::abs(k[5]);
  return std::max({std::abs(k[0]) + xy + xz, xy + std::abs(k[1]) + yz, xz + yz + std::abs(k[2])});
}

}  // namespace

/// h K of a body from bilateral block k, of which it is member j; false: none. A linear row (n, r x
/// n) with impulse lambda pushes with lambda n at r, of which r x n is what the row knows: the part
/// of r across n. The part along n comes from the rows across, so the arm is found from all linear
/// rows of a block together: sum over i of (row's turn) x n_i = sum of (r x n_i) x n_i = n (n . r)
/// - r summed = -2 r for three orthonormal rows.
static bool stiffness_of(const ConstraintProblem& problem, std::span<const double> impulses,
                         Index k, Index j, Packed& stiffness) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index row = blocks.row_begin[k];
  const Index rows = blocks.row_begin[k + 1] - row;
  // three linear rows hold two points together; what slides has its force across the way
  if (rows < 3 || blocks.angular[row] + blocks.angular[row + 1] + blocks.angular[row + 2] != 0)
    return false;
  if (problem.bodies.mass_kind[blocks.body[j]] != MassKind::rigid) return false;
  const double* lambda = impulses.data() + problem.first_general_row() + row;
  const double* g = blocks.jacobian.data() + blocks.jacobian_begin[j];
  Vec3 force = Vec3::Zero(), arm = Vec3::Zero();
  for (int i = 0; i < 3; ++i) {
    const Vec3 n(g[6 * i], g[6 * i + 1], g[6 * i + 2]);
    const Vec3 turn(g[6 * i + 3], g[6 * i + 4], g[6 * i + 5]);
    force += lambda[i] * n;
    arm -= 0.5 * turn.cross(n);
  }
  const double along = force.dot(arm);
  for (int i = 0; i < 3; ++i) stiffness[i] = along - arm[i] * force[i];
  stiffness[3] = -0.5 * (arm[0] * force[1] + arm[1] * force[0]);
  stiffness[4] = -0.5 * (arm[0] * force[2] + arm[2] * force[0]);
  stiffness[5] = -0.5 * (arm[1] * force[2] + arm[2] * force[1]);
  return true;
}

void GeometricStiffness::add_stiffness(const ConstraintProblem& problem,
                                       std::span<const double> impulses) {
  const GeneralBlocks& blocks = problem.blocks;
  stiffness_.assign(Offset{kWidth} * problem.bodies.size(), 0.0);
  Packed term;
  for (Index k = 0; k < blocks.size(); ++k) {
    if (blocks.kind[k] != BlockKind::bilateral) continue;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      if (!stiffness_of(problem, impulses, k, j, term)) continue;
      double* sum = stiffness_.data() + Offset{kWidth} * blocks.body[j];
      for (int i = 0; i < kWidth; ++i) sum[i] += term[i];
    }
  }
}

/// Neighbours. Adds up what several ranks know of a body.
void GeometricStiffness::share(const ConstraintProblem& problem, std::span<const double> impulses) {
  if (problem.comm.size() == 1) return;
  if (problem.ordered)
    add_in_order(problem, impulses, stiffness_);
  else
    GhostSum(problem.comm, problem.ghosts, kWidth, Tag::stiffness_to_owners).complete(stiffness_);
  HaloExchange to_ghosts(problem.comm, problem.ghosts, kWidth, Tag::stiffness_to_ghosts);
  to_ghosts.begin(stiffness_);
  to_ghosts.end(stiffness_);
}

void GeometricStiffness::add_in_order(const ConstraintProblem& problem,
                                      std::span<const double> impulses, std::span<double> lines) {
  const auto n_contacts = to_index(problem.contacts.size());
  OrderedSums sums(problem, OrderedSums::Blocks::bilateral, Tag::stiffness_in_order);
  sums.complete(lines, [&](const OrderedSums::Term& term, OrderedSums::Numbers& numbers) {
    numbers.fill(0.0);
    stiffness_of(problem, impulses, term.block - n_contacts, term.member, numbers);
  });
}

void GeometricStiffness::clear() {
  added_.clear();
  largest_ = 0.0;
}

void GeometricStiffness::apply(const LocalBodies& local, double h, std::span<const double> impulses,
                               ConstraintProblem& problem) {
  clear();
  add_stiffness(problem, impulses);
  share(problem, impulses);
  ProblemBodies& bodies = problem.bodies;
  EightBodies group;
  std::array<Index, EightBodies::kLanes> member;
  std::size_t n = 0;
  for (Index b = 0; b < bodies.size(); ++b) {
    if (bodies.mass_kind[b] != MassKind::rigid) continue;
    const double* own = stiffness_.data() + Offset{kWidth} * b;
    const BodyConstants& body = local.constants[b];
    const double least = body.inertia.minCoeff();
    // h^2 K, kg m^2
    const double bound = h * row_bound(own);
    if (!(bound > kFollowed * least)) {
      if (bound > largest_ * least) largest_ = bound / least;
      continue;
    }
    group.set(n, local.state[b].pose.q, body.inertia, local.twist(b).w);
    constexpr std::array<std::size_t, 6> kOrder = {0, 3, 4, 1, 5, 2};  // xx, xy, xz, yy, yz, zz
    for (std::size_t i = 0; i < 6; ++i) group.matrix[i].lane[n] = h * own[kOrder[i]];
    const double* free = bodies.free_velocity.data() + bodies.dof_begin[b] + 3;
    for (std::size_t i = 0; i < 3; ++i) group.after[i].lane[n] = free[i];
    member[n++] = b;
    if (n < member.size()) continue;
    raise(member, group, bodies);
    n = 0;
  }
  raise(std::span(member).first(n), group, bodies);
}

/// Raises the inertia of the bodies in the lanes of `group` where it has to be.
void GeometricStiffness::raise(std::span<const Index> members, EightBodies& group,
                               ProblemBodies& bodies) {
  if (members.empty()) return;
  RaisedInertia raised;
  raise_inertia(kFollowed, kRaise, group, raised);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Index b = members[i];
    largest_ = std::max(largest_, raised.largest.lane[i]);
    if (!(raised.largest.lane[i] > kFollowed)) continue;
    double* m = bodies.inverse_mass.data() + bodies.mass_begin[b] + 1;
    for (std::size_t k = 0; k < 6; ++k) m[k] = group.matrix[k].lane[i];
    double* free = bodies.free_velocity.data() + bodies.dof_begin[b] + 3;
    for (std::size_t k = 0; k < 3; ++k) free[k] = group.after[k].lane[i];
    if (b >= bodies.n_owned) continue;
    Raised& own = added_.emplace_back();
    own.body = b;
    for (std::size_t k = 0; k < 6; ++k) own.inertia[k] = raised.added[k].lane[i];
  }
}

double GeometricStiffness::work(const Raised& raised, const LocalBodies& local,
                                std::span<const double> twists) {
  const double* after = twists.data() + Offset{6} * raised.body + 3;
  const Vec3& before = local.twist(raised.body).w;
  const std::array<double, 6>& m = raised.inertia;
  const Vec3 change(after[0] - before[0], after[1] - before[1], after[2] - before[2]);
  const Vec3 sum(before[0] + after[0], before[1] + after[1], before[2] + after[2]);
  return 0.5 * (sum[0] * (m[0] * change[0] + m[1] * change[1] + m[2] * change[2]) +
                sum[1] * (m[1] * change[0] + m[3] * change[1] + m[4] * change[2]) +
                sum[2] * (m[2] * change[0] + m[4] * change[1] + m[5] * change[2]));
}

double GeometricStiffness::subtract_work(const LocalBodies& local, std::span<const double> twists,
                                         Sum& work) const {
  double taken = 0.0;
  for (const Raised& raised : added_) {
    const double one = GeometricStiffness::work(raised, local, twists);
    work -= one;
    taken += one;
  }
  return taken;
}

}  // namespace catena
