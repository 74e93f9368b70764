// Joints across ranks: bodies dealt by the curve and the graph, and one by one in turn, move as on
// one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "analytic/case_runner.hpp"
#include "catena/partition/balance.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"

namespace catena::test {
namespace {

constexpr int kSteps = 50;

/// Poses and twists by id.
using Motion = std::map<GlobalId, BodyMotionState>;

void collect(const Bodies& bodies, const State& state, Motion& motion) {
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    motion[bodies.constants[i].id] = state.body[i];
}

/// A run whose bodies are dealt to the ranks in turn: neighbours are never on one rank.
class DealtRun {
 public:
  DealtRun(const Communicator& comm, const CaseSettings& settings)
      : model_(make_model(settings, comm)) {
    generate_bodies(settings, comm, model_, bodies_, state_);
    state_.subdomain.assign(bodies_.constants.size(), 0);
    std::vector<int> part(bodies_.constants.size());
    for (std::size_t i = 0; i < part.size(); ++i)
      part[i] = static_cast<int>(bodies_.constants[i].id % comm.size());
    migrate(comm, bodies_, state_, part, comm.size());
    stepper_ = std::make_unique<SemiImplicitStepper>(
        comm, model_, StepperSettings{settings.time.stepper, settings.time.step},
        make_solver(settings.solver));
  }

  const StepReport& step() { return stepper_->step(bodies_, state_); }
  const Bodies& bodies() const { return bodies_; }
  const State& state() const { return state_; }

 private:
  Model model_;
  Bodies bodies_;
  State state_;
  std::unique_ptr<SemiImplicitStepper> stepper_;
};

struct Difference {
  double place = 0.0, velocity = 0.0, spin = 0.0;
};

Difference compare(const Motion& mine, const Motion& reference) {
  Difference d;
  for (const auto& [id, s] : mine) {
    const BodyMotionState& r = reference.at(id);
    d.place = std::max(d.place, (s.pose.p - r.pose.p).norm());
    d.velocity = std::max(d.velocity, (s.twist.v - r.twist.v).norm());
    d.spin = std::max(d.spin, (s.twist.w - r.twist.w).norm());
  }
  return d;
}

/// Round-off of a step's velocities is that of its impulses times what a chain makes of it; places
/// feel that times the step.
void expect_close(const Bodies& bodies, const State& state, const Motion& reference,
                  const std::string& what) {
  Motion mine;
  collect(bodies, state, mine);
  const Difference d = compare(mine, reference);
  EXPECT_LT(d.place, 1e-12) << what;
  EXPECT_LT(d.velocity, 1e-9) << what;
  EXPECT_LT(d.spin, 1e-8) << what;
}

void expect_as_on_one_rank(const std::string& yaml) {
  const CaseSettings settings = case_of(yaml);
  const Communicator comm = Communicator::world();
  Motion start, reference;
  {
    Simulation alone(Communicator::self(), settings);
    collect(alone.bodies(), alone.state(), start);
    for (int i = 0; i < kSteps; ++i) alone.step();
    collect(alone.bodies(), alone.state(), reference);
    EXPECT_GT(compare(start, reference).place, 1e-3) << "nothing moved";
  }
  {
    Simulation graph(comm, settings);
    for (int i = 0; i < kSteps; ++i) graph.step();
    expect_close(graph.bodies(), graph.state(), reference, "bodies dealt by the graph");
  }
  DealtRun dealt(comm, settings);
  std::int64_t joints = 0;
  for (int i = 0; i < kSteps; ++i) joints = dealt.step().solve.joints.joints;
  expect_close(dealt.bodies(), dealt.state(), reference, "bodies dealt in turn");
  EXPECT_EQ(joints, comm.sum(static_cast<std::int64_t>(dealt.bodies().joints.size())));
}

std::string links(const std::string& keys) {
  return "materials: {steel: {density: 1000}}\ngenerators:\n  - chain: {name: c, material: steel, "
         "shape: {box: {size: [0.1, 0.02, 0.02]}}, collide: false, " +
         keys + "}\n";
}

constexpr const char* kTime = "time: {step: 1 ms, end: 1}\n";

TEST(JointsOnRanks, AChainOfTwoThousandLinksSwings) {
  for (const std::string joint : {"spherical", "revolute, axis: [0, 1, 0]"})
    expect_as_on_one_rank(links("links: 2000, joint: " + joint +
                                ", from: [0, 0, 0], to: [200, 0, 0], anchored: first") +
                          kTime);
}

TEST(JointsOnRanks, ARingHangsFromOneOfItsLinks) {
  expect_as_on_one_rank(
      links("links: 60, closed: true, path: [[0, 0, 0], [2, 0, 0], [2, 1, -0.3], [0, 1, 0]]") +
      "joints:\n  - {name: hold, type: spherical, between: [world, c-7], at: [0.8, 0, 0]}\n" +
      kTime);
}

TEST(JointsOnRanks, ATreeOfThreeChainsOnABarSwings) {
  std::string bodies = "bodies:\n  - {name: bar, mass: 2, inertia: [0.1, 0.1, 0.1]}\ngenerators:\n";
  std::string joints =
      "joints:\n  - {name: hold, type: revolute, between: [world, bar], at: [0, 0, 0.2], "
      "axis: [0, 1, 0]}\n";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), x = text_of(0.5 * (i - 1));
    bodies += "  - chain: {name: c" + n +
              ", links: 30, mass: 0.04, inertia: [3e-5, 3e-5, 3e-6], from: [" + x +
              ", 0, 0], to: [" + text_of(0.5 * (i - 1) + 3.0) + ", " + x + ", 0]}\n";
    joints += "  - {name: h" + n + ", type: spherical, between: [bar, c" + n + "-0], at: [" + x +
              ", 0, 0]}\n";
  }
  expect_as_on_one_rank(bodies + joints + kTime);
}

TEST(JointsOnRanks, ANetHangsFromOneCorner) {
  expect_as_on_one_rank(
      "materials: {steel: {density: 1000}}\ngenerators:\n  - net: {name: n, material: steel, "
      "shape: "
      "{sphere: {radius: 1 cm}}, collide: false, count: [8, 9], spacing: [[0.1, 0, -0.03], "
      "[0.02, 0.1, -0.02]]}\njoints:\n  - {name: hold, type: spherical, between: [world, n-0], "
      "at: [0, 0, 0]}\n" +
      std::string(kTime));
}

}  // namespace
}  // namespace catena::test
