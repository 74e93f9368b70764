#include "stepper/natural_joint_scenes.hpp"

namespace catena::test {

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

namespace {

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

}  // namespace

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

const std::vector<std::array<Side, 2>>& all_sides() {
  static const std::vector<std::array<Side, 2>> kSides = {
      {Side::general, Side::general},   {Side::lamina, Side::general},
      {Side::general, Side::lamina},    {Side::lamina, Side::lamina},
      {Side::world, Side::general},     {Side::general, Side::world},
      {Side::kinematic, Side::general}, {Side::lamina, Side::kinematic},
      {Side::world, Side::lamina}};
  return kSides;
}

NaturalCoordinates turned(const NaturalCoordinates& s, const Vec3& v, const Vec3& w) {
  const double angle = w.norm();
  const Mat3 turn =
      angle > 0.0 ? Eigen::AngleAxisd(angle, w / angle).toRotationMatrix() : Mat3::Identity();
  return {s.r + v, turn * s.a};
}

std::vector<NaturalLoad> held(const NaturalJoint& joint, const NaturalBodies& bodies,
                              const NaturalTime& time, const Rows& mu) {
  std::vector<NaturalLoad> load(bodies.place.size());
  joint.hold(bodies, time, mu.data(), load);
  return load;
}

Rows some_multipliers(const Scene& scene, int rows, Random& random, bool positions_only) {
  Rows mu = Rows::Zero();
  const std::array<bool, 6> velocity = velocity_rows(scene, rows);
  for (int r = 0; r < rows; ++r) {
    const double number = random.number();
    if (!positions_only || !velocity[static_cast<std::size_t>(r)]) mu[r] = number;
  }
  return mu;
}

}  // namespace catena::test
