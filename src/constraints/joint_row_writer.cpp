#include <algorithm>

#include "catena/model/contact_margin.hpp"
#include "constraints/joint_frames.hpp"

namespace catena {
namespace {

using Row = JointGeometry::Row;

/// Bias and compliance of one row.
struct RowTerms {
  double q = 0.0, sigma = 0.0;
};

/// How a row is compliant: eps, tau, or ODE's form.
struct Softness {
  double compliance;
  double damping_time;  ///< s, or JointAxis::kTwoSteps
  double erp = JointConstants::kNotOde, cfm = 0.0;
};

/// Rows of positions of equal compliance: q = speed_part u0 - misfit_part g, with g the misfit, m
/// or rad, and u0 the row of G V0.
struct PositionLaw {
  double misfit_part, speed_part, sigma;
  RowTerms at(double g, double speed) const {
    return {speed_part * speed - misfit_part * g, sigma};
  }
};

PositionLaw position_law(const JointStep& step, const Softness& soft) {
  const double h = step.h;
  if (soft.erp >= 0.0) return {soft.erp / h, 0.0, soft.cfm / h};
  const bool given = soft.damping_time >= 0.0;
  if (step.kind == StepperKind::dvi) {
    // implicit Euler of eps lambda/h + g + tau g' = 0
    const double tau = given ? soft.damping_time : 0.0;
    return {1.0 / (h + tau), 0.0, soft.compliance / (h * (h + tau))};
  }
  const double upsilon = given ? spook_upsilon(soft.damping_time, h) : 1.0 / 9.0;
  const double misfit_part = 4.0 * upsilon / h;
  return {misfit_part, upsilon, soft.compliance > 0.0 ? soft.compliance * misfit_part / h : 0.0};
}

/// What of the joint's own softness a linear or angular row has.
Softness joint_softness(const JointConstants& joint, bool angular) {
  return {angular ? joint.angular_compliance : joint.compliance, joint.damping_time, joint.erp,
          joint.cfm};
}

double row_speed(const Row& row, const Twist& twist) {
  return row[0] * twist.v.x() + row[1] * twist.v.y() + row[2] * twist.v.z() + row[3] * twist.w.x() +
         row[4] * twist.w.y() + row[5] * twist.w.z();
}

/// Appends blocks of one joint.
class BlockWriter {
 public:
  BlockWriter(const std::array<Index, kJointBodies>& body, std::int64_t name, Index joint,
              GeneralBlocks& blocks, std::vector<JointBlockRef>& made)
      : body_(body), name_(name), joint_(joint), blocks_(blocks), made_(made) {}

  void row(const RowTerms& terms, bool angular, double lower = 0.0, double upper = 0.0) {
    q_[rows_] = terms.q;
    sigma_[rows_] = terms.sigma;
    lower_[rows_] = lower;
    upper_[rows_] = upper;
    angular_[rows_] = angular ? 1 : 0;
    ++rows_;
  }
  /// The rows since the last block become a block; part j of `jacobian` appends those of body j.
  template <class Jacobian>
  void block(BlockKind kind, JointRowKind part, std::size_t axis, Jacobian&& jacobian) {
    for (std::size_t j = 0; j < kJointBodies; ++j) {
      if (body_[j] == kNoIndex) continue;
      jacobian(j, blocks_.jacobian);
      blocks_.body.push_back(body_[j]);
      blocks_.jacobian_begin.push_back(std::ssize(blocks_.jacobian));
    }
    const auto append = [this](auto& values, const auto& rows) {
      values.insert(values.end(), rows.data(), rows.data() + rows_);
    };
    append(blocks_.q, q_);
    append(blocks_.compliance, sigma_);
    append(blocks_.lower, lower_);
    append(blocks_.upper, upper_);
    append(blocks_.angular, angular_);
    rows_ = 0;
    blocks_.body_begin.push_back(to_index(blocks_.body.size()));
    blocks_.row_begin.push_back(to_index(blocks_.q.size()));
    blocks_.kind.push_back(kind);
    blocks_.name.push_back(name_);
    blocks_.friction.push_back(0.0);
    // contacts before may have brought these
    if (!blocks_.rolling.empty()) blocks_.rolling.push_back(-1.0);
    if (!blocks_.spinning.empty()) blocks_.spinning.push_back(-1.0);
    if (!blocks_.cohesion.empty()) blocks_.cohesion.push_back(0.0);
    if (!blocks_.key.empty()) blocks_.key.emplace_back();
    made_.push_back({joint_, part, static_cast<std::uint8_t>(axis)});
  }

