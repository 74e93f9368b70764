// `catena calibrate`: the constants of the cost model on this machine (docs/scaling.md).
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>

#include "bench_problems.hpp"
#include "calibration_file.hpp"
#include "catena/base/huge_pages.hpp"
#include "catena/base/log.hpp"
#include "catena/base/timer.hpp"
#include "catena/base/version.hpp"
#include "catena/comm/halo_exchange.hpp"
#include "catena/comm/message_timing.hpp"
#include "catena/io/text_file.hpp"
#include "catena/partition/step_prediction.hpp"
#include "catena/simulation/simulation.hpp"
#include "catena/solvers/solver_factory.hpp"
#include "commands.hpp"

namespace catena::cli {

namespace {

constexpr int kRepeats = 7;
constexpr int kTrial = 5;                     // rounds that tell how many to make
constexpr int kFewRepeats = 3;                // of what takes long
constexpr std::int64_t kCachedBodies = 4000;  // the sweep's data stay in cache
constexpr std::int64_t kLargeBodies = 60000;  // they do not
constexpr std::int64_t kJoints = 100000;      // of a rank

/// A constant with the least and the largest of its repeats.
struct Constant {
  std::string name, unit, what;
  double value = 0.0;  ///< median
  double low = 0.0, high = 0.0;
};

/// CPU time of this thread, s: for what waits for nobody, so that other programs do not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Collective measurements, each the same on every rank.
class Calibration {
 public:
  explicit Calibration(const Communicator& comm) : comm_(comm), hosts_(host_of_ranks()) {}

  void measure() {
    for (const bool arms : {false, true}) {
      const std::string kernel = arms ? "arms" : "spheres";
      measure_updates(arms, kCachedBodies, "update_" + kernel + "_cached", "data in cache");
      measure_updates(arms, kLargeBodies, "update_" + kernel, "data out of cache");
    }
    measure_triad();
    measure_pack();
    measure_joints();
    measure_fronts();
    measure_mechanisms();
    measure_reductions();
    if (comm_.size() < 2) return;
    const auto elsewhere = std::find_if(hosts_.begin() + 1, hosts_.end(),
                                        [&](const auto& host) { return host != hosts_.front(); });
    if (hosts_[1] == hosts_.front()) measure_messages(1, "node");
    if (elsewhere != hosts_.end())
      measure_messages(narrow<int>(elsewhere - hosts_.begin()), "network");
    measure_halo();
  }

  const std::vector<Constant>& constants() const { return constants_; }
  /// Each host once, a blank between.
  std::string hosts() const {
    std::string text;
    for (std::size_t r = 0; r < hosts_.size(); ++r)
      if (std::find(hosts_.begin(), hosts_.begin() + r, hosts_[r]) == hosts_.begin() + r)
        text += (text.empty() ? "" : " ") + hosts_[r];
    return text;
  }

 private:
  /// Host of each rank.
  std::vector<std::string> host_of_ranks() const {
    std::array<char, 64> name{};
    gethostname(name.data(), name.size() - 1);
    const std::vector<std::byte> all = comm_.all_gather_bytes(std::as_bytes(std::span(name)));
    std::vector<std::string> hosts;
    for (std::size_t r = 0; r < all.size(); r += name.size())
      hosts.emplace_back(reinterpret_cast<const char*>(all.data() + r));
    return hosts;
  }

  void add(const std::string& name, const std::string& unit, const std::string& what,
           std::vector<double> values) {
    // a difference of disturbed times: no value rather than a wrong one
    for (double& value : values)
      if (!(value > 0.0)) value = std::numeric_limits<double>::quiet_NaN();
    if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
      std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
    std::sort(values.begin(), values.end());
    constants_.push_back(
        {name, unit, what, values[values.size() / 2], values.front(), values.back()});
  }

  /// The slowest rank's seconds on `clock` of `work`, all ranks at it together; one more to warm
  /// up.
  std::vector<double> repeat(double (*clock)(), int repeats,
                             const std::function<void()>& work) const {
    std::vector<double> seconds;
    for (int k = 0; k <= repeats; ++k) {
      comm_.barrier();
      const double start = clock();
      work();
      const double passed = comm_.max(clock() - start);
      if (k > 0) seconds.push_back(passed);
    }
    return seconds;
  }

