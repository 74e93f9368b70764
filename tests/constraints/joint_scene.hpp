// Joints at random poses for the tests of their rows.
#pragma once

#include <array>
#include <random>

#include "catena/constraints/joint_rows.hpp"

namespace catena::test {

inline constexpr double kStep = 0.01;
inline constexpr std::array<double, 2> kNoTurns = {0.0, 0.0};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double number(double scale = 1.0) { return scale * (2.0 * uniform_(engine_) - 1.0); }
  Vec3 vector(double scale = 1.0) { return {number(scale), number(scale), number(scale)}; }
  Quat rotation();
  Pose pose();
  Twist twist() { return {vector(), vector()}; }

 private:
  std::mt19937 engine_;
  std::uniform_real_distribution<double> uniform_;
};

Pose times(const Pose& a, const Pose& b);
Pose inverse(const Pose& a);
Quat turn(const Vec3& axis, double angle);

/// Frame B in frame A so that the joint holds, at its coordinates `x`.
Pose held(const JointConstants& joint, const std::array<double, 3>& x);

/// A joint between two moving bodies, and their poses.
struct JointScene {
  JointConstants joint;
  JointPoses at;
  Model model;

  JointGeometry geometry(const std::array<double, 2>& angle = kNoTurns) const;
};

/// Every coordinate has a motor, so that they are all evaluated.
JointScene scene_of(JointType type, Random& random, const std::array<double, 3>& x);

/// The bodies moved: along velocity k of body j for `t`.
JointPoses moved(JointPoses at, std::size_t j, int k, double t);

double dot(const JointGeometry::Row& row, const Twist& twist);

}  // namespace catena::test
