// Equations of joints in natural coordinates: rows, forces and their rates beside differences of
// the constraints, and every joint beside its rows in JointGeometry.
#include "stepper/natural/natural_joint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/constraints/joint_rows.hpp"
#include "stepper/natural_random.hpp"

namespace catena::test {
namespace {

using Eigen::VectorXd;
using Rows = Eigen::Matrix<double, 6, 1>;

constexpr double kAlpha = 7.0;
constexpr double kNow = 0.3;  ///< s, in the step of the tables below
constexpr NaturalTime kTime{kNow, 0.2, 0.4};

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

std::vector<Kind> all_kinds() {
  const Motor none, fixed{MotorKind::position, false}, moved{MotorKind::position, true},
      speed{MotorKind::velocity, false}, speeds{MotorKind::velocity, true};
  std::vector<Kind> kinds;
  const auto add = [&](const char* name, JointType type, int axes) {
    kinds.push_back({name, type, {}});
    const std::vector<Motor> motors = {none, fixed, moved, speed, speeds};
    for (const Motor& first : motors)
      for (const Motor& second : motors) {
        const bool any = first.kind != MotorKind::none || second.kind != MotorKind::none;
        if (!any || axes == 0 || (axes == 1 && second.kind != MotorKind::none)) continue;
        const auto text = [](const Motor& m) {
          if (m.kind == MotorKind::none) return std::string(" -");
          return std::string(m.kind == MotorKind::position ? " position" : " velocity") +
                 (m.table ? " table" : "");
        };
        kinds.push_back({name + text(first) + text(second), type, {first, second}});
      }
  };
  add("fixed", JointType::fixed, 0);
  add("spherical", JointType::spherical, 0);
  add("revolute", JointType::revolute, 1);
  add("prismatic", JointType::prismatic, 1);
  add("cylindrical", JointType::cylindrical, 2);
  add("universal", JointType::universal, 2);
  add("planar", JointType::planar, 1);
  add("point_on_line", JointType::point_on_line, 1);
  add("distance", JointType::distance, 1);
  return kinds;
}

/// Pose of frame B in frame A at the joint's first and second coordinate; what the joint leaves
/// free besides is random.
Pose relative_pose(JointType type, const std::array<double, 2>& x, Random& random) {
  const auto turn = [](double angle) { return Quat(Eigen::AngleAxisd(angle, Vec3::UnitZ())); };
  Pose out;
  switch (type) {
    case JointType::fixed:
      break;
    case JointType::spherical:
      out.q = random.rotation();
      break;
    case JointType::revolute:
      out.q = turn(x[0]);
      break;
    case JointType::prismatic:
      out.p = {0.0, 0.0, x[0]};
      break;
    case JointType::cylindrical:
      out.p = {0.0, 0.0, x[0]};
      out.q = turn(x[1]);
      break;
    case JointType::universal: {
      // both angles are 0 where z_B = x_A, x_B = z_A
      Mat3 zero;
      zero.col(0) = Vec3::UnitZ();
      zero.col(1) = -Vec3::UnitY();
      zero.col(2) = Vec3::UnitX();
      out.q = turn(x[0]) * Quat(zero) * turn(x[1]);
      break;
    }
    case JointType::planar:
      out.p = {x[0], random.number(), 0.0};
      out.q = turn(random.number());
      break;
    case JointType::point_on_line:
      out.p = {0.0, 0.0, x[0]};
      out.q = random.rotation();
      break;
    case JointType::distance:
      out.p = x[0] * random.vector().normalized();
      out.q = random.rotation();
      break;
    default:
      out.p = random.vector();
      out.q = random.rotation();
  }
  return out;
}

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

NaturalCoordinates placed(const Pose& pose) { return {pose.p, pose.q.toRotationMatrix()}; }

void set_mass(Scene& scene, std::size_t s, Side side, Random& random) {
  if (side == Side::world) return;
  NaturalBodies& b = scene.bodies;
  scene.body[s] = static_cast<Index>(b.dynamic.size());
  b.dynamic.push_back(side == Side::kinematic ? 0 : 1);
  NaturalMass mass;
  if (side == Side::general) scene.inertia[s] = {0.3, 0.5, 0.4};
  if (side == Side::lamina) {
    const int k = std::abs(static_cast<int>(10.0 * random.number())) % 3;
    scene.inertia[s] = {0.3, 0.3, 0.3};
    scene.inertia[s][(k + 1) % 3] = 0.25;
    scene.inertia[s][k] = 0.55;
  }
  if (side != Side::kinematic) mass = natural_mass(1.3, scene.inertia[s]);
  b.mass.push_back(mass);
  b.place.push_back(placed(scene.pose[s]));
  b.correction.emplace_back();
  b.rate.emplace_back();
  b.twist.emplace_back();
  b.load.emplace_back();
}

/// A joint whose bodies meet it, with motors whose targets are met at kNow; frames anywhere.
Scene make_scene(const Kind& kind, Side a, Side b, std::uint64_t seed) {
  Random random(seed);
  Scene scene;
  JointConstants& joint = scene.joint;
  joint.id = 0;
  scene.model.joint_names.add(0, 1, "link", false);
  joint.type = kind.type;
  joint.length = 0.8;
  for (std::size_t k = 0; k < 2; ++k) {
    joint.frame[k] = {random.vector(), random.rotation()};
    scene.coordinate[k] = 0.5 + 1.2 * random.number();
  }
  if (kind.type == JointType::distance)
    scene.coordinate[0] = kind.motor[0].kind == MotorKind::none ? 0.8 : 1.1;
  const std::array<Side, 2> side = {a, b};
  scene.pose[0] = a == Side::world ? Pose{} : Pose{random.vector(), random.rotation()};
  const Pose frame_a{scene.pose[0].p + scene.pose[0].q * joint.frame[0].p,
                     scene.pose[0].q * joint.frame[0].q};
  const Pose relative = relative_pose(kind.type, scene.coordinate, random);
  const Pose frame_b{frame_a.p + frame_a.q * relative.p, frame_a.q * relative.q};
  if (b == Side::world) {
    joint.frame[1] = frame_b;
  } else {
    scene.pose[1].q = frame_b.q * joint.frame[1].q.conjugate();
    scene.pose[1].p = frame_b.p - scene.pose[1].q * joint.frame[1].p;
  }
  for (std::size_t k = 0; k < 2; ++k) {
    set_mass(scene, k, side[k], random);
    JointAxis& axis = joint.axis[k];
    axis.motor = kind.motor[k].kind;
    if (axis.motor == MotorKind::none) continue;
    const double slope = random.number();
    axis.target = axis.motor == MotorKind::position ? scene.coordinate[k] : slope;
    if (!kind.motor[k].table) continue;
    axis.table = static_cast<int>(scene.model.tables.size());
    const double now = axis.target;
    scene.model.tables.push_back({{0.0, 1.0}, {now - slope * kNow, now + slope * (1.0 - kNow)}});
  }
  return scene;
}

/// The same with bodies moved off the joint, and axes off orthonormal by `off`.
Scene moved_scene(const Kind& kind, Side a, Side b, std::uint64_t seed, double off) {
  Scene scene = make_scene(kind, a, b, seed);
  Random random(seed + 1000);
  for (std::size_t s = 0; s < 2; ++s) {
    if (!scene.moves(s)) continue;
    NaturalCoordinates& place = scene.bodies.place[scene.at(s)];
    place.r += 0.1 * random.vector();
    place.a = Quat(1.0, 0.2 * random.number(), 0.1, -0.1).normalized().toRotationMatrix() * place.a;
    place.a += off * random.matrix();
    complete_axes(scene.bodies.mass[scene.at(s)], place);
  }
  return scene;
}

struct Stated {
  int rows = 0;
  std::array<Eigen::Matrix<double, 6, 6>, 2> jacobian;
  Rows q, misfit;
};

Stated state_of(const Scene& scene, const NaturalJoint& joint, const NaturalBodies& bodies,
                const NaturalTime& time) {
  std::array<std::array<double, 36>, 2> numbers{};
  std::array<double*, 2> out{};
  for (std::size_t s = 0; s < 2; ++s)
    if (scene.body[s] != kNoIndex) out[s] = numbers[s].data();
  Stated stated;
  stated.rows = joint.rows();
  stated.q.setZero();
  stated.misfit.setZero();
  joint.state(bodies, time, kAlpha, out, stated.q.data(), stated.misfit.data());
  for (std::size_t s = 0; s < 2; ++s)
    for (int r = 0; r < 6; ++r)
      for (int c = 0; c < 6; ++c)
        stated.jacobian[s](r, c) = numbers[s][static_cast<std::size_t>(6 * r + c)];
  return stated;
}

/// Whether a row has no position: of a motor to a velocity, or a knife edge.
std::array<bool, 6> velocity_rows(const Scene& scene, int rows) {
  std::array<bool, 6> out{};
  if (scene.joint.type == JointType::knife_edge) out[0] = true;
  int row = rows;
  for (std::size_t k = 2; k-- > 0;) {
    if (scene.joint.axis[k].motor == MotorKind::none) continue;
    --row;
    out[static_cast<std::size_t>(row)] = scene.joint.axis[k].motor == MotorKind::velocity;
  }
  return out;
}

/// Both kinds of bodies at both sides.
const std::vector<std::array<Side, 2>>& all_sides() {
  static const std::vector<std::array<Side, 2>> kSides = {
      {Side::general, Side::general},   {Side::lamina, Side::general},
      {Side::general, Side::lamina},    {Side::lamina, Side::lamina},
      {Side::world, Side::general},     {Side::general, Side::world},
      {Side::kinematic, Side::general}, {Side::lamina, Side::kinematic},
      {Side::world, Side::lamina}};
  return kSides;
}

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

NaturalCoordinates turned(const NaturalCoordinates& s, const Vec3& v, const Vec3& w) {
  const double angle = w.norm();
  const Mat3 turn =
      angle > 0.0 ? Eigen::AngleAxisd(angle, w / angle).toRotationMatrix() : Mat3::Identity();
  return {s.r + v, turn * s.a};
}

TEST(NaturalJoint, RowsAreTheRatesOfMisfitsOnRigidMotions) {
  for (const double off : {0.0, 0.05})
    for_all(off, [&](const Scene& scene, const std::string& what) {
      const NaturalJoint joint = scene.made();
      const Stated at = state_of(scene, joint, scene.bodies, kTime);
      const std::array<bool, 6> velocity = velocity_rows(scene, joint.rows());
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        for (int d = 0; d < 6; ++d) {
          constexpr double kSmall = 1e-4;
          const Vec3 v = d < 3 ? Vec3(kSmall * Vec3::Unit(d)) : Vec3(Vec3::Zero());
          const Vec3 w = d < 3 ? Vec3(Vec3::Zero()) : Vec3(kSmall * Vec3::Unit(d - 3));
          NaturalBodies there = scene.bodies, back = scene.bodies;
          there.place[scene.at(s)] = turned(there.place[scene.at(s)], v, w);
          back.place[scene.at(s)] = turned(back.place[scene.at(s)], -v, -w);
          const Rows rate = (state_of(scene, joint, there, kTime).misfit -
                             state_of(scene, joint, back, kTime).misfit) /
                            (2.0 * kSmall);
          for (int r = 0; r < at.rows; ++r) {
            if (velocity[static_cast<std::size_t>(r)]) continue;
            // third derivatives times 1e-8 / 6
            EXPECT_NEAR(at.jacobian[s](r, d), rate[r], 3e-8) << what << ", row " << r;
          }
        }
      }
    });
}

TEST(NaturalJoint, RightHandSidesAreRatesOfDriversLessMisfitsAndCorrections) {
  // q = -alpha f - df/dt - C s'_correction
  for_all(0.05, [&](const Scene& original, const std::string& what) {
    Scene scene = original;
    Random random(77);
    for (std::size_t s = 0; s < 2; ++s) {
      if (!scene.moves(s)) continue;
      NaturalCoordinates& c = scene.bodies.correction[scene.at(s)];
      c.a = random.matrix();
      complete_rates(scene.bodies.mass[scene.at(s)], scene.bodies.place[scene.at(s)], c);
    }
    const NaturalJoint joint = scene.made();
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    const std::array<bool, 6> velocity = velocity_rows(scene, joint.rows());
    // misfits are quadratic in s: steps of any length give their rate
    NaturalBodies there = scene.bodies, back = scene.bodies;
    for (std::size_t b = 0; b < there.place.size(); ++b) {
      there.place[b].a += 0.1 * scene.bodies.correction[b].a;
      back.place[b].a -= 0.1 * scene.bodies.correction[b].a;
    }
    const Rows by_correction =
        (state_of(scene, joint, there, kTime).misfit - state_of(scene, joint, back, kTime).misfit) /
        0.2;
    NaturalTime later = kTime, earlier = kTime;
    later.t += 1e-4;
    earlier.t -= 1e-4;
    const Rows by_time = (state_of(scene, joint, scene.bodies, later).misfit -
                          state_of(scene, joint, scene.bodies, earlier).misfit) /
                         2e-4;
    for (int r = 0; r < at.rows; ++r) {
      if (velocity[static_cast<std::size_t>(r)]) continue;
      EXPECT_NEAR(at.q[r], -kAlpha * at.misfit[r] - by_time[r] - by_correction[r], 3e-8)
          << what << ", row " << r;
    }
  });
}

/// Sum of mu_r f_r of the position rows.
double weighted(const Scene& scene, const NaturalJoint& joint, const NaturalBodies& bodies,
                const NaturalTime& time, const Rows& mu) {
  return mu.dot(state_of(scene, joint, bodies, time).misfit);
}

std::vector<NaturalLoad> held(const NaturalJoint& joint, const NaturalBodies& bodies,
                              const NaturalTime& time, const Rows& mu) {
  std::vector<NaturalLoad> load(bodies.place.size());
  joint.hold(bodies, time, mu.data(), load);
  return load;
}

/// Multipliers, zero on rows without a position.
Rows some_multipliers(const Scene& scene, int rows, Random& random, bool positions_only) {
  Rows mu = Rows::Zero();
  const std::array<bool, 6> velocity = velocity_rows(scene, rows);
  for (int r = 0; r < rows; ++r) {
    const double number = random.number();
    if (!positions_only || !velocity[static_cast<std::size_t>(r)]) mu[r] = number;
  }
  return mu;
}

TEST(NaturalJoint, HoldIsTheGradientOfConstraintsInNaturalCoordinates) {
  Random random(5);
  for_all(0.05, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Rows mu = some_multipliers(scene, joint.rows(), random, true);
    const std::vector<NaturalLoad> load = held(joint, scene.bodies, kTime, mu);
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      const auto b = scene.at(s);
      for (int column = 0; column < 4; ++column)
        for (int d = 0; d < 3; ++d) {
          const auto pushed = [&](double by) {
            NaturalBodies there = scene.bodies;
            Vec3 step = by * Vec3::Unit(d);
            if (column == 0)
              there.place[b].r += step;
            else
              there.place[b].a.col(column - 1) += step;
            return weighted(scene, joint, there, kTime, mu);
          };
          const double found = column == 0 ? load[b].hold.r[d] : load[b].hold.a(d, column - 1);
          const double expected = scene.moves(s) ? 0.5 * (pushed(1.0) - pushed(-1.0)) : 0.0;
          EXPECT_NEAR(found, expected, 1e-13) << what << ", body " << b << ", " << column << d;
        }
    }
  });
}

