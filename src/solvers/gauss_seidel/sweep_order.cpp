#include "solvers/gauss_seidel/sweep_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/contact_cone.hpp"

namespace catena {
namespace {

/// Contacts among which the next batch is looked for. More fill batches better, fewer keep to the
/// order of bodies, and with it to the cache.
constexpr std::size_t kWindow = 48;

/// Inverse inertia if it is isotropic to round-off (a turned sphere's is only that).
bool isotropic(std::span<const double> mass) {
  constexpr double kRoundOff = 1e-14;
  const double mean = (mass[1] + mass[4] + mass[6]) / 3.0;
  const double limit = kRoundOff * mean;
  return std::abs(mass[1] - mean) <= limit && std::abs(mass[4] - mean) <= limit &&
         std::abs(mass[6] - mean) <= limit && std::abs(mass[2]) <= limit &&
         std::abs(mass[3]) <= limit && std::abs(mass[5]) <= limit;
}

/// Whether contacts may see a body as a sphere if their arm allows: an isotropic inertia, or an
/// immovable body that does not turn (whose arm does not matter).
enum class Roundness : char { none, isotropic, still };

Roundness roundness_of(const ProblemBodies& bodies, Index b) {
  if (bodies.mass_kind[b] == MassKind::prescribed) {
    const double* v = bodies.free_velocity.data() + bodies.dof_begin[b];
    return v[3] == 0.0 && v[4] == 0.0 && v[5] == 0.0 ? Roundness::still : Roundness::isotropic;
  }
  const bool round = bodies.mass_kind[b] == MassKind::rigid &&
                     isotropic(std::span(bodies.inverse_mass).subspan(bodies.mass_begin[b], 7));
  return round ? Roundness::isotropic : Roundness::none;
}

/// Spheres' impulses are held in the world frame: by what a normal's length is off, they would
/// leave their cones.
bool is_unit(const Vec3& normal) {
  constexpr double kRoundOff = 1e-14;
  return std::abs(normal.squaredNorm() - 1.0) <= kRoundOff;
}

bool seen_as_sphere(Roundness round, const Vec3& arm, const Vec3& normal) {
  constexpr double kRoundOff = 1e-12;
  if (round != Roundness::isotropic) return round == Roundness::still;
  return arm.cross(normal).squaredNorm() <= kRoundOff * kRoundOff * arm.squaredNorm();
}

/// Rigid contacts among `blocks`, by their smaller body, then the other one; those of ordered
/// problems as they stand, since local numbers of bodies depend on the ranks. Counting sort by the
/// one and a few exchanges for the other; equals keep the order of the blocks.
std::vector<Index> contacts_by_body(const ConstraintProblem& problem,
                                    std::span<const Index> blocks) {
  if (problem.ordered) {
    const auto end =
        std::lower_bound(blocks.begin(), blocks.end(), to_index(problem.contacts.size()));
    return {blocks.begin(), end};
  }
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
  low.reserve(blocks.size());
  std::size_t n_contacts = 0;
  for (const Index k : blocks) {
    if (k >= std::ssize(problem.contacts)) break;  // general blocks come last
    const RigidContact& c = problem.contacts[k];
    low.push_back(std::min(place_of(c.body_a), place_of(c.body_b)));
    ++begin[low.back() + 1];
    ++n_contacts;
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Keyed> sorted(n_contacts);
  std::vector<Index> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < n_contacts; ++i) {
    const RigidContact& c = problem.contacts[blocks[i]];
    const Index high = std::max(place_of(c.body_a), place_of(c.body_b));
    const Index first = begin[low[i]];
    Index to = next[low[i]]++;
    for (; to > first && sorted[to - 1].high > high; --to) sorted[to] = sorted[to - 1];
    sorted[to] = {high, blocks[i]};
  }
  std::vector<Index> order(n_contacts);
  std::transform(sorted.begin(), sorted.end(), order.begin(),
                 [](const Keyed& c) { return c.block; });
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
      if (taken < kLanes && take(problem_.contacts[k])) {
        out.push_back(k);
        ++taken;
      } else {
        waiting_[kept++] = k;
      }
    }
    out.insert(out.end(), kLanes - taken, kNoIndex);
    return kept;
  }

