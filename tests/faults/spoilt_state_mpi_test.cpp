// A state with NaN or infinity in one body, as only a broken program can make it: every rank
// throws BlowUp with that body's name, and the state is that of the step's start.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "catena/partition/balance.hpp"
#include "catena/simulation/case.hpp"
#include "catena/stepper/semi_implicit_stepper.hpp"
#include "support/case_text.hpp"

namespace catena {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
/// In the middle of 64 spheres that touch; the last of the plane and the spheres has id 64.
constexpr GlobalId kSpoilt = 38;

CaseSettings touching_spheres() {
  return test::case_of(
      "materials: {m: {friction: 0.5}}\n"
      "bodies: [{name: floor, material: m, shape: {plane: {}}}]\n"
      "generators: [{lattice: {name: grains, material: m, shape: {sphere: {radius: 0.1}}, "
      "count: [4, 4, 4], spacing: 0.1999, origin: [0, 0, 0.1]}}]\n"
      "time: {step: 2 ms, end: 1}\n");
}

using Spoil = void (*)(BodyMotionState&);

/// What a step says of a scene with one body spoilt; "" if nothing.
std::string message_of(const Spoil spoil) {
  const Communicator comm = Communicator::world();
  const CaseSettings settings = touching_spheres();
  const Model model = make_model(settings, comm);
  Bodies bodies;
  State state;
  generate_bodies(settings, comm, model, bodies, state);
  state.subdomain.assign(bodies.constants.size(), 0);
  migrate(comm, bodies, state, partition_by_curve(comm, bodies, state, comm.size()), comm.size());
  SemiImplicitStepper stepper(comm, model, {settings.time.stepper, settings.time.step, true},
                              make_solver(settings.solver));
  stepper.step(bodies, state);  // a sound one first: there are impulses to start from
  for (std::size_t i = 0; i < bodies.constants.size(); ++i) {
    if (bodies.constants[i].id == kSpoilt) spoil(state.body[i]);
  }
  const std::vector<BodyMotionState> before = state.body;
  const std::size_t n_impulses = state.impulses.size();

  std::string message;
  try {
    stepper.step(bodies, state);
  } catch (const BlowUp& blow_up) {
    message = blow_up.what();
    EXPECT_EQ(blow_up.code(), ExitCode::blow_up);
  }

  if (message.empty()) return message;
  EXPECT_EQ(state.step, 1);
  EXPECT_EQ(state.impulses.size(), n_impulses);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(std::memcmp(&state.body[i].twist, &before[i].twist, sizeof(Twist)), 0);
    EXPECT_EQ(std::memcmp(&state.body[i].pose.p, &before[i].pose.p, sizeof(Vec3)), 0);
  }
  return message;
}

TEST(SpoiltState, EndsEveryRankWithTheBodysName) {
  const Spoil spoils[] = {[](BodyMotionState& s) { s.twist.v.y() = kNan; },
                          [](BodyMotionState& s) { s.twist.w.z() = kNan; },
                          [](BodyMotionState& s) { s.twist.v.x() = -kInf; },
                          [](BodyMotionState& s) { s.pose.p.z() = kNan; },
                          [](BodyMotionState& s) { s.pose.p.x() = kInf; },
                          [](BodyMotionState& s) { s.pose.q.w() = kNan; },
                          [](BodyMotionState& s) { s.pose.p = Vec3::Constant(kNan); }};
  int number = 0;
  for (const Spoil spoil : spoils) {
    const std::string message = message_of(spoil);
    EXPECT_NE(message.find("step 2: the state of body grains-37 (id 38) is not finite"),
              std::string::npos)
        << number << ": " << message;
    ++number;
  }
}

TEST(SpoiltState, IsTheOnlyCause) {
  EXPECT_EQ(message_of([](BodyMotionState&) {}), "");
}

}  // namespace
}  // namespace catena
