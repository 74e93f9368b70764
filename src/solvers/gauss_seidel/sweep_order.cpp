#include "solvers/gauss_seidel/sweep_order.hpp"

#include <algorithm>
#include <numeric>

#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/gauss_seidel/explicit_contacts.hpp"
#include "solvers/gauss_seidel/local/round_contacts.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena {
namespace {

/// Contacts among which the next batch is looked for. More fill batches better, fewer keep to the
/// order of bodies, and with it to the cache.
constexpr std::size_t kWindow = 48;

/// A block and the two bodies of a contact, read once: a list of contacts is long.
struct Placed {
  Index block, a, b;
};

/// Of a contact, rigid or among the general blocks; of one body alone twice that.
Placed with_bodies(const ConstraintProblem& problem, Index block) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts)
    return {block, problem.contacts[block].body_a, problem.contacts[block].body_b};
  const Index k = block - n_contacts;
  const Index first = problem.blocks.body_begin[k], last = problem.blocks.body_begin[k + 1] - 1;
  return {block, problem.blocks.body[first], problem.blocks.body[last]};
}

/// Contacts by the smaller body, then the other; those of ordered problems as they
/// stand, since local numbers of bodies depend on the ranks. Counting sort by the one and a few
/// exchanges for the other; equals keep the order of the blocks.
std::vector<Placed> by_body(const ConstraintProblem& problem, std::span<const Index> contacts) {
  std::vector<Placed> given(contacts.size());
  std::ranges::transform(contacts, given.begin(), [&](Index k) { return with_bodies(problem, k); });
  if (problem.ordered || contacts.empty()) return given;
  const Index n = problem.bodies.size();
  // prescribed bodies last: their contacts go with the dynamic body, and rank by rank the
  // order is the same wherever such a body is kept
  const auto place_of = [&](Index b) {
    return problem.bodies.mass_kind[b] == MassKind::prescribed ? n + b : b;
  };
  const auto low = [&](const Placed& c) { return std::min(place_of(c.a), place_of(c.b)); };
  const auto high = [&](const Placed& c) { return std::max(place_of(c.a), place_of(c.b)); };
  std::vector<Index> begin(Offset{2} * n + 1, 0);
  for (const Placed& c : given) ++begin[low(c) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Placed> sorted(contacts.size());
  std::vector<Index> next(begin.begin(), begin.end() - 1);
  for (const Placed& c : given) {
    const Index first = begin[low(c)];
    Index to = next[low(c)]++;
    for (; to > first && high(sorted[to - 1]) > high(c); --to) sorted[to] = sorted[to - 1];
    sorted[to] = c;
  }
  return sorted;
}

/// Fills batches with contacts that share no moving body.
class Batcher {
 public:
  Batcher(const ConstraintProblem& problem, std::vector<Index>& last_batch)
      : problem_(problem), last_batch_(last_batch) {}

  /// Appends the contacts of `order` to `out`, kLanes places a batch.
  void fill(std::span<const Placed> order, std::vector<Index>& out) {
    out.reserve(out.size() + order.size() + order.size() / 4 + kLanes);
    std::size_t next = 0, n_waiting = 0;
    while (next < order.size() || n_waiting > 0) {
      while (n_waiting < kWindow && next < order.size()) waiting_[n_waiting++] = order[next++];
      n_waiting = take_batch(n_waiting, out);
    }
  }

 private:
  /// Moves up to kLanes disjoint contacts from the window to `out`; returns how many stay.
  std::size_t take_batch(std::size_t n_waiting, std::vector<Index>& out) {
    ++batch_;
    int taken = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n_waiting; ++i) {
      const Placed c = waiting_[i];
      if (taken < kLanes && take(c)) {
        out.push_back(c.block);
        ++taken;
      } else {
        waiting_[kept++] = c;
      }
    }
    out.insert(out.end(), kLanes - taken, kNoIndex);
    return kept;
  }

  bool take(const Placed& contact) {
    const auto [block, a, b] = contact;
    const bool moves_a = moves(a), moves_b = moves(b);
    if (moves_a && last_batch_[a] == batch_) return false;
    if (moves_b && last_batch_[b] == batch_) return false;
    if (moves_a) last_batch_[a] = batch_;
    if (moves_b) last_batch_[b] = batch_;
    return true;
  }

  bool moves(Index b) const { return !problem_.bodies.is_prescribed(b); }

  const ConstraintProblem& problem_;
  std::vector<Index>& last_batch_;  ///< per body
  Index batch_ = 0;
  std::array<Placed, kWindow> waiting_{};
};

/// Which of the kernels can solve a rigid contact.
class Sorter {
 public:
  Sorter(const ConstraintProblem& problem, const LocalSolveOptions& rules)
      : problem_(problem), spheres_(problem) {
    const LawForm form = law_form(rules.law);
    closed_ = !form.box && rules.local != LocalSolve::cone &&
              (rules.local != LocalSolve::scalar || rules.omega == 1.0 || form.frictionless);
  }

