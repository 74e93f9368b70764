// Times the elimination of chains and counts what it would take on other machines.
//
//   [mpirun -n P] bench_chain [--joints N ...] [--shape straight|curled ...] [--joint spherical|
//                 revolute ...] [--grouping auto|body|rank ...] [--limit L ...] [--repeats R]
//   bench_chain --model [--ranks P ...] [--latency s] [--bandwidth doubles/s] [--rate flops/s] ...
//
// Chains of rods (tests/support/rod_chain.hpp), A = J M^-1 J^T, dealt evenly to the ranks. One line
// a case: nanoseconds per joint of factor and of one solve (the best of the repeats, the slowest
// rank), multiply-adds per joint over all ranks, rounds and messages of one solve and one
// factorisation, backward error on one rank, and the share of their cores that ranks had while they
// were timed (the least; well below 1 the times are those of a busy machine).
//
// --model counts on the critical path instead (src/solvers/joints/chain/cost.hpp; flops are
// multiply-adds; ranks 0: one rank for each joint) and prices it with the constants of a network:
// microseconds of factor and of one solve.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "bench_measure.hpp"
#include "catena/base/timer.hpp"
#include "catena/comm/communicator.hpp"
#include "solvers/chain_cases.hpp"
#include "solvers/joints/chain/chain_factor.hpp"
#include "solvers/joints/chain/cost.hpp"

namespace {

using namespace catena;

struct Options {
  std::vector<std::int64_t> joints = {1000, 10000, 100000};
  std::vector<std::string> shapes = {"straight", "curled"};
  std::vector<std::string> kinds = {"spherical", "revolute"};
  std::vector<std::string> groupings = {"rank", "body"};
  std::vector<int> limits = {1000};
  std::vector<int> ranks = {16, 64, 1024};
  int repeats = 20;
  bool model = false;
  ChainMachine machine;
};

struct Case {
  test::RodChain chain;
  JointSolverSettings settings;
  std::string grouping;
};

struct Timing {
  double factor = 0.0;  ///< s, the slowest rank's best
  double solve = 0.0;
  double error = 0.0;
  double cpu_s = 0.0, wall_s = 0.0;  ///< of all that was timed, this rank
  double cpu_share = 0.0;            ///< least of all ranks
  std::int64_t flops[2] = {};
  std::int64_t messages = 0;
  ChainCost cost;
};

template <class Work>
double best_seconds(const Communicator& comm, int repeats, Timing& t, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < repeats; ++k) {
    comm.barrier();
    const double start = wall_seconds(), cpu = cpu_seconds();
    work();
    const double seconds = wall_seconds() - start;
    t.cpu_s += cpu_seconds() - cpu;
    t.wall_s += seconds;
    best = std::min(best, comm.max(seconds));
  }
  return best;
}

Timing measure(const Communicator& comm, const Case& c, int repeats) {
  const std::int64_t begin = c.chain.joints * comm.rank() / comm.size();
  const std::int64_t end = c.chain.joints * (comm.rank() + 1) / comm.size();
  const ChainPart part = test::rod_chain(c.chain, begin, end);
  ChainFactor factor(comm, part, c.settings);
  const std::vector<double> b = test::random_vector(test::place(part.row_begin.back()), 1);
  std::vector<double> x;
  Timing t;
  t.factor = best_seconds(comm, repeats, t, [&] { test::factor_numbers(factor, part); });
  for (int k = 0; k < repeats; ++k) {
    x = b;
    const double once = best_seconds(comm, 1, t, [&] { factor.solve(x); });
    t.solve = k == 0 ? once : std::min(t.solve, once);
  }
  t.cost = factor.cost();
  t.flops[0] = comm.sum(t.cost.factor_flops);
  t.flops[1] = comm.sum(t.cost.solve_flops);
  t.messages = comm.max(t.cost.messages);
  t.cpu_share = -comm.max(-t.cpu_s / t.wall_s);
  if (comm.size() == 1) t.error = test::backward_error(part, kJointRegularisation, x, b);
  return t;
}

void print_timing(const Communicator& comm, const Case& c, const Timing& t) {
  if (comm.rank() != 0) return;
  const auto joints = static_cast<double>(c.chain.joints);
  std::printf("%5d %9s %8s %8ld %5s %7d %6d %7ld %9.2f %9.2f %8.1f %8.1f %6d %8ld %9.1e %9.2f\n",
              comm.size(), c.chain.revolute ? "revolute" : "spherical",
              c.chain.turn == 0.0 ? "straight" : "curled", static_cast<long>(c.chain.joints),
              c.grouping.c_str(), c.settings.cholesky_limit, t.cost.levels,
              static_cast<long>(t.cost.cholesky_blocks), 1e9 * t.factor / joints,
              1e9 * t.solve / joints, static_cast<double>(t.flops[0]) / joints,
              static_cast<double>(t.flops[1]) / joints, t.cost.rounds,
              static_cast<long>(t.messages), t.error, t.cpu_share);
  std::fflush(stdout);
}

