#include "solvers/gauss_seidel/shared_bodies.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "catena/base/error.hpp"
#include "catena/base/release.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/block_rows.hpp"
#include "solvers/joints/drives/joint_drives.hpp"

namespace catena {
namespace {

constexpr int kWidth = 6;  ///< velocities per item

Index items_of(Index dofs) { return (dofs + kWidth - 1) / kWidth; }

using Words = ValueParcel<std::int64_t>;

/// A subdomain elsewhere that sweeps an owned body.
struct Remote {
  std::int64_t number;  ///< of the subdomain
  int rank;
  std::int64_t place;  ///< of the body in the plan's list between the two ranks
};

/// Writes which bodies a map's subdomains touch.
void find_bodies(const ConstraintProblem& problem, SubdomainMap& map) {
  map.touched.resize(map.blocks.size());
  map.crossing.resize(map.blocks.size());
  for (std::size_t i = 0; i < map.blocks.size(); ++i) {
    const auto is_foreign = [&](Index b) { return !belongs_to(problem, b, map.number[i]); };
    find_touched_bodies(problem, map.blocks[i], map.is_touched, map.touched[i]);
    map.crossing[i].clear();
    if (std::ranges::none_of(map.touched[i], is_foreign)) continue;
    for (const Index b : map.touched[i]) map.is_touched[b] = 0;
    for (const Index k : map.blocks[i]) {
      bool crosses = false;
      for_each_body_index(problem, k, [&](Index b) { crosses = crosses || is_foreign(b); });
      if (crosses) for_each_body_index(problem, k, [&](Index b) { map.is_touched[b] = 1; });
    }
    for (const Index b : map.touched[i])
      if (map.is_touched[b] != 0) map.crossing[i].push_back(b);
  }
}

const HaloPlan::Neighbour& neighbour_of(const HaloPlan& plan, int rank) {
  const auto found = std::find_if(plan.neighbours.begin(), plan.neighbours.end(),
                                  [&](const auto& n) { return n.rank == rank; });
  CATENA_CHECK(found != plan.neighbours.end(), "ghosts' plan does not know the sender");
  return *found;
}

}  // namespace

Index subdomain_of(const ConstraintProblem& problem, Index body) {
  if (body >= problem.bodies.n_owned) return kNoIndex;
  return problem.body_subdomain.empty() ? to_index(problem.comm.rank())
                                        : problem.body_subdomain[body];
}

bool belongs_to(const ConstraintProblem& problem, Index body, Index subdomain) {
  return problem.bodies.is_prescribed(body) || subdomain_of(problem, body) == subdomain;
}

void SubdomainMap::rest() {
  for (auto* lists : {&blocks, &touched, &crossing})
    for (std::vector<Index>& list : *lists) clear_large(list);
  clear_large(is_touched);
}

void map_subdomains(const ConstraintProblem& problem, bool with_joints, const JointDrives* drives,
                    SubdomainMap& map) {
  const auto n_contacts = to_index(problem.contacts.size());
  const auto is_left_out = [&](Index k) {
    return (!with_joints && k >= n_contacts &&
            problem.blocks.kind[k - n_contacts] == BlockKind::bilateral) ||
           (drives != nullptr && drives->has(k));
  };
  const auto number_of = [&](Index k) {
    return problem.block_subdomain.empty() ? to_index(problem.comm.rank())
                                           : problem.block_subdomain[k];
  };
  CATENA_CHECK(problem.block_subdomain.empty() == problem.body_subdomain.empty() ||
                   problem.n_blocks() == 0 || problem.bodies.n_owned == 0,
               "subdomains of blocks and of bodies are given together");
  CATENA_CHECK(problem.body_subdomain.empty() ||
                   std::ssize(problem.body_subdomain) == problem.bodies.n_owned,
               "one subdomain per owned body");
  // neighbours in the list are mostly of one subdomain
  map.number.clear();
  Index last = kNoIndex;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    if (is_left_out(k) || number_of(k) == last) continue;
    last = number_of(k);
    const auto at = std::ranges::lower_bound(map.number, last);
    if (at == map.number.end() || *at != last) map.number.insert(at, last);
  }
  map.blocks.resize(map.number.size());
  for (std::vector<Index>& list : map.blocks) {
    list.clear();
    if (map.blocks.size() == 1) make_room(list, problem.n_blocks());
  }
  last = kNoIndex;
  std::vector<Index>* list = nullptr;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    if (is_left_out(k)) continue;
    if (number_of(k) != last) {
      last = number_of(k);
      list = &map.blocks[std::ranges::lower_bound(map.number, last) - map.number.begin()];
    }
    list->push_back(k);
  }
  find_bodies(problem, map);
}

