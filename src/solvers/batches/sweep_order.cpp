#include "solvers/batches/sweep_order.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "catena/base/release.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"
#include "solvers/batches/explicit_contacts.hpp"
#include "solvers/batches/local/round_contacts.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena {
namespace {

/// Contacts among which the next batch is looked for. More fill batches better, fewer keep to the
/// order of bodies, and with it to the cache. Contacts with stored Jacobians are long beside their
/// bodies: they fill four fifths of their batches from 48 where boxes lie on each other, nine
/// tenths from 96.
constexpr std::size_t kWindow = 48, kExplicitWindow = 96;

/// Whether a contact with given arms is solved in closed form where its bodies are round.
bool solves_spheres(const LocalSolveOptions& rules) {
  const LawForm form = law_form(rules.law);
  return !form.box && rules.local != LocalSolve::cone &&
         (rules.local != LocalSolve::scalar || rules.omega == 1.0 || form.frictionless);
}

bool solves_rolling(const LocalSolveOptions& rules) {
  const LawForm form = law_form(rules.law);
  return !form.box && (form.frictionless || rules.local == LocalSolve::exact);
}

}  // namespace

/// Fills batches with contacts that share no moving body.
class SweepPlanner::Batcher {
 public:
  explicit Batcher(std::vector<Index>& last_batch) : last_batch_(last_batch) {}

  /// `out` becomes the contacts of `order`, kLanes places a batch, each from a window of so many.
  void fill(std::span<const SweepItem> order, std::size_t window, std::vector<Index>& out) {
    make_room(out, order.size() + order.size() / 4 + kLanes);
    out.clear();
    std::size_t next = 0, n_waiting = 0;
    while (next < order.size() || n_waiting > 0) {
      const std::size_t more = std::min(window - n_waiting, order.size() - next);
      std::copy_n(order.begin() + next, more, waiting_.begin() + n_waiting);
      next += more;
      n_waiting = take_batch(n_waiting + more, out);
    }
  }

 private:
  /// Moves up to kLanes disjoint contacts from the window to `out`; returns how many stay.
  std::size_t take_batch(std::size_t n_waiting, std::vector<Index>& out) {
    ++batch_;
    std::array<Index, kLanes> batch;
    std::size_t taken = 0, kept = 0, i = 0;
    for (; i < n_waiting && taken < kLanes; ++i) {
      if (take(waiting_[i]))
        batch[taken++] = waiting_[i].block;
      else
        waiting_[kept++] = waiting_[i];
    }
    std::copy(waiting_.begin() + i, waiting_.begin() + n_waiting, waiting_.begin() + kept);
    std::fill(batch.begin() + taken, batch.end(), kNoIndex);
    out.insert(out.end(), batch.begin(), batch.end());
    return kept + (n_waiting - i);
  }

  bool take(const SweepItem& c) {
    if (c.moves_a && last_batch_[c.a] == batch_) return false;
    if (c.moves_b && last_batch_[c.b] == batch_) return false;
    if (c.moves_a) last_batch_[c.a] = batch_;
    if (c.moves_b) last_batch_[c.b] = batch_;
    return true;
  }

  std::vector<Index>& last_batch_;  ///< per body
  Index batch_ = 0;
  std::array<SweepItem, kExplicitWindow> waiting_;
};

/// Rigid contacts: a pass over long rows, one after the other.
void SweepPlanner::note_rigid(const ConstraintProblem& problem, std::span<const Index> blocks,
                              std::span<const BodyRole> roles, const LocalSolveOptions& rules) {
  const ProblemBodies& bodies = problem.bodies;
  const bool closed = solves_spheres(rules), batched = has_kernels(problem);
  sphere_contacts_.start(problem);
  for (const Index k : blocks) {
    const RigidContact& c = problem.contacts[k];
    const MassKind mass_a = bodies.mass_kind[c.body_a], mass_b = bodies.mass_kind[c.body_b];
    Kind kind = Kind::arm;
    if (mass_a == MassKind::dense || mass_b == MassKind::dense || !batched)
      kind = Kind::general;
    else if (closed && sphere_contacts_.contains(c))
      kind = Kind::sphere;
    items_.push_back({k, c.body_a, c.body_b, kind, mass_a != MassKind::prescribed,
                      mass_b != MassKind::prescribed, std::max(roles[c.body_a], roles[c.body_b])});
  }
}