TEST(NaturalJoint, HoldOfVelocityRowsIsThatOfTheirRates) {
  // on rigid motions C T is the Jacobian, whatever the equation: T^T C^T mu = J^T mu
  Random random(6);
  for (const double off : {0.0, 0.05})
    for_all(off, [&](const Scene& scene, const std::string& what) {
      const NaturalJoint joint = scene.made();
      const Rows mu = some_multipliers(scene, joint.rows(), random, false);
      const Stated at = state_of(scene, joint, scene.bodies, kTime);
      const std::vector<NaturalLoad> load = held(joint, scene.bodies, kTime, mu);
      for (std::size_t s = 0; s < 2; ++s) {
        if (!scene.moves(s)) continue;
        const auto b = scene.at(s);
        const Rows expected = at.jacobian[s].transpose() * mu;
        Vec3 torque = Vec3::Zero();
        for (int k = 0; k < 3; ++k)
          torque += scene.bodies.place[b].a.col(k).cross(load[b].hold.a.col(k));
        EXPECT_LT((load[b].hold.r - expected.head<3>()).norm(), 1e-14) << what;
        EXPECT_LT((torque - expected.tail<3>()).norm(), 1e-14) << what;
      }
    });
}

TEST(NaturalJoint, RatesOfHoldAreItsDerivativeAlongAMotion) {
  Random random(7);
  for_all(0.05, [&](const Scene& original, const std::string& what) {
    Scene scene = original;
    for (std::size_t b = 0; b < scene.bodies.rate.size(); ++b) {
      scene.bodies.rate[b].r = random.vector();
      scene.bodies.rate[b].a = random.matrix();
    }
    const NaturalJoint joint = scene.made();
    Rows mu = some_multipliers(scene, joint.rows(), random, false);
    const std::vector<NaturalLoad> load = held(joint, scene.bodies, kTime, mu);
    std::array<std::vector<NaturalLoad>, 2> at;
    constexpr double kSmall = 1e-4;
    for (const int sign : {-1, 1}) {
      NaturalBodies there = scene.bodies;
      for (std::size_t b = 0; b < there.place.size(); ++b) {
        there.place[b].r += sign * kSmall * scene.bodies.rate[b].r;
        there.place[b].a += sign * kSmall * scene.bodies.rate[b].a;
      }
      NaturalTime time = kTime;
      time.t += sign * kSmall;
      at[sign > 0 ? 1 : 0] = held(joint, there, time, mu);
    }
    for (std::size_t b = 0; b < load.size(); ++b) {
      const Vec3 r = (at[1][b].hold.r - at[0][b].hold.r) / (2.0 * kSmall);
      const Mat3 a = (at[1][b].hold.a - at[0][b].hold.a) / (2.0 * kSmall);
      EXPECT_LT((load[b].rate.r - r).norm(), 1e-7) << what;
      EXPECT_LT((load[b].rate.a - a).norm(), 1e-7) << what;
    }
  });
}