  /// Differences of solves of fewer and more sweeps: set-up and error evaluation cancel.
  void measure_updates(bool arms, std::int64_t bodies, const std::string& name,
                       const std::string& where) {
    const SweepCounts sweeps = sweep_counts(bodies > kCachedBodies ? 14 : 200);
    const ConstraintProblem problem = packed_lattice(bodies, arms);
    const auto updates = static_cast<double>(problem.contacts.size()) * sweeps.more();
    const int repeats = bodies > kCachedBodies ? kFewRepeats : kRepeats;
    auto first = repeat(cpu_seconds, repeats, [&] { sweep(problem, sweeps.few); });
    auto second = repeat(cpu_seconds, repeats, [&] { sweep(problem, sweeps.many); });
    // the fastest beside the fastest and so on: what disturbs one solve disturbs one value
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    std::vector<double> seconds(first.size());
    for (std::size_t k = 0; k < first.size(); ++k) seconds[k] = (second[k] - first[k]) / updates;
    add(name, "s", "update of a contact (three rows once), " + where, std::move(seconds));
  }

  static void sweep(const ConstraintProblem& problem, int sweeps) {
    SolverSettings settings;
    settings.stop.max_iterations = sweeps;
    settings.stop.relative_tolerance = settings.stop.absolute_tolerance = 0.0;
    settings.stop.keep_best = false;
    settings.stop.check_interval = 1 << 30;
    settings.stop.history_set = settings.stop.report_set = ErrorSet::energy;
    std::vector<double> impulses(problem.n_rows(), 0.0);
    std::vector<double> velocities(problem.bodies.n_dofs());
    make_solver(settings)->solve(problem, impulses, velocities);
  }

  /// a = b + s c.
  void measure_triad() {
    constexpr std::size_t kElements = std::size_t{8} << 20;
    HugeVector<double> a(kElements, 0.0), b(kElements, 1.0), c(kElements, 2.0);
    double scale = 0.5;
    add_rate("triad", "bandwidth of memory of a rank, 24 bytes an element counted",
             24.0 * static_cast<double>(kElements), repeat(cpu_seconds, kRepeats, [&] {
               for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + scale * c[i];
               scale = 0.5 * a[kElements / 2];
             }));
  }

  /// Items of a halo, gathered into a message and scattered from one.
  void measure_pack() {
    constexpr std::size_t kItems = 20000, kStride = 7, kWidth = 6;
    std::vector<double> values(kItems * kStride * kWidth, 1.0), message(kItems * kWidth);
    add_rate(
        "pack", "gathering velocities of bodies into a message, or scattering them",
        2.0 * sizeof(double) * static_cast<double>(message.size()),
        repeat(cpu_seconds, kRepeats, [&] {
          for (std::size_t i = 0; i < kItems; ++i)
            std::copy_n(values.data() + i * kStride * kWidth, kWidth, message.data() + i * kWidth);
          for (std::size_t i = 0; i < kItems; ++i)
            std::copy_n(message.data() + i * kWidth, kWidth, values.data() + i * kStride * kWidth);
        }));
  }

  void measure_joints() {
    std::vector<double> factor, solve;
    for (const ChainSeconds& times : time_chain(comm_, kJoints, kRepeats)) {
      factor.push_back(times.factor / times.rows);
      solve.push_back(times.solve / times.rows);
    }
    add("joint_factor", "s", "factorisation, per row of a chain of spherical joints", factor);
    add("joint_solve", "s", "one solve with these factors, per row", solve);
  }

  /// A multiply-add in a dense front, in cache and not.
  void measure_fronts() {
    for (const auto& [name, rows] :
         {std::pair("front_flop", 100), std::pair("front_flop_large", 500)}) {
      const FrontSeconds times = time_front(rows, kRepeats);
      std::vector<double> each;
      for (const double s : times.seconds)
        each.push_back(comm_.max(s) / static_cast<double>(times.flops));
      if (rows == 100) flop_ = *std::ranges::min_element(each);
      add(name, "s", "a multiply-add in a front of " + std::to_string(2 * rows) + " rows",
          std::move(each));
    }
  }