/// Writes items_.
void SweepPlanner::note(const ConstraintProblem& problem, std::span<const Index> blocks,
                        std::span<const BodyRole> roles, const LocalSolveOptions& rules) {
  const auto n_contacts = to_index(problem.contacts.size());
  const auto n_rigid = narrow<std::size_t>(
      std::lower_bound(blocks.begin(), blocks.end(), n_contacts) - blocks.begin());
  make_room(items_, blocks.size());
  items_.clear();
  note_rigid(problem, blocks.first(n_rigid), roles, rules);
  const bool rolls = solves_rolling(rules);
  for (const Index block : blocks.subspan(n_rigid)) {
    SweepItem item{block, kNoIndex, kNoIndex, Kind::general, false, false, BodyRole::own};
    if (rolls && find_round_contact(problem, block))
      item.kind = Kind::rolling;
    else if (fits_explicit_batch(problem, block))
      item.kind = Kind::explicit_contact;
    for_each_body_index(problem, block, [&](Index b) {
      item.role = std::max(item.role, roles[b]);
      // the first and the last body; one body alone is both
      if (item.kind == Kind::general) return;
      if (item.a == kNoIndex) item.a = b;
      item.b = b;
    });
    if (item.kind != Kind::general) {
      item.moves_a = !problem.bodies.is_prescribed(item.a);
      item.moves_b = !problem.bodies.is_prescribed(item.b);
    }
    items_.push_back(item);
  }
}

