#include "solvers/joints/joint_layout.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/base/release.hpp"
#include "catena/base/sort_unique.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/model/joint.hpp"
#include "solvers/joints/elimination/elimination.hpp"

namespace catena {
namespace {

/// Factorisations after which a layout is to do without rows that have been at rest all along, and
/// of how many of its rows these must be one. A layout takes as long as some factorisations.
constexpr int kRestsAtMost = 20;
constexpr std::int64_t kOneOf = 4;

/// How many of a bilateral block's rows, the last ones, are motors without bound.
int drives_of(const GeneralBlocks& blocks, Index k) {
  int n = 0;
  for (Index r = blocks.row_begin[k + 1]; r > blocks.row_begin[k]; --r, ++n)
    if (!(blocks.upper[r - 1] > blocks.lower[r - 1])) break;
  return n;
}

std::vector<JointEdge> edges_of(const ConstraintProblem& problem, std::span<const HeldJoint> held) {
  std::vector<JointEdge> edges(held.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    edges[i].key = held[i].name;
    edges[i].rows = held[i].rows;
    edges[i].n_bodies = static_cast<unsigned char>(held[i].bodies);
    for (Index j = 0; j < held[i].bodies; ++j)
      edges[i].body[j] = problem.bodies.id[held[i].body(problem, j)];
  }
  return edges;
}

void refuse_all_but_chains(const Communicator& comm, std::span<const JointPlace> places) {
  all_or_none(comm, [&] {
    for (const JointPlace& place : places) {
      if (place.kind == MechanismKind::chain) continue;
      throw Error("the mechanism of joint " + std::to_string(place.component) +
                      " is no chain: it branches or closes a loop",
                  "solver.joints.method", "use method: auto");
    }
  });
}

/// Collective. Per joint: whether its mechanism is eliminated as a chain.
std::vector<char> eliminated_as_chain(const ConstraintProblem& problem,
                                      std::span<const HeldJoint> held,
                                      std::span<const JointPlace> places, bool in_order,
                                      int width) {
  // the short ways are for rigid bodies and at most six rows
  bool rigid = width <= narrow<int>(kJointRows);
  for (const HeldJoint& joint : held)
    for (Index j = 0; j < joint.bodies; ++j)
      rigid &= problem.bodies.mass_kind[joint.body(problem, j)] == MassKind::rigid;
  const bool all_rigid = problem.comm.min(std::int64_t{rigid ? 1 : 0}) == 1;
  std::vector<char> as_chain(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    as_chain[i] = in_order && all_rigid && places[i].is_simple_chain();
  return as_chain;
}

AssignedJoint assigned_joint(const ConstraintProblem& problem, const HeldJoint& held,
                             std::size_t index, const JointPlace& place, std::int64_t position) {
  AssignedJoint joint;
  joint.holder = problem.comm.rank();
  joint.index = index;
  joint.name = held.name;
  joint.rows = held.rows;
  joint.drives = held.drives;
  joint.place = place;
  joint.position = position;
  joint.bodies = static_cast<unsigned char>(held.bodies);
  for (Index j = 0; j < held.bodies; ++j) {
    const Index b = held.body(problem, j);
    joint.body[j] = problem.bodies.id[b];
    joint.dofs[j] = problem.bodies.dof_begin[b + 1] - problem.bodies.dof_begin[b];
    joint.mass_kind[j] = problem.bodies.mass_kind[b];
  }
  return joint;
}

/// Rank of each body; empty where layouts do not follow it.
std::vector<int> owners_of(const ConstraintProblem& problem) {
  if (problem.ordered || problem.comm.size() == 1) return {};
  std::vector<int> owner(problem.bodies.size(), problem.comm.rank());
  for (const HaloPlan::Neighbour& neighbour : problem.ghosts.neighbours)
    for (const Index ghost : neighbour.receive) owner[ghost] = neighbour.rank;
  return owner;
}

/// Collective. Cuts large mechanisms, chains that go along their order aside, and deals their nodes
/// to ranks: where the ranks of their bodies meet, so that joints are eliminated where they are
/// held; by their graphs alone where the bits must not depend on the ranks, and where bodies lie
/// too mixed. Returns the node of each joint, 0: of none.
std::vector<int> cut(const ConstraintProblem& problem, std::span<const HeldJoint> held,
                     std::span<const JointEdge> edges, std::span<const JointPlace> places,
                     std::span<const char> as_chain, std::int64_t cut_from,
                     JointAssignment& assignment, JointLayout& layout) {
  const Communicator& comm = problem.comm;
  std::vector<char> large(edges.size(), 0);
  std::int64_t any = 0;
  for (std::size_t i = 0; i < edges.size(); ++i)
    any |= large[i] = as_chain[i] == 0 && places[i].n_joints >= cut_from;
  if ((comm.size() == 1 && !problem.ordered) || sparse_elimination_asked_for() ||
      comm.max(any) == 0)
    return std::vector<int>(edges.size(), 0);
  std::vector<std::array<int, 4>> owners;
  owners.reserve(held.size());
  for (const HeldJoint& joint : held) owners.push_back(joint.owner);
  PlacedCut cut = cut_over_ranks(comm, edges, places, owners, large, comm.size(), problem.ordered);
  layout.parts = std::move(cut.parts);
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (cut.node[i] > 0)
      assignment.rank[i] = layout.parts_of(places[i].component).tree.rank_of(cut.node[i]);
  return cut.node;
}

/// Collective. Every holder says to whom eliminates a joint what it is.
void assign(const ConstraintProblem& problem, std::span<const HeldJoint> held,
            std::span<const JointPlace> places, const JointAssignment& assignment,
            std::span<const int> node, JointLayout& layout) {
  const Communicator& comm = problem.comm;
  std::map<int, std::vector<AssignedJoint>> elsewhere;
  std::map<int, std::vector<std::size_t>> sent;
  // many times larger than what it is made from: not twice of it
  layout.assigned.reserve(std::count(assignment.rank.begin(), assignment.rank.end(), comm.rank()));
  for (std::size_t i = 0; i < held.size(); ++i) {
    const int rank = assignment.rank[i];
    std::vector<AssignedJoint>& list = rank == comm.rank() ? layout.assigned : elsewhere[rank];
    list.push_back(assigned_joint(problem, held[i], i, places[i], assignment.place[i]));
    list.back().node = node[i];
    if (rank != comm.rank()) sent[rank].push_back(i);
  }
  layout.sent.assign(sent.begin(), sent.end());
  std::vector<Parcel> out;
  out.reserve(elsewhere.size());
  for (const auto& [rank, list] : elsewhere) out.push_back({rank, to_bytes(list)});
  for (const Parcel& parcel : comm.exchange(std::move(out)))
    for (AssignedJoint& joint : from_bytes<AssignedJoint>(parcel.bytes)) {
      joint.index = layout.n_received++;
      layout.assigned.push_back(joint);
    }
}

/// Trees that are held at one place at most together: their rows are independent. Each other
/// mechanism on its own, since what its redundant rows ask for would be done to all. Of ordered
/// problems each on its own: its factor must not know which others lie on its rank.
void sort_by_group(bool ordered, JointLayout& layout) {
  for (AssignedJoint& joint : layout.assigned) {
    const JointPlace& mechanism = joint.place;
    const bool tree =
        mechanism.kind == MechanismKind::tree || mechanism.kind == MechanismKind::chain;
    const bool together = !ordered && tree && mechanism.n_joints <= mechanism.n_bodies;
    if ((!together && !joint.is_chain()) || joint.is_cut()) joint.group = mechanism.component;
    layout.n_chain += joint.is_chain() ? 1 : 0;
    layout.n_cut += joint.is_cut() ? 1 : 0;
  }
  const auto place = [&](const AssignedJoint& joint) {
    return layout.parts_of(joint.group).tree.tree.place(joint.node);
  };
  std::ranges::sort(layout.assigned, [&](const AssignedJoint& x, const AssignedJoint& y) {
    if (x.is_chain() != y.is_chain()) return x.is_chain();
    if (x.is_chain()) return x.position < y.position;
    if (x.is_cut() != y.is_cut()) return x.is_cut();
    if (x.is_cut() && x.group == y.group && x.node != y.node) return place(x) < place(y);
    return std::tie(x.group, x.place.component, x.name) <
           std::tie(y.group, y.place.component, y.name);
  });
}

void lay_out_rows(int rank, std::size_t n_held, JointLayout& layout) {
  layout.held_row.assign(n_held, 0);
  for (AssignedJoint& joint : layout.assigned) {
    joint.first_row = layout.n_assigned_rows;
    if (joint.holder == rank) layout.held_row[joint.index] = to_index(joint.first_row);
    layout.n_assigned_rows += joint.rows;
  }
  layout.n_rows = layout.n_assigned_rows;
  for (const auto& [other, list] : layout.sent)
    for (const std::size_t i : list) {
      layout.held_row[i] = to_index(layout.n_rows);
      layout.n_rows += layout.width;
    }
}

HeldJoint held_joint(const ConstraintProblem& problem, std::span<const int> owner, Index k) {
  const GeneralBlocks& blocks = problem.blocks;
  HeldJoint joint;
  joint.name = blocks.name[k];
  joint.block = k;
  joint.rows = blocks.live_rows(k);
  joint.left_out = blocks.rows(k) - joint.rows;
  joint.drives = narrow<std::int16_t>(drives_of(blocks, k));
  const Index first = blocks.body_begin[k];
  for (Index j = first; j < blocks.body_begin[k + 1]; ++j) {
    if (problem.bodies.is_prescribed(blocks.body[j])) continue;
    CATENA_CHECK(joint.bodies < 4 && std::in_range<std::uint8_t>(j - first),
                 "a joint acts on four bodies at most");
    if (!owner.empty()) joint.owner[joint.bodies] = owner[blocks.body[j]];
    joint.member[joint.bodies++] = narrow<std::uint8_t>(j - first);
  }
  return joint;
}

/// Rows of a joint that a layout has stay in it. Whether it lacks some that had been left out.
bool keep_rows(const HeldJoint& before, HeldJoint& joint) {
  const Index all = joint.rows + joint.left_out;
  if (before.name != joint.name || before.rows + before.left_out != all) return false;
  if (before.rows > joint.rows) {
    joint.rows = before.rows;
    joint.left_out = before.left_out;
    joint.rested = narrow<std::int8_t>(std::min(before.rested + 1, kRestsAtMost));
  }
  return joint.rows > before.rows;
}

}  // namespace

HeldRows find_held_joints(const ConstraintProblem& problem, std::vector<HeldJoint>& held) {
  const std::vector<int> owner = owners_of(problem);
  std::size_t n = 0;
  HeldRows found;
  bool alike = true, too_small = false;
  for (Index k = 0; k < problem.blocks.size(); ++k) {
    if (problem.blocks.kind[k] != BlockKind::bilateral) continue;
    HeldJoint joint = held_joint(problem, owner, k);
    if (!problem.ordered && n < held.size()) too_small |= keep_rows(held[n], joint);
    found.rows += joint.rows;
    if (joint.rested == kRestsAtMost) found.resting += joint.rows - problem.blocks.live_rows(k);
    alike = alike && n < held.size() && joint.is_like(held[n]);
    if (n == held.size()) held.emplace_back();
    held[n++] = joint;
  }
  alike = alike && n == held.size();
  held.resize(n);
  found.outdated = alike ? 0 : 1;
  found.too_small = too_small ? 1 : 0;
  return found;
}

LayoutUse layout_use(const Communicator& comm, const HeldRows& own) {
  std::array<std::int64_t, 4> all = {own.rows, own.resting, own.outdated, own.too_small};
  comm.sum(all);
  const auto [rows, resting, outdated, too_small] = all;
  if (too_small > 0) return LayoutUse::too_small;
  return outdated > 0 || kOneOf * resting > rows ? LayoutUse::outdated : LayoutUse::serves;
}

void choose_rows_at_rest(const ConstraintProblem& problem, bool all, std::span<HeldJoint> held) {
  for (HeldJoint& joint : held) {
    const Index rows = problem.blocks.rows(joint.block);
    if (all)
      joint.rows = rows;
    else if (joint.rested == kRestsAtMost)
      joint.rows = problem.blocks.live_rows(joint.block);
    joint.left_out = rows - joint.rows;
    joint.rested = 0;
  }
}

JointLayout lay_out_joints(const ConstraintProblem& problem, std::span<const HeldJoint> held,
                           const JointSolverSettings& settings) {
  const Communicator& comm = problem.comm;
  JointLayout layout;
  if (comm.sum(std::ssize(held)) == 0) return layout;
  std::int64_t most = layout.width;
  for (const HeldJoint& joint : held) most = std::max(most, std::int64_t{joint.rows});
  layout.width = narrow<int>(comm.max(most));
  std::vector<JointEdge> edges = edges_of(problem, held);
  const std::vector<JointPlace> places = find_mechanisms(comm, edges);
  if (settings.method == JointMethod::chain) refuse_all_but_chains(comm, places);
  layout.count = count_mechanisms(comm, places);
  const std::vector<char> as_chain =
      eliminated_as_chain(problem, held, places, settings.chains_in_order(), layout.width);
  JointAssignment assignment =
      assign_joints(comm, edges, places, as_chain, JointPlace::kShortChain, problem.ordered);
  const std::vector<int> node =
      cut(problem, held, edges, places, as_chain, settings.cut_from, assignment, layout);
  release(edges);
  layout.chain_begin = assignment.first;
  assign(problem, held, places, assignment, node, layout);
  sort_by_group(problem.ordered, layout);
  lay_out_rows(comm.rank(), held.size(), layout);
  return layout;
}

}  // namespace catena