  bool take(const RigidContact& c) {
    const bool moves_a = moves(c.body_a), moves_b = moves(c.body_b);
    if (moves_a && last_batch_[c.body_a] == batch_) return false;
    if (moves_b && last_batch_[c.body_b] == batch_) return false;
    if (moves_a) last_batch_[c.body_a] = batch_;
    if (moves_b) last_batch_[c.body_b] = batch_;
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
  Sorter(const ConstraintProblem& problem, const LocalSolveOptions& rules) : problem_(problem) {
    const LawForm form = law_form(rules.law);
    closed_ = !form.box && rules.local != LocalSolve::cone &&
              (rules.local != LocalSolve::scalar || rules.omega == 1.0 || form.frictionless);
    round_.resize(problem.bodies.size());
    for (Index b = 0; b < problem.bodies.size(); ++b) round_[b] = roundness_of(problem.bodies, b);
  }

  /// Appends contact k to the list of its kind.
  void sort(Index k, std::vector<Index>& spheres, std::vector<Index>& arms,
            std::vector<Index>& general) const {
    const RigidContact& c = problem_.contacts[k];
    const auto dense = [&](Index b) { return problem_.bodies.mass_kind[b] == MassKind::dense; };
    if (dense(c.body_a) || dense(c.body_b) || !has_kernels(problem_))
      general.push_back(k);
    else if (closed_ && is_unit(c.normal) && seen_as_sphere(round_[c.body_a], c.arm_a, c.normal) &&
             seen_as_sphere(round_[c.body_b], c.arm_b, c.normal))
      spheres.push_back(k);
    else
      arms.push_back(k);
  }

 private:
  const ConstraintProblem& problem_;
  bool closed_ = false;
  std::vector<Roundness> round_;
};

/// Whether a block touches a shared body.
bool at_boundary(const ConstraintProblem& problem, std::span<const char> is_shared, Index k) {
  bool shared = false;
  for_each_body_index(problem, k, [&](Index b) { shared = shared || is_shared[b] != 0; });
  return shared;
}

}  // namespace

SweepPlan plan_sweep(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const char> shared, const LocalSolveOptions& rules) {
  std::vector<Index> order = contacts_by_body(problem, blocks);
  order.insert(order.end(), blocks.begin() + order.size(), blocks.end());
  const auto n_contacts = to_index(problem.contacts.size());
  std::array<std::vector<Index>, kSweepParts> parts;
  std::vector<Index> interior;
  interior.reserve(order.size());
  for (const Index k : order) (at_boundary(problem, shared, k) ? parts[0] : interior).push_back(k);
  const auto half = interior.begin() + ((interior.size() + 1) / 2);
  parts[1].assign(interior.begin(), half);
  parts[2].assign(half, interior.end());

  const Sorter sorter(problem, rules);
  std::vector<Index> last_batch(problem.bodies.size(), 0);
  Batcher batcher(problem, last_batch);
  SweepPlan plan;
  for (std::size_t part = 0; part < kSweepParts; ++part) {
    std::vector<Index> spheres, arms;
    for (const Index k : parts[part]) {
      if (k < n_contacts)
        sorter.sort(k, spheres, arms, plan[part].general);
      else
        plan[part].general.push_back(k);
    }
    batcher.fill(spheres, plan[part].spheres);
    batcher.fill(arms, plan[part].arms);
  }
  return plan;
}

std::vector<Index> flatten(const SweepPlan& plan) {
  std::vector<Index> order;
  for (const PartPlan& part : plan)
    for (const std::vector<Index>* list : {&part.spheres, &part.arms, &part.general})
      std::copy_if(list->begin(), list->end(), std::back_inserter(order),
                   [](Index k) { return k != kNoIndex; });
  return order;
}

}  // namespace catena
