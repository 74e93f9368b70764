// Bodies that overlap at the start are named, the deepest pairs first, with the keys that place
// them; what a search before the run says is what the first step says. Contacts that sink in later.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "catena/simulation/start_check.hpp"
#include "simulation/diagnosis/start_overlaps.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

struct Found {
  StartOverlaps before, after;
  std::string text;
};

Found overlaps(const std::string& yaml) {
  const Communicator comm = Communicator::world();
  const CaseSettings settings = test::case_of("materials: {m: {density: 1000, friction: 0.5}}\n" +
                                              yaml + "time: {step: 1 ms, end: 1}\n");
  Simulation sim(comm, settings);
  Found found;
  found.before = find_overlaps(comm, settings, sim.model(), sim.bodies(), sim.state());
  found.text = overlaps_at_start(comm, settings, sim.model());
  sim.step();
  found.after = overlaps_of_step(comm, sim.model(), sim.stepper());
  EXPECT_EQ(found.text, to_text(found.before, settings, sim.model()));
  EXPECT_EQ(found.text, to_text(found.after, settings, sim.model()));
  EXPECT_EQ(found.before.pairs, found.after.pairs);
  return found;
}

using test::kFloorText;
using test::sphere_text;

TEST(StartOverlaps, NameTheWorstThreePairsWithDepthsAndKeys) {
  const Found found = overlaps("bodies:\n" + std::string(kFloorText) + sphere_text("a", 0, 0.1) +
                               sphere_text("b", 0.15, 0.1) + sphere_text("c", 0.33, 0.08) +
                               sphere_text("d", 0.47, 0.1) + sphere_text("far", 5, 0.1));
  // a-b 0.05, c-d 0.2 - |(0.14, 0.02)| = 0.05857..., c-floor 0.02, b-c 0.2 - 0.18110... = 0.0189
  EXPECT_EQ(found.before.pairs, 4);
  EXPECT_EQ(found.before.worst.size(), 3U);
  if (found.before.worst.size() != 3U) return;
  EXPECT_NEAR(found.before.worst[0].depth, 0.2 - std::hypot(0.14, 0.02), 1e-12);
  EXPECT_NEAR(found.before.worst[1].depth, 0.05, 1e-12);
  EXPECT_NEAR(found.before.worst[2].depth, 0.02, 1e-12);
  EXPECT_EQ(found.text,
            "bodies overlap at the start by up to 0.0585786 m: c and d by 0.0585786 m, see "
            "bodies.c.position and bodies.d.position; a and b by 0.05 m, see bodies.a.position and "
            "bodies.b.position; floor and c by 0.02 m, see bodies.floor.position and "
            "bodies.c.position; and 1 other pairs");
}

TEST(StartOverlaps, CoincidentSpheresHaveOneCentre) {
  const Found found = overlaps("bodies:\n" + sphere_text("a", 1, 2) + sphere_text("b", 1, 2));
  EXPECT_EQ(found.before.pairs, 1);
  EXPECT_NE(found.text.find("a and b by 0.2 m (one centre)"), std::string::npos) << found.text;
}

TEST(StartOverlaps, ABodyBelowTheFloorIsWhollyInside) {
  const Found found = overlaps("bodies:\n" + std::string(kFloorText) + sphere_text("sunk", 0, -5));
  EXPECT_NE(
      found.text.find("floor and sunk by 5.1 m (wholly inside), see bodies.floor.position and "
                      "bodies.sunk.position"),
      std::string::npos)
      << found.text;
}

