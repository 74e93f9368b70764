// What would not fit into memory is refused, elimination of mechanisms included, by the count of
// catena plan.
#include <gtest/gtest.h>

#include "catena/partition/plan.hpp"
#include "catena/simulation/memory_check.hpp"
#include "support/case_text.hpp"
#include "support/error_of.hpp"

namespace catena {
namespace {

const std::string kStart =
    "gravity: [0, 0, -9.81]\nmaterials: {m: {density: 1000}}\ntime: {step: 1 ms, end: 1}\n"
    "generators:\n";

/// 20 x 20 knots, 760 rods.
const std::string kNet =
    kStart +
    "  - net: {name: g, material: m, shape: {sphere: {radius: 0.01}}, count: [20, 20],\n"
    "          from: [0, 0, 0], spacing: [[0.1, 0, 0], [0, 0.1, 0]], joint: distance,\n"
    "          collide: false}\n";
const std::string kChain =
    kStart +
    "  - chain: {name: g, material: m, shape: {sphere: {radius: 0.01}}, links: 50,\n"
    "            from: [0, 0, 0], to: [5, 0, 0], joint: spherical, collide: false}\n";

/// A scene with its bodies, what a plan for the ranks that are there counts of it, and what its
/// elimination takes.
struct Counted {
  explicit Counted(const std::string& yaml, const std::vector<std::string>& set = {})
      : settings(test::case_of(yaml, set)), sim(comm, settings) {
    ContactSet contacts;
    ContactSearch(comm, sim.model()).find(sim.bodies(), sim.state(), 1e-3, contacts);
    const std::vector<int> here(sim.bodies().constants.size(), comm.rank());
    elimination =
        elimination_memory(comm, sim.bodies(), contacts, here, comm.size(), settings.parallel);
    plan =
        plan_partition(comm, sim.bodies(), sim.state(), contacts, comm.size(), settings.parallel);
  }
  MemoryNeed need(double available) const {
    return memory_need(comm, settings, sim.model(), available, elimination);
  }

  Communicator comm = Communicator::world();
  CaseSettings settings;
  Simulation sim;
  std::vector<double> elimination;
  PartitionPlan plan;
};

constexpr double kEnough = 1e18;

TEST(Memory, OfANetHasItsElimination) {
  const Counted net(kNet);
  const MemoryNeed need = net.need(kEnough);
  // fronts of a net of rods: some 0.45 kB a joint, and 0.4 kB of its rows (docs/design/0016)
  EXPECT_GT(need.elimination, 760 * 600.0);
  EXPECT_LT(need.elimination, 760 * 1200.0);
  const MemoryNeed without = memory_need(net.comm, net.settings, net.sim.model(), kEnough);
  EXPECT_DOUBLE_EQ(need.bodies, without.bodies + need.elimination);
  EXPECT_DOUBLE_EQ(need.settled, without.settled + need.elimination);
}

TEST(Memory, IsWhatAPlanCounts) {
  const Counted net(kNet);
  // all ranks of these tests are on one host; ghosts, which only the plan knows, and shares that
  // are not quite equal are the rest
  const double planned = net.comm.size() * net.plan.memory.mean;
  if (net.comm.size() == 1)
    EXPECT_NEAR(net.need(kEnough).bodies, planned, 1e-9 * planned);
  else
    EXPECT_NEAR(net.need(kEnough).bodies, planned, 0.1 * planned);
}

TEST(Memory, ALittleLessThanTheCountIsRefusedAndALittleMoreIsNot) {
  const Counted net(kNet);
  const MemoryNeed need = net.need(kEnough);
  EXPECT_NO_THROW(refuse_beyond_memory(net.need(1.001 * need.bodies)));
  const std::string error =
      test::error_of([&] { refuse_beyond_memory(net.need(0.999 * need.bodies)); });
  EXPECT_NE(error.find("its 400 bodies and 760 joints take"), std::string::npos) << error;
  EXPECT_NE(error.find("MiB of it to eliminate mechanisms)"), std::string::npos) << error;
  // bodies and joints alone would fit
  EXPECT_NO_THROW(refuse_beyond_memory(
      memory_need(net.comm, net.settings, net.sim.model(), 0.999 * need.bodies)));
}

TEST(Memory, OfChainsIsThatOfTheirJoints) {
  const Counted chain(kChain);
  const MemoryNeed need = chain.need(kEnough);
  EXPECT_EQ(need.elimination, 0.0);
  EXPECT_EQ(need.bodies,
            memory_need(chain.comm, chain.settings, chain.sim.model(), kEnough).bodies);
}

TEST(Memory, OfJointsThatAreNotEliminatedHasNoFactors) {
  const Counted net(kNet, {"solver.joints.method=iterative"});
  EXPECT_EQ(net.need(kEnough).elimination, 0.0);
}

}  // namespace
}  // namespace catena