void print_model(const Case& c, int ranks, const ChainMachine& machine) {
  const auto dealt = deal_evenly(c.chain.joints, ranks > 0 ? ranks : narrow<int>(c.chain.joints));
  const ChainWork work =
      count_chain(dealt, c.chain.rows(), c.settings.grouping, c.settings.cholesky_limit);
  std::printf(
      "%7zu %9s %8ld %5s %7d %6d %7ld %12.0f %10.0f %4d %4d %8ld %9.0f %8.0f %10.1f %9.1f\n",
      dealt.size(), c.chain.revolute ? "revolute" : "spherical", static_cast<long>(c.chain.joints),
      c.grouping.c_str(), c.settings.cholesky_limit, work.levels,
      static_cast<long>(work.cholesky_blocks), work.factor_flops, work.solve_flops,
      work.factor_rounds, work.solve_rounds, static_cast<long>(work.gathered_messages),
      work.factor_doubles, work.solve_doubles, 1e6 * factor_seconds(work, machine),
      1e6 * solve_seconds(work, machine));
}

void print_header(const Options& options) {
  if (options.model) {
    std::printf("%7s %9s %8s %5s %7s %6s %7s %12s %10s %4s %4s %8s %9s %8s %10s %9s\n", "ranks",
                "joint", "joints", "group", "limit", "levels", "left", "factor_flop", "solve_flop",
                "f_rd", "s_rd", "gathered", "f_doubles", "s_double", "factor_us", "solve_us");
  } else {
    std::printf("%5s %9s %8s %8s %5s %7s %6s %7s %9s %9s %8s %8s %6s %8s %9s %9s\n", "ranks",
                "joint", "shape", "joints", "group", "limit", "levels", "left", "factor_ns",
                "solve_ns", "f_flop", "s_flop", "rounds", "messages", "error", "cpu_share");
  }
}

ChainGrouping grouping_of(const std::string& name) {
  if (name == "body") return ChainGrouping::body;
  return name == "rank" ? ChainGrouping::rank : ChainGrouping::automatic;
}

/// Every combination; the limit does not matter to segments.
std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const std::string& kind : options.kinds)
    for (const std::string& shape : options.shapes)
      for (const std::int64_t joints : options.joints)
        for (const std::string& grouping : options.groupings)
          for (const int limit : options.limits) {
            if (grouping == "rank" && limit != options.limits.front()) continue;
            if (options.model && shape != options.shapes.front()) continue;
            Case& c = cases.emplace_back();
            c.chain.joints = joints;
            c.chain.revolute = kind == "revolute";
            c.chain.turn = shape == "curled" ? 0.5 : 0.0;
            c.grouping = grouping;
            c.settings.grouping = grouping_of(grouping);
            c.settings.cholesky_limit = limit;
          }
  return cases;
}

void run(const Communicator& comm, const Options& options) {
  if (comm.rank() == 0) print_header(options);
  for (const Case& c : cases_of(options)) {
    if (!options.model) {
      print_timing(comm, c, measure(comm, c, options.repeats));
    } else if (comm.rank() == 0) {
      for (const int ranks : options.ranks) print_model(c, ranks, options.machine);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Communicator comm = Communicator::world();
  Options options;
  CLI::App app("Elimination of chains: times, or counts for other machines (--model)");
  app.add_option("--joints", options.joints, "Joints of a chain");
  app.add_option("--shape", options.shapes)->check(CLI::IsMember({"straight", "curled"}));
  app.add_option("--joint", options.kinds)->check(CLI::IsMember({"spherical", "revolute"}));
  app.add_option("--grouping", options.groupings)->check(CLI::IsMember({"auto", "body", "rank"}));
  app.add_option("--limit", options.limits, "Blocks left to Cholesky")->check(CLI::PositiveNumber);
  app.add_option("--repeats", options.repeats)->check(CLI::PositiveNumber);
  app.add_flag("--model", options.model, "Count for --ranks instead of running");
  app.add_option("--ranks", options.ranks, "Of the model; 0: as many as joints");
  app.add_option("--rate", options.machine.rate, "Multiply-adds per s");
  app.add_option("--latency", options.machine.latency, "s per message");
  app.add_option("--bandwidth", options.machine.bandwidth, "Doubles per s");
  app.add_option("--overhead", options.machine.overhead,
                 "s per further message that one rank takes in a round");
  CLI11_PARSE(app, argc, argv);
  try {
    run(comm, options);
  } catch (const std::exception& error) {
    comm.abort(1, error.what());
  }
}