TEST(StartOverlaps, ALatticeTooDenseIsCountedAndItsKeyNamed) {
  const Found found = overlaps(
      "generators:\n  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.1}}, "
      "count: [4, 3, 2], spacing: 0.1}\n");
  // neighbours at 0.1, 0.1 sqrt(2) and 0.1 sqrt(3)
  const int edges = 3 * 3 * 2 + 4 * 2 * 2 + 4 * 3 * 1;
  const int faces = 2 * (3 * 2 * 2 + 3 * 3 * 1 + 4 * 2 * 1);
  const int corners = 4 * (3 * 2 * 1);
  EXPECT_EQ(found.before.pairs, edges + faces + corners);
  const std::string end = "by 0.1 m, see generators.g.spacing; and " +
                          std::to_string(edges + faces + corners - 3) + " other pairs";
  EXPECT_NE(found.text.find(end), std::string::npos) << found.text;
}

TEST(StartOverlaps, SmallBodiesCountBySizeAndTouchingOnesNotAtAll) {
  const std::string tiny =
      "generators:\n  - lattice: {name: g, material: m, shape: {sphere: {radius: 1 mm}}, "
      "count: [2, 1, 1], spacing: ";
  EXPECT_EQ(overlaps(tiny + "1.9 mm}\n").before.pairs, 1) << "a tenth of the radius";
  EXPECT_EQ(overlaps(tiny + "1.98 mm}\n").text, "") << "a fiftieth";
  EXPECT_EQ(overlaps(tiny + "2 mm}\n").text, "");
  EXPECT_EQ(overlaps("bodies:\n" + std::string(kFloorText) + sphere_text("a", 0, 0.1)).text, "");
}

/// Three cubes of 1 m one upon another: 10 t, 1 t and the top of the given mass. The two lower ones
/// touch each other by the softest contact, since neither is as heavy as a heavy top.
std::string stack_under(double top_mass) {
  const std::string cube = ", material: m, shape: {box: {size: [1, 1, 1]}}, position: [0, 0, ";
  return "materials: {m: {density: 1000, friction: 0.5}}\n"
         "bodies:\n"
         "  - {name: floor, material: m, shape: plane}\n"
         "  - {name: base" +
         cube + "0.5], mass: 1e4}\n  - {name: cube" + cube + "1.5]}\n  - {name: top" + cube +
         "2.5], mass: " + test::text_of(top_mass) + "}\ntime: {step: 5 ms, end: 1}\n";
}

TEST(SunkContacts, AreTheSameOfAStackUnderAHeavyTopOnAnyRanks) {
  const auto after = [](const Communicator& comm, double top_mass) {
    const auto sim = test::simulate(comm, stack_under(top_mass));
    StepReport report;
    double most = 0.0;
    for (int i = 0; i < 23; ++i) {
      report = sim->step();
      most = std::max(most, report.sunk_overlap);
    }
    return std::pair(report, most);
  };
  const Communicator self = Communicator::self(), world = Communicator::world();
  const auto [alone, deepest_alone] = after(self, 1e6);
  const auto [heavy, deepest] = after(world, 1e6);
  const auto [even, none] = after(world, 1e4);

  // of the base and the cube, ids 1 and 2, at each corner a quarter of some 1,000 weights; the
  // stack still swings
  EXPECT_EQ(heavy.sunk_bodies, (std::array<GlobalId, 2>{1, 2}));
  EXPECT_NEAR(heavy.sunk_load, 250.0, 50.0);
  EXPECT_GT(heavy.sunk_overlap, kSunkOverlap);
  // from one number of ranks to another within the solver's tolerance
  EXPECT_EQ(heavy.sunk_bodies, alone.sunk_bodies);
  EXPECT_NEAR(heavy.sunk_load, alone.sunk_load, 0.05 * alone.sunk_load);
  EXPECT_NEAR(heavy.sunk_overlap, alone.sunk_overlap, 0.05 * alone.sunk_overlap);
  EXPECT_NEAR(deepest, deepest_alone, 0.05 * deepest_alone);
  // under 10 times the weight nothing is said
  EXPECT_EQ(none, 0.0);
  EXPECT_EQ(even.sunk_bodies, (std::array<GlobalId, 2>{kNoBody, kNoBody}));
}

}  // namespace
}  // namespace catena
