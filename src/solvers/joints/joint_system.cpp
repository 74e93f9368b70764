#include "solvers/joints/joint_system.hpp"

#include <algorithm>
#include <map>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/delassus.hpp"

namespace catena {
namespace {

/// Chains of fewer joints gain nothing from being cut.
constexpr std::int64_t kShortChain = 500;

/// How many of a bilateral block's rows, the last ones, are motors without bound.
int drives_of(const GeneralBlocks& blocks, Index k) {
  int n = 0;
  for (Index r = blocks.row_begin[k + 1]; r > blocks.row_begin[k]; --r, ++n)
    if (!(blocks.upper[r - 1] > blocks.lower[r - 1])) break;
  return n;
}

/// Restricts a plan to the bodies that are marked on both sides.
HaloPlan restricted(const HaloPlan& plan, std::span<const char> marked) {
  HaloPlan out;
  const auto keep = [&](const std::vector<Index>& list) {
    std::vector<Index> kept;
    for (const Index b : list)
      if (marked[b] != 0) kept.push_back(b);
    return kept;
  };
  for (const HaloPlan::Neighbour& n : plan.neighbours) {
    HaloPlan::Neighbour mine{n.rank, keep(n.send), keep(n.receive)};
    if (!mine.send.empty() || !mine.receive.empty()) out.neighbours.push_back(std::move(mine));
  }
  return out;
}

}  // namespace

void JointSystem::list_blocks(const ConstraintProblem& problem) {
  const GeneralBlocks& blocks = problem.blocks;
  block_.clear();
  reference_.clear();
  signature_.clear();
  for (Index k = 0; k < blocks.size(); ++k) {
    if (blocks.kind[k] != BlockKind::bilateral) continue;
    std::array<Index, 4> reference = {kNoIndex, kNoIndex, kNoIndex, kNoIndex};
    int n = 0;
    for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j) {
      if (problem.bodies.is_prescribed(blocks.body[j])) continue;
      CATENA_CHECK(n < 4, "a joint acts on four bodies at most");
      reference[n++] = j;
    }
    block_.push_back(k);
    reference_.push_back(reference);
    signature_.push_back({blocks.name[k],
                          narrow<int>(blocks.row_begin[k + 1] - blocks.row_begin[k]), n,
                          drives_of(blocks, k)});
  }
}

bool JointSystem::prepare(const ConstraintProblem& problem) {
  list_blocks(problem);
  const bool same = known_.has_value() && *known_ == signature_;
  if (problem.comm.max(std::int64_t{same ? 0 : 1}) != 0) {
    make_structure(problem);
    known_ = signature_;
  }
  if (!any_) return false;
  connect_velocities(problem);
  send_numbers(problem);
  if (chain_factor_) {
    fill_chain(problem);
    chain_factor_->factor(chain_);
  }
  if (any_groups_) factor_groups(problem);
  make_report(problem);
  return true;
}

/// Collective: a factor that fails on one rank is told on all.
void JointSystem::factor_groups(const ConstraintProblem& problem) {
  all_or_none(problem.comm, [&] {
    for (Group& group : groups_) {
      std::vector<View> views;
      views.reserve(group.dealt.size());
      for (const std::size_t d : group.dealt) views.push_back(view_of(problem, dealt_[d]));
      group.joints.misfit = problem.joint_misfit;
      fill_group(views, group);
      group.elimination->factor(group.joints);
    }
  });
}

void JointSystem::make_structure(const ConstraintProblem& problem) {
  const Communicator& comm = problem.comm;
  any_ = comm.sum(std::ssize(block_)) > 0;
  dealt_.clear();
  sent_.clear();
  groups_.clear();
  chain_ = {};
  chain_factor_.reset();
  n_chain_ = 0;
  if (!any_) return;
  std::vector<JointEdge> edges(block_.size());
  int most = 6;
  for (std::size_t i = 0; i < block_.size(); ++i) {
    JointEdge& edge = edges[i];
    edge.key = signature_[i].name;
    edge.rows = signature_[i].rows;
    edge.n_bodies = signature_[i].bodies;
    most = std::max(most, edge.rows);
    for (std::int64_t j = 0; j < edge.n_bodies; ++j)
      edge.body[j] = problem.bodies.id[problem.blocks.body[reference_[i][j]]];
  }
  width_ = narrow<int>(comm.max(std::int64_t{most}));
  const std::vector<JointPlace> places = find_mechanisms(comm, edges);
  refuse(comm, places);
  const MechanismCount count = count_mechanisms(comm, places);
  report_ = {};
  report_.joints = count.joints;
  report_.chains = count.chains;
  report_.trees = count.trees;
  report_.rings = count.rings;
  report_.looped = count.looped;
  report_.longest_chain = count.longest_chain;
  deal(problem, edges, places);
  make_chain(problem);
  make_groups(problem);
  any_groups_ = comm.max(std::ssize(groups_)) > 0;
  lay_out_rows();
}