TEST(NaturalJoint, AddsToLoadsThatAreThere) {
  const Scene scene =
      make_scene({"revolute", JointType::revolute, {}}, Side::general, Side::general, 3);
  const NaturalJoint joint = scene.made();
  const Rows mu = Rows::Constant(0.5);
  std::vector<NaturalLoad> once(2), twice(2);
  joint.hold(scene.bodies, kTime, mu.data(), once);
  joint.hold(scene.bodies, kTime, mu.data(), twice);
  joint.hold(scene.bodies, kTime, mu.data(), twice);
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_LT((twice[b].hold.a - 2.0 * once[b].hold.a).norm(), 1e-15);
    EXPECT_LT((twice[b].hold.r - 2.0 * once[b].hold.r).norm(), 1e-15);
  }
}

JointPoses poses_of(const Scene& scene) {
  JointPoses poses;
  for (std::size_t s = 0; s < 2; ++s)
    if (scene.body[s] != kNoIndex) poses.pose[s] = scene.pose[s];
  return poses;
}

JointGeometry geometry_of(const Scene& scene) {
  const JointPoses poses = poses_of(scene);
  return joint_geometry(scene.joint, poses,
                        joint_angles(scene.joint, poses, {0.0, 0.0}, scene.model), scene.model);
}

TEST(NaturalJoint, JointsThatAreMetHaveNoMisfitThereNorElsewhere) {
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    EXPECT_LT(at.misfit.norm(), 1e-14) << what;
    const JointGeometry geometry = geometry_of(scene);
    // where a distance is driven, its row is the motor's
    const bool driven_distance =
        scene.joint.type == JointType::distance && scene.joint.axis[0].motor != MotorKind::none;
    const int own = driven_distance ? 0 : geometry.rows;
    for (std::size_t r = 0; r < static_cast<std::size_t>(own); ++r)
      EXPECT_NEAR(geometry.misfit[r], 0.0, 1e-14) << what;
    for (std::size_t k = 0; k < static_cast<std::size_t>(geometry.axes); ++k)
      EXPECT_NEAR(geometry.coordinate[k], scene.coordinate[k], 1e-14) << what;
  });
}

