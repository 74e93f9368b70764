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

/// The two bodies of a contact, rigid or among the general blocks; of one body alone twice that.
std::array<Index, 2> bodies_of(const ConstraintProblem& problem, Index block) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) return {problem.contacts[block].body_a, problem.contacts[block].body_b};
  const Index k = block - n_contacts;
  const Index first = problem.blocks.body_begin[k], last = problem.blocks.body_begin[k + 1] - 1;
  return {problem.blocks.body[first], problem.blocks.body[last]};
}

/// Contacts by the smaller body, then the other; those of ordered problems as they
/// stand, since local numbers of bodies depend on the ranks. Counting sort by the one and a few
/// exchanges for the other; equals keep the order of the blocks.
std::vector<Index> by_body(const ConstraintProblem& problem, std::span<const Index> contacts) {
  if (problem.ordered || contacts.empty()) return {contacts.begin(), contacts.end()};
  const Index n = problem.bodies.size();
  // prescribed bodies last: their contacts go with the dynamic body, and rank by rank the
  // order is the same wherever such a body is kept
  const auto place_of = [&](Index b) {
    return problem.bodies.mass_kind[b] == MassKind::prescribed ? n + b : b;
  };
  struct Keyed {
    Index high, block;
  };
  std::vector<Index> low, begin(Offset{2} * n + 1, 0);
  low.reserve(contacts.size());
  for (const Index k : contacts) {
    const auto [a, b] = bodies_of(problem, k);
    low.push_back(std::min(place_of(a), place_of(b)));
    ++begin[low.back() + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Keyed> sorted(contacts.size());
  std::vector<Index> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const auto [a, b] = bodies_of(problem, contacts[i]);
    const Index high = std::max(place_of(a), place_of(b));
    const Index first = begin[low[i]];
    Index to = next[low[i]]++;
    for (; to > first && sorted[to - 1].high > high; --to) sorted[to] = sorted[to - 1];
    sorted[to] = {high, contacts[i]};
  }
  std::vector<Index> order(contacts.size());
  std::ranges::transform(sorted, order.begin(), [](const Keyed& c) { return c.block; });
  return order;
}

/// Fills batches with contacts that share no moving body.
class Batcher {
 public:
  Batcher(const ConstraintProblem& problem, std::vector<Index>& last_batch)
      : problem_(problem), last_batch_(last_batch) {}

  /// Appends the contacts of `order` to `out`, kLanes places a batch.
  void fill(std::span<const Index> order, std::vector<Index>& out) {
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
      const Index k = waiting_[i];
      if (taken < kLanes && take(bodies_of(problem_, k))) {
        out.push_back(k);
        ++taken;
      } else {
        waiting_[kept++] = k;
      }
    }
    out.insert(out.end(), kLanes - taken, kNoIndex);
    return kept;
  }

  bool take(const std::array<Index, 2>& bodies) {
    const auto [a, b] = bodies;
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
  std::array<Index, kWindow> waiting_{};
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

  /// Appends contact k to the list of its kind.
  void sort(Index k, std::vector<Index>& spheres, std::vector<Index>& arms,
            std::vector<Index>& general) const {
    const RigidContact& c = problem_.contacts[k];
    const auto dense = [&](Index b) { return problem_.bodies.mass_kind[b] == MassKind::dense; };
    if (dense(c.body_a) || dense(c.body_b) || !has_kernels(problem_))
      general.push_back(k);
    else if (closed_ && spheres_.contains(c))
      spheres.push_back(k);
    else
      arms.push_back(k);
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
  std::vector<Index> order = by_body(problem, blocks.first(n_rigid));
  const auto append = [&order](const std::vector<Index>& list) {
    order.insert(order.end(), list.begin(), list.end());
    return order.size();
  };
  const std::size_t end_rolling = append(by_body(problem, general.rolling));
  const std::size_t end_explicit = append(by_body(problem, general.explicit_contacts));
  append(general.others);

  // what part a block is in, and which of the lists in `order`
  const Sorter sorter(problem, rules);
  SweepPlan plan;
  std::array<PartPlan, kSweepParts> lists;
  std::size_t n_interior = 0, seen = 0;
  std::vector<char> boundary(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    boundary[i] = at_boundary(problem, shared, order[i]) ? 1 : 0;
    if (boundary[i] == 0) ++n_interior;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t part = boundary[i] != 0 ? 0 : seen++ < (n_interior + 1) / 2 ? 1 : 2;
    PartPlan& list = lists[part];
    if (order[i] < n_contacts)
      sorter.sort(order[i], list.spheres, list.arms, plan[part].general);
    else
      (i < end_rolling    ? list.rolling
       : i < end_explicit ? list.explicit_contacts
                          : plan[part].general)
          .push_back(order[i]);
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