/// Set-up's view: who sweeps what, by body, and the messages' lists in the making.
struct SharedBodies::Setup {
  const ConstraintProblem& problem;
  const SubdomainMap& map;
  std::span<const char> jointed;
  Sweeps& sweeps;
  std::vector<std::vector<Remote>> remotes = {};  ///< per owned body; empty: none
  std::map<int, HaloPlan::Neighbour> reverse = {}, forward = {};
  Index n_values = 0, n_outgoing = 0, n_incoming = 0;

  bool dynamic(Index b) const { return problem.bodies.mass_kind[b] != MassKind::prescribed; }

  bool is_jointed(Index b) const { return !jointed.empty() && jointed[b] != 0; }

  void find_sweeps() {
    assign_with_room(sweeps.begin, Offset{problem.bodies.size()} + 1, 0);
    for (const std::vector<Index>& bodies : map.crossing)
      for (const Index b : bodies)
        if (dynamic(b)) ++sweeps.begin[b];
    std::partial_sum(sweeps.begin.begin(), sweeps.begin.end(), sweeps.begin.begin());
    assign_with_room(sweeps.numbers, sweeps.begin.back(), 0);
    // from behind, so that each body's numbers end up ascending behind their begin
    for (std::size_t i = map.number.size(); i-- > 0;)
      for (const Index b : map.crossing[i])
        if (dynamic(b)) sweeps.numbers[--sweeps.begin[b]] = map.number[i];
  }

  std::span<const Remote> remotes_of(Index b) const {
    return remotes.empty() ? std::span<const Remote>() : std::span<const Remote>(remotes[b]);
  }

  /// Collective. What a rank says to the owners of its ghosts, and what it hears as owner: groups
  /// of (place in the plan's list, count, subdomain numbers...).
  std::vector<Words> tell_owners() const {
    std::vector<Words> out;
    for (const HaloPlan::Neighbour& neighbour : problem.ghosts.neighbours) {
      std::vector<std::int64_t> words;
      for (std::size_t k = 0; k < neighbour.receive.size(); ++k) {
        const std::span<const std::int64_t> numbers = sweeps.of(neighbour.receive[k]);
        if (numbers.empty()) continue;
        words.push_back(narrow<std::int64_t>(k));
        words.push_back(std::ssize(numbers));
        words.insert(words.end(), numbers.begin(), numbers.end());
      }
      if (!words.empty()) out.push_back({neighbour.rank, std::move(words)});
    }
    return exchange_values(problem.comm, std::move(out));
  }

  /// Collective. Fills multiplicity of owned and touched bodies.
  void agree(std::vector<Index>& multiplicity) {
    const std::vector<Words> heard = tell_owners();
    if (!heard.empty()) remotes.resize(problem.bodies.size());
    for (const auto& [from, words] : heard) {
      const HaloPlan::Neighbour& neighbour = neighbour_of(problem.ghosts, from);
      for (std::size_t i = 0; i < words.size(); i += 2 + words[i + 1])
        for (std::int64_t j = 0; j < words[i + 1]; ++j)
          remotes[neighbour.send[words[i]]].push_back({words[i + 2 + j], from, words[i]});
    }
    for (Index b = 0; b < problem.bodies.size(); ++b)
      multiplicity[b] = to_index(sweeps.of(b).size() + remotes_of(b).size());
    std::vector<Words> answers;
    for (const auto& [from, words] : heard) {
      const HaloPlan::Neighbour& neighbour = neighbour_of(problem.ghosts, from);
      std::vector<std::int64_t> answer;
      for (std::size_t i = 0; i < words.size(); i += 2 + words[i + 1]) {
        const std::size_t place = words[i];
        answer.push_back(words[i]);
        answer.push_back(multiplicity[neighbour.send[place]]);
      }
      answers.push_back({from, std::move(answer)});
    }
    for (const auto& [from, words] : exchange_values(problem.comm, std::move(answers))) {
      const HaloPlan::Neighbour& neighbour = neighbour_of(problem.ghosts, from);
      for (std::size_t i = 0; i < words.size(); i += 2)
        multiplicity[neighbour.receive[words[i]]] = to_index(words[i + 1]);
    }
  }

  Shared make_shared_body(Index b) {
    Shared shared{.body = b,
                  .dofs = problem.bodies.dof_begin[b + 1] - problem.bodies.dof_begin[b],
                  .item = n_values,
                  .jointed = is_jointed(b)};
    n_values += items_of(shared.dofs);
    for (std::size_t i = 0; i < map.number.size(); ++i) {
      const std::vector<Index>& touched = map.touched[i];
      const auto found = std::lower_bound(touched.begin(), touched.end(), b);
      if (found == touched.end() || *found != b) continue;
      if (map.number[i] == subdomain_of(problem, b)) shared.own = shared.copies.size();
      shared.copies.push_back({i, static_cast<std::size_t>(found - touched.begin()), kNoIndex});
    }
    return shared;
  }