TEST(NaturalJoint, DriverRowsAreThoseOfTheirCoordinates) {
  // a motor's row moves as its coordinate does, but for the scale of a distance
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    const JointGeometry geometry = geometry_of(scene);
    std::array<double, 6> rates{};
    joint.driver_rates(scene.bodies, kTime, rates.data());
    EXPECT_EQ(joint.is_driven(), geometry.axes > 0) << what;
    int row = joint.rows();
    for (std::size_t k = static_cast<std::size_t>(geometry.axes); k-- > 0;) {
      const JointAxis& axis = scene.joint.axis[k];
      if (axis.motor == MotorKind::none) continue;
      --row;
      const double scale =
          scene.joint.type == JointType::distance ? scene.coordinate[0] / scene.joint.length : 1.0;
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        for (int d = 0; d < 6; ++d)
          EXPECT_NEAR(at.jacobian[s](row, d),
                      scale * geometry.axis_jacobian[s][k][static_cast<std::size_t>(d)], 1e-14)
              << what << ", axis " << k;
      }
      double speed = 0.0;
      if (axis.table >= 0) {
        const ValueTable& table = scene.model.tables[static_cast<std::size_t>(axis.table)];
        speed = axis.motor == MotorKind::velocity ? table.at(kNow) : table.slope(kNow);
      } else if (axis.motor == MotorKind::velocity) {
        speed = axis.target;
      }
      EXPECT_NEAR(at.q[row], scale * speed, 1e-13) << what << ", axis " << k;
      EXPECT_NEAR(rates[static_cast<std::size_t>(row)], scale * speed, 1e-13) << what;
      EXPECT_EQ(joint.angular(row), geometry.axis_angular[k]) << what;
    }
    for (int r = 0; r < row; ++r) {
      EXPECT_EQ(rates[static_cast<std::size_t>(r)], 0.0) << what;
      EXPECT_NEAR(at.q[r], 0.0, 1e-13) << what;
    }
  });
}

