// Short cases under the stepper natural, and references of their own: classical Runge-Kutta at
// steps far below those of the runs.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/case_text.hpp"
#include "support/gravity.hpp"

namespace catena::test {

/// A case from its bodies, joints and forces; `natural` is what stands under time.natural.
std::unique_ptr<Simulation> natural_run(const Communicator& comm, const std::string& text,
                                        const std::string& step,
                                        const std::string& natural = "scheme: rk4");
std::unique_ptr<Simulation> natural_run(const std::string& text, const std::string& step,
                                        const std::string& natural = "scheme: rk4");

/// Steps until t, which is a whole number of steps.
const StepReport& run_to(Simulation& sim, double t);

/// On one rank.
const JointState& joint(const Simulation& sim, GlobalId id);

/// Kinetic and potential energy.
inline double energy(const StepReport& r) { return r.kinetic + r.potential; }

using VectorX = Eigen::VectorXd;

/// y' = f(t, y) from 0 to t in n steps.
VectorX integrated(const std::function<VectorX(double, const VectorX&)>& f, VectorX y, double t,
                   int n);

/// Orders between neighbours of errors at steps halved.
std::vector<double> orders(const std::vector<double>& errors);

Vec3 three(const VectorX& y, int first);
Quat quat(const VectorX& y, int first);
/// q' = omega q / 2.
Eigen::Vector4d quat_rate(const Quat& q, const Vec3& omega);

/// A body that turns anyhow.
struct Link {
  double mass;
  Vec3 inertia;
  Quat q;
  Vec3 omega;
};
/// Its entry among `bodies`.
std::string text_of(const std::string& name, const Link& link, const Vec3& p, const Vec3& v);

/// Two equal balls with arms that meet, one moving at 2 m/s across them: joined by a ball joint at
/// the start, which their velocities do not allow.
inline constexpr const char* kTwoArms =
    "gravity: [0, 0, 0]\nbodies:\n"
    "  - {name: a, mass: 1, inertia: [0.1, 0.1, 0.1], position: [-0.5, 0, 0]}\n"
    "  - {name: b, mass: 1, inertia: [0.1, 0.1, 0.1], position: [0.5, 0, 0], velocity: [0, 2, "
    "0]}\n"
    "joints: [{name: ball, type: spherical, between: [a, b], at: [0, 0, 0]}]";

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