/// Where each block's rows stand in rows_: dealt ones in the order of chains and groups.
void JointSystem::lay_out_rows() {
  place_.assign(block_.size(), 0);
  received_place_.assign(received_.size() / static_cast<std::size_t>(width_), 0);
  std::size_t row = 0;
  const auto put = [&](const AssignedBlock& d) {
    (d.local ? place_ : received_place_)[d.index] = row;
    row += d.rows;
  };
  for (std::size_t i = 0; i < n_chain_; ++i) put(dealt_[i]);
  for (Group& group : groups_) {
    group.first_row = row;
    for (const std::size_t d : group.dealt) put(dealt_[d]);
    group.n_rows = row - group.first_row;
  }
  n_dealt_rows_ = row;
  for (const auto& [rank, list] : sent_)
    for (const std::size_t i : list) {
      place_[i] = row;
      row += width_;
    }
  rows_.assign(row, 0.0);
}

void JointSystem::refuse(const Communicator& comm, std::span<const JointPlace> places) const {
  all_or_none(comm, [&] {
    if (settings_.method != JointMethod::chain) return;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].kind == MechanismKind::chain) continue;
      throw Error("the mechanism of joint " + std::to_string(places[i].component) +
                      " is no chain: it branches or closes a loop",
                  "solver.joints.method", "use method: auto");
    }
  });
}

void JointSystem::deal(const ConstraintProblem& problem, std::span<const JointEdge> edges,
                       std::span<const JointPlace> places) {
  const Communicator& comm = problem.comm;
  const ProblemBodies& bodies = problem.bodies;
  // the short ways are for rigid bodies and at most six rows
  bool rigid = width_ <= narrow<int>(kJointRows);
  for (const std::array<Index, 4>& reference : reference_)
    for (const Index j : reference)
      if (j != kNoIndex) rigid &= bodies.mass_kind[problem.blocks.body[j]] == MassKind::rigid;
  const bool all_rigid = comm.min(std::int64_t{rigid ? 1 : 0}) == 1;
  std::vector<char> as_chain(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const JointPlace& p = places[i];
    // held at both ends: rows may hang on others, as a four-bar's do, or those of a taut chain,
    // and the elimination of trees finds those
    const bool may_hang =
        p.n_joints > p.n_bodies && (p.n_rows > 3 * p.n_joints || p.n_joints <= kShortChain);
    as_chain[i] = all_rigid && settings_.method != JointMethod::direct &&
                          p.kind == MechanismKind::chain && !may_hang
                      ? 1
                      : 0;
  }
  // chains that are not cut are eliminated alike wherever they are
  const JointAssignment dealing =
      assign_joints(comm, edges, places, as_chain,
                    problem.ordered ? std::numeric_limits<std::int64_t>::max() : kShortChain);
  first_place_ = dealing.first;

  // each block says to whom eliminates it what it is
  std::map<int, std::vector<std::int64_t>> words;
  for (std::size_t i = 0; i < block_.size(); ++i) {
    AssignedBlock dealt;
    dealt.local = dealing.rank[i] == comm.rank();
    dealt.index = i;
    dealt.name = edges[i].key;
    dealt.rows = edges[i].rows;
    dealt.drives = signature_[i].drives;
    dealt.place = places[i];
    dealt.position = dealing.place[i];
    for (std::int64_t j = 0; j < edges[i].n_bodies; ++j) {
      const Index b = problem.blocks.body[reference_[i][j]];
      dealt.body.push_back(bodies.id[b]);
      dealt.dofs.push_back(bodies.dofs(b));
      dealt.mass_kind.push_back(bodies.mass_kind[b]);
    }
    if (dealt.local) {
      dealt_.push_back(std::move(dealt));
      continue;
    }
    if (sent_.empty() || sent_.back().first != dealing.rank[i]) {
      const auto found = std::find_if(sent_.begin(), sent_.end(),
                                      [&](const auto& s) { return s.first == dealing.rank[i]; });
      if (found == sent_.end())
        sent_.push_back({dealing.rank[i], {i}});
      else
        found->second.push_back(i);
    } else {
      sent_.back().second.push_back(i);
    }
    std::vector<std::int64_t>& out = words[dealing.rank[i]];
    const JointPlace& p = dealt.place;
    out.insert(out.end(), {dealt.name, dealt.rows, dealt.drives, dealt.position, p.component,
                           static_cast<std::int64_t>(p.kind), p.n_joints, p.n_rows, p.n_bodies,
                           p.index, p.next_body, p.previous_body, std::ssize(dealt.body)});
    for (std::size_t j = 0; j < dealt.body.size(); ++j)
      out.insert(out.end(),
                 {dealt.body[j], dealt.dofs[j], static_cast<std::int64_t>(dealt.mass_kind[j])});
  }
  std::sort(sent_.begin(), sent_.end());
  receive_blocks(problem, words);
  const auto order = [](const AssignedBlock& x, const AssignedBlock& y) {
    const bool chain_x = x.position >= 0, chain_y = y.position >= 0;
    if (chain_x != chain_y) return chain_x;
    if (chain_x) return x.position < y.position;
    return std::pair(x.place.component, x.name) < std::pair(y.place.component, y.name);
  };
  std::sort(dealt_.begin(), dealt_.end(), order);
  n_chain_ = std::count_if(dealt_.begin(), dealt_.end(),
                           [](const AssignedBlock& d) { return d.position >= 0; });
}