TEST(NaturalJoint, MultipliersAsRowsPushAsTheJointsRowsDo) {
  Random random(8);
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Rows lambda = some_multipliers(scene, joint.rows(), random, false);
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    const JointGeometry geometry = geometry_of(scene);
    std::array<double, kJointRows> rows{};
    joint.as_rows(scene.bodies, lambda.data(), rows);
    // where a distance is driven, its row is the motor's
    const bool driven_distance = scene.joint.type == JointType::distance && geometry.axes > 0;
    const auto own = driven_distance ? std::size_t{0} : static_cast<std::size_t>(geometry.rows);
    std::size_t motors = 0;
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      Rows expected = at.jacobian[s].transpose() * lambda, found = Rows::Zero();
      for (std::size_t r = 0; r < own; ++r)
        for (std::size_t d = 0; d < 6; ++d)
          found[static_cast<int>(d)] += rows[r] * geometry.jacobian[s][r][d];
      motors = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(geometry.axes); ++k) {
        if (scene.joint.axis[k].motor == MotorKind::none) continue;
        for (std::size_t d = 0; d < 6; ++d)
          found[static_cast<int>(d)] += rows[own + motors] * geometry.axis_jacobian[s][k][d];
        ++motors;
      }
      EXPECT_LT((found - expected).norm(), 1e-13) << what;
    }
    for (std::size_t r = own + motors; r < kJointRows; ++r) EXPECT_EQ(rows[r], 0.0) << what;
    for (std::size_t r = 0; r < own; ++r)
      EXPECT_EQ(joint.angular(static_cast<int>(r)), geometry.angular[r]) << what;
  });
}

TEST(NaturalJoint, ReactionIsWhatTheRowsDoToBodyBAboutItsPoint) {
  Random random(9);
  for_all(-1.0, [&](const Scene& scene, const std::string& what) {
    const NaturalJoint joint = scene.made();
    const Rows lambda = some_multipliers(scene, joint.rows(), random, false);
    const Stated at = state_of(scene, joint, scene.bodies, kTime);
    Vec3 impulse, couple;
    joint.reaction(scene.bodies, kTime, lambda.data(), impulse, couple);
    const Vec3 p_b = scene.pose[1].p + scene.pose[1].q * scene.joint.frame[1].p;
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      const double sign = s == 1 ? 1.0 : -1.0;
      const Rows on = sign * at.jacobian[s].transpose() * lambda;
      const Vec3 about = on.tail<3>() - (p_b - scene.pose[s].p).cross(on.head<3>());
      EXPECT_LT((impulse - on.head<3>()).norm(), 1e-14) << what;
      EXPECT_LT((couple - about).norm(), 1e-13) << what;
    }
  });
}

TEST(NaturalJoint, AKnifeEdgeHoldsTheVelocityOfItsPointAcrossIt) {
  for (const Side a : {Side::world, Side::kinematic})
    for (const Side b : {Side::general, Side::lamina})
      for (const double off : {0.0, 0.05}) {
        const Kind kind{"edge", JointType::knife_edge, {}};
        Scene scene = moved_scene(kind, a, b, 4, off);
        const NaturalJoint joint = scene.made();
        ASSERT_EQ(joint.rows(), 1);
        const Stated at = state_of(scene, joint, scene.bodies, kTime);
        const NaturalCoordinates& place = scene.bodies.place[scene.at(1)];
        const Vec3 across = place.a * (scene.joint.frame[1].q * Vec3::UnitY());
        const Vec3 arm = place.a * scene.joint.frame[1].p;
        Random random(10);
        const Vec3 v = random.vector(), w = random.vector();
        Rows twist;
        twist << v, w;
        EXPECT_NEAR(at.jacobian[1].row(0).dot(twist), across.dot(v + w.cross(arm)), 1e-14);
        EXPECT_EQ(at.misfit[0], 0.0);
        if (a != Side::kinematic) continue;
        const Vec3 from_a = place.r + arm - scene.pose[0].p;
        EXPECT_NEAR(at.jacobian[0].row(0).dot(twist), -across.dot(v + w.cross(from_a)), 1e-14);
        if (off > 0.0) continue;
        // as JointGeometry has it, where it stands
        const Scene met = make_scene(kind, a, b, 4);
        const Stated there = state_of(met, met.made(), met.bodies, kTime);
        const JointGeometry geometry = geometry_of(met);
        for (std::size_t d = 0; d < 6; ++d) {
          EXPECT_NEAR(there.jacobian[0](0, static_cast<int>(d)), geometry.jacobian[0][0][d], 1e-14);
          EXPECT_NEAR(there.jacobian[1](0, static_cast<int>(d)), geometry.jacobian[1][0][d], 1e-14);
        }
      }
}

