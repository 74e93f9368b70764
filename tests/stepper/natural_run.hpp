// Short cases under the stepper natural, and references of their own: classical Runge-Kutta at
// steps far below those of the runs.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "catena/simulation/simulation.hpp"

namespace catena::test {

/// A case from its bodies, joints and forces; `natural` is what stands under time.natural.
inline std::unique_ptr<Simulation> natural_run(const Communicator& comm, const std::string& text,
                                               const std::string& step,
                                               const std::string& natural = "scheme: rk4") {
  const std::string whole = "catena: 1\nname: natural\n" + text +
                            "\ntime: {stepper: natural, step: " + step + ", end: 1000, natural: {" +
                            natural + "}}\n";
  return std::make_unique<Simulation>(comm, parse_case(whole, "natural.yaml", ".", {}));
}
inline std::unique_ptr<Simulation> natural_run(const std::string& text, const std::string& step,
                                               const std::string& natural = "scheme: rk4") {
  return natural_run(Communicator::self(), text, step, natural);
}

/// Steps until t, which is a whole number of steps.
inline const StepReport& run_to(Simulation& sim, double t) {
  const std::int64_t last = std::llround(t / sim.settings().time.step);
  while (sim.state().step < last) sim.step();
  return sim.stepper().report();
}

/// On one rank.
inline const BodyMotionState& body(const Simulation& sim, GlobalId id) {
  for (std::size_t i = 0; i < sim.bodies().constants.size(); ++i)
    if (sim.bodies().constants[i].id == id) return sim.state().body[i];
  throw std::logic_error("no such body");
}
inline std::size_t place_of_joint(const Simulation& sim, GlobalId id) {
  for (std::size_t j = 0; j < sim.bodies().joints.size(); ++j)
    if (sim.bodies().joints[j].id == id) return j;
  throw std::logic_error("no such joint");
}
inline const JointState& joint(const Simulation& sim, GlobalId id) {
  return sim.state().joints[place_of_joint(sim, id)];
}

/// Kinetic and potential energy.
inline double energy(const StepReport& r) { return r.kinetic + r.potential; }

using VectorX = Eigen::VectorXd;

/// y' = f(t, y) from 0 to t in n steps.
inline VectorX integrated(const std::function<VectorX(double, const VectorX&)>& f, VectorX y,
                          double t, int n) {
  const double h = t / n;
  for (int i = 0; i < n; ++i) {
    const double now = t * i / n;
    const VectorX k1 = f(now, y), k2 = f(now + 0.5 * h, y + 0.5 * h * k1),
                  k3 = f(now + 0.5 * h, y + 0.5 * h * k2), k4 = f(now + h, y + h * k3);
    y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  return y;
}

/// Orders between neighbours of errors at steps halved.
inline std::vector<double> orders(const std::vector<double>& errors) {
  std::vector<double> out;
  for (std::size_t i = 1; i < errors.size(); ++i)
    out.push_back(std::log2(errors[i - 1] / errors[i]));
  return out;
}

/// A free mechanism with every joint that is no driver and every spring; laminae, rods, a point.
inline constexpr const char* kAllJoints =
    "gravity: [0, 0, 0]\nbodies:\n"
    "  - {name: a, mass: 1, inertia: [0.05, 0.04, 0.03], position: [0, 0, 0], angular_velocity: "
    "[1, 2, "
    "-1]}\n"
    "  - {name: b, mass: 1.5, inertia: [0.05, 0.04, 0.09], position: [1, 0.1, 0], velocity: [0.3, "
    "1, 0]}\n"
    "  - {name: c, mass: 0.7, inertia: [0.06, 0.05, 0.04], position: [2, 0.2, 0.3], velocity: [0, "
    "1, "
    "-1], orientation: {quaternion: [0.9, 0.1, 0.3, -0.2]}}\n"
    "  - {name: d, mass: 0.9, inertia: [0.06, 0.05, 0.04], position: [3, 0, 0.1], velocity: [1, 0, "
    "1]}\n"
    "  - {name: e, mass: 1.1, inertia: [0.07, 0.05, 0.12], position: [4, 0.2, 0], velocity: [0, "
    "-1, 1], "
    "angular_velocity: [2, 0, 1]}\n"
    "  - {name: f, mass: 0.8, inertia: [0.06, 0.05, 0.04], position: [5, 0, 0.2], velocity: [0, 2, "
    "0]}\n"
    "  - {name: g, mass: 1.2, inertia: [0.06, 0.05, 0.03], position: [6, 0.1, 0], "
    "angular_velocity: [0, "
    "2, 2]}\n"
    "  - {name: h, mass: 0.6, inertia: [0.06, 0.05, 0.04], position: [7, 0, 0], velocity: [1, 1, "
    "1]}\n"
    "  - {name: rod, mass: 0.5, inertia: [0, 0.05, 0.05], position: [8, 0, 0], velocity: [0, 0, "
    "2]}\n"
    "  - {name: bead, mass: 0.4, inertia: [0, 0, 0], position: [9, 0, 0.5], velocity: [0, 1, 0]}\n"
    "joints:\n"
    "  - {name: weld, type: fixed, between: [a, b], at: [0.5, 0, 0.1]}\n"
    "  - {name: hinge, type: revolute, between: [b, c], at: [1.5, 0.1, 0.2], axis: [0.1, 1, 0.3]}\n"
    "  - {name: rail, type: prismatic, between: [c, d], at: [2.5, 0, 0], axis: [1, 0.2, -0.3]}\n"
    "  - {name: tube, type: cylindrical, between: [d, e], at: [3.5, 0.1, 0], axis: [0.4, 1, 0]}\n"
    "  - {name: cross, type: universal, between: [e, f], at: [4.5, 0, 0.1], axis: [0, 1, 0], "
    "axis_b: [0, "
    "0, 1]}\n"
    "  - {name: table, type: planar, between: [f, g], at: [5.5, 0, 0], axis: [0.2, 0.1, 1]}\n"
    "  - {name: slot, type: point_on_line, between: [g, h], at: [6.5, 0.1, 0], axis: [0.3, 1, "
    "0.5]}\n"
    "  - {name: ball, type: spherical, between: [h, rod], at: [7.5, 0, 0]}\n"
    "  - {name: link, type: distance, between: [rod, bead], at: [[8.5, 0, 0], [9, 0, 0.5]]}\n"
    "forces:\n"
    "  - {name: coil, type: spring, between: [c, d], at: [[2, 0.2, 0.3], [3, 0, 0.1]], stiffness: "
    "20, "
    "length: 0.8}\n"
    "  - {name: twist, type: torsional_spring, between: [b, c], at: [1.5, 0.1, 0.2], axis: [0.1, "
    "1, 0.3], "
    "stiffness: 2, damping: 0.1, angle: 0.5}\n"
    "  - {name: shock, type: damper, between: [f, g], at: [[5, 0, 0.4], [6, 0.1, 0.2]], damping: "
    "0.3}\n";

}  // namespace catena::test
