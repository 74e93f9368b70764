// Joints between bodies in natural coordinates, of every kind and between bodies of every kind, for
// the tests of their equations.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "catena/constraints/joint_rows.hpp"
#include "stepper/natural/natural_joint.hpp"
#include "stepper/natural_random.hpp"

namespace catena::test {

using Rows = Eigen::Matrix<double, 6, 1>;

inline constexpr double kAlpha = 7.0;
inline constexpr double kNow = 0.3;  ///< s, in the step of the tables below
inline constexpr NaturalTime kTime{kNow, 0.2, 0.4};

/// What stands at a side of a joint.
enum class Side { general, lamina, kinematic, world };

/// A motor on a coordinate.
struct Motor {
  MotorKind kind = MotorKind::none;
  bool table = false;
};

/// A joint with its coordinates: displacements or angles, in the order of JointGeometry's axes.
struct Kind {
  std::string name;
  JointType type;
  std::array<Motor, 2> motor{};
};

std::vector<Kind> all_kinds();

/// A joint between two bodies: all that NaturalJoint reads.
struct Scene {
  Model model;
  JointConstants joint;
  std::array<Index, kJointBodies> body{kNoIndex, kNoIndex, kNoIndex};
  NaturalBodies bodies;
  std::array<Pose, 2> pose;
  std::array<Vec3, 2> inertia{Vec3::Zero(), Vec3::Zero()};
  std::array<double, 2> coordinate{};

  NaturalJoint made() const { return NaturalJoint(joint, body, bodies, model); }
  bool moves(std::size_t s) const {
    return body[s] != kNoIndex && bodies.dynamic[static_cast<std::size_t>(body[s])] != 0;
  }
  std::size_t at(std::size_t s) const { return static_cast<std::size_t>(body[s]); }
};

/// A joint whose bodies meet it, with motors whose targets are met at kNow; frames anywhere.
Scene make_scene(const Kind& kind, Side a, Side b, std::uint64_t seed);
/// The same with bodies moved off the joint, and axes off orthonormal by `off`.
Scene moved_scene(const Kind& kind, Side a, Side b, std::uint64_t seed, double off);

struct Stated {
  int rows = 0;
  std::array<Eigen::Matrix<double, 6, 6>, 2> jacobian;
  Rows q, misfit;
};
Stated state_of(const Scene& scene, const NaturalJoint& joint, const NaturalBodies& bodies,
                const NaturalTime& time);

/// Whether a row has no position: of a motor to a velocity, or a knife edge.
std::array<bool, 6> velocity_rows(const Scene& scene, int rows);

/// Both kinds of bodies at both sides.
const std::vector<std::array<Side, 2>>& all_sides();

/// Calls visit(scene, description) for every joint between every pair of sides.
template <class Visit>
void for_all(double off, const Visit& visit) {
  std::uint64_t seed = 1;
  for (const Kind& kind : all_kinds())
    for (const auto& side : all_sides()) {
      ++seed;
      const Scene scene = off < 0.0 ? make_scene(kind, side[0], side[1], seed)
                                    : moved_scene(kind, side[0], side[1], seed, off);
      visit(scene, kind.name + ", sides " + std::to_string(static_cast<int>(side[0])) +
                       std::to_string(static_cast<int>(side[1])));
    }
}

/// Moved by v and turned by w.
NaturalCoordinates turned(const NaturalCoordinates& s, const Vec3& v, const Vec3& w);

/// What the multipliers mu put on the bodies.
std::vector<NaturalLoad> held(const NaturalJoint& joint, const NaturalBodies& bodies,
                              const NaturalTime& time, const Rows& mu);

/// Multipliers, zero on rows without a position.
Rows some_multipliers(const Scene& scene, int rows, Random& random, bool positions_only);

}  // namespace catena::test
