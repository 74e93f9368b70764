// Times the elimination of trees and nets that ranks share, and counts what it would take on
// others.
//
//   [mpirun -n P] bench_mechanism [--tree LEVELS ...] [--net KNOTS ...] [--repeats R]
//   bench_mechanism --model [--ranks P ...] ...
//
// A tree has two branches at every body and spherical joints, 2^LEVELS - 1 bodies; a net has KNOTS
// x KNOTS bodies and a row between neighbours. Each is cut into a part a rank, P a power of two.
// One line a case. Counted on one rank, from the fronts: levels, rounds of messages that wait for
// each other, multiply-adds and numbers sent on the critical path (the largest node's share, added
// up over the levels) of a factorisation and of one solve, messages of all ranks, rows of the top
// separator. --model stops there; otherwise the factor is made and used on all ranks: messages that
// were sent, multiply-adds of all ranks, microseconds of factor and solve (the best of the repeats,
// the slowest rank), the residual |b - (A + added) x| / |b|, and the share of their cores that
// ranks had while they were timed (the least; well below 1 the times are those of a busy machine).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "bench_measure.hpp"
#include "catena/base/random.hpp"
#include "catena/base/timer.hpp"
#include "catena/constraints/block_rows.hpp"
#include "solvers/dealt_mechanism.hpp"
#include "solvers/joints/elimination/tree_factor.hpp"

namespace {

using namespace catena;

struct Mechanism {
  std::string name;
  MechanismRows rows;
};

/// Joins the last bodies with random rows.
void join(const std::vector<Index>& bodies, int rows, MechanismRows& made) {
  GeneralBlocks& blocks = made.blocks;
  const std::uint64_t name = blocks.name.size();
  blocks.kind.push_back(BlockKind::bilateral);
  blocks.name.push_back(static_cast<std::int64_t>(name));
  blocks.row_begin.push_back(blocks.row_begin.back() + rows);
  blocks.compliance.resize(blocks.row_begin.back(), 0.0);
  std::uint64_t draw = 0;
  for (const Index b : bodies) {
    blocks.body.push_back(b);
    for (int i = 0; i < 6 * rows; ++i) blocks.jacobian.push_back(uniform_pm1(1, name, draw++));
    blocks.jacobian_begin.push_back(std::ssize(blocks.jacobian));
  }
  blocks.body_begin.push_back(to_index(blocks.body.size()));
}

void add_bodies(Index n, MechanismRows& made) {
  for (Index b = 0; b < n; ++b) made.bodies.add_rigid(b, 1.0, 0.5 * Mat3::Identity(), {});
}

Mechanism tree(int levels) {
  Mechanism shape{"tree", {}};
  const Index bodies = (Index{1} << levels) - 1;
  add_bodies(bodies, shape.rows);
  for (Index b = 1; b < bodies; ++b) join({(b - 1) / 2, b}, 3, shape.rows);
  return shape;
}

Mechanism net(Index knots) {
  Mechanism shape{"net", {}};
  add_bodies(knots * knots, shape.rows);
  for (Index b = 0; b < knots * knots; ++b) {
    if (b % knots > 0) join({b - 1, b}, 1, shape.rows);
    if (b >= knots) join({b - knots, b}, 1, shape.rows);
  }
  return shape;
}

/// Counts on the critical path.
struct TreeWork {
  int levels = 0;
  double factor_flops = 0.0, solve_flops = 0.0;      ///< multiply-adds
  double factor_doubles = 0.0, solve_doubles = 0.0;  ///< sent, one message after another
  std::int64_t all_flops = 0;                        ///< of a factorisation, all nodes
  Index top_rows = 0;                                ///< of the first separator

