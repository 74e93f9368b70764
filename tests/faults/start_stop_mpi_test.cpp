// Many simulations one after the other in one process: nothing is left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "catena/base/log.hpp"
#include "catena/simulation/simulation.hpp"

namespace catena {
namespace {

constexpr int kCycles = 100;
/// After as many, caches and pools of MPI, HDF5, PETSc and the allocator have their size.
constexpr int kWarm = 40;

// everything that holds on to something: contacts and joints over ranks, sparse factors of a
// looped mechanism, geometries, tables, bodies that come and go
constexpr const char* kScene = R"(catena: 1
name: cycle
materials: {m: {density: 1000, friction: 0.5}}
bodies:
  - {name: floor, material: m, shape: {plane: {}}}
  - {name: rock, material: m, position: [1, 0, 0.1],
     shape: {hull: {vertices: [[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]}}}
generators:
  - lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, 3], spacing: 0.1999,
              origin: [0, 0, 0.0999]}
  - insertion: {name: rain, material: m, shape: {sphere: {radius: 2 cm}}, number_rate: 1000, count: 4,
                region: {lower: [-1, -1, 2], upper: [1, 1, 3]}}
  - net: {name: net, material: m, shape: {sphere: {radius: 1 cm}}, count: [3, 3], from: [3, 0, 3],
          spacing: [[0.1, 0, 0], [0, 0.1, 0]], anchored: corners}
time: {step: 1 ms, end: 3 ms}
solver: {max_iterations: 5}
output: {snapshot_interval: 2 ms}
)";

std::int64_t open_files() {
  std::int64_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++n;
  return n;
}

/// Resident memory, bytes.
std::int64_t resident() {
  std::ifstream in("/proc/self/statm");
  std::int64_t all = 0, pages = 0;
  in >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(StartStop, AHundredRunsLeaveNoMemoryAndNoFilesBehind) {
  const Communicator comm = Communicator::world();
  const std::string directory = "start_stop_np" + std::to_string(comm.size());
  std::int64_t memory = 0, files = 0;

  for (int cycle = 0; cycle < kCycles; ++cycle) {
    if (cycle == kWarm) {
      memory = resident();
      files = open_files();
    }
    Simulation sim(comm, parse_case(kScene, "cycle.yaml", "."));
    Log log(comm.rank() == 0, true);
    RunOptions options;
    options.directory = directory;
    options.force = true;
    EXPECT_EQ(sim.run(options, log), ExitCode::done);
  }

  comm.barrier();
  if (comm.rank() == 0) std::filesystem::remove_all(directory);
  EXPECT_EQ(open_files(), files);
  // a run holds some megabytes: one that is not given back would show 60 times
  const auto growth = static_cast<double>(resident() - memory);
  EXPECT_LT(growth, 1.5e6) << "of " << memory << " bytes";
  if (comm.rank() == 0)
    std::printf("grown by %.3f MB in %d cycles\n", 1e-6 * growth, kCycles - kWarm);
}

}  // namespace
}  // namespace catena
