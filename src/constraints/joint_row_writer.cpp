#include <algorithm>

#include "catena/constraints/row_kernels.hpp"
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
  bool operator==(const Softness&) const = default;
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

}  // namespace

/// Writes blocks where there is room for them already: growing a dozen lists by a few numbers at a
/// time takes longer than the numbers do.
struct JointBlockWriter::Impl {
  const JointStep& step;
  const Model& model;
  GeneralBlocks& blocks;
  std::vector<JointBlockRef>& made;
  std::size_t n_blocks = 0, n_rows = 0, n_references = 0, n_numbers = 0, n_made = 0;
  // of the joint being added
  const std::array<Index, kJointBodies>* body = nullptr;
  std::int64_t name = 0;
  Index joint = kNoIndex;
  // joints mostly share their softness
  Softness last_soft{-1.0, 0.0};
  PositionLaw last_law{};

  Impl(const JointStep& s, const Model& m, GeneralBlocks& b, std::vector<JointBlockRef>& refs)
      : step(s), model(m), blocks(b), made(refs) {}

  void resize(std::size_t more_blocks, std::size_t more_rows, std::size_t more_references,
              std::size_t more_numbers);

  const PositionLaw& law_of(const Softness& soft) {
    if (!(soft == last_soft)) {
      last_law = position_law(step, soft);
      last_soft = soft;
    }
    return last_law;
  }
  /// A row of the next block.
  void row(const RowTerms& terms, bool angular, double lower = 0.0, double upper = 0.0) {
    blocks.q[n_rows] = terms.q;
    blocks.compliance[n_rows] = terms.sigma;
    blocks.lower[n_rows] = lower;
    blocks.upper[n_rows] = upper;
    blocks.angular[n_rows] = angular ? 1 : 0;
    ++n_rows;
  }
  /// The rows since the last block become a block; jacobian(j, to) writes those of body j and
  /// returns where they end.
  template <class Jacobian>
  void block(BlockKind kind, JointRowKind part, std::size_t axis, Jacobian&& jacobian) {
    double* const numbers = blocks.jacobian.data();
    double* to = numbers + n_numbers;
    for (std::size_t j = 0; j < kJointBodies; ++j) {
      if ((*body)[j] == kNoIndex) continue;
      to = jacobian(j, to);
      blocks.body[n_references++] = (*body)[j];
      blocks.jacobian_begin[n_references] = to - numbers;
    }
    n_numbers = to - numbers;
    blocks.kind[n_blocks] = kind;
    blocks.name[n_blocks] = name;
    blocks.friction[n_blocks] = 0.0;
    ++n_blocks;
    blocks.body_begin[n_blocks] = to_index(n_references);
    blocks.row_begin[n_blocks] = to_index(n_rows);
    made[n_made++] = {joint, part, static_cast<std::uint8_t>(axis)};
  }
};

