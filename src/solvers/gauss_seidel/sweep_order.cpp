#include "solvers/gauss_seidel/sweep_order.hpp"

#include <algorithm>
#include <numeric>

#include "catena/base/release.hpp"
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

/// Of a contact, rigid or among the general blocks; of one body alone twice that.
PlacedBlock with_bodies(const ConstraintProblem& problem, Index block) {
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts)
    return {block, problem.contacts[block].body_a, problem.contacts[block].body_b};
  const Index k = block - n_contacts;
  const Index first = problem.blocks.body_begin[k], last = problem.blocks.body_begin[k + 1] - 1;
  return {block, problem.blocks.body[first], problem.blocks.body[last]};
}

/// Fills batches with contacts that share no moving body.
class Batcher {
 public:
  Batcher(const ConstraintProblem& problem, std::vector<Index>& last_batch)
      : problem_(problem), last_batch_(last_batch) {}

  /// `out` becomes the contacts of `order`, kLanes places a batch.
  void fill(std::span<const PlacedBlock> order, std::vector<Index>& out) {
    make_room(out, order.size() + order.size() / 4 + kLanes);
    out.clear();
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
      const PlacedBlock c = waiting_[i];
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

  bool take(const PlacedBlock& contact) {
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
  std::array<PlacedBlock, kWindow> waiting_{};
};

/// Which of the kernels can solve a rigid contact.
class Sorter {
 public:
  Sorter(const ConstraintProblem& problem, const SphereContacts& spheres,
         const LocalSolveOptions& rules)
      : problem_(problem), spheres_(spheres) {
    const LawForm form = law_form(rules.law);
    closed_ = !form.box && rules.local != LocalSolve::cone &&
              (rules.local != LocalSolve::scalar || rules.omega == 1.0 || form.frictionless);
  }

  /// Appends a contact to the list of its kind.
  void sort(const PlacedBlock& contact, std::vector<PlacedBlock>& spheres,
            std::vector<PlacedBlock>& arms, std::vector<Index>& general) const {
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
  const SphereContacts& spheres_;
  bool closed_ = false;
};

/// Whether a block touches a shared body.
bool at_boundary(const ConstraintProblem& problem, std::span<const char> is_shared, Index k) {
  bool shared = false;
  for_each_body_index(problem, k, [&](Index b) { shared = shared || is_shared[b] != 0; });
  return shared;
}

}  // namespace

/// Appends the contacts by the smaller body, then the other, to `order_`; those of ordered problems
/// as they stand, since local numbers of bodies depend on the ranks. Counting sort by the one and a
/// few exchanges for the other; equals keep the order of the blocks.
std::size_t SweepPlanner::append_by_body(const ConstraintProblem& problem,
                                         std::span<const Index> contacts) {
  const std::size_t before = order_.size();
  order_.resize(before + contacts.size());
  if (contacts.empty()) return before;
  if (problem.ordered) {
    std::ranges::transform(contacts, order_.begin() + before,
                           [&](Index k) { return with_bodies(problem, k); });
    return order_.size();
  }
  make_room(given_, contacts.size());
  given_.clear();
  for (const Index k : contacts) given_.push_back(with_bodies(problem, k));
  const Index n = problem.bodies.size();
  // prescribed bodies last: their contacts go with the dynamic body, and rank by rank the
  // order is the same wherever such a body is kept
  const auto place_of = [&](Index b) {
    return problem.bodies.mass_kind[b] == MassKind::prescribed ? n + b : b;
  };
  const auto low = [&](const PlacedBlock& c) { return std::min(place_of(c.a), place_of(c.b)); };
  const auto high = [&](const PlacedBlock& c) { return std::max(place_of(c.a), place_of(c.b)); };
  assign_with_room(begin_, Offset{2} * n + 1, 0);
  for (const PlacedBlock& c : given_) ++begin_[low(c) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  make_room(next_, begin_.size());
  next_.assign(begin_.begin(), begin_.end());
  PlacedBlock* sorted = order_.data() + before;
  for (const PlacedBlock& c : given_) {
    const Index first = begin_[low(c)];
    Index to = next_[low(c)]++;
    for (; to > first && high(sorted[to - 1]) > high(c); --to) sorted[to] = sorted[to - 1];
    sorted[to] = c;
  }
  return order_.size();
}

/// Deals `order_` to the parts, and to the lists in them.
void SweepPlanner::sort_into_lists(const ConstraintProblem& problem, std::span<const char> shared,
                                   const LocalSolveOptions& rules, std::size_t end_rolling,
                                   std::size_t end_explicit) {
  const auto n_contacts = to_index(problem.contacts.size());
  sphere_contacts_.start(problem);
  const Sorter sorter(problem, sphere_contacts_, rules);
  for (Lists& list : lists_)
    for (std::vector<PlacedBlock>* of :
         {&list.spheres, &list.arms, &list.rolling, &list.explicit_contacts})
      of->clear();
  for (PartPlan& part : plan_) part.general.clear();
  const bool any_shared = std::ranges::any_of(shared, [](char is) { return is != 0; });
  std::size_t n_interior = 0, seen = 0;
  make_room(boundary_, order_.size());
  boundary_.resize(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    boundary_[i] = any_shared && at_boundary(problem, shared, order_[i].block) ? 1 : 0;
    if (boundary_[i] == 0) ++n_interior;
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::size_t part = boundary_[i] != 0 ? 0 : seen++ < (n_interior + 1) / 2 ? 1 : 2;
    Lists& list = lists_[part];
    if (order_[i].block < n_contacts)
      sorter.sort(order_[i], list.spheres, list.arms, plan_[part].general);
    else if (i < end_explicit)
      (i < end_rolling ? list.rolling : list.explicit_contacts).push_back(order_[i]);
    else
      plan_[part].general.push_back(order_[i].block);
  }
}

const SweepPlan& SweepPlanner::plan(const ConstraintProblem& problem, std::span<const Index> blocks,
                                    std::span<const char> shared, const LocalSolveOptions& rules) {
  const auto n_contacts = to_index(problem.contacts.size());
  const auto n_rigid = narrow<std::size_t>(
      std::lower_bound(blocks.begin(), blocks.end(), n_contacts) - blocks.begin());
  const LawForm form = law_form(rules.law);
  const bool solved = !form.box && (form.frictionless || rules.local == LocalSolve::exact);
  for (std::vector<Index>* list : {&rolling_, &explicit_contacts_, &others_}) list->clear();
  for (const Index k : blocks.subspan(n_rigid)) {
    if (solved && find_round_contact(problem, k))
      rolling_.push_back(k);
    else
      (fits_explicit_batch(problem, k) ? explicit_contacts_ : others_).push_back(k);
  }
  make_room(order_, blocks.size());
  order_.clear();
  append_by_body(problem, blocks.first(n_rigid));
  const std::size_t end_rolling = append_by_body(problem, rolling_);
  const std::size_t end_explicit = append_by_body(problem, explicit_contacts_);
  for (const Index k : others_) order_.push_back({k, kNoIndex, kNoIndex});
  sort_into_lists(problem, shared, rules, end_rolling, end_explicit);
  assign_with_room(last_batch_, problem.bodies.size(), 0);
  Batcher batcher(problem, last_batch_);
  for (std::size_t part = 0; part < kSweepParts; ++part) {
    batcher.fill(lists_[part].spheres, plan_[part].spheres);
    batcher.fill(lists_[part].arms, plan_[part].arms);
    batcher.fill(lists_[part].rolling, plan_[part].rolling);
    batcher.fill(lists_[part].explicit_contacts, plan_[part].explicit_contacts);
  }
  return plan_;
}

void SweepPlanner::rest() {
  for (PartPlan& part : plan_)
    for (std::vector<Index>* list :
         {&part.spheres, &part.arms, &part.rolling, &part.explicit_contacts, &part.general})
      clear_large(*list);
  for (Lists& list : lists_)
    for (std::vector<PlacedBlock>* of :
         {&list.spheres, &list.arms, &list.rolling, &list.explicit_contacts})
      clear_large(*of);
  for (std::vector<Index>* list :
       {&rolling_, &explicit_contacts_, &others_, &begin_, &next_, &last_batch_})
    clear_large(*list);
  sphere_contacts_.rest();
  clear_large(order_);
  clear_large(given_);
  clear_large(boundary_);
}

SweepPlan plan_sweep(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const char> shared, const LocalSolveOptions& rules) {
  return SweepPlanner().plan(problem, blocks, shared, rules);
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
