// Measures what partition/cost_model.hpp counts with: the sweep of a row, what a row and a body
// cost besides it in a step, and what splitting a graph and moving bodies cost.
//
//   bench_balance [EDGE...]        spheres along the edge of a cube; 20 and 40
//
// Cubes of touching spheres (3 contacts each) and of spheres apart, one rank, thread CPU time,
// least of several. One row sweep is the unit of the last column.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "catena/base/huge_pages.hpp"
#include "catena/partition/balance.hpp"
#include "catena/simulation/simulation.hpp"

namespace {

using catena::Communicator;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Least thread CPU time of `repeats` calls, s.
double least(int repeats, const std::function<void()>& work) {
  double time = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_seconds();
    work();
    time = std::min(time, cpu_seconds() - start);
  }
  return time;
}

catena::CaseSettings cube(int edge, bool touching, int sweeps) {
  const std::string n = std::to_string(edge);
  return catena::parse_case(
      "catena: 1\nname: cube\ngravity: [0, 0, -9.81]\nmaterials: {m: {density: 1000, friction: "
      "0.5}}\n"
      "bodies: [{name: floor, material: m, shape: {plane: {}}}]\n"
      "generators:\n  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.05}}, "
      "count: [" +
          n + ", " + n + ", " + n + "], spacing: " + (touching ? "0.1" : "0.2") +
          ", origin: [0, 0, 0.05]}\n"
          "time: {step: 1 ms, end: 1}\nparallel: {rebalance_steps: 0}\n"
          "solver: {relative_tolerance: 0, absolute_tolerance: 0, check_interval: 1000000, "
          "keep_best: false, max_iterations: " +
          std::to_string(sweeps) + "}\n",
      "cube", ".");
}

double step_seconds(int edge, bool touching, int sweeps) {
  catena::Simulation sim(Communicator::self(), cube(edge, touching, sweeps));
  sim.step();
  return least(10, [&] { sim.step(); });
}

void measure(int edge) {
  constexpr int kFew = 10, kMany = 60;
  const double bodies = static_cast<double>(edge) * edge * edge;
  catena::Simulation sim(Communicator::self(), cube(edge, true, kFew));
  sim.step();
  const auto rows = 3.0 * static_cast<double>(sim.stepper().n_contacts());
  const double few = step_seconds(edge, true, kFew), many = step_seconds(edge, true, kMany);
  const double unit = (many - few) / (kMany - kFew) / rows;
  const double body = step_seconds(edge, false, 1) / bodies;
  const double row = (few - kFew * unit * rows - body * bodies) / rows;
  std::printf("%d^3 spheres, %.0f rows: a row in a sweep takes %.3g ns\n", edge, rows, 1e9 * unit);
  const auto tell = [unit](const char* what, double seconds) {
    std::printf("  %-44s %9.1f ns %9.0f row sweeps\n", what, 1e9 * seconds, seconds / unit);
  };
  tell("step without sweeps, per row", row);
  tell("step, per body", body);

  catena::Bodies all = sim.bodies();
  catena::State state = sim.state();
  const Communicator& comm = sim.communicator();
  catena::ContactSearch search(comm, sim.model());
  catena::ContactSet contacts;
  tell("contacts found, per body",
       least(5, [&] { search.find(all, state, 1e-3, contacts); }) / bodies);
  for (const int parts : {2, 8, 64}) {
    catena::PartitionQuality quality;
    const double split =
        least(3, [&] { catena::partition_bodies(comm, all, state, contacts, parts, {}, quality); });
    std::string what = "split into " + std::to_string(parts) + ", per body";
    tell(what.c_str(), split / bodies);
  }
  const std::vector<int> part(all.constants.size(), 0);
  tell("moved, per body", least(5, [&] { migrate(comm, all, state, part, 1); }) / bodies);
}

}  // namespace

int main(int argc, char** argv) {
  catena::return_large_blocks();
  std::vector<int> edges = {20, 40};
  if (argc > 1) edges.clear();
  for (int i = 1; i < argc; ++i) edges.push_back(std::atoi(argv[i]));
  for (const int edge : edges) {
    if (edge < 2) {
      std::fputs("usage: bench_balance [EDGE...], at least 2\n", stderr);
      return 3;
    }
    measure(edge);
  }
  return 0;
}
