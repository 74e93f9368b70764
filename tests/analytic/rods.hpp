// Mechanisms of uniform rods in the x-y plane, hinged about z, as YAML.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "analytic/case_runner.hpp"

namespace catena::test {

/// Bodies and joints of a case, both numbered in the order in which they were added.
struct Rods {
  struct Rod {
    std::string name;
    Vec3 from, to;  ///< at the start
  };
  std::vector<Rod> rods;
  std::string bodies, joints;
  int n_joints = 0;

  void add(const std::string& name, const Vec3& from, const Vec3& to, double mass,
           const Vec3& inertia, const Vec3& velocity, double spin) {
    bodies += "  - {name: " + name + ", mass: " + text_of(mass) + ", inertia: " + text_of(inertia) +
              ", position: " + text_of(Vec3(0.5 * (from + to))) +
              ", velocity: " + text_of(velocity) + ", angular_velocity: [0, 0, " + text_of(spin) +
              "]}\n";
    rods.push_back({name, from, to});
  }

  /// A uniform rod that turns about z only, so that its inertia may be the same about all axes.
  void add_plane(const std::string& name, const Vec3& from, const Vec3& to, double mass,
                 const Vec3& velocity = Vec3::Zero(), double spin = 0.0) {
    add(name, from, to, mass, Vec3::Constant(mass * (to - from).squaredNorm() / 12.0), velocity,
        spin);
  }

  /// `keys`: more keys of the joint, each after a comma.
  void hinge(const std::string& a, const std::string& b, const Vec3& at, const Vec3& axis,
             const std::string& keys = "") {
    joints += "  - {name: j" + std::to_string(n_joints++) + ", type: revolute, between: [" + a +
              ", " + b + "], at: " + text_of(at) + ", axis: " + text_of(axis) + keys + "}\n";
  }

  /// `rest`: time and solver.
  std::string yaml(const std::string& rest) const {
    return "gravity: [0, -9.81, 0]\nbodies:\n" + bodies + "joints:\n" + joints + rest;
  }

  /// Where the end of rod k is now.
  Vec3 end(const Simulation& sim, std::size_t k) const {
    const BodyMotionState& s = body_of(sim, static_cast<GlobalId>(k));
    return s.pose.p + s.pose.q * Vec3(0.5 * (rods[k].to - rods[k].from));
  }

  /// Velocity of the end of rod k.
  Vec3 end_velocity(const Simulation& sim, std::size_t k) const {
    const BodyMotionState& s = body_of(sim, static_cast<GlobalId>(k));
    return s.twist.v + s.twist.w.cross(end(sim, k) - s.pose.p);
  }
};

/// Rods of equal length hanging from the origin one at the other, rod k at the angle theta[k] from
/// the downward vertical.
inline Rods hanging_rods(const std::vector<double>& theta, double mass, double length) {
  Rods out;
  Vec3 at = Vec3::Zero();
  for (std::size_t k = 0; k < theta.size(); ++k) {
    const Vec3 to = at + length * Vec3(std::sin(theta[k]), -std::cos(theta[k]), 0.0);
    out.add_plane("r" + std::to_string(k), at, to, mass);
    out.hinge(k == 0 ? "world" : "r" + std::to_string(k - 1), "r" + std::to_string(k), at,
              Vec3::UnitZ());
    at = to;
  }
  return out;
}

inline std::string time_of(double step, const std::string& solver = "{}") {
  return "time: {step: " + text_of(step) + ", end: 100}\nsolver: " + solver + "\n";
}

}  // namespace catena::test