/// Contacts by the smaller body, then the other. Counting sort by the one and a few exchanges for
/// the other; equals keep the order of the blocks.
void SweepPlanner::sort_by_body(std::span<const SweepItem> items, Index n,
                                std::span<SweepItem> sorted) {
  // prescribed bodies last: their contacts go with the dynamic body, and rank by rank the
  // order is the same wherever such a body is kept
  const auto place_a = [&](const SweepItem& c) { return c.moves_a ? c.a : n + c.a; };
  const auto place_b = [&](const SweepItem& c) { return c.moves_b ? c.b : n + c.b; };
  const auto low = [&](const SweepItem& c) { return std::min(place_a(c), place_b(c)); };
  const auto high = [&](const SweepItem& c) { return std::max(place_a(c), place_b(c)); };
  assign_with_room(begin_, Offset{2} * n + 1, 0);
  for (const SweepItem& c : items) ++begin_[low(c) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  make_room(next_, begin_.size());
  next_.assign(begin_.begin(), begin_.end());
  for (const SweepItem& c : items) {
    const Index first = begin_[low(c)];
    Index to = next_[low(c)]++;
    for (; to > first && high(sorted[to - 1]) > high(c); --to) sorted[to] = sorted[to - 1];
    sorted[to] = c;
  }
}

/// Rigid contacts come first, then those of batches among the general blocks, then the others as
/// they stand. Ordered problems keep their order, since local numbers of bodies depend on the
/// ranks.
void SweepPlanner::put_in_order(Index n_contacts, Index n_bodies) {
  make_room(order_, items_.size());
  order_.resize(items_.size());
  std::size_t filled = 0;
  const auto append = [&](std::span<const SweepItem> items) {
    const std::span<SweepItem> to = std::span(order_).subspan(filled, items.size());
    if (ordered_)
      std::ranges::copy(items, to.begin());
    else if (!items.empty())
      sort_by_body(items, n_bodies, to);
    filled += items.size();
  };
  const std::span<const SweepItem> items = items_;
  const std::size_t n_rigid =
      narrow<std::size_t>(std::ranges::partition_point(
                              items, [&](const SweepItem& i) { return i.block < n_contacts; }) -
                          items.begin());
  append(items.first(n_rigid));
  const std::span<const SweepItem> general = items.subspan(n_rigid);
  for (const Kind kind : {Kind::rolling, Kind::explicit_contact}) {
    of_kind_.clear();
    std::ranges::copy_if(general, std::back_inserter(of_kind_),
                         [&](const SweepItem& item) { return item.kind == kind; });
    append(of_kind_);
  }
  std::ranges::copy_if(general, order_.begin() + filled,
                       [](const SweepItem& item) { return item.kind == Kind::general; });
}

/// Deals `order_` to the parts, and to the lists in them.
void SweepPlanner::deal_to_parts() {
  for (auto& part : lists_)
    for (std::vector<SweepItem>& list : part) list.clear();
  for (PartPlan& part : plan_) part.general.clear();
  const auto n_interior = narrow<std::size_t>(std::ranges::count_if(
      order_, [](const SweepItem& item) { return item.role == BodyRole::own; }));
  std::size_t seen = 0;
  for (const SweepItem& item : order_) {
    const SweepPart in = item.role == BodyRole::foreign  ? SweepPart::crossing
                         : item.role == BodyRole::kept   ? SweepPart::border
                         : seen++ < (n_interior + 1) / 2 ? SweepPart::first_interior
                                                         : SweepPart::second_interior;
    const std::size_t part = ordinal(in);
    if (item.kind == Kind::general)
      plan_[part].general.push_back(item.block);
    else
      lists_[part][ordinal(item.kind)].push_back(item);
  }
}

const SweepPlan& SweepPlanner::plan(const ConstraintProblem& problem, std::span<const Index> blocks,
                                    std::span<const BodyRole> roles,
                                    const LocalSolveOptions& rules) {
  note(problem, blocks, roles, rules);
  kept_ = planned_ && ordered_ == problem.ordered && items_ == last_items_;
  if (kept_) return plan_;
  planned_ = false;
  ordered_ = problem.ordered;
  put_in_order(to_index(problem.contacts.size()), problem.bodies.size());
  deal_to_parts();
  assign_with_room(last_batch_, problem.bodies.size(), 0);
  Batcher batcher(last_batch_);
  for (std::size_t part = 0; part < kSweepParts; ++part) {
    const auto fill = [&](Kind kind, std::vector<Index>& out) {
      batcher.fill(lists_[part][ordinal(kind)],
                   kind == Kind::explicit_contact ? kExplicitWindow : kWindow, out);
    };
    fill(Kind::sphere, plan_[part].spheres);
    fill(Kind::arm, plan_[part].arms);
    fill(Kind::rolling, plan_[part].rolling);
    fill(Kind::explicit_contact, plan_[part].explicit_contacts);
  }
  std::swap(items_, last_items_);
  planned_ = true;
  return plan_;
}

void SweepPlanner::rest() {
  for (std::vector<SweepItem>* list : {&items_, &order_, &of_kind_}) clear_large(*list);
  for (auto& part : lists_)
    for (std::vector<SweepItem>& list : part) clear_large(list);
  for (std::vector<Index>* list : {&begin_, &next_, &last_batch_}) clear_large(*list);
  sphere_contacts_.rest();
  // a plan is kept with what it follows from, which is longer
  if (!is_large(last_items_)) return;
  planned_ = false;
  release(last_items_);
  for (PartPlan& part : plan_)
    release(part.spheres, part.arms, part.rolling, part.explicit_contacts, part.general);
}

SweepPlan plan_sweep(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const BodyRole> roles, const LocalSolveOptions& rules) {
  return SweepPlanner().plan(problem, blocks, roles, rules);
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
