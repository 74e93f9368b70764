#include "simulation/diagnosis/suspect_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "catena/comm/typed_exchange.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"
#include "catena/constraints/delassus.hpp"
#include "catena/math/types.hpp"

namespace catena {

namespace {

constexpr std::size_t kSeeds = 10;

/// A block's value and where it is.
struct Ranked {
  double value = 0.0;
  std::int32_t rank = 0;
  Index block = kNoIndex;
};

bool comes_first(const Ranked& x, const Ranked& y) {
  if (x.value != y.value) return x.value > y.value;
  return x.rank != y.rank ? x.rank < y.rank : x.block < y.block;
}

/// Collective. Of this rank's `candidates` those among the `most` of largest value over all ranks.
std::vector<Index> largest(const Communicator& comm, const std::vector<Index>& candidates,
                           const std::vector<double>& value, std::size_t most) {
  std::vector<Ranked> own;
  for (const Index k : candidates) own.push_back({value[k], comm.rank(), k});
  const std::size_t n = std::min(most, own.size());
  std::partial_sort(own.begin(), own.begin() + n, own.end(), comes_first);
  own.resize(n);
  std::vector<Ranked> all = all_gather_values(comm, own);
  std::sort(all.begin(), all.end(), comes_first);
  if (all.size() > most) all.resize(most);
  std::vector<Index> mine;
  for (const Ranked& r : all) {
    if (r.rank == comm.rank()) mine.push_back(r.block);
  }
  return mine;
}

class SuspectSearch {
 public:
  SuspectSearch(const ConstraintProblem& problem, std::span<const double> impulses)
      : problem_(problem), op_(problem), impulses_(impulses) {}

  std::vector<SuspectBlock> find(const std::vector<double>& energies, std::size_t most) {
    const Communicator& comm = problem_.comm;
    const std::span<const double> free = op_.free_velocities();
    free_velocity_.assign(free.begin(), free.end());
    weigh(energies);
    std::vector<Index> candidates = usable_blocks();
    chosen_.assign(weight_.size(), 0);
    choose(largest(comm, candidates, error_, kSeeds));
    choose(largest(comm, candidates, weight_, kSeeds));
    grow(candidates, most);
    std::vector<SuspectBlock> own;
    for (const Index k : candidates) {
      if (chosen_[k] == 0) continue;
      own.push_back(block_of(k));
      own.back().error = error_[k];
    }
    return all_gather_values(comm, own);
  }

 private:
  /// What is not finite comes first.
  static double ordered(double value) { return std::isfinite(value) ? value : kInfinity; }

  void weigh(const std::vector<double>& energies) {
    std::vector<double> n;
    for (std::size_t k = 0; k < energies.size(); ++k) {
      const BlockView view = block_view(problem_, to_index(k));
      n.resize(view.rows * view.rows);
      block_diagonal(problem_, to_index(k), n);
      const double* lambda = impulses_.data() + view.row;
      double sum = 0.0;
      for (Index i = 0; i < view.rows; ++i)
        for (Index j = 0; j < view.rows; ++j) sum += lambda[i] * n[i * view.rows + j] * lambda[j];
      error_.push_back(ordered(energies[k]));
      weight_.push_back(ordered(0.5 * sum + energies[k]));
    }
  }

  std::vector<Index> usable_blocks() const {
    const auto n_rigid = to_index(problem_.contacts.size());
    std::vector<Index> usable(problem_.contacts.size());
    std::iota(usable.begin(), usable.end(), Index{0});
    const GeneralBlocks& blocks = problem_.blocks;
    for (Index k = 0; k < blocks.size(); ++k) {
      bool any = false;
      for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r)
        any = any || is_rigid(k, r);
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
        any = any && problem_.bodies.dofs(blocks.body[j]) == 6;
      if (any) usable.push_back(n_rigid + k);
    }
    return usable;
  }

  /// Without compliance, and without a bound in one direction at least.
  bool is_rigid(Index k, Index row) const {
    const GeneralBlocks& blocks = problem_.blocks;
    if (blocks.compliance[row] > 0.0) return false;
    return blocks.kind[k] != BlockKind::boxed || std::isinf(blocks.lower[row]) ||
           std::isinf(blocks.upper[row]);
  }

  void choose(const std::vector<Index>& blocks) {
    for (const Index k : blocks) {
      if (chosen_[k] != 0) continue;
      chosen_[k] = 1;
      newest_.push_back(k);
    }
  }

  bool is_dynamic(Index body) const {
    return problem_.bodies.mass_kind[body] != MassKind::prescribed;
  }