/// Takes what other ranks deal here, and connects the paths of w and dlambda.
void JointSystem::receive_blocks(const ConstraintProblem& problem,
                                 const std::map<int, std::vector<std::int64_t>>& words) {
  std::vector<ValueParcel<std::int64_t>> out;
  for (const auto& [rank, list] : words) out.push_back({rank, list});
  std::map<int, HaloPlan::Neighbour> paths;
  Index slot = 0;
  for (const auto& [rank, list] : sent_)
    for (std::size_t i = 0; i < list.size(); ++i) paths[rank].send.push_back(slot++);
  std::size_t received = 0, payload = 0;
  for (const auto& [from, in] : exchange_values(problem.comm, std::move(out))) {
    for (std::size_t k = 0; k < in.size();) {
      AssignedBlock d;
      d.local = false;
      d.index = received++;
      d.name = in[k];
      d.rows = narrow<int>(in[k + 1]);
      d.drives = narrow<int>(in[k + 2]);
      d.position = in[k + 3];
      d.place = {in[k + 4],
                 static_cast<MechanismKind>(in[k + 5]),
                 in[k + 6],
                 in[k + 7],
                 in[k + 8],
                 in[k + 9],
                 narrow<int>(in[k + 10]),
                 narrow<int>(in[k + 11])};
      const std::size_t n = in[k + 12];
      k += 13;
      d.payload = payload;
      payload += d.rows;
      for (std::size_t j = 0; j < n; ++j, k += 3) {
        d.body.push_back(in[k]);
        d.dofs.push_back(to_index(in[k + 1]));
        d.mass_kind.push_back(static_cast<MassKind>(in[k + 2]));
        payload += numbers_of(d, j);
      }
      paths[from].receive.push_back(to_index(d.index));
      dealt_.push_back(std::move(d));
    }
  }
  payload_.assign(payload, 0.0);
  HaloPlan plan;
  for (auto& [rank, neighbour] : paths) {
    neighbour.rank = rank;
    plan.neighbours.push_back(std::move(neighbour));
  }
  received_.assign(received * Offset{width_}, 0.0);
  from_dealt_.emplace(problem.comm, plan.reversed(), width_, Tag::joint_rows_from_eliminator);
  to_dealt_.emplace(problem.comm, std::move(plan), width_, Tag::joint_rows_to_eliminator);
}

