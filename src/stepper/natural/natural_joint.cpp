#include "stepper/natural/natural_joint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "catena/base/error.hpp"

namespace catena {

namespace {

const NaturalCoordinates& world_place() {
  static const NaturalCoordinates world{Vec3::Zero(), Mat3::Identity()};
  return world;
}
const NaturalCoordinates& world_rate() {
  static const NaturalCoordinates rest;
  return rest;
}

void put(const Vec3& force, const Vec3& turn, double* row) {
  row[0] = force.x();
  row[1] = force.y();
  row[2] = force.z();
  row[3] = turn.x();
  row[4] = turn.y();
  row[5] = turn.z();
}

/// sum over the axes of a x b / 2: omega of rates b at orthonormal axes a.
Vec3 half_cross(const Mat3& a, const Mat3& b) {
  Vec3 sum = Vec3::Zero();
  for (int k = 0; k < 3; ++k) sum += a.col(k).cross(b.col(k));
  return 0.5 * sum;
}

}  // namespace

/// Both sides of a joint as its equations see them.
struct NaturalJoint::Sides {
  std::array<const NaturalCoordinates*, 2> place, rate, correction;
  std::array<Vec3, 2> arm;  ///< from the centre of mass to the frame's origin
  Vec3 d;
};

struct NaturalJoint::Vectors {
  Vec3 u, v;    ///< on their bodies' axes
  Vec3 du, dv;  ///< rates there, of drivers
};

NaturalJoint::NaturalJoint(const JointConstants& joint, const std::array<Index, kJointBodies>& body,
                           const NaturalBodies& bodies, const Model& model)
    : joint_(&joint), body_{body[0], body[1]}, model_(&model) {
  for (std::size_t s = 0; s < 2; ++s) frame_[s] = joint.frame[s].q.toRotationMatrix();
  add_rows();
  add_drivers();
  check(bodies);
}

void NaturalJoint::refuse(const std::string& why, const std::string& fix) const {
  const std::string place = model_->joint_places.text_of(joint_->id);
  throw Error("joint " + model_->joint_names.name_of(joint_->id) + " " + why +
                  (place.empty() ? "" : " (time.stepper: natural)"),
              place.empty() ? "time.stepper: natural" : place, fix);
}

void NaturalJoint::add_rows() {
  using Equation = NaturalEquation;
  const Mat3 &a = frame_[0], &b = frame_[1];
  const auto points = [&] {
    for (int k = 0; k < 3; ++k) terms_.push_back({.equation = Equation::point, .axis = k});
  };
  const auto along = [&](int k) { terms_.push_back({.equation = Equation::along, .u = a.col(k)}); };
  const auto between = [&](const Vec3& u, const Vec3& v) {
    terms_.push_back({.equation = Equation::between, .u = u, .v = v, .angular = true});
  };
  // the rate of each is that of the row of JointGeometry: about x_A, then y_A (then z_A)
  const auto aligned = [&] {
    between(-a.col(1), b.col(2));
    between(a.col(0), b.col(2));
  };
  const auto equal = [&] {
    between(a.col(2), b.col(1));
    between(a.col(0), b.col(2));
    between(a.col(1), b.col(0));
  };
  switch (joint_->type) {
    case JointType::fixed:
      points();
      equal();
      break;
    case JointType::spherical:
      points();
      break;
    case JointType::revolute:
      points();
      aligned();
      break;
    case JointType::universal:
      points();
      between(a.col(2), b.col(2));
      break;
    case JointType::prismatic:
      along(0);
      along(1);
      equal();
      break;
    case JointType::cylindrical:
      along(0);
      along(1);
      aligned();
      break;
    case JointType::point_on_line:
      along(0);
      along(1);
      break;
    case JointType::planar:
      along(2);
      aligned();
      break;
    case JointType::distance:
      if (joint_->axis[0].motor == MotorKind::none)
        terms_.push_back({.equation = Equation::square, .target0 = joint_->length});
      break;
    case JointType::knife_edge:
      terms_.push_back({.equation = Equation::edge, .v = b.col(1), .velocity = true});
      break;
    case JointType::spring:
    case JointType::torsion_spring:
      break;
    case JointType::rope:
    case JointType::tendon:
      refuse("is a rope or tendon, an inequality", "use distance, or time.stepper: spook");
    case JointType::gear:
      refuse(
          "is a gear, whose equation is neither linear nor quadratic in "
          "natural coordinates",
          "use time.stepper: spook");
    case JointType::bushing:
    case JointType::screw:
    case JointType::rack:
    case JointType::belt:
    case JointType::cam:
    case JointType::point_on_curve:
      refuse(
          "is a bushing, screw, rack, belt, cam or point on a curve, which have no equations in "
          "natural coordinates",
          "use time.stepper: spook");
    case JointType::rolling:
      refuse("is rolling, whose equation is neither linear nor quadratic in natural coordinates",
             "use time.stepper: spook");
  }
}

void NaturalJoint::add_drivers() {
  using Equation = NaturalEquation;
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  const Mat3 &a = frame_[0], &b = frame_[1];
  for (int i = 0; i < static_cast<int>(kJointAxes); ++i) {
    const JointAxis& axis = joint_->axis[i];
    if (axis.limited())
      refuse("has limits, which are inequalities", "remove limits, or use time.stepper: spook");
    if (axis.friction > 0.0)
      refuse("has friction, which is an inequality", "remove friction, or use time.stepper: spook");
    if (axis.motor == MotorKind::none) continue;
    if (axis.motor == MotorKind::force)
      refuse("has a motor of a given force", "give a force or torque in forces");
    if (axis.max_force < kUnbounded)
      refuse("has a motor with a bound, which is an inequality",
             "remove max_force, or use time.stepper: spook");
    if (axis.motor_compliance > 0.0)
      refuse("has a motor that is compliant",
             "remove compliance or viscosity, or give a spring or torsional_spring in forces");
    if (is_spring()) refuse("is a spring with a motor", "put the motor on a joint");
    driven_ = true;
    const bool position = axis.motor == MotorKind::position;
    const bool second = i == 1;
    Term term{};
    term.driver = i;
    term.velocity = !position;
    switch (joint_->type) {
      case JointType::distance:
        term.equation = Equation::square;
        term.target0 = joint_->length;
        break;
      case JointType::prismatic:
      case JointType::point_on_line:
      case JointType::planar:
        term.equation = Equation::along;
        term.u = a.col(joint_->type == JointType::planar ? 0 : 2);
        break;
      case JointType::cylindrical:
        if (!second) {
          term.equation = Equation::along;
          term.u = a.col(2);
          break;
        }
        [[fallthrough]];
      case JointType::revolute:
        term.angular = true;
        term.equation = position ? Equation::between : Equation::spin;
        term.u = position ? a.col(1) : a.col(2);
        if (position) {
          term.quarter = -a.col(0);
          term.v = b.col(0);
        }
        break;
      case JointType::universal:
        term.angular = true;
        term.equation = position ? Equation::between : Equation::spin;
        if (!position) {
          (second ? term.v : term.u) = second ? Vec3(b.col(2)) : Vec3(a.col(2));
        } else if (!second) {  // z_B leads from x_A
          term.u = a.col(1);
          term.quarter = -a.col(0);
          term.v = b.col(2);
        } else {  // z_A . x_B = cos, -z_A . y_B = sin
          term.u = -a.col(2);
          term.v = b.col(1);
          term.quarter = b.col(0);
          term.turns_v = true;
        }
        break;
      default:
        refuse("has a motor that it cannot have", "see docs/configuration.md");
    }
    terms_.push_back(term);
  }
  if (terms_.size() > kJointRows) refuse("has more than six rows", "remove a motor");
}

void NaturalJoint::check(const NaturalBodies& bodies) const {
  if (joint_->compliance > 0.0 || joint_->angular_compliance > 0.0 || joint_->erp >= 0.0)
    refuse("is compliant (compliance, or erp and cfm)",
           "natural coordinates hold joints exactly: use a spring, or time.stepper: spook");
  const auto dynamic = [&](std::size_t s) {
    return body_[s] != kNoIndex && bodies.dynamic[body_[s]] != 0;
  };
  if (joint_->type == JointType::knife_edge && dynamic(0))
    refuse("slides on a body that moves freely, which is not quadratic in natural coordinates",
           "let it slide on the world or on a body with a given motion");
  for (std::size_t s = 0; s < 2; ++s) {
    if (!dynamic(s)) continue;
    const NaturalMass& mass = bodies.mass[body_[s]];
    if (mass.axes >= 2) continue;
    constexpr double kZero = 1e-12;
    bool met = has_place(mass, joint_->frame[s].p, bodies.place[body_[s]].r);
    for (const Term& term : terms_) {
      met = met && has_vector(mass, s == 0 ? term.u : term.v, kZero);
      if (term.turns_v == (s == 1)) met = met && has_vector(mass, term.quarter, kZero);
      met = met && term.equation != NaturalEquation::spin;
    }
    if (joint_->type == JointType::torsion_spring) met = false;
    if (met) continue;
    const std::string what = mass.axes == 1 ? "a rod (one moment of inertia is zero)"
                                            : "a point (its moments of inertia are zero)";
    refuse("needs a direction that its body " + std::string(s == 0 ? "a" : "b") + ", " + what +
               ", does not have",
           "use joints along the rod's axis, or give the body all moments of inertia");
  }
}

bool NaturalJoint::is_spring() const {
  return joint_->type == JointType::spring || joint_->type == JointType::torsion_spring;
}

bool NaturalJoint::angular(int row) const { return terms_[row].angular; }

NaturalJoint::Sides NaturalJoint::sides(const NaturalBodies& bodies) const {
  Sides s;
  for (std::size_t k = 0; k < 2; ++k) {
    const bool world = body_[k] == kNoIndex;
    s.place[k] = world ? &world_place() : &bodies.place[body_[k]];
    s.rate[k] = world ? &world_rate() : &bodies.rate[body_[k]];
    s.correction[k] = world ? &world_rate() : &bodies.correction[body_[k]];
    s.arm[k] = s.place[k]->a * joint_->frame[k].p;
  }
  s.d = (s.place[1]->r - s.place[0]->r) + (s.arm[1] - s.arm[0]);
  return s;
}

std::array<double, 2> NaturalJoint::target(int axis, const NaturalTime& time) const {
  const JointAxis& motor = joint_->axis[axis];
  if (motor.motor == MotorKind::velocity) {
    const double rate = motor.table < 0 ? motor.target : model_->tables[motor.table].at(time.t);
    return {0.0, rate};
  }
  if (motor.table < 0) return {motor.target, 0.0};
  const ValueTable& table = model_->tables[motor.table];
  const TablePoint point = evaluate(table.rows(), time.t, time.inside());
  return {point.value, point.slope};
}

NaturalJoint::Vectors NaturalJoint::vectors(const Term& term, const NaturalTime& time) const {
  Vectors out{term.u, term.v, Vec3::Zero(), Vec3::Zero()};
  if (term.driver < 0 || term.equation != NaturalEquation::between) return out;
  const auto [angle, speed] = target(term.driver, time);
  const double c = std::cos(angle), s = std::sin(angle);
  const Vec3& from = term.turns_v ? term.v : term.u;
  (term.turns_v ? out.v : out.u) = c * from + s * term.quarter;
  (term.turns_v ? out.dv : out.du) = speed * (c * term.quarter - s * from);
  return out;
}

void NaturalJoint::driver_rates(const NaturalBodies& bodies, const NaturalTime& time,
                                double* rates) const {
  for (const Term& term : terms_) {
    *rates = term.driver < 0 ? 0.0 : target(term.driver, time)[1];
    if (term.equation == NaturalEquation::square) *rates *= sides(bodies).d.norm() / term.target0;
    ++rates;
  }
}

void NaturalJoint::state(const NaturalBodies& bodies, const NaturalTime& time, double alpha,
                         std::array<double*, 2> jacobian, double* q, double* misfit) const {
  const Sides s = sides(bodies);
  const NaturalCoordinates &a = *s.place[0], &b = *s.place[1];
  const NaturalCoordinates &ca = *s.correction[0], &cb = *s.correction[1];
  const auto rows = [&](const Vec3& fa, const Vec3& ta, const Vec3& fb, const Vec3& tb) {
    if (jacobian[0] != nullptr) put(fa, ta, jacobian[0]);
    if (jacobian[1] != nullptr) put(fb, tb, jacobian[1]);
  };
  // C s' of the corrections of internal constraints
  const Vec3 dd = cb.a * joint_->frame[1].p - ca.a * joint_->frame[0].p;
  for (const Term& term : terms_) {
    const Vectors x = vectors(term, time);
    const Vec3 u = a.a * x.u, v = b.a * x.v;
    double f = 0.0, rate = 0.0, given = 0.0;  // f, C s' of corrections, -f_t
    switch (term.equation) {
      case NaturalEquation::point: {
        const Vec3 e = Vec3::Unit(term.axis);
        f = s.d[term.axis];
        rate = dd[term.axis];
        rows(-e, -s.arm[0].cross(e), e, s.arm[1].cross(e));
        break;
      }
      case NaturalEquation::along:
        f = u.dot(s.d);
        rate = u.dot(dd) + (ca.a * x.u).dot(s.d);
        rows(-u, u.cross(s.d) - s.arm[0].cross(u), u, s.arm[1].cross(u));
        if (term.driver >= 0) {
          const auto [target_now, speed] = target(term.driver, time);
          f -= target_now;
          given = speed;
        }
        break;
      case NaturalEquation::between:
        f = u.dot(v);
        rate = (ca.a * x.u).dot(v) + u.dot(cb.a * x.v);
        given = -((a.a * x.du).dot(v) + u.dot(b.a * x.dv));
        rows(Vec3::Zero(), u.cross(v), Vec3::Zero(), v.cross(u));
        break;
      case NaturalEquation::square: {
        const Vec3 n = s.d / term.target0;
        double length = term.target0;
        if (term.driver >= 0) {
          const auto [target_now, speed] = target(term.driver, time);
          length = term.velocity ? s.d.norm() : target_now;
          given = length * speed / term.target0;
        }
        f = 0.5 * (s.d.squaredNorm() - length * length) / term.target0;
        rate = n.dot(dd);
        rows(-n, -s.arm[0].cross(n), n, s.arm[1].cross(n));
        break;
      }
      case NaturalEquation::edge: {
        const Vec3 from_a = s.arm[0] + s.d;  // from a's centre of mass to p_B
        rate = v.dot(cb.a * joint_->frame[1].p);
        rows(-v, -from_a.cross(v), v, s.arm[1].cross(v));
        break;
      }
      case NaturalEquation::spin: {
        const Vec3 about = u + v;
        const auto turn = [&](const Mat3& axes) -> Vec3 {
          return 0.5 * (axes.squaredNorm() * about - axes * (axes.transpose() * about));
        };
        given = target(term.driver, time)[1];
        rate = about.dot(half_cross(b.a, cb.a) - half_cross(a.a, ca.a));
        rows(Vec3::Zero(), -turn(a.a), Vec3::Zero(), turn(b.a));
        break;
      }
    }
    if (term.velocity) f = 0.0;
    *q++ = given - alpha * f - rate;
    *misfit++ = f;
    for (double*& row : jacobian)
      if (row != nullptr) row += 6;
  }
}

namespace {

/// Adds to one side's C^T mu and C'^T mu.
struct Hold {
  NaturalCoordinates* f;
  NaturalCoordinates* df;
  /// A force with its rate at the point c (on the axes).
  void point(const Vec3& c, const Vec3& force, const Vec3& rate) const {
    if (f == nullptr) return;
    f->r += force;
    df->r += rate;
    f->a += force * c.transpose();
    df->a += rate * c.transpose();
  }
  /// The same on the vector u, whose coordinates change by du.
  void vector(const Vec3& u, const Vec3& du, const Vec3& force, const Vec3& rate) const {
    if (f == nullptr) return;
    f->a += force * u.transpose();
    df->a += rate * u.transpose() + force * du.transpose();
  }
  /// A couple with its rate: half of couple x a_i on each axis.
  void couple(const Mat3& a, const Mat3& da, const Vec3& c, const Vec3& rate) const {
    if (f == nullptr) return;
    for (int k = 0; k < 3; ++k) {
      f->a.col(k) += 0.5 * c.cross(a.col(k));
      df->a.col(k) += 0.5 * (rate.cross(a.col(k)) + c.cross(da.col(k)));
    }
  }
};

}  // namespace

void NaturalJoint::hold(const NaturalBodies& bodies, const NaturalTime& time, const double* mu,
                        std::vector<NaturalLoad>& load) const {
  const Sides s = sides(bodies);
  const NaturalCoordinates &a = *s.place[0], &b = *s.place[1];
  const NaturalCoordinates &da = *s.rate[0], &db = *s.rate[1];
  const std::array<Vec3, 2> c = {joint_->frame[0].p, joint_->frame[1].p};
  const Vec3 dd = (db.r - da.r) + (db.a * c[1] - da.a * c[0]);
  std::array<Hold, 2> side{};
  for (std::size_t k = 0; k < 2; ++k) {
    if (body_[k] == kNoIndex || bodies.dynamic[body_[k]] == 0) continue;
    side[k] = {&load[body_[k]].hold, &load[body_[k]].rate};
  }
  for (const Term& term : terms_) {
    const double m = *mu++;
    const Vectors x = vectors(term, time);
    const Vec3 u = a.a * x.u, v = b.a * x.v;
    const Vec3 du = da.a * x.u + a.a * x.du, dv = db.a * x.v + b.a * x.dv;
    switch (term.equation) {
      case NaturalEquation::point: {
        const Vec3 e = m * Vec3::Unit(term.axis);
        side[0].point(c[0], -e, Vec3::Zero());
        side[1].point(c[1], e, Vec3::Zero());
        break;
      }
      case NaturalEquation::along:
        side[0].point(c[0], -m * u, -m * du);
        side[0].vector(x.u, x.du, m * s.d, m * dd);
        side[1].point(c[1], m * u, m * du);
        break;
      case NaturalEquation::between:
        side[0].vector(x.u, x.du, m * v, m * dv);
        side[1].vector(x.v, x.dv, m * u, m * du);
        break;
      case NaturalEquation::square: {
        const double scale = m / term.target0;
        side[0].point(c[0], -scale * s.d, -scale * dd);
        side[1].point(c[1], scale * s.d, scale * dd);
        break;
      }
      case NaturalEquation::edge:
        side[1].point(c[1], m * v, m * dv);
        break;
      case NaturalEquation::spin:
        side[0].couple(a.a, da.a, -m * (u + v), -m * (du + dv));
        side[1].couple(b.a, db.a, m * (u + v), m * (du + dv));
        break;
    }
  }
}

void NaturalJoint::reaction(const NaturalBodies& bodies, const NaturalTime& time,
                            const double* lambda, Vec3& impulse, Vec3& couple) const {
  const Sides s = sides(bodies);
  impulse.setZero();
  couple.setZero();
  for (const Term& term : terms_) {
    const double l = *lambda++;
    const Vectors x = vectors(term, time);
    const Vec3 u = s.place[0]->a * x.u, v = s.place[1]->a * x.v;
    switch (term.equation) {
      case NaturalEquation::point:
        impulse[term.axis] += l;
        break;
      case NaturalEquation::along:
        impulse += l * u;
        break;
      case NaturalEquation::between:
        couple += l * v.cross(u);
        break;
      case NaturalEquation::square:
        impulse += l / term.target0 * s.d;
        break;
      case NaturalEquation::edge:
        impulse += l * v;
        break;
      case NaturalEquation::spin:
        couple += l * (u + v);
        break;
    }
  }
}

void NaturalJoint::as_rows(const NaturalBodies& bodies, const double* lambda,
                           std::array<double, kJointRows>& rows) const {
  rows = {};
  std::copy_n(lambda, terms_.size(), rows.begin());
  if (joint_->type == JointType::distance) {  // along d there
    const double scale = sides(bodies).d.norm() / joint_->length;
    for (std::size_t k = 0; k < terms_.size(); ++k) rows[k] *= scale;
  }
  // orientation: about A's axes here, the world's there
  const bool equal = joint_->type == JointType::fixed || joint_->type == JointType::prismatic;
  if (!equal) return;
  const std::size_t first = joint_->type == JointType::fixed ? 3 : 2;
  const Mat3 axes = sides(bodies).place[0]->a * frame_[0];
  const Vec3 couple = axes * Vec3(lambda[first], lambda[first + 1], lambda[first + 2]);
  for (int k = 0; k < 3; ++k) rows[first + k] = couple[k];
}

double NaturalJoint::pull(const NaturalBodies& bodies, double angle, std::vector<NaturalLoad>& load,
                          double& power, double& power_on_prescribed) const {
  const Sides s = sides(bodies);
  const NaturalCoordinates &da = *s.rate[0], &db = *s.rate[1];
  const auto moves = [&](std::size_t k) {
    return body_[k] != kNoIndex && bodies.dynamic[body_[k]] != 0;
  };
  if (joint_->type == JointType::spring) {
    const double length = s.d.norm();
    const Mat3 axes = s.place[0]->a * frame_[0];
    const Vec3 n = length > 0.0 ? Vec3(s.d / length) : Vec3(axes.col(2));
    const Vec3 v_a = da.r + da.a * joint_->frame[0].p, v_b = db.r + db.a * joint_->frame[1].p;
    const double f =
        -joint_->stiffness * (length - joint_->length) - joint_->damping * n.dot(v_b - v_a);
    const std::array<Vec3, 2> force = {-f * n, f * n}, speed = {v_a, v_b};
    for (std::size_t k = 0; k < 2; ++k) {
      if (body_[k] == kNoIndex) continue;
      power += force[k].dot(speed[k]);
      if (!moves(k)) {
        power_on_prescribed += force[k].dot(speed[k]);
        continue;
      }
      NaturalCoordinates& on = load[body_[k]].rate;
      on.r += force[k];
      on.a += force[k] * joint_->frame[k].p.transpose();
    }
    return f;
  }
  const Mat3 a = s.place[0]->a * frame_[0], b = s.place[1]->a * frame_[1];
  const Vec3 z = a.col(2);
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const double raw = std::atan2(b.col(0).dot(a.col(1)) - b.col(1).dot(a.col(0)),
                                b.col(0).dot(a.col(0)) + b.col(1).dot(a.col(1)));
  const double now = raw + kTurn * std::round((angle - raw) / kTurn);
  const auto omega = [&](std::size_t k) {
    return body_[k] == kNoIndex ? Vec3(Vec3::Zero()) : bodies.twist[body_[k]].w;
  };
  const double torque =
      -joint_->stiffness * (now - joint_->length) - joint_->damping * z.dot(omega(1) - omega(0));
  for (std::size_t k = 0; k < 2; ++k) {
    if (body_[k] == kNoIndex) continue;
    const Vec3 couple = (k == 1 ? torque : -torque) * z;
    power += couple.dot(omega(k));
    if (moves(k))
      add_couple(bodies.mass[body_[k]], s.place[k]->a, couple, load[body_[k]].rate.a);
    else
      power_on_prescribed += couple.dot(omega(k));
  }
  return torque;
}

void NaturalJoint::spring_reaction(const NaturalBodies& bodies, double sum, Vec3& impulse,
                                   Vec3& couple) const {
  const Sides s = sides(bodies);
  const Mat3 axes = s.place[0]->a * frame_[0];
  const double length = s.d.norm();
  const bool turns = joint_->type == JointType::torsion_spring;
  const Vec3 n = turns || !(length > 0.0) ? Vec3(axes.col(2)) : Vec3(s.d / length);
  impulse = turns ? Vec3(Vec3::Zero()) : Vec3(sum * n);
  couple = turns ? Vec3(sum * n) : Vec3(Vec3::Zero());
}

}  // namespace catena