  /// Collective. Round by round what shares a body of finite mass with what is chosen.
  void grow(const std::vector<Index>& candidates, std::size_t most) {
    const Communicator& comm = problem_.comm;
    std::unordered_set<GlobalId> reached;
    for (;;) {
      std::vector<GlobalId> ids;
      for (const Index k : newest_) {
        for_each_body_index(problem_, k, [&](Index b) {
          if (is_dynamic(b)) ids.push_back(problem_.bodies.id[b]);
        });
      }
      newest_.clear();
      for (const GlobalId id : all_gather_values(comm, ids)) reached.insert(id);
      std::vector<Index> next;
      std::int64_t n_chosen = 0;
      for (const Index k : candidates) {
        if (chosen_[k] != 0) {
          ++n_chosen;
          continue;
        }
        bool touches = false;
        for_each_body_index(problem_, k, [&](Index b) {
          touches = touches || (is_dynamic(b) && reached.contains(problem_.bodies.id[b]));
        });
        if (touches) next.push_back(k);
      }
      const auto room = narrow<std::int64_t>(most) - comm.sum(n_chosen);
      const std::int64_t found = comm.sum(std::ssize(next));
      if (found == 0 || room <= 0) return;
      if (found > room) next = largest(comm, next, weight_, room);
      choose(next);
    }
  }

  SuspectBody body_of(Index b) const {
    const ProblemBodies& bodies = problem_.bodies;
    SuspectBody out;
    out.id = bodies.id[b];
    out.prescribed = is_dynamic(b) ? 0 : 1;
    const double* v = free_velocity_.data() + bodies.dof_begin[b];
    std::copy(v, v + 6, out.free_velocity.begin());
    if (out.prescribed != 0) return out;
    if (bodies.mass_kind[b] == MassKind::rigid) {
      const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
      std::copy(m, m + 7, out.inverse_mass.begin());
      return out;
    }
    // a dense one of six velocities: its diagonal is enough to measure by
    const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
    out.inverse_mass = {m[0], m[21], 0.0, 0.0, m[28], 0.0, m[35]};
    return out;
  }

  SuspectBlock block_of(Index block) const {
    const auto n_rigid = to_index(problem_.contacts.size());
    SuspectBlock out;
    if (block >= n_rigid) return general_block(block - n_rigid);
    const RigidContact& c = problem_.contacts[block];
    out.a = c.key.a;
    out.b = c.key.b;
    out.bound[0] = c.friction;
    out.n_bodies = 2;
    out.body[0] = body_of(c.body_a);
    out.body[1] = body_of(c.body_b);
    std::array<double, 18> g_a{}, g_b{};
    contact_jacobian(c, g_a, g_b);
    std::copy(g_a.begin(), g_a.end(), out.jacobian[0].begin());
    std::copy(g_b.begin(), g_b.end(), out.jacobian[1].begin());
    for (std::size_t r = 0; r < 3; ++r) {
      out.bias[r] = bias_of(c)[to_index(r)];
      out.compliance[r] = compliance_of(c)[to_index(r)];
      out.row_used[r] = out.compliance[r] > 0.0 ? 0 : 1;
    }
    return out;
  }

  SuspectBlock general_block(Index k) const {
    const GeneralBlocks& blocks = problem_.blocks;
    const BlockView view = block_view(problem_, k + to_index(problem_.contacts.size()));
    SuspectBlock out;
    out.kind = blocks.kind[k];
    const bool contact = out.kind == BlockKind::contact;
    if (contact) {
      out.a = blocks.key[k].a;
      out.b = blocks.key[k].b;
      out.bound = {view.friction, std::max(0.0, view.rolling), std::max(0.0, view.spinning)};
    } else {
      out.a = blocks.name[k];
    }
    const std::array<int, 6> places = contact ? standard_row_slots(view) : std::array<int, 6>{};
    const Index first_body = blocks.body_begin[k];
    out.n_bodies = blocks.body_begin[k + 1] - first_body;
    for (Index j = 0; j < out.n_bodies; ++j) out.body[j] = body_of(blocks.body[first_body + j]);
    for (Index r = 0; r < (contact ? 6 : view.rows); ++r) {
      const Index from = contact ? places[r] : r;
      if (from < 0) continue;
      const std::size_t row = blocks.row_begin[k] + from;
      out.row_used[r] = is_rigid(k, to_index(row)) ? 1 : 0;
      out.bias[r] = -blocks.q[row];
      out.compliance[r] = blocks.compliance[row];
      out.lower[r] = blocks.lower[row];
      out.upper[r] = blocks.upper[row];
      for (Index j = 0; j < out.n_bodies; ++j) {
        const double* g = blocks.jacobian.data() + blocks.jacobian_begin[first_body + j] + 6 * from;
        std::copy(g, g + 6, out.jacobian[j].begin() + 6 * r);
      }
    }
    return out;
  }

  const ConstraintProblem& problem_;
  DelassusOperator op_;
  std::span<const double> impulses_;
  std::vector<double> free_velocity_;
  std::vector<double> error_, weight_;  ///< per block
  std::vector<char> chosen_;
  std::vector<Index> newest_;
};

}  // namespace

std::vector<SuspectBlock> gather_suspects(const ConstraintProblem& problem,
                                          const std::vector<double>& energies,
                                          std::span<const double> impulses, std::size_t most) {
  return SuspectSearch(problem, impulses).find(energies, most);
}

}  // namespace catena