  /// Time steps of mechanisms, every rank its own, in cache and out of it.
  void measure_mechanisms() {
    for (const bool large : {false, true}) {
      const std::string size = large ? "" : "_cached";
      const int links = static_cast<int>(large ? kLargeJoints : kCachedJoints);
      measure_mechanism("chain", size,
                        "chain: {name: g, material: m, shape: {sphere: {radius: 0.01}}, links: " +
                            std::to_string(links) + ", joint: spherical, from: [0, 0, 0], to: [" +
                            std::to_string(links / 10) +
                            ", 0, 0], anchored: first, collide: false}");
      for (const auto& [name, joint] : {std::pair("tree", "spherical"), {"cords", "distance"}})
        measure_mechanism(name, size,
                          "tree: {name: g, material: m, shape: {sphere: {radius: 0.1}}, joint: " +
                              std::string(joint) +
                              ", branching: 2, levels: " + (large ? "16" : "12") +
                              ", from: [0, 0, 5], drop: [0, 0, -0.5], anchored: true, "
                              "collide: false}");
      const int knots = large ? 224 : 64;  // of an edge
      const std::string edge = std::to_string(knots);
      measure_mechanism("net", size,
                        "net: {name: g, material: m, shape: {sphere: {radius: 0.01}}, count: [" +
                            edge + ", " + edge +
                            "], from: [0, 0, 0], spacing: [[0.1, 0, 0], [0, 0.1, 0]], "
                            "joint: distance, collide: false}",
                        net_flops(knots * (knots - 2.0), 1.0) * flop_,
                        net_levels(2.0 * knots * (knots - 1.0)));
    }
  }

  /// `fronts`: seconds of `factor` that are counted apart; `levels`: by which `solve` is divided.
  void measure_mechanism(const std::string& name, const std::string& size,
                         const std::string& generator, double fronts = 0.0, double levels = 1.0) {
    // little gravity: rods under tension would have rows across, too
    const std::string yaml =
        "catena: 1\nname: calibration\ngravity: [0, 0, -0.01]\nmaterials: {m: {density: 1000}}\n"
        "generators:\n  - " +
        generator + "\ntime: {step: 1 ms, end: 1}\n";
    Simulation sim(Communicator::self(), parse_case(yaml, "calibration", ".", {}));
    const int repeats = size.empty() ? kFewRepeats : kRepeats;
    std::vector<double> rows, factor, solve, motion;
    for (int k = 0; k <= repeats; ++k) {
      comm_.barrier();
      const double start = wall_seconds();
      const StepReport& report = sim.step();
      const double all = wall_seconds() - start;
      const double solved = report.times[StepStage::solve_impulses];
      const double made = report.times[StepStage::assemble_problem];
      const double setup = std::min(report.solve.setup_s, solved);
      std::array<double, 4> slowest = {made, setup, solved - setup, all - solved - made};
      comm_.max(slowest);
      if (k == 0) continue;
      const auto n = static_cast<double>(sim.stepper().problem().n_rows());
      rows.push_back(slowest[0] / n);
      factor.push_back((slowest[1] - fronts) / n);
      solve.push_back(slowest[2] / (n * levels));
      motion.push_back(slowest[3] / static_cast<double>(sim.bodies().size()));
    }
    const std::string of = " of a step, of a row of joints, " + name +
                           (size.empty() ? ", data out of cache" : ", data in cache");
    add(name + "_rows" + size, "s", "numbers of the problem" + of, std::move(rows));
    add(name + "_factor" + size, "s", "factorisation" + of, std::move(factor));
    add(name + "_solve" + size, "s", "solution" + of, std::move(solve));
    add(name + "_motion" + size, "s", "all else of a step, of a body, " + name, std::move(motion));
  }

  void measure_reductions() {
    std::array<double, 8> values{};
    add("reduction", "s", "sum of 8 numbers over all ranks",
        repeat_each([&] { comm_.sum(values); }));
    PendingReduction pending(comm_);
    std::array<double, 1> one{};
    add("posted_reduction", "s", "a nonblocking one, posted and awaited", repeat_each([&] {
          pending.begin(values, one);
          pending.end(values, one);
        }));
  }

  /// Messages between rank 0 and another one, on the same host (node) or not (network).
  void measure_messages(int other, const std::string& path) {
    constexpr std::size_t kSmall = 8, kLarge = std::size_t{1} << 20;
    std::vector<double> small, large, each;
    const int rounds = rounds_of(ping_pong_seconds(comm_, 0, other, kSmall, kTrial));
    const int large_rounds = rounds_of(ping_pong_seconds(comm_, 0, other, kLarge, kTrial));
    for (int k = 0; k <= kRepeats; ++k) {
      const double s = ping_pong_seconds(comm_, 0, other, kSmall, rounds);
      const double l = ping_pong_seconds(comm_, 0, other, kLarge, large_rounds);
      const double e = message_overhead_seconds(comm_, 0, other, 200);
      if (k == 0) continue;
      small.push_back(s);
      large.push_back(static_cast<double>(kLarge) / std::max(l - s, 1e-12));
      each.push_back(e);
    }
    add("latency_" + path, "s", "half a round trip of 8 bytes", small);
    add("overhead_" + path, "s", "each of 200 messages of 8 bytes sent at once", each);
    add("bandwidth_" + path, "B/s", "half a round trip of 1 MiB, less the latency", large);
  }