namespace {

using BlockWriter = JointBlockWriter::Impl;

/// One joint in one step.
struct Joint {
  const JointConstants& constants;
  const JointState& last;
  const JointGeometry& geometry;
  const JointPoses& at;
  const JointStep& step;
  const Model& model;
};

double speed_of_row(const Joint& j, std::size_t i) {
  const JointGeometry& g = j.geometry;
  double speed = row_speed(g.jacobian[0][i], j.at.twist[0]);
  speed += row_speed(g.jacobian[1][i], j.at.twist[1]);
  if (has_third_body(j.constants.type)) speed += row_speed(g.jacobian[2][i], j.at.twist[2]);
  return speed;
}

double speed_of_axis(const Joint& j, std::size_t i) {
  return row_speed(j.geometry.axis_jacobian[0][i], j.at.twist[0]) +
         row_speed(j.geometry.axis_jacobian[1][i], j.at.twist[1]);
}

/// Velocity rows: dampers, nonholonomic rows.
RowTerms velocity_terms(const Joint& j, std::size_t i) {
  const JointConstants& joint = j.constants;
  if (j.geometry.spring) return {0.0, 1.0 / (j.step.h * j.geometry.damping[i])};
  return {0.0, joint.erp >= 0.0 ? joint.cfm / j.step.h : 0.0};
}

Softness row_softness(const Joint& j, std::size_t i) {
  const JointGeometry& g = j.geometry;
  if (!g.spring) return joint_softness(j.constants, g.angular[i]);
  return {1.0 / g.stiffness[i], g.damping[i] / g.stiffness[i]};
}

/// Rates of a winch's rope over the step before and over this one, m/s; 0 of
/// other joints.
struct Winding {
  double before = 0.0, now = 0.0;
};

Winding winding_of(const Joint& j) {
  if (!is_winch(j.constants)) return {};
  const double h = j.step.h, length = j.last.angle[0];
  JointStep before = j.step;
  before.time -= h;
  double from = length;  // of a table of lengths it is there that the last step began
  const JointAxis& axis = j.constants.axis[0];
  if (axis.motor == MotorKind::position) from = j.model.tables[axis.table].at(before.time);
  return {winch_way(j.constants, j.model, from, before) / h,
          winch_way(j.constants, j.model, length, j.step) / h};
}

/// The joint's own rows; rows of equal compliance stand together.
void write_own_rows(const Joint& j, BlockWriter& write) {
  const JointGeometry& g = j.geometry;
  const Winding winding = winding_of(j);
  PositionLaw law{};
  int law_of = -1;  // linear (0) or angular (1) rows
  for (Index i = 0; i < g.rows; ++i) {
    const bool angular = g.angular[i];
    if (g.velocity[i]) {
      write.row(velocity_terms(j, i), angular);
      continue;
    }
    if (g.spring || law_of != (angular ? 1 : 0)) law = write.law_of(row_softness(j, i));
    law_of = angular ? 1 : 0;
    RowTerms terms = law.at(g.misfit[i], speed_of_row(j, i) + winding.before);
    // a slack rope may use its slack up
    if (g.unilateral && g.misfit[i] > 0.0) terms.q = -g.misfit[i] / j.step.h;
    terms.q -= winding.now;
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

/// A motor of a given force is bounded by it from both sides.
bool has_bound(const JointAxis& axis) {
  return axis.motor == MotorKind::force || axis.max_force < std::numeric_limits<double>::infinity();
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
  write.block(BlockKind::bilateral, JointRowKind::rows, 0, [&](std::size_t b, double* to) {
    const double* from = g.jacobian[b].front().data();
    row_kernels::with_rows(narrow<int>(rows), [&](auto n) {
      for (int i = 0; i < 6 * n; ++i) to[i] = from[i];
    });
    to += 6 * rows;
    for (std::size_t m = 0; m < motors; ++m) {
      const Row& row = g.axis_jacobian[b][motor[m]];
      to = std::copy(row.begin(), row.end(), to);
    }
    return to;
  });
}

void add_rope_block(const Joint& j, BlockWriter& write) {
  write_own_rows(j, write);
  write.block(BlockKind::unilateral, JointRowKind::rope, 0, [&](std::size_t b, double* to) {
    const Row& row = j.geometry.jacobian[b].front();
    return std::copy(row.begin(), row.end(), to);
  });
}

void add_axis_block(const Joint& j, std::size_t i, BlockKind kind, JointRowKind part, double sign,
                    BlockWriter& write) {
  write.block(kind, part, i, [&](std::size_t b, double* to) {
    for (const double value : j.geometry.axis_jacobian[b][i]) *to++ = sign * value;
    return to;
  });
}

/// The row of a motor whose force depends on the coordinate's speed u: with the table's value and
/// slope at u0 of the step's start, factor (F + F' (u - u0)) at the step's end where force falls
/// with speed, which damps, and F where it does not.
void write_speed_motor(const ValueTable& table, double factor, double u0, double h, bool angular,
                       BlockWriter& write) {
  const TablePoint at = evaluate(table.rows(), u0, u0);
  const double force = factor * at.value, damping = -factor * at.slope;
  if (!(damping > 0.0)) return write.row({}, angular, h * force, h * force);
  // no more than any row says, however steep the piece is
  const auto [least, most] = std::ranges::minmax(table.value);
  const auto [low, high] = std::minmax({factor * least, factor * most});
  write.row({u0 + force / damping, 1.0 / (h * damping)}, angular, h * low, h * high);
}

void add_motor(const Joint& j, std::size_t i, BlockWriter& write) {
  const JointAxis& axis = j.constants.axis[i];
  const bool angular = j.geometry.axis_angular[i];
  const double h = j.step.h;
  if (axis.motor == MotorKind::force) {
    const double target =
        axis.table < 0 ? axis.target : j.model.tables[axis.table].mean(j.step.time, h);
    if (axis.speed_table >= 0)
      write_speed_motor(j.model.tables[axis.speed_table], target, speed_of_axis(j, i), h, angular,
                        write);
    else
      write.row({}, angular, h * target, h * target);
  } else {
    write.row(motor_terms(j, i), angular, -h * axis.max_force, h * axis.max_force);
  }
  add_axis_block(j, i, BlockKind::boxed, JointRowKind::motor, 1.0, write);
}

/// Of the thread, which the flank of the last step loads: its force is the
/// coupling's along the screw over the cosine of the lead angle.
void add_thread_friction(const Joint& j, BlockWriter& write) {
  const JointConstants& joint = j.constants;
  const double load = std::abs(j.last.impulse[j.geometry.loaded_row]) *
                      std::hypot(joint.ratio, joint.length) / joint.length;
  const double bound = joint.thread_friction * load;
  write.row({}, false, -bound, bound);
  write.block(BlockKind::boxed, JointRowKind::thread, 0, [&](std::size_t b, double* to) {
    const Row& row = j.geometry.slip_jacobian[b];
    return std::copy(row.begin(), row.end(), to);
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
  const double slack = angular ? kAngle
                               : 2.0 * h * h * j.model.gravity_at(j.step.time).norm() +
                                     margin_of_no_pair(j.model.contact);
  if (g > 2.0 * h * std::abs(speed) + slack) return;
  RowTerms terms = position_law(j.step, joint_softness(j.constants, angular)).at(g, speed);
  if (g > 0.0) terms.q = -g / h;
  const bool impact =
      axis.restitution > 0.0 && speed < -j.model.contact.rest_speed && g + h * speed <= 0.0;
  if (impact) terms.q = std::max(terms.q, -axis.restitution * speed);
  write.row(terms, angular);
  add_axis_block(j, i, BlockKind::unilateral, JointRowKind::limit, sign, write);
}

/// A row where `to` points, which then points behind it.
[[gnu::always_inline]] inline void put_row(double*& to, double x, double y, double z, double turn_x,
                                           double turn_y, double turn_z) {
  to[0] = x;
  to[1] = y;
  to[2] = z;
  to[3] = turn_x;
  to[4] = turn_y;
  to[5] = turn_z;
  to += 6;
}

/// Rows of a joint's own at most, with those across.
int most_own_rows(const JointConstants& joint) {
  switch (joint.type) {
    case JointType::spherical:
    case JointType::planar:
    case JointType::rolling:
    case JointType::distance:
    case JointType::rope:
      return 3;
    case JointType::revolute:
    case JointType::prismatic:
      return 5;
    default:
      return 6;
  }
}

}  // namespace

void JointBlockWriter::Impl::resize(std::size_t more_blocks, std::size_t more_rows,
                                    std::size_t more_references, std::size_t more_numbers) {
  const std::size_t m = n_blocks + more_blocks;
  blocks.kind.resize(m);
  blocks.name.resize(m);
  blocks.friction.resize(m);
  blocks.row_begin.resize(m + 1);
  blocks.body_begin.resize(m + 1);
  for (std::vector<double>* list : {&blocks.q, &blocks.compliance, &blocks.lower, &blocks.upper})
    list->resize(n_rows + more_rows);
  blocks.angular.resize(n_rows + more_rows);
  blocks.body.resize(n_references + more_references);
  blocks.jacobian_begin.resize(n_references + more_references + 1);
  blocks.jacobian.resize(n_numbers + more_numbers);
  made.resize(n_made + more_blocks);
}

JointBlockWriter::JointBlockWriter(const Model& model)
    : model_(model), impl_(std::make_unique<std::optional<Impl>>()) {}
JointBlockWriter::~JointBlockWriter() = default;

void JointBlockWriter::start(const JointStep& step, GeneralBlocks& blocks,
                             std::vector<JointBlockRef>& made) {
  impl_->emplace(step, model_, blocks, made);
}

void JointBlockWriter::begin(std::span<const JointConstants> joints) {
  Impl& to = **impl_;
  to.n_blocks = to.blocks.size();
  to.n_rows = to.blocks.n_rows();
  to.n_references = to.blocks.body.size();
  to.n_numbers = to.blocks.jacobian.size();
  to.n_made = to.made.size();
  std::size_t blocks = 0, rows = 0, references = 0, numbers = 0;
  for (const JointConstants& joint : joints) {
    std::size_t own_blocks = is_rope(joint.type) ? 2 : 1;
    std::size_t own_rows = most_own_rows(joint) + (is_rope(joint.type) ? 1 : 0);
    for (int i = 0; i < joint_axes(joint.type); ++i) {
      const JointAxis& axis = joint.axis[i];
      const std::size_t parts = (axis.limited() ? 1 : 0) + (axis.friction > 0.0 ? 1 : 0) +
                                (axis.motor != MotorKind::none ? 1 : 0);
      own_blocks += parts;
      own_rows += parts;
    }
    if (joint.thread_friction > 0.0) {
      ++own_blocks;
      ++own_rows;
    }
    const std::size_t bodies = has_third_body(joint.type) ? 3 : 2;
    blocks += own_blocks;
    rows += own_rows;
    references += bodies * own_blocks;
    numbers += 6 * bodies * own_rows;
  }
  to.resize(blocks, rows, references, numbers);
}

void JointBlockWriter::end() {
  Impl& to = **impl_;
  to.resize(0, 0, 0, 0);
  // contacts before may have brought these
  GeneralBlocks& blocks = to.blocks;
  if (!blocks.rolling.empty()) blocks.rolling.resize(to.n_blocks, -1.0);
  if (!blocks.spinning.empty()) blocks.spinning.resize(to.n_blocks, -1.0);
  if (!blocks.cohesion.empty()) blocks.cohesion.resize(to.n_blocks, 0.0);
  if (!blocks.key.empty()) blocks.key.resize(to.n_blocks);
}

std::size_t JointBlockWriter::add(const JointConstants& joint, const JointState& last,
                                  const JointGeometry& geometry, const JointPoses& at,
                                  const std::array<Index, kJointBodies>& body, Index joint_index) {
  Impl& write = **impl_;
  write.body = &body;
  write.name = joint.id;
  write.joint = joint_index;
  const JointStep& step = write.step;
  const Joint j{joint, last, geometry, at, step, write.model};
  add_bilateral_rows(j, write);
  if (geometry.unilateral) add_rope_block(j, write);
  const std::size_t axes = geometry.axes;
  for (std::size_t i = 0; i < axes; ++i)
    if (joint.axis[i].limited()) add_limit(j, i, write);
  for (std::size_t i = 0; i < axes; ++i) {
    const JointAxis& axis = joint.axis[i];
    if (axis.motor != MotorKind::none && has_bound(axis)) add_motor(j, i, write);
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (!(joint.axis[i].friction > 0.0)) continue;
    const double bound = step.h * joint.axis[i].friction;
    write.row({}, geometry.axis_angular[i], -bound, bound);
    add_axis_block(j, i, BlockKind::boxed, JointRowKind::friction, 1.0, write);
  }
  if (geometry.has_slip) add_thread_friction(j, write);
  return write.n_made;
}

bool JointBlockWriter::is_plain(const JointConstants& joint) const {
  const bool plain_type =
      joint.type == JointType::spherical ||
      (joint.type == JointType::revolute && joint.axis[0].motor == MotorKind::none &&
       !(joint.axis[0].friction > 0.0) && !joint.axis[0].limited());
  return plain_type && !(joint.erp >= 0.0) && !model_.planar && !model_.periodic.any();
}

std::size_t JointBlockWriter::add_plain(const JointConstants& joint, const PlainJointPoses& at,
                                        const std::array<Index, kJointBodies>& body,
                                        Index joint_index, JointMisfit& misfit) {
  Impl& write = **impl_;
  write.body = &body;
  write.name = joint.id;
  write.joint = joint_index;
  const Vec3 p_a = at.pose[0]->p + at.pose[0]->q * joint.frame[0].p;
  const Vec3 p_b = at.pose[1]->p + at.pose[1]->q * joint.frame[1].p;
  const Vec3 d = p_b - p_a, middle = 0.5 * (p_a + p_b);
  const Vec3 a = middle - at.pose[0]->p, b = middle - at.pose[1]->p;
  // of the point's rows, G V0 = v_b + w_b x b - v_a - w_a x a
  const Twist &v_a = *at.twist[0], &v_b = *at.twist[1];
  const Vec3 speed = (v_b.v + v_b.w.cross(b)) - (v_a.v + v_a.w.cross(a));
  const PositionLaw linear = write.law_of(joint_softness(joint, false));
  for (Index k = 0; k < 3; ++k) write.row(linear.at(d[k], speed[k]), false);
  misfit = {d.cwiseAbs().maxCoeff(), 0.0};
  std::array<Vec3, 2> across;
  std::size_t n_across = 0;
  if (joint.type == JointType::revolute) {
    n_across = across.size();
    const AxesApart apart = axes_apart((at.pose[0]->q * joint.frame[0].q).toRotationMatrix(),
                                       at.pose[1]->q * joint.frame[1].q * Vec3::UnitZ());
    across = apart.across;
    const PositionLaw angular = write.law_of(joint_softness(joint, true));
    const Vec3 turn = v_b.w - v_a.w;
    for (std::size_t k = 0; k < n_across; ++k) {
      write.row(angular.at(apart.misfit[k], across[k].dot(turn)), true);
      misfit.angular = std::max(misfit.angular, std::abs(apart.misfit[k]));
    }
  }
  write.block(BlockKind::bilateral, JointRowKind::rows, 0, [&](std::size_t j, double* to) {
    const double sign = j == 0 ? -1.0 : 1.0;
    const Vec3 r = j == 0 ? a : Vec3(-b);
    // number by number: what was just written so cannot be copied as vectors at once
    put_row(to, sign, 0.0, 0.0, 0.0, -r.z(), r.y());
    put_row(to, 0.0, sign, 0.0, r.z(), 0.0, -r.x());
    put_row(to, 0.0, 0.0, sign, -r.y(), r.x(), 0.0);
    for (std::size_t k = 0; k < n_across; ++k) {
      const Vec3& n = across[k];
      put_row(to, 0.0, 0.0, 0.0, sign * n.x(), sign * n.y(), sign * n.z());
    }
    return to;
  });
  return write.n_made;
}

double winch_way(const JointConstants& joint, const Model& model, double now,
                 const JointStep& step) {
  const JointAxis& axis = joint.axis[0];
  const ValueTable* table = axis.table < 0 ? nullptr : &model.tables[axis.table];
  double next = now;
  if (axis.motor == MotorKind::velocity)
    next += step.h * (table ? table->mean(step.time, step.h) : axis.target);
  else
    next = table->at(step.time + step.h);
  return std::clamp(next, std::max(0.0, axis.lower), axis.upper) - now;
}

}  // namespace catena