  int factor_rounds() const { return levels; }
  int solve_rounds() const { return 2 * levels; }
  /// Every part's rank but the first has one rank above it.
  std::int64_t factor_messages() const { return (std::int64_t{1} << levels) - 1; }
  std::int64_t solve_messages() const { return 2 * factor_messages(); }
};

/// Multiply-adds of one solve with a node's fronts.
double solve_flops(const FrontTree& tree) {
  double sum = 0.0;
  for (const Front& front : tree.front)
    sum += static_cast<double>(front.pivots) * (front.pivots + 1 + 2.0 * front.below);
  return sum;
}

TreeWork count(const MechanismRows& whole, int levels) {
  const test::DealtMechanism dealt(Communicator::self(), whole, levels, false);
  TreeWork work;
  work.levels = levels;
  std::vector<TreeWork> largest(levels + 1);
  for (const TreeNode& node :
       make_tree_nodes(dealt.rows(), References(dealt.rows()), dealt.nodes())) {
    TreeWork& most = largest[PartTree::depth(node.number)];
    const std::int64_t flops = node.fronts->flops();
    const double above = node.rows_above();
    work.all_flops += flops;
    most.factor_flops = std::max(most.factor_flops, static_cast<double>(flops));
    most.solve_flops = std::max(most.solve_flops, solve_flops(node.fronts->tree()));
    most.factor_doubles = std::max(most.factor_doubles, 0.5 * above * (above + 1.0));
    most.solve_doubles = std::max(most.solve_doubles, 2.0 * above);
    if (node.number == 1) work.top_rows = levels > 0 ? node.rows : 0;
  }
  for (const TreeWork& most : largest) {
    work.factor_flops += most.factor_flops;
    work.solve_flops += most.solve_flops;
    work.factor_doubles += most.factor_doubles;
    work.solve_doubles += most.solve_doubles;
  }
  return work;
}

/// What a run took.
struct Timing {
  double factor = std::numeric_limits<double>::infinity(), solve = factor;  ///< s
  std::int64_t factor_messages = 0, solve_messages = 0, flops = 0;
  double residual = 0.0;
  double cpu_share = 0.0;  ///< least of all ranks
};

/// |b - (A + added) x| / |b| over all ranks; x of all ranks by the whole's rows.
double residual(const MechanismRows& whole, const std::vector<double>& added,
                const std::vector<double>& b, const std::vector<double>& x) {
  const GeneralBlocks& blocks = whole.blocks;
  std::vector<double> force(whole.bodies.n_dofs(), 0.0), velocity(force.size());
  const auto for_entries = [&](const auto& visit) {
    for (Index k = 0; k < blocks.size(); ++k)
      for (Index j = blocks.body_begin[k]; j < blocks.body_begin[k + 1]; ++j)
        for (Index r = 0; r < blocks.rows(k); ++r)
          for (Index d = 0; d < 6; ++d)
            visit(blocks.row_begin[k] + r, whole.bodies.dof_begin[blocks.body[j]] + d,
                  blocks.jacobian[blocks.jacobian_begin[j] + 6 * Offset{r} + d]);
  };
  for_entries([&](Index row, Index dof, double g) { force[dof] += g * x[row]; });
  for (Index body = 0; body < whole.bodies.size(); ++body) {
    const std::size_t first = whole.bodies.dof_begin[body];
    apply_inverse_mass(whole.bodies, body, std::span(force).subspan(first, 6),
                       std::span(velocity).subspan(first, 6));
  }
  std::vector<double> rest = b;
  for (std::size_t r = 0; r < rest.size(); ++r) rest[r] -= added[r] * x[r];
  for_entries([&](Index row, Index dof, double g) { rest[row] -= g * velocity[dof]; });
  const auto norm = [](const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  };
  return norm(rest) / norm(b);
}

Timing measure(const Communicator& comm, const MechanismRows& whole, int levels, int repeats) {
  test::DealtMechanism dealt(comm, whole, levels, false);
  const auto factor = make_dissected_factor(dealt.rows(), dealt.nodes());
  const GeneralBlocks& blocks = whole.blocks;
  const std::vector<double> added(blocks.n_rows(), 1e-9);
  std::vector<double> b(blocks.n_rows()), own, x;
  for (std::size_t r = 0; r < b.size(); ++r) b[r] = uniform_pm1(2, r, 0);
  for (const Index k : dealt.own())
    own.insert(own.end(), b.begin() + blocks.row_begin[k], b.begin() + blocks.row_begin[k + 1]);
  Timing t;
  double cpu_s = 0.0, wall_s = 0.0;
  const auto timed = [&](double& best, std::int64_t& messages, const auto& work) {
    comm.barrier();
    const std::int64_t before = comm.traffic().messages;
    const double start = wall_seconds(), cpu = cpu_seconds();
    work();
    const double seconds = wall_seconds() - start;
    cpu_s += cpu_seconds() - cpu;
    wall_s += seconds;
    messages = comm.traffic().messages - before;
    best = std::min(best, comm.max(seconds));
  };
  dealt.take_jacobians();
  for (int i = 0; i < repeats; ++i) {
    x = own;
    timed(t.factor, t.factor_messages,
          [&] { factor->factor(dealt.rows(), std::span(added).first(own.size())); });
    timed(t.solve, t.solve_messages, [&] { factor->solve(x); });
  }
  t.factor_messages = comm.sum(t.factor_messages);
  t.solve_messages = comm.sum(t.solve_messages);
  t.flops = comm.sum(factor->flops());
  t.cpu_share = -comm.max(-cpu_s / wall_s);
  std::vector<double> all(b.size(), 0.0);
  auto next = x.begin();
  for (const Index k : dealt.own())
    for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r) all[r] = *next++;
  comm.sum(all);
  t.residual = residual(whole, added, b, all);
  return t;
}

