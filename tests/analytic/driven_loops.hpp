// Closed loops with a motor in their first joint, in 3-D, as YAML.
#pragma once

#include <string>

#include "analytic/rods.hpp"

namespace catena::test {

/// Sizes and masses of a mechanism.
struct Scale {
  double length = 1.0;   ///< m
  double density = 1.0;  ///< kg/m^3 of a cube of that length
  double mass() const { return density * length * length * length; }
};

struct Loop {
  const char* name;
  /// `motor`, `second`: more keys of the first and of the last joint, each after a comma.
  std::string (*make)(const Scale& scale, const std::string& motor, const std::string& second);
};

/// Square prisms, 0.1 of the length unit thick, in a frame that is turned away from all axes.
class Prisms {
 public:
  explicit Prisms(const Scale& s) : s_(s) {}
  void rod(const std::string& name, const Vec3& from, const Vec3& to) {
    const double m = s_.mass() * 0.01 * (to - from).norm(), l = s_.length * (to - from).norm();
    const double w = 0.1 * s_.length;
    const Vec3 way = turn_ * (to - from);
    const Quat q = Quat::FromTwoVectors(Vec3::UnitX(), way);
    text_ +=
        "  - {name: " + name + ", mass: " + text_of(m) + ", inertia: " +
        text_of(Vec3(m / 6.0 * w * w, m / 12.0 * (w * w + l * l), m / 12.0 * (w * w + l * l))) +
        ", position: " + text_of(Vec3(0.5 * s_.length * (turn_ * (from + to)))) +
        ", orientation: " + text_of(q) + "}\n";
  }
  void joint(const std::string& type, const std::string& a, const std::string& b, const Vec3& at,
             const Vec3& axis, const std::string& keys = "") {
    joints_ += "  - {name: j" + std::to_string(n_++) + ", type: " + type + ", between: [" + a +
               ", " + b + "], at: " + text_of(Vec3(s_.length * (turn_ * at))) +
               ", axis: " + text_of(Vec3(turn_ * axis)) + keys + "}\n";
  }
  std::string yaml() const {
    return "gravity: " + text_of(Vec3(turn_ * Vec3(0, -9.81, 0))) + "\nbodies:\n" + text_ +
           "joints:\n" + joints_;
  }

 private:
  Scale s_;
  const Quat turn_ = Quat(0.5, 0.3, -0.7, 0.2).normalized();
  std::string text_, joints_;
  int n_ = 0;
};

inline std::string four_bar(const Scale& scale, const std::string& motor,
                            const std::string& second = "") {
  Prisms p(scale);
  const Vec3 a(0, 0, 0), b(0, 0.4, 0), c(1, 0.9, 0), d(1.1, 0, 0), z(0, 0, 1);
  p.rod("crank", a, b);
  p.rod("coupler", b, c);
  p.rod("rocker", c, d);
  p.joint("revolute", "world", "crank", a, z, motor);
  p.joint("revolute", "crank", "coupler", b, z);
  p.joint("revolute", "coupler", "rocker", c, z);
  p.joint("revolute", "rocker", "world", d, z, second);
  return p.yaml();
}

inline std::string slider_crank(const Scale& scale, const std::string& motor,
                                const std::string& /*second*/ = "") {
  Prisms p(scale);
  const Vec3 a(0, 0, 0), b(0, 0.4, 0), c(1, 0, 0), z(0, 0, 1);
  p.rod("crank", a, b);
  p.rod("rod", b, c);
  p.rod("slider", c - Vec3(0.1, 0, 0), c + Vec3(0.1, 0, 0));
  p.joint("revolute", "world", "crank", a, z, motor);
  p.joint("revolute", "crank", "rod", b, z);
  p.joint("revolute", "rod", "slider", c, z);
  p.joint("prismatic", "slider", "world", c, Vec3(1, 0, 0));
  return p.yaml();
}

inline std::string bricard(const Scale& scale, const std::string& motor,
                           const std::string& /*second*/ = "") {
  Prisms q(scale);
  const Vec3 p[] = {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}};
  const Vec3 axis[] = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}};
  for (std::size_t i = 0; i < 5; ++i) q.rod("rod" + std::to_string(i), p[i], p[i + 1]);
  for (std::size_t i = 0; i < 6; ++i)
    q.joint("revolute", i == 0 ? "world" : "rod" + std::to_string(i - 1),
            i == 5 ? "world" : "rod" + std::to_string(i), p[i], axis[i], i == 0 ? motor : "");
  return q.yaml();
}

/// Hinges whose axes meet in one point: three rows are redundant, but only while they do.
inline std::string spherical_four_bar(const Scale& scale, const std::string& motor,
                                      const std::string& /*second*/ = "") {
  Prisms p(scale);
  const Vec3 a = Vec3(1, 0, 0), b = Vec3(0.8, 0.5, 0.2).normalized(),
             c = Vec3(0.2, 0.7, 0.8).normalized(), d = Vec3(0.1, 0.1, 1).normalized();
  p.rod("crank", a, b);
  p.rod("coupler", b, c);
  p.rod("rocker", c, d);
  p.joint("revolute", "world", "crank", a, a, motor);
  p.joint("revolute", "crank", "coupler", b, b);
  p.joint("revolute", "coupler", "rocker", c, c);
  p.joint("revolute", "rocker", "world", d, d);
  return p.yaml();
}

/// A triangle: nothing can move.
inline std::string truss(const Scale& scale, const std::string& motor,
                         const std::string& /*second*/ = "") {
  Prisms p(scale);
  const Vec3 a(0, 0, 0), b(0.5, 0.8, 0), c(1, 0, 0), z(0, 0, 1);
  p.rod("left", a, b);
  p.rod("right", b, c);
  p.joint("revolute", "world", "left", a, z, motor);
  p.joint("revolute", "left", "right", b, z);
  p.joint("revolute", "right", "world", c, z);
  return p.yaml();
}

}  // namespace catena::test