  /// Whether crossing blocks of another than its own subdomain touch an owned body.
  bool foreign_blocks_touch(Index b) const {
    return !remotes_of(b).empty() || std::ranges::any_of(sweeps.of(b), [&](std::int64_t number) {
      return number != subdomain_of(problem, b);
    });
  }

  static void add_items(std::vector<Index>& list, Index first, Index count) {
    for (Index i = 0; i < count; ++i) list.push_back(first + i);
  }

  /// Ghosts: each local copy's change is sent, the new velocities come back. Both lists
  /// go by (place in the plan, subdomain), which the owner walks in the same order.
  void connect_ghosts(std::span<Shared> bodies, std::span<const Index> shared_of) {
    for (const HaloPlan::Neighbour& neighbour : problem.ghosts.neighbours) {
      for (const Index b : neighbour.receive) {
        if (shared_of[b] == kNoIndex) continue;
        Shared& shared = bodies[shared_of[b]];
        for (Copy& copy : shared.copies) {
          copy.item = n_outgoing;
          add_items(reverse[neighbour.rank].send, n_outgoing, items_of(shared.dofs));
          n_outgoing += items_of(shared.dofs);
        }
        add_items(forward[neighbour.rank].receive, shared.item, items_of(shared.dofs));
      }
    }
  }

  void connect_owned(std::span<Shared> bodies, std::span<const Index> shared_of) {
    // where each remote's change will lie, in the order in which its rank sends
    std::map<std::pair<int, std::int64_t>, std::vector<std::pair<std::int64_t, Index>>> by_place;
    for (const Shared& shared : bodies)
      for (const Remote& remote : remotes_of(shared.body))
        by_place[{remote.rank, remote.place}].push_back({remote.number, shared.body});
    std::map<Index, std::vector<std::pair<std::int64_t, Index>>> received;  // body: (number, item)
    for (auto& [key, list] : by_place) {
      std::sort(list.begin(), list.end());
      const Shared& shared = bodies[shared_of[list.front().second]];
      const Index items = items_of(shared.dofs);
      for (const auto& [number, body] : list) {
        add_items(reverse[key.first].receive, n_incoming, items);
        received[body].push_back({number, n_incoming});
        n_incoming += items;
      }
      add_items(forward[key.first].send, shared.item, items);
    }
    for (Shared& shared : bodies) {
      if (shared.body >= problem.bodies.n_owned) continue;
      std::vector<std::pair<std::int64_t, Contribution>> all;
      if (!foreign_blocks_touch(shared.body)) continue;
      const std::span<const std::int64_t> here = sweeps.of(shared.body);
      for (std::size_t i = 0; i < shared.copies.size(); ++i) {
        const std::int64_t number = map.number[shared.copies[i].subdomain];
        if (std::ranges::binary_search(here, number)) all.push_back({number, {true, i}});
      }
      for (const auto& [number, item] : received[shared.body])
        all.push_back({number, {false, narrow<std::size_t>(item)}});
      std::ranges::sort(all, [](const auto& x, const auto& y) { return x.first < y.first; });
      for (const auto& [number, contribution] : all) shared.contributions.push_back(contribution);
    }
  }

  static HaloPlan plan_of(std::map<int, HaloPlan::Neighbour>& lists) {
    HaloPlan plan;
    for (auto& [rank, neighbour] : lists) {
      neighbour.rank = rank;
      plan.neighbours.push_back(std::move(neighbour));
    }
    return plan;
  }
};

SharedBodies::SharedBodies() = default;

void SharedBodies::set_up(const ConstraintProblem& problem, const SubdomainMap& map,
                          std::span<const char> jointed) {
  const std::size_t n_bodies = problem.bodies.size();
  assign_with_room(multiplicity_, n_bodies, 0);
  assign_with_room(shared_, n_bodies, 0);
  assign_with_room(shared_of_, n_bodies, kNoIndex);
  bodies_.clear();
  Setup setup{problem, map, jointed, sweeps_};
  setup.find_sweeps();
  setup.agree(multiplicity_);
  for (Index b = 0; b < problem.bodies.size(); ++b) {
    const bool owned = b < problem.bodies.n_owned;
    const bool swept = owned ? setup.foreign_blocks_touch(b) : !sweeps_.of(b).empty();
    if (!swept && !(owned && setup.is_jointed(b))) continue;
    shared_[b] = 1;
    shared_of_[b] = to_index(bodies_.size());
    bodies_.push_back(setup.make_shared_body(b));
  }
  setup.connect_ghosts(bodies_, shared_of_);
  setup.connect_owned(bodies_, shared_of_);
  values_.assign(Offset{setup.n_values} * kWidth, 0.0);
  outgoing_.assign(Offset{setup.n_outgoing} * kWidth, 0.0);
  incoming_.assign(Offset{setup.n_incoming} * kWidth, 0.0);
  Index most = 0;
  for (const Shared& shared : bodies_) most = std::max(most, shared.dofs);
  change_.resize(most);
  sum_.resize(most);
  reverse_.reset();
  forward_.reset();
  if (problem.ghosts.neighbours.empty()) return;
  reverse_.emplace(problem.comm, Setup::plan_of(setup.reverse), kWidth, Tag::shared_changes);
  forward_.emplace(problem.comm, Setup::plan_of(setup.forward), kWidth, Tag::shared_velocities);
}