std::size_t JointSystem::numbers_of(const AssignedBlock& dealt, std::size_t body) {
  const std::size_t dofs = dealt.dofs[body];
  return Offset{dealt.rows} * dofs + (dealt.mass_kind[body] == MassKind::rigid ? 7 : dofs * dofs);
}

/// Sigma, then per body G and M^-1, of the blocks that others eliminate.
void JointSystem::send_numbers(const ConstraintProblem& problem) {
  if (problem.comm.size() == 1) return;
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  std::vector<Parcel> out;
  for (const auto& [rank, list] : sent_) {
    std::vector<double> numbers;
    for (const std::size_t i : list) {
      const std::size_t k = block_[i];
      const auto row = blocks.compliance.begin() + blocks.row_begin[k];
      numbers.insert(numbers.end(), row, row + signature_[i].rows);
      for (Index j = 0; j < signature_[i].bodies; ++j) {
        const std::size_t reference = reference_[i][j];
        const std::size_t b = blocks.body[reference];
        const auto g = blocks.jacobian.begin();
        numbers.insert(numbers.end(), g + blocks.jacobian_begin[reference],
                       g + blocks.jacobian_begin[reference + 1]);
        const auto m = bodies.inverse_mass.begin();
        numbers.insert(numbers.end(), m + bodies.mass_begin[b], m + bodies.mass_begin[b + 1]);
      }
    }
    out.push_back({rank, to_bytes(numbers)});
  }
  // parcels come by rank, as the structure's did
  std::size_t done = 0;
  for (const Parcel& parcel : problem.comm.exchange(std::move(out))) {
    const std::size_t n = parcel.bytes.size() / sizeof(double);
    CATENA_CHECK(done + n <= payload_.size(), "joints' numbers as announced");
    Unpacker(parcel.bytes).get_values(std::span(payload_).subspan(done, n));
    done += n;
  }
  CATENA_CHECK(done == payload_.size(), "joints' numbers as announced");
}

JointSystem::View JointSystem::view_of(const ConstraintProblem& problem,
                                       const AssignedBlock& dealt) const {
  View view{};
  if (dealt.local) {
    const GeneralBlocks& blocks = problem.blocks;
    view.compliance = blocks.compliance.data() + blocks.row_begin[block_[dealt.index]];
    for (std::size_t j = 0; j < dealt.body.size(); ++j) {
      const std::size_t reference = reference_[dealt.index][j];
      const std::size_t b = blocks.body[reference];
      view.jacobian[j] = blocks.jacobian.data() + blocks.jacobian_begin[reference];
      view.inverse_mass[j] = problem.bodies.inverse_mass.data() + problem.bodies.mass_begin[b];
    }
    return view;
  }
  const double* p = payload_.data() + dealt.payload;
  view.compliance = p;
  p += dealt.rows;
  for (std::size_t j = 0; j < dealt.body.size(); ++j) {
    view.jacobian[j] = p;
    view.inverse_mass[j] = p + dealt.rows * dealt.dofs[j];
    p += numbers_of(dealt, j);
  }
  return view;
}

/// Per local body: held by a joint anywhere; and the paths of such bodies' velocities.
void JointSystem::connect_velocities(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  touched_.assign(bodies.size(), 0);
  for (std::size_t i = 0; i < block_.size(); ++i)
    for (Index j = 0; j < signature_[i].bodies; ++j)
      touched_[problem.blocks.body[reference_[i][j]]] = 1;
  ordered_.reset();
  if (problem.ordered)
    ordered_.emplace(problem, OrderedSums::Blocks::bilateral, Tag::joint_ordered_changes);
  if (problem.comm.size() == 1) return;
  std::vector<double> marks(touched_.begin(), touched_.end());
  sum_with_ghosts(problem.comm, problem.ghosts, 1, Tag::jointed_bodies, Tag::all_jointed_bodies,
                  marks);
  for (std::size_t b = 0; b < touched_.size(); ++b) touched_[b] = marks[b] > 0.0 ? 1 : 0;
  const HaloPlan plan = velocity_plan(restricted(problem.ghosts, touched_), bodies, item_width_);
  forward_.emplace(problem.comm, plan, item_width_, Tag::joint_velocities);
  if (!problem.ordered) backward_.emplace(problem.comm, plan, item_width_, Tag::joint_changes);
}

}  // namespace catena