  /// Appends a contact to the list of its kind.
  void sort(const Placed& contact, std::vector<Placed>& spheres, std::vector<Placed>& arms,
            std::vector<Index>& general) const {
    const RigidContact& c = problem_.contacts[contact.block];
    const auto dense = [&](Index b) { return problem_.bodies.mass_kind[b] == MassKind::dense; };
    if (dense(c.body_a) || dense(c.body_b) || !has_kernels(problem_))
      general.push_back(contact.block);
    else if (closed_ && spheres_.contains(c))
      spheres.push_back(contact);
    else
      arms.push_back(contact);
  }

 private:
  const ConstraintProblem& problem_;
  bool closed_ = false;
  SphereContacts spheres_;
};

/// General blocks among `blocks` that batches can sweep, and the others.
struct GeneralKinds {
  std::vector<Index> rolling, explicit_contacts, others;
};

GeneralKinds sort_general(const ConstraintProblem& problem, std::span<const Index> blocks,
                          const LocalSolveOptions& rules) {
  const LawForm form = law_form(rules.law);
  const bool solved = !form.box && (form.frictionless || rules.local == LocalSolve::exact);
  GeneralKinds kinds;
  for (const Index k : blocks) {
    if (solved && find_round_contact(problem, k))
      kinds.rolling.push_back(k);
    else
      (fits_explicit_batch(problem, k) ? kinds.explicit_contacts : kinds.others).push_back(k);
  }
  return kinds;
}

/// Whether a block touches a shared body.
bool at_boundary(const ConstraintProblem& problem, std::span<const char> is_shared, Index k) {
  bool shared = false;
  for_each_body_index(problem, k, [&](Index b) { shared = shared || is_shared[b] != 0; });
  return shared;
}

}  // namespace

SweepPlan plan_sweep(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const char> shared, const LocalSolveOptions& rules) {
  const auto n_contacts = to_index(problem.contacts.size());
  const auto n_rigid = narrow<std::size_t>(
      std::lower_bound(blocks.begin(), blocks.end(), n_contacts) - blocks.begin());
  const GeneralKinds general = sort_general(problem, blocks.subspan(n_rigid), rules);
  std::vector<Placed> order = by_body(problem, blocks.first(n_rigid));
  const auto append = [&order](const std::vector<Placed>& list) {
    order.insert(order.end(), list.begin(), list.end());
    return order.size();
  };
  const std::size_t end_rolling = append(by_body(problem, general.rolling));
  const std::size_t end_explicit = append(by_body(problem, general.explicit_contacts));
  for (const Index k : general.others) order.push_back({k, kNoIndex, kNoIndex});

  // what part a block is in, and which of the lists in `order`
  const Sorter sorter(problem, rules);
  SweepPlan plan;
  struct Lists {
    std::vector<Placed> spheres, arms, rolling, explicit_contacts;
  };
  std::array<Lists, kSweepParts> lists;
  const bool any_shared = std::ranges::any_of(shared, [](char is) { return is != 0; });
  std::size_t n_interior = 0, seen = 0;
  std::vector<char> boundary(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    boundary[i] = any_shared && at_boundary(problem, shared, order[i].block) ? 1 : 0;
    if (boundary[i] == 0) ++n_interior;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t part = boundary[i] != 0 ? 0 : seen++ < (n_interior + 1) / 2 ? 1 : 2;
    Lists& list = lists[part];
    if (order[i].block < n_contacts)
      sorter.sort(order[i], list.spheres, list.arms, plan[part].general);
    else if (i < end_explicit)
      (i < end_rolling ? list.rolling : list.explicit_contacts).push_back(order[i]);
    else
      plan[part].general.push_back(order[i].block);
  }
  std::vector<Index> last_batch(problem.bodies.size(), 0);
  Batcher batcher(problem, last_batch);
  for (std::size_t part = 0; part < kSweepParts; ++part) {
    batcher.fill(lists[part].spheres, plan[part].spheres);
    batcher.fill(lists[part].arms, plan[part].arms);
    batcher.fill(lists[part].rolling, plan[part].rolling);
    batcher.fill(lists[part].explicit_contacts, plan[part].explicit_contacts);
  }
  return plan;
}

std::vector<Index> flatten(const SweepPlan& plan) {
  std::vector<Index> order;
  for (const PartPlan& part : plan)
    for (const std::vector<Index>* list :
         {&part.spheres, &part.arms, &part.rolling, &part.explicit_contacts, &part.general})
      std::copy_if(list->begin(), list->end(), std::back_inserter(order),
                   [](Index k) { return k != kNoIndex; });
  return order;
}

}  // namespace catena