SharedBodies::~SharedBodies() = default;

void SharedBodies::rest() {
  clear_large(multiplicity_);
  clear_large(shared_);
  clear_large(shared_of_);
  clear_large(sweeps_.begin);
  clear_large(sweeps_.numbers);
  clear_large(bodies_);
  for (std::vector<double>* list : {&values_, &outgoing_, &incoming_}) clear_large(*list);
}

void SharedBodies::start(const ConstraintProblem& problem, std::span<const double> velocities) {
  for (const Shared& shared : bodies_)
    std::copy_n(velocities.begin() + problem.bodies.dof_begin[shared.body], shared.dofs,
                values_.begin() + shared.item * kWidth);
}

void SharedBodies::write_change(std::span<Subdomain> subdomains, const Shared& shared,
                                const Copy& copy, std::span<double> change) const {
  const std::span<const double> v = subdomains[copy.subdomain].velocity(copy.body);
  const double* old = values_.data() + Offset{shared.item} * kWidth;
  const double share = 1.0 / static_cast<double>(multiplicity_[shared.body]);
  for (std::size_t m = 0; m < v.size(); ++m) change[m] = (v[m] - old[m]) * share;
}

void SharedBodies::post_changes(std::span<Subdomain> subdomains) {
  for (const Shared& shared : bodies_)
    for (const Copy& copy : shared.copies)
      if (copy.item != kNoIndex)
        write_change(subdomains, shared, copy,
                     std::span(outgoing_).subspan(Offset{copy.item} * kWidth, shared.dofs));
  if (reverse_) reverse_->begin(outgoing_);
}

void SharedBodies::add_changes(std::span<Subdomain> subdomains) {
  if (reverse_) reverse_->end(incoming_);
  for (const Shared& shared : bodies_) {
    if (shared.contributions.empty()) continue;
    const std::size_t dofs = shared.dofs;
    std::fill_n(sum_.begin(), dofs, 0.0);
    for (const Contribution& part : shared.contributions) {
      const double* change = incoming_.data() + part.index * kWidth;
      if (part.local) {
        write_change(subdomains, shared, shared.copies[part.index], change_);
        change = change_.data();
      }
      for (std::size_t m = 0; m < dofs; ++m) sum_[m] += change[m];
    }
    double* value = values_.data() + Offset{shared.item} * kWidth;
    for (std::size_t m = 0; m < dofs; ++m) value[m] += sum_[m];
    if (shared.own == kNone) continue;
    const Copy& own = shared.copies[shared.own];
    std::copy_n(value, dofs, subdomains[own.subdomain].velocity(own.body).data());
  }
}

void SharedBodies::post_velocities(std::span<Subdomain> subdomains) {
  for (const Shared& shared : bodies_) {
    if (shared.own == kNone) continue;
    const Copy& own = shared.copies[shared.own];
    const std::span<const double> v = subdomains[own.subdomain].velocity(own.body);
    std::ranges::copy(v, values_.begin() + shared.item * kWidth);
  }
  if (forward_) forward_->begin(values_);
}

void SharedBodies::finish(std::span<Subdomain> subdomains) {
  if (forward_) forward_->end(values_);
  for (const Shared& shared : bodies_) {
    const double* value = values_.data() + Offset{shared.item} * kWidth;
    for (const Copy& copy : shared.copies)
      std::copy_n(value, shared.dofs, subdomains[copy.subdomain].velocity(copy.body).data());
  }
}

void SharedBodies::read(const ConstraintProblem& problem, std::span<double> velocities) const {
  for (const Shared& shared : bodies_)
    if (shared.jointed)
      std::copy_n(values_.begin() + shared.item * kWidth, shared.dofs,
                  velocities.begin() + problem.bodies.dof_begin[shared.body]);
}

void SharedBodies::write(const ConstraintProblem& problem, std::span<const double> velocities,
                         std::span<Subdomain> subdomains) {
  for (const Shared& shared : bodies_) {
    if (!shared.jointed) continue;
    const double* v = velocities.data() + problem.bodies.dof_begin[shared.body];
    std::copy_n(v, shared.dofs, values_.begin() + shared.item * kWidth);
    for (const Copy& copy : shared.copies)
      std::copy_n(v, shared.dofs, subdomains[copy.subdomain].velocity(copy.body).data());
  }
}

}  // namespace catena