TEST(NaturalJoint, ForcesOfAKnifeEdgeAreItsRows) {
  Random random(11);
  Scene scene =
      moved_scene({"edge", JointType::knife_edge, {}}, Side::world, Side::general, 5, 0.05);
  scene.bodies.rate[0] = {random.vector(), random.matrix()};
  scene.bodies.correction[0].a = random.matrix();
  const NaturalJoint joint = scene.made();
  const Stated at = state_of(scene, joint, scene.bodies, kTime);
  Rows mu = Rows::Zero();
  mu[0] = 0.7;
  const NaturalLoad load = held(joint, scene.bodies, kTime, mu)[0];
  // row s' = v . (r' + sum c_k a_k'), v = sum y_k a_k
  const Vec3 c = scene.joint.frame[1].p, y = scene.joint.frame[1].q * Vec3::UnitY();
  const NaturalCoordinates &place = scene.bodies.place[0], &rate = scene.bodies.rate[0];
  const Vec3 v = place.a * y, dv = rate.a * y;
  EXPECT_LT((load.hold.r - 0.7 * v).norm(), 1e-15);
  EXPECT_LT((load.hold.a - 0.7 * v * c.transpose()).norm(), 1e-15);
  EXPECT_LT((load.rate.r - 0.7 * dv).norm(), 1e-15);
  EXPECT_LT((load.rate.a - 0.7 * dv * c.transpose()).norm(), 1e-15);
  EXPECT_NEAR(at.q[0], -v.dot(scene.bodies.correction[0].a * c), 1e-15);
  std::array<double, kJointRows> rows{};
  joint.as_rows(scene.bodies, mu.data(), rows);
  EXPECT_EQ(rows[0], 0.7);
}

TEST(NaturalJoint, VelocityMotorsTurnCorrectionsIntoTheirRate) {
  // the row's s' is u . (omega_B - omega_A), omega = sum a_k x a_k' / 2
  Random random(12);
  for (const JointType type : {JointType::revolute, JointType::cylindrical, JointType::universal})
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (type == JointType::revolute && axis == 1) continue;
      if (type == JointType::cylindrical && axis == 0) continue;  // slides
      Kind kind{"motor", type, {}};
      kind.motor[axis] = {MotorKind::velocity, false};
      Scene scene = moved_scene(kind, Side::general, Side::lamina, 20 + axis, 0.05);
      for (std::size_t s = 0; s < 2; ++s) {
        scene.bodies.correction[s].a = random.matrix();
        complete_rates(scene.bodies.mass[s], scene.bodies.place[s], scene.bodies.correction[s]);
      }
      const NaturalJoint joint = scene.made();
      const Stated at = state_of(scene, joint, scene.bodies, kTime);
      const std::size_t side = type == JointType::universal && axis == 1 ? 1 : 0;
      const Vec3 u = scene.bodies.place[side].a * (scene.joint.frame[side].q * Vec3::UnitZ());
      std::array<Vec3, 2> omega{Vec3::Zero(), Vec3::Zero()};
      for (std::size_t s = 0; s < 2; ++s)
        for (int k = 0; k < 3; ++k)
          omega[s] +=
              0.5 * scene.bodies.place[s].a.col(k).cross(scene.bodies.correction[s].a.col(k));
      EXPECT_NEAR(at.q[joint.rows() - 1],
                  scene.joint.axis[axis].target - u.dot(omega[1] - omega[0]), 1e-14);
    }
}

/// A spring of a scene with bodies that move rigidly.
Scene spring_scene(JointType type, Side a, Side b, std::uint64_t seed) {
  Scene scene = make_scene({"spring", JointType::distance, {}}, a, b, seed);
  Random random(seed + 500);
  scene.joint.type = type;
  scene.joint.stiffness = 11.0;
  scene.joint.damping = 0.6;
  scene.joint.length = type == JointType::spring ? 0.5 : 0.4;
  for (std::size_t s = 0; s < 2; ++s) {
    if (scene.body[s] == kNoIndex) continue;
    const Twist twist{random.vector(), random.vector()};
    scene.bodies.twist[scene.at(s)] = twist;
    NaturalCoordinates& rate = scene.bodies.rate[scene.at(s)];
    rate.r = twist.v;
    for (int k = 0; k < 3; ++k)
      rate.a.col(k) = twist.w.cross(scene.bodies.place[scene.at(s)].a.col(k));
  }
  return scene;
}

/// Force and torque of a load on a body.
Rows wrench_of(const NaturalMass& mass, const NaturalCoordinates& place, const NaturalLoad& load) {
  NaturalLoad folded = load;
  fold_axes(mass, place, {}, folded.hold.a, folded.rate.a);
  Rows out;
  Vec3 torque = Vec3::Zero();
  for (int k = 0; k < 3; ++k) torque += place.a.col(k).cross(folded.rate.a.col(k));
  out << folded.rate.r, torque;
  return out;
}

