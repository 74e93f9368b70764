#include "contact_positions.hpp"

#include <array>
#include <cstdint>

#include "catena/comm/halo_exchange.hpp"

namespace catena {
namespace {

constexpr int kTagToGhosts = 414;
constexpr int kTagToOwners = 415;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Bodies of this rank that hang together, each group with the frame it stands in: the smallest id
/// of the owned bodies that any of its bodies has heard of.
struct Groups {
  std::vector<Index> group;    ///< per body; kNoIndex: prescribed
  std::vector<Vec3> position;  ///< in the group
  std::vector<double> frame;   ///< per group
  std::vector<Vec3> offset;    ///< per group: of its positions in the frame
};

Groups find_groups(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  const auto n = static_cast<std::size_t>(bodies.size());
  const auto dynamic = [&](Index b) { return bodies.mass_kind[at(b)] != MassKind::prescribed; };
  // neighbours in CSR: contacts of each body
  std::vector<Index> begin(n + 1, 0), contact;
  const auto linked = [&](const RigidContact& c) { return dynamic(c.body_a) && dynamic(c.body_b); };
  for (const RigidContact& c : problem.contacts)
    if (linked(c)) ++begin[at(c.body_a) + 1], ++begin[at(c.body_b) + 1];
  for (std::size_t b = 0; b < n; ++b) begin[b + 1] += begin[b];
  contact.resize(at(begin[n]));
  std::vector<Index> next(begin.begin(), begin.end() - 1);
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    if (!linked(c)) continue;
    contact[at(next[at(c.body_a)]++)] = static_cast<Index>(k);
    contact[at(next[at(c.body_b)]++)] = static_cast<Index>(k);
  }
  Groups out{std::vector<Index>(n, kNoIndex), std::vector<Vec3>(n, Vec3::Zero()), {}, {}};
  std::vector<Index> queue;
  for (std::size_t seed = 0; seed < n; ++seed) {
    if (out.group[seed] != kNoIndex || !dynamic(static_cast<Index>(seed))) continue;
    const auto group = static_cast<Index>(out.frame.size());
    out.frame.push_back(static_cast<double>(bodies.id[seed]));
    out.offset.push_back(Vec3::Zero());
    out.group[seed] = group;
    queue.assign(1, static_cast<Index>(seed));
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Index b = queue[i];
      for (Index j = begin[at(b)]; j < begin[at(b) + 1]; ++j) {
        const RigidContact& c = problem.contacts[at(contact[at(j)])];
        const bool is_a = c.body_a == b;
        const Index other = is_a ? c.body_b : c.body_a;
        if (out.group[at(other)] != kNoIndex) continue;
        out.group[at(other)] = group;
        const Vec3 step = c.arm_a - c.arm_b;
        out.position[at(other)] =
            is_a ? Vec3(out.position[at(b)] + step) : Vec3(out.position[at(b)] - step);
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
  HaloExchange to_ghosts(problem.comm, problem.ghosts, 4, kTagToGhosts);
  HaloExchange to_owners(problem.comm, std::move(backward), 4, kTagToOwners);
  std::vector<double> told(4 * n), slots(4 * slot_item.size());
  const auto tell = [&] {
    for (std::size_t b = 0; b < n; ++b) {
      if (g.group[b] == kNoIndex) continue;
      const auto group = at(g.group[b]);
      told[4 * b] = g.frame[group];
      Eigen::Map<Vec3>(told.data() + 4 * b + 1) = g.offset[group] + g.position[b];
    }
  };
  // the smaller frame wins; the whole group moves with the body that hears of it
  const auto hear = [&](std::size_t b, const double* numbers) {
    if (g.group[b] == kNoIndex) return false;
    const auto group = at(g.group[b]);
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
    for (std::size_t b = at(problem.bodies.n_owned); b < n; ++b)
      changed = hear(b, told.data() + 4 * b) || changed;
    tell();
    to_owners.begin(told);
    to_owners.end(slots);
    for (std::size_t s = 0; s < slot_item.size(); ++s)
      changed = hear(at(slot_item[s]), slots.data() + 4 * s) || changed;
    changed = problem.comm.sum(std::int64_t{changed ? 1 : 0}) > 0;
  }
  for (std::size_t b = 0; b < n; ++b)
    if (g.group[b] != kNoIndex) g.position[b] += g.offset[at(g.group[b])];
  return g.position;
}

}  // namespace catena