  /// The exchange of a sweep's ghosts between two ranks, which the model must predict from the
  /// constants above.
  void measure_halo() {
    constexpr int kWidth = 6;
    const int other = comm_.rank() ^ 1;
    for (const int items : {1, 1000, 10000}) {
      HaloPlan plan;
      if (other < comm_.size()) {
        HaloPlan::Neighbour neighbour{other, {}, {}};
        for (Index i = 0; i < items; ++i) {
          neighbour.send.push_back(7 * i);
          neighbour.receive.push_back(7 * i + 1);
        }
        plan.neighbours.push_back(std::move(neighbour));
      }
      HaloExchange halo(comm_, std::move(plan), kWidth, Tag::calibration);
      std::vector<double> values(Offset{7 * items + 1} * kWidth, 1.0);
      add("halo_" + std::to_string(items), "s",
          "exchange of " + std::to_string(items) + " bodies' velocities between pairs of ranks",
          repeat_each([&] {
            halo.begin(values);
            halo.end(values);
          }));
    }
  }

  /// As many as take some hundredths of a second.
  static int rounds_of(double seconds) {
    constexpr double kLong = 0.02;
    return static_cast<int>(std::clamp(kLong / std::max(seconds, 1e-9), 2.0, 1000.0));
  }

  /// Collective. Seconds of each of many rounds of what waits for other ranks.
  std::vector<double> repeat_each(const std::function<void()>& work) const {
    const auto repeat_rounds = [&](int rounds, int repeats) {
      std::vector<double> seconds = repeat(wall_seconds, repeats, [&] {
        for (int k = 0; k < rounds; ++k) work();
      });
      for (double& s : seconds) s /= rounds;
      return seconds;
    };
    return repeat_rounds(rounds_of(repeat_rounds(kTrial, 1).front()), kRepeats);
  }

  void add_rate(const std::string& name, const std::string& what, double bytes,
                std::vector<double> seconds) {
    for (double& s : seconds) s = bytes / s;
    add(name, "B/s", what, std::move(seconds));
  }

  const Communicator& comm_;
  std::vector<std::string> hosts_;
  double flop_ = 0.0;  ///< s, in a small front
  std::vector<Constant> constants_;
};

std::string json_of(const Communicator& comm, const Calibration& calibration) {
  std::string text = "{\n  \"schema\": 1,\n  \"version\": " + json_string(version()) +
                     ",\n  \"git_hash\": " + json_string(git_hash()) +
                     ",\n  \"build\": " + json_string(build_description()) +
                     ",\n  \"mpi\": " + json_string(mpi_version()) +
                     ",\n  \"cpu\": " + json_string(cpu_name()) +
                     ",\n  \"hosts\": " + json_string(calibration.hosts()) +
                     ",\n  \"ranks\": " + std::to_string(comm.size()) +
                     ",\n  \"repeats\": " + std::to_string(kRepeats) + ",\n  \"constants\": {";
  bool first = true;
  for (const Constant& c : calibration.constants()) {
    text += std::string(first ? "" : ",") + "\n    " + json_string(c.name) +
            ": {\"value\": " + json_number(c.value) + ", \"low\": " + json_number(c.low) +
            ", \"high\": " + json_number(c.high) + ", \"unit\": " + json_string(c.unit) +
            ", \"what\": " + json_string(c.what) + "}";
    first = false;
  }
  return text + "\n  }\n}\n";
}

std::string table_of(const Communicator& comm, const Calibration& calibration) {
  std::array<char, 200> line{};
  std::string text =
      cpu_name() + ", " + std::to_string(comm.size()) + " ranks on " + calibration.hosts() + "\n";
  std::snprintf(line.data(), line.size(), "%-24s %10s %10s %10s  %-4s what\n", "constant", "median",
                "least", "largest", "unit");
  text += line.data();
  for (const Constant& c : calibration.constants()) {
    std::snprintf(line.data(), line.size(), "%-24s %10.3g %10.3g %10.3g  %-4s %s\n", c.name.c_str(),
                  c.value, c.low, c.high, c.unit.c_str(), c.what.c_str());
    text += line.data();
  }
  return text;
}

}  // namespace

ExitCode calibrate(const Communicator& comm, const CalibrateArguments& arguments) {
  check_output_files(comm, {arguments.output}, arguments.force);
  Calibration calibration(comm);
  calibration.measure();
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    if (!arguments.output.empty()) write_text_file(arguments.output, json_of(comm, calibration));
    std::fputs(table_of(comm, calibration).c_str(), stdout);
  });
  return ExitCode::done;
}

}  // namespace catena::cli