TEST(NaturalJoint, SpringsPullAsTheirEnergyFallsAndDampAlongTheirEnds) {
  for (const auto& side : all_sides()) {
    const Scene scene = spring_scene(JointType::spring, side[0], side[1], 31);
    const NaturalJoint joint = scene.made();
    EXPECT_EQ(joint.rows(), 0);
    EXPECT_TRUE(joint.is_spring());
    std::vector<NaturalLoad> load(scene.bodies.place.size());
    double power = 100.0, on_prescribed = 200.0;
    const double f = joint.pull(scene.bodies, 0.0, load, power, on_prescribed);

    // ends and their velocities
    std::array<Vec3, 2> end, speed;
    for (std::size_t s = 0; s < 2; ++s) {
      const Vec3 arm = scene.pose[s].q * scene.joint.frame[s].p;
      const Twist twist = scene.body[s] == kNoIndex ? Twist{} : scene.bodies.twist[scene.at(s)];
      end[s] = scene.pose[s].p + arm;
      speed[s] = twist.v + twist.w.cross(arm);
    }
    const Vec3 d = end[1] - end[0];
    const double rate = d.dot(speed[1] - speed[0]) / d.norm();
    const double expected = -11.0 * (d.norm() - 0.5) - 0.6 * rate;
    EXPECT_NEAR(f, expected, 1e-14);
    double of_prescribed = 0.0, of_all = 0.0;
    for (std::size_t s = 0; s < 2; ++s) {
      if (scene.body[s] == kNoIndex) continue;
      const Vec3 push = (s == 1 ? 1.0 : -1.0) * expected * d / d.norm();
      of_all += push.dot(speed[s]);
      if (!scene.moves(s)) {
        of_prescribed += push.dot(speed[s]);
        EXPECT_EQ(load[scene.at(s)].rate.r.norm(), 0.0);
        continue;
      }
      const Rows found = wrench_of(scene.bodies.mass[scene.at(s)], scene.bodies.place[scene.at(s)],
                                   load[scene.at(s)]);
      EXPECT_LT((found.head<3>() - push).norm(), 1e-14);
      EXPECT_LT((found.tail<3>() - (end[s] - scene.pose[s].p).cross(push)).norm(), 1e-14);
      EXPECT_EQ(load[scene.at(s)].hold.r.norm() + load[scene.at(s)].hold.a.norm(), 0.0);
    }
    EXPECT_NEAR(power, 100.0 + of_all, 1e-12);
    EXPECT_NEAR(on_prescribed, 200.0 + of_prescribed, 1e-12);

    Vec3 impulse, couple;
    joint.spring_reaction(scene.bodies, 2.5, impulse, couple);
    EXPECT_LT((impulse - 2.5 * d / d.norm()).norm(), 1e-14);
    EXPECT_EQ(couple.norm(), 0.0);
  }
}

TEST(NaturalJoint, TorsionSpringsTwistAboutTheirAxisThroughManyTurns) {
  for (const auto& side : all_sides())
    for (const int turns : {0, 3, -2}) {
      Scene scene = make_scene({"hinge", JointType::revolute, {}}, side[0], side[1], 32);
      Random random(33);
      scene.joint.type = JointType::torsion_spring;
      scene.joint.stiffness = 11.0;
      scene.joint.damping = 0.6;
      scene.joint.length = 0.4;
      std::array<Vec3, 2> omega{Vec3::Zero(), Vec3::Zero()};
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        omega[s] = random.vector();
        scene.bodies.twist[scene.at(s)].w = omega[s];
      }
      const NaturalJoint joint = scene.made();
      std::vector<NaturalLoad> load(scene.bodies.place.size());
      double power = 100.0, on_prescribed = 200.0;
      const double angle = scene.coordinate[0] + 2.0 * M_PI * turns;

      // what is known of the angle is off by less than half a turn
      const double torque = joint.pull(scene.bodies, angle + 2.0, load, power, on_prescribed);

      const Vec3 z = scene.pose[0].q * (scene.joint.frame[0].q * Vec3::UnitZ());
      const double expected = -11.0 * (angle - 0.4) - 0.6 * z.dot(omega[1] - omega[0]);
      EXPECT_NEAR(torque, expected, 1e-12);
      double of_prescribed = 0.0, of_all = 0.0;
      for (std::size_t s = 0; s < 2; ++s) {
        if (scene.body[s] == kNoIndex) continue;
        const Vec3 twist = (s == 1 ? 1.0 : -1.0) * expected * z;
        of_all += twist.dot(omega[s]);
        if (!scene.moves(s)) {
          of_prescribed += twist.dot(omega[s]);
          continue;
        }
        const Rows found = wrench_of(scene.bodies.mass[scene.at(s)],
                                     scene.bodies.place[scene.at(s)], load[scene.at(s)]);
        EXPECT_EQ(found.head<3>().norm(), 0.0);
        EXPECT_LT((found.tail<3>() - twist).norm(), 1e-12);
      }
      EXPECT_NEAR(power, 100.0 + of_all, 1e-10);
      EXPECT_NEAR(on_prescribed, 200.0 + of_prescribed, 1e-10);
      Vec3 impulse, couple;
      joint.spring_reaction(scene.bodies, 2.5, impulse, couple);
      EXPECT_EQ(impulse.norm(), 0.0);
      EXPECT_LT((couple - 2.5 * z).norm(), 1e-14);
    }
}

TEST(NaturalJoint, AStepUsesATablesSlopeInsideOfIt) {
  Kind kind{"guide", JointType::prismatic, {}};
  kind.motor[0] = {MotorKind::position, true};
  Scene scene = make_scene(kind, Side::world, Side::general, 6);
  scene.model.tables[0] = {{0.0, 1.0, 2.0}, {0.0, 3.0, 8.0}};
  const NaturalJoint joint = scene.made();
  std::array<double, 6> rates{};
  // t = 1 as the end of one step and as the start of the next; before the first row nothing moves
  joint.driver_rates(scene.bodies, {1.0, 0.5, 1.0}, rates.data());
  EXPECT_EQ(rates[5], 3.0);
  joint.driver_rates(scene.bodies, {1.0, 1.0, 1.5}, rates.data());
  EXPECT_EQ(rates[5], 5.0);
  joint.driver_rates(scene.bodies, {0.0, 0.0, 0.5}, rates.data());
  EXPECT_EQ(rates[5], 3.0);
  joint.driver_rates(scene.bodies, {0.0, -0.5, 0.0}, rates.data());
  EXPECT_EQ(rates[5], 0.0);
  joint.driver_rates(scene.bodies, {2.0, 2.0, 2.5}, rates.data());
  EXPECT_EQ(rates[5], 0.0);
}

