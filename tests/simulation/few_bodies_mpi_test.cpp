// Scenes with too few bodies for their ranks are told so; those with enough, and one rank, are not.
#include <gtest/gtest.h>

#include "catena/simulation/start_check.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

CaseSettings case_of(const std::string& generators, const std::string& end = "1") {
  return test::case_of(
      "materials: {m: {density: 1000, friction: 0.5}}\n"
      "bodies:\n  - {name: floor, material: m, shape: {plane: {}}}\n"
      "  - {name: post, material: m, shape: {sphere: {radius: 0.1}}, position: [9, 9, 9],"
      " fixed: true}\n"
      "generators:\n" +
      generators + "time: {step: 1 ms, end: " + end + "}\n");
}

constexpr const char* kNine =
    "  - lattice: {name: g, material: m, shape: {sphere: {radius: 0.1}}, count: [3, 3, 1], "
    "spacing: 0.3, origin: [0, 0, 0.1]}\n";

std::string insertion(const std::string& rest) {
  return "  - insertion: {name: in, material: m, shape: {sphere: {radius: 0.1}}, "
         "region: {lower: [-5, -5, 4], upper: [-1, -1, 8]}, " +
         rest + "}\n";
}

std::int64_t count_of(const CaseSettings& settings) {
  const Simulation sim(Communicator::world(), settings);
  return bodies_of_run(sim.communicator(), settings, sim.bodies(), sim.state());
}

TEST(FewBodies, AreSaidWithWhatToStartOnSeveralRanksAlone) {
  EXPECT_EQ(few_bodies_warning(9, 1), "");
  EXPECT_EQ(few_bodies_warning(9, 2).find("the scene has 9 bodies for 2 ranks: "), 0U);
  EXPECT_NE(few_bodies_warning(9, 2).find("; start it on 1 rank"), std::string::npos);
  EXPECT_EQ(few_bodies_warning(2 * kFewBodies, 2), "");
  EXPECT_EQ(few_bodies_warning(100 * kFewBodies, 2), "");
  // as many ranks as have enough
  EXPECT_NE(few_bodies_warning(7 * kFewBodies + 1, 8).find("; start it on 7 ranks"),
            std::string::npos);
}

TEST(FewBodies, AreThoseThatMoveFreely) { EXPECT_EQ(count_of(case_of(kNine)), 9); }

TEST(FewBodies, CountWhatInsertionsBringUntilTheEnd) {
  // 100 a second, from 0.5 s to the end at 2 s
  EXPECT_EQ(
      count_of(case_of(kNine + insertion("count: 1000, number_rate: 100, start: 0.5 s"), "2")),
      159);
  // all of them have come in by then
  EXPECT_EQ(count_of(case_of(insertion("count: 70, number_rate: 100"), "2")), 70);
  // none is due any more
  EXPECT_EQ(count_of(case_of(kNine + insertion("count: 70, number_rate: 100, start: 5 s"), "2")),
            9);
  // their number is not known from a mass: all that may come
  EXPECT_EQ(count_of(case_of(insertion("count: 70, mass_rate: 1"), "2")), 70);
}

TEST(FewBodies, StillCountWhatHasComeInAlready) {
  const CaseSettings settings = case_of(insertion("count: 40, number_rate: 1000"), "2");
  Simulation sim(Communicator::world(), settings);

  for (int i = 0; i < 10; ++i) sim.step();

  EXPECT_GT(sim.state().flow.inserted, 0);
  EXPECT_EQ(bodies_of_run(sim.communicator(), settings, sim.bodies(), sim.state()), 40);
}

}  // namespace
}  // namespace catena