 private:
  const std::array<Index, kJointBodies>& body_;
  std::int64_t name_;
  Index joint_;
  GeneralBlocks& blocks_;
  std::vector<JointBlockRef>& made_;
  // rows of the next block
  std::size_t rows_ = 0;
  std::array<double, kJointRows> q_, sigma_, lower_, upper_;
  std::array<std::uint8_t, kJointRows> angular_;
};

/// One joint in one step.
struct Joint {
  const JointConstants& constants;
  const JointGeometry& geometry;
  const JointPoses& at;
  const JointStep& step;
  const Model& model;
};

double speed_of_row(const Joint& j, std::size_t i) {
  const JointGeometry& g = j.geometry;
  double speed = row_speed(g.jacobian[0][i], j.at.twist[0]);
  speed += row_speed(g.jacobian[1][i], j.at.twist[1]);
  if (j.constants.type == JointType::gear) speed += row_speed(g.jacobian[2][i], j.at.twist[2]);
  return speed;
}

double speed_of_axis(const Joint& j, std::size_t i) {
  return row_speed(j.geometry.axis_jacobian[0][i], j.at.twist[0]) +
         row_speed(j.geometry.axis_jacobian[1][i], j.at.twist[1]);
}

/// Velocity rows: dampers, nonholonomic rows.
RowTerms velocity_terms(const Joint& j) {
  const JointConstants& joint = j.constants;
  if (j.geometry.spring) return {0.0, 1.0 / (j.step.h * joint.damping)};
  return {0.0, joint.erp >= 0.0 ? joint.cfm / j.step.h : 0.0};
}

Softness row_softness(const Joint& j, bool angular) {
  const JointConstants& joint = j.constants;
  if (!j.geometry.spring) return joint_softness(joint, angular);
  return {1.0 / joint.stiffness, joint.damping / joint.stiffness};
}

/// The joint's own rows; rows of equal compliance stand together.
void write_own_rows(const Joint& j, BlockWriter& write) {
  const JointGeometry& g = j.geometry;
  PositionLaw law{};
  int law_of = -1;  // linear (0) or angular (1) rows
  for (Index i = 0; i < g.rows; ++i) {
    const bool angular = g.angular[i];
    if (g.velocity[i]) {
      write.row(velocity_terms(j), angular);
      continue;
    }
    if (law_of != (angular ? 1 : 0)) law = position_law(j.step, row_softness(j, angular));
    law_of = angular ? 1 : 0;
    RowTerms terms = law.at(g.misfit[i], speed_of_row(j, i));
    // a slack rope may use its slack up
    if (g.unilateral && g.misfit[i] > 0.0) terms.q = -g.misfit[i] / j.step.h;
    write.row(terms, angular);
  }
}

RowTerms motor_terms(const Joint& j, std::size_t i) {
  const JointAxis& axis = j.constants.axis[i];
  const double t = j.step.time, h = j.step.h;
  const ValueTable* table = axis.table < 0 ? nullptr : &j.model.tables[axis.table];
  if (axis.motor == MotorKind::velocity)
    return {table ? table->mean(t, h) : axis.target, axis.motor_compliance / h};
  const Softness soft{axis.motor_compliance, axis.motor_damping_time};
  const PositionLaw law = position_law(j.step, soft);
  const double coordinate = j.geometry.coordinate[i], speed = speed_of_axis(j, i);
  if (table == nullptr) return law.at(coordinate - axis.target, speed);
  const double now = table->at(t);
  const double speed_before = (now - table->at(t - h)) / h,
               speed_next = (table->at(t + h) - now) / h;
  RowTerms terms = law.at(coordinate - now, speed - speed_before);
  terms.q += speed_next;
  return terms;
}

bool has_bound(const JointAxis& axis) {
  return axis.max_force < std::numeric_limits<double>::infinity();
}

void add_bilateral_rows(const Joint& j, BlockWriter& write) {
  const JointGeometry& g = j.geometry;
  std::size_t rows = g.rows;
  write_own_rows(j, write);
  if (j.step.across) {
    for (int i = 0; i < g.across; ++i) write.row({0.0, 1.0}, false);
    rows += g.across;
  }
  std::array<std::size_t, kJointAxes> motor{};
  std::size_t motors = 0;
  for (Index i = 0; i < g.axes; ++i) {
    const JointAxis& axis = j.constants.axis[i];
    if (axis.motor == MotorKind::none || has_bound(axis)) continue;
    constexpr double kNoBound = std::numeric_limits<double>::infinity();
    write.row(motor_terms(j, i), g.axis_angular[i], -kNoBound, kNoBound);
    motor[motors++] = i;
  }
  if (rows + motors == 0) return;
  write.block(BlockKind::bilateral, JointRowKind::rows, 0,
              [&](std::size_t b, std::vector<double>& jacobian) {
                const double* first = g.jacobian[b].front().data();
                jacobian.insert(jacobian.end(), first, first + 6 * rows);
                for (std::size_t m = 0; m < motors; ++m) {
                  const Row& row = g.axis_jacobian[b][motor[m]];
                  jacobian.insert(jacobian.end(), row.begin(), row.end());
                }
              });
}

void add_rope_block(const Joint& j, BlockWriter& write) {
  write_own_rows(j, write);
  write.block(BlockKind::unilateral, JointRowKind::rope, 0,
              [&](std::size_t b, std::vector<double>& jacobian) {
                const Row& row = j.geometry.jacobian[b].front();
                jacobian.insert(jacobian.end(), row.begin(), row.end());
              });
}

void add_axis_block(const Joint& j, std::size_t i, BlockKind kind, JointRowKind part, double sign,
                    BlockWriter& write) {
  write.block(kind, part, i, [&](std::size_t b, std::vector<double>& jacobian) {
    for (const double value : j.geometry.axis_jacobian[b][i]) jacobian.push_back(sign * value);
  });
}

/// The nearer limit; its row's velocity opens it.
void add_limit(const Joint& j, std::size_t i, BlockWriter& write) {
  const JointAxis& axis = j.constants.axis[i];
  const bool angular = j.geometry.axis_angular[i];
  const double h = j.step.h, coordinate = j.geometry.coordinate[i];
  const double above = coordinate - axis.lower, below = axis.upper - coordinate;
  const double sign = above <= below ? 1.0 : -1.0;
  const double g = std::min(above, below), speed = sign * speed_of_axis(j, i);
  constexpr double kAngle = 0.05;  // rad
  const double slack =
      angular ? kAngle : 2.0 * h * h * j.model.gravity.norm() + margin_of_no_pair(j.model.contact);
  if (g > 2.0 * h * std::abs(speed) + slack) return;
  RowTerms terms = position_law(j.step, joint_softness(j.constants, angular)).at(g, speed);
  if (g > 0.0) terms.q = -g / h;
  const bool impact =
      axis.restitution > 0.0 && speed < -j.model.contact.rest_speed && g + h * speed <= 0.0;
  if (impact) terms.q = std::max(terms.q, -axis.restitution * speed);
  write.row(terms, angular);
  add_axis_block(j, i, BlockKind::unilateral, JointRowKind::limit, sign, write);
}

}  // namespace

void add_joint_blocks(const JointConstants& joint, const JointGeometry& geometry,
                      const JointPoses& at, const std::array<Index, kJointBodies>& body,
                      Index joint_index, const JointStep& step, const Model& model,
                      GeneralBlocks& blocks, std::vector<JointBlockRef>& made) {
  const Joint j{joint, geometry, at, step, model};
  BlockWriter write(body, joint.id, joint_index, blocks, made);
  add_bilateral_rows(j, write);
  if (geometry.unilateral) add_rope_block(j, write);
  const std::size_t axes = geometry.axes;
  for (std::size_t i = 0; i < axes; ++i)
    if (joint.axis[i].limited()) add_limit(j, i, write);
  for (std::size_t i = 0; i < axes; ++i) {
    const JointAxis& axis = joint.axis[i];
    if (axis.motor == MotorKind::none || !has_bound(axis)) continue;
    const double bound = step.h * axis.max_force;
    write.row(motor_terms(j, i), geometry.axis_angular[i], -bound, bound);
    add_axis_block(j, i, BlockKind::boxed, JointRowKind::motor, 1.0, write);
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (!(joint.axis[i].friction > 0.0)) continue;
    const double bound = step.h * joint.axis[i].friction;
    write.row({}, geometry.axis_angular[i], -bound, bound);
    add_axis_block(j, i, BlockKind::boxed, JointRowKind::friction, 1.0, write);
  }
}

}  // namespace catena