/// A rod along z of the joint's frame, or a point, at side b.
void set_thin(Scene& scene, std::size_t s, const Vec3& inertia) {
  scene.bodies.mass[scene.at(s)] = natural_mass(1.0, inertia);
  NaturalCoordinates& place = scene.bodies.place[scene.at(s)];
  for (int k = 0; k < 3; ++k)
    if (scene.bodies.mass[scene.at(s)].j[k] == 0.0) place.a.col(k).setZero();
}

TEST(NaturalJoint, RodsAndPointsTakeJointsThatNeedNoOtherDirection) {
  const auto accepts = [](JointType type, const Vec3& inertia, const Vec3& p, const Quat& q,
                          bool motor = false) {
    Kind kind{"thin", type, {}};
    if (motor) kind.motor[0] = {MotorKind::velocity, false};
    Scene scene = make_scene(kind, Side::general, Side::general, 7);
    set_thin(scene, 1, inertia);
    scene.joint.frame[1] = {p, q};
    try {
      scene.made();
      return true;
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("joint link needs a direction that its body b"), std::string::npos)
          << text;
      EXPECT_NE(text.find(inertia.norm() > 0.0 ? "a rod" : "a point"), std::string::npos) << text;
      return false;
    }
  };
  const Vec3 rod(0.5, 0.5, 0.0), point(0.0, 0.0, 0.0), along(0.0, 0.0, 0.7), off(0.1, 0.0, 0.7);
  const Quat same = Quat::Identity();
  const Quat across(Eigen::AngleAxisd(0.5 * M_PI, Vec3::UnitX()));
  EXPECT_TRUE(accepts(JointType::spherical, rod, along, across));
  EXPECT_TRUE(accepts(JointType::distance, rod, along, across));
  EXPECT_TRUE(accepts(JointType::point_on_line, rod, along, across));
  EXPECT_FALSE(accepts(JointType::spherical, rod, off, same));
  EXPECT_TRUE(accepts(JointType::spherical, point, Vec3::Zero(), across));
  EXPECT_FALSE(accepts(JointType::spherical, point, along, same));
  // round-off of a place far from the origin
  EXPECT_TRUE(accepts(JointType::spherical, rod, {1e-11, 0.0, 0.7}, same));
  EXPECT_TRUE(accepts(JointType::revolute, rod, along, same));  // about the rod
  EXPECT_FALSE(accepts(JointType::revolute, rod, along, across));
  EXPECT_FALSE(accepts(JointType::revolute, rod, along, same, true));
  EXPECT_TRUE(accepts(JointType::universal, rod, along, same));
  EXPECT_FALSE(accepts(JointType::universal, rod, along, across));
  EXPECT_TRUE(accepts(JointType::cylindrical, rod, along, same));
  EXPECT_TRUE(accepts(JointType::planar, rod, along, same));
  EXPECT_FALSE(accepts(JointType::fixed, rod, along, same));
  EXPECT_FALSE(accepts(JointType::prismatic, rod, along, same));
  EXPECT_TRUE(accepts(JointType::spring, rod, along, same));
  EXPECT_FALSE(accepts(JointType::spring, rod, off, same));
  EXPECT_FALSE(accepts(JointType::torsion_spring, rod, along, same));
  EXPECT_FALSE(accepts(JointType::revolute, point, Vec3::Zero(), same));
}

TEST(NaturalJoint, WhatIsNotSmoothIsRefusedWithTheJointsNameAndARemedy) {
  const auto refusal = [](JointType type, const auto& change, Side a = Side::world) {
    Scene scene = make_scene({"joint", type, {}}, a, Side::general, 8);
    change(scene.joint);
    try {
      scene.made();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::bad_input);
      EXPECT_FALSE(e.fix().empty());
      EXPECT_EQ(e.where(), "time.stepper: natural");
      EXPECT_EQ(e.found().rfind("joint link ", 0), 0U) << e.found();
      return e.found();
    }
    return std::string();
  };
  const auto as_is = [](JointConstants&) {};
  EXPECT_NE(refusal(JointType::gear, as_is).find("gear"), std::string::npos);
  EXPECT_NE(refusal(JointType::rolling, as_is).find("rolling"), std::string::npos);
  EXPECT_NE(refusal(JointType::knife_edge, as_is, Side::general).find("slides on a body"),
            std::string::npos);
  EXPECT_EQ(refusal(JointType::knife_edge, as_is, Side::kinematic), "");
  EXPECT_EQ(refusal(JointType::revolute, as_is), "");
  const auto hinge = [&](const auto& change) { return refusal(JointType::revolute, change); };
  EXPECT_NE(hinge([](JointConstants& j) { j.axis[0].upper = 1.0; }).find("limits"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.axis[0].lower = -1.0; }).find("limits"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.axis[0].friction = 0.1; }).find("friction"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) {
              j.axis[0].motor = MotorKind::velocity;
              j.axis[0].max_force = 3.0;
            }).find("bound"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) {
              j.axis[0].motor = MotorKind::position;
              j.axis[0].motor_compliance = 1e-3;
            }).find("gives way"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.compliance = 1e-6; }).find("compliance"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.angular_compliance = 1e-6; }).find("compliance"),
            std::string::npos);
  EXPECT_NE(hinge([](JointConstants& j) { j.erp = 0.0; }).find("erp"), std::string::npos);
  EXPECT_NE(refusal(JointType::universal, [](JointConstants& j) { j.axis[1].upper = 1.0; })
                .find("limits"),
            std::string::npos);
}

}  // namespace
}  // namespace catena::test