void print_header(bool model) {
  std::printf(
      "ranks shape joints rows levels factor_rounds solve_rounds factor_flops solve_flops "
      "factor_doubles solve_doubles factor_messages solve_messages all_flops top_rows%s\n",
      model ? "" : " sent_factor sent_solve done_flops factor_us solve_us residual cpu_share");
}

void print_case(int ranks, const Mechanism& shape, const TreeWork& w) {
  const GeneralBlocks& blocks = shape.rows.blocks;
  std::printf("%d %s %ld %ld %d %d %d %.0f %.0f %.0f %.0f %ld %ld %ld %ld", ranks,
              shape.name.c_str(), static_cast<long>(blocks.size()),
              static_cast<long>(blocks.n_rows()), w.levels, w.factor_rounds(), w.solve_rounds(),
              w.factor_flops, w.solve_flops, w.factor_doubles, w.solve_doubles,
              static_cast<long>(w.factor_messages()), static_cast<long>(w.solve_messages()),
              static_cast<long>(w.all_flops), static_cast<long>(w.top_rows));
}

void run(const Communicator& comm, const std::vector<Mechanism>& shapes,
         const std::vector<int>& ranks, bool model, int repeats) {
  if (comm.rank() == 0) print_header(model);
  for (const Mechanism& shape : shapes)
    for (const int n : ranks) {
      const int levels = std::bit_width(static_cast<unsigned>(n)) - 1;
      if (comm.rank() == 0) print_case(n, shape, count(shape.rows, levels));
      if (!model) {
        const Timing t = measure(comm, shape.rows, levels, repeats);
        if (comm.rank() == 0)
          std::printf(" %ld %ld %ld %.1f %.1f %.1e %.2f", static_cast<long>(t.factor_messages),
                      static_cast<long>(t.solve_messages), static_cast<long>(t.flops),
                      1e6 * t.factor, 1e6 * t.solve, t.residual, t.cpu_share);
      }
      if (comm.rank() == 0) std::printf("\n");
      std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const Communicator comm = Communicator::world();
  std::vector<int> trees, nets, ranks = {64, 1024};
  int repeats = 20;
  bool model = false;
  CLI::App app("Elimination of trees and nets over ranks: times, or counts for others (--model)");
  app.add_option("--tree", trees, "Levels of bodies")->check(CLI::Range(2, 24));
  app.add_option("--net", nets, "Knots along an edge")->check(CLI::Range(2, 5000));
  app.add_option("--repeats", repeats)->check(CLI::PositiveNumber);
  app.add_flag("--model", model, "Count for --ranks instead of running");
  app.add_option("--ranks", ranks, "Of the model")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    if (!model) ranks = {comm.size()};
    for (const int n : ranks)
      if (!std::has_single_bit(static_cast<unsigned>(n)))
        throw Error(std::to_string(n) + " ranks", "bench_mechanism", "use a power of two");
    std::vector<Mechanism> shapes;
    for (const int levels : trees) shapes.push_back(tree(levels));
    for (const int knots : nets) shapes.push_back(net(knots));
    run(comm, shapes, ranks, model, repeats);
  } catch (const std::exception& error) {
    comm.abort(1, error.what());
  }
}
