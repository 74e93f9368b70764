// A controller in C++: a pendulum that stands on its hinge is held there by a motor whose torque is
// set before every step. Runs on any number of ranks.
#include <cmath>
#include <cstdio>

#include "catena/comm/communicator.hpp"
#include "catena/simulation/simulation.hpp"

int main() {
  using namespace catena;
  const Communicator comm = Communicator::world();

  Simulation sim(comm, parse_case(R"(
catena: 1
name: pendulum
bodies: [{name: rod, mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.05, 0, 1]}]
joints: [{name: hinge, type: revolute, between: [world, rod], at: [0, 0, 0], axis: [0, 1, 0], motor: {force: 0}}]
time: {step: 1 ms, end: 3 s}
)",
                                  "pendulum", "."));
  const GlobalId rod = sim.scene().body("rod"), hinge = sim.scene().joint("hinge");
  const auto tilt = [rod](Simulation& s) {
    const Vec3 p = s.scene().body_state(rod).pose.p;
    return std::atan2(p.x(), p.z());
  };
  sim.before_each_step([=](Simulation& s) {
    const double rate = s.scene().body_state(rod).twist.w.y();
    s.scene().set_motor_target(hinge, -30.0 * tilt(s) - 6.0 * rate);  // N m
  });
  while (sim.state().step < sim.n_steps()) sim.step();

  const double left = tilt(sim);
  if (comm.rank() == 0) std::printf("tilt after %.1f s: %.2e rad\n", sim.state().time, left);
  return std::abs(left) < 1e-3 ? 0 : 1;
}
