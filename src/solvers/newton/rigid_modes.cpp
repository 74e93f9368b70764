#include "solvers/newton/rigid_modes.hpp"

#include <Eigen/LU>
#include <cstdint>

#include "catena/comm/halo_exchange.hpp"

namespace catena {
namespace {

/// Rows of a file are alike up to this part of them.
constexpr double kAlike = 1e-6;

/// Bodies of this rank that are connected, each group with the frame it stands in: the smallest id
/// of the owned bodies that any of its bodies has heard of.
struct Groups {
  std::vector<Index> group;    ///< per body; kNoIndex: prescribed
  std::vector<Vec3> position;  ///< in the group
  std::vector<double> frame;   ///< per group
  std::vector<Vec3> offset;    ///< per group: of its positions in the frame
};

/// Two dynamic bodies and where the second lies beside the first.
struct Link {
  Index a, b;
  Vec3 step;  ///< x_b - x_a
};

/// r of rows (L, L [r]^T) of a body with six velocities: three of them hold its point at r.
bool find_arm(const double* g, Eigen::Matrix3d& linear, Vec3& arm) {
  const Eigen::Map<const Eigen::Matrix<double, 3, 6, Eigen::RowMajor>> rows(g);
  linear = rows.leftCols<3>();
  const Eigen::FullPivLU<Eigen::Matrix3d> factor(linear);
  if (!factor.isInvertible()) return false;
  const Eigen::Matrix3d cross = factor.solve(rows.rightCols<3>());  // -[r]
  arm = 0.5 * Vec3(cross(1, 2) - cross(2, 1), cross(2, 0) - cross(0, 2), cross(0, 1) - cross(1, 0));
  return (cross + cross.transpose()).norm() <= kAlike * cross.norm();
}

/// Rigid contacts, and blocks whose first three rows hold two points together.
std::vector<Link> find_links(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  const auto dynamic = [&](Index b) { return bodies.mass_kind[b] != MassKind::prescribed; };
  std::vector<Link> links;
  for (const RigidContact& c : problem.contacts)
    if (dynamic(c.body_a) && dynamic(c.body_b))
      links.push_back({c.body_a, c.body_b, c.arm_a - c.arm_b});
  const GeneralBlocks& blocks = problem.blocks;
  for (std::size_t k = 0; k < blocks.kind.size(); ++k) {
    const Index j = blocks.body_begin[k];
    if (blocks.body_begin[k + 1] - j != 2 || blocks.row_begin[k + 1] - blocks.row_begin[k] < 3)
      continue;
    const Index a = blocks.body[j], b = blocks.body[j + 1];
    const auto six = [&](Index body) {
      return bodies.dof_begin[body + 1] - bodies.dof_begin[body] == 6;
    };
    if (!dynamic(a) || !dynamic(b) || !six(a) || !six(b)) continue;
    Eigen::Matrix3d linear_a, linear_b;
    Vec3 arm_a, arm_b;
    if (find_arm(blocks.jacobian.data() + blocks.jacobian_begin[j], linear_a, arm_a) &&
        find_arm(blocks.jacobian.data() + blocks.jacobian_begin[j + 1], linear_b, arm_b) &&
        (linear_a + linear_b).norm() <= kAlike * linear_a.norm())
      links.push_back({a, b, arm_a - arm_b});
  }
  return links;
}

Groups find_groups(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  const auto n = bodies.size();
  const std::vector<Link> links = find_links(problem);
  // links of each body, in CSR
  std::vector<Index> begin(n + 1, 0), link(2 * links.size());
  for (const Link& l : links) ++begin[l.a + 1], ++begin[l.b + 1];
  for (Index b = 0; b < n; ++b) begin[b + 1] += begin[b];
  std::vector<Index> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < links.size(); ++i) {
    link[next[links[i].a]++] = to_index(i);
    link[next[links[i].b]++] = to_index(i);
  }
  Groups out{std::vector<Index>(n, kNoIndex), std::vector<Vec3>(n, Vec3::Zero()), {}, {}};
  std::vector<Index> queue;
  for (Index seed = 0; seed < n; ++seed) {
    if (out.group[seed] != kNoIndex || bodies.mass_kind[seed] == MassKind::prescribed) continue;
    const auto group = to_index(out.frame.size());
    out.frame.push_back(static_cast<double>(bodies.id[seed]));
    out.offset.push_back(Vec3::Zero());
    out.group[seed] = group;
    queue.assign(1, to_index(seed));
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Index b = queue[i];
      for (Index j = begin[b]; j < begin[b + 1]; ++j) {
        const Link& l = links[link[j]];
        const Index other = l.a == b ? l.b : l.a;
        if (out.group[other] != kNoIndex) continue;
        out.group[other] = group;
        out.position[other] = out.position[b] + (l.a == b ? l.step : Vec3(-l.step));
        queue.push_back(other);
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Vec3> contact_positions(const ConstraintProblem& problem) {
  Groups g = find_groups(problem);
  const std::size_t n = g.group.size();
  std::vector<Index> slot_item;
  HaloPlan backward = problem.ghosts.reversed_into_slots(slot_item);
  HaloExchange to_ghosts(problem.comm, problem.ghosts, 4, Tag::mode_positions_to_ghosts);
  HaloExchange to_owners(problem.comm, std::move(backward), 4, Tag::mode_positions_to_owners);
  std::vector<double> told(4 * n), slots(4 * slot_item.size());
  const auto tell = [&] {
    for (std::size_t b = 0; b < n; ++b) {
      if (g.group[b] == kNoIndex) continue;
      const std::size_t group = g.group[b];
      told[4 * b] = g.frame[group];
      Eigen::Map<Vec3>(told.data() + 4 * b + 1) = g.offset[group] + g.position[b];
    }
  };
  // the smaller frame wins; the whole group moves with the body that hears of it
  const auto hear = [&](std::size_t b, const double* numbers) {
    if (g.group[b] == kNoIndex) return false;
    const std::size_t group = g.group[b];
    if (!(numbers[0] < g.frame[group])) return false;
    g.frame[group] = numbers[0];
    g.offset[group] = Eigen::Map<const Vec3>(numbers + 1) - g.position[b];
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    tell();
    to_ghosts.begin(told);
    to_ghosts.end(told);
    for (std::size_t b = problem.bodies.n_owned; b < n; ++b)
      changed = hear(b, told.data() + 4 * b) || changed;
    tell();
    to_owners.begin(told);
    to_owners.end(slots);
    for (std::size_t s = 0; s < slot_item.size(); ++s)
      changed = hear(slot_item[s], slots.data() + 4 * s) || changed;
    changed = problem.comm.sum(std::int64_t{changed ? 1 : 0}) > 0;
  }
  for (std::size_t b = 0; b < n; ++b)
    if (g.group[b] != kNoIndex) g.position[b] += g.offset[g.group[b]];
  return g.position;
}

}  // namespace catena
