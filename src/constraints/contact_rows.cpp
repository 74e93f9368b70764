#include "catena/constraints/contact_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace catena {

double contact_bias(StepperKind kind, double gap, double normal_speed, double restitution,
                    double step, const ContactParameters& parameters) {
  double b = gap / step;
  if (gap <= 0.0) {
    if (kind == StepperKind::spook) b *= 4.0 * spook_upsilon(2.0 * step, step);
    b = std::max(b, -parameters.recovery_speed);
  }
  const bool impact = restitution > 0.0 && normal_speed < -parameters.rest_speed &&
                      gap + step * normal_speed <= 0.0;
  // w_n = u_n + e u_n0 >= 0 is Newton's law u_n >= -e u_n0
  if (impact) b = std::min(b, restitution * normal_speed);
  return b;
}

void make_contact_rows(const Contact& contact, const Vec3& p_a, const Vec3& p_b,
                       const Twist& twist0_a, const Twist& twist0_b, const PairMaterial& material,
                       StepperKind kind, double step, const ContactParameters& parameters,
                       RigidContact& rows) {
  place_contact_rows(contact, p_a, p_b, material, step, parameters, rows);
  const Vec3 relative =
      twist0_b.v + twist0_b.w.cross(rows.arm_b) - twist0_a.v - twist0_a.w.cross(rows.arm_a);
  rows.bias = contact_bias(kind, contact.gap, rows.normal.dot(relative), material.restitution, step,
                           parameters);
}

void make_planar(RigidContact& rows) {
  rows.arm_a.y() = 0.0;
  rows.arm_b.y() = 0.0;
  rows.tangent = Vec3(rows.normal.z(), 0.0, -rows.normal.x());
}

void add_contact_block(const RigidContact& rows, double rolling, double spinning,
                       GeneralBlocks& blocks) {
  const std::size_t before = blocks.kind.size();
  const std::size_t n_rows = 3 + (rolling >= 0.0 ? 2 : 0) + (spinning >= 0.0 ? 1 : 0);
  blocks.kind.push_back(BlockKind::contact);
  blocks.name.push_back(narrow<std::int64_t>(before));
  blocks.row_begin.push_back(blocks.row_begin.back() + to_index(n_rows));
  blocks.body_begin.push_back(blocks.body_begin.back() + 2);
  blocks.body.insert(blocks.body.end(), {rows.body_a, rows.body_b});
  blocks.friction.push_back(rows.friction);
  // blocks of other kinds may stand before
  blocks.rolling.resize(before, -1.0);
  blocks.spinning.resize(before, -1.0);
  blocks.cohesion.resize(before, 0.0);
  blocks.key.resize(before);
  blocks.rolling.push_back(rolling);
  blocks.spinning.push_back(spinning);
  blocks.cohesion.push_back(rows.cohesion);
  blocks.key.push_back(rows.key);
  const std::size_t end = blocks.q.size() + n_rows;
  blocks.q.resize(end, 0.0);
  blocks.compliance.resize(end, 0.0);
  for (std::size_t i = 0; i < 3; ++i) {
    blocks.q[end - n_rows + i] = -bias_of(rows)[to_index(i)];
    blocks.compliance[end - n_rows + i] = compliance_of(rows)[to_index(i)];
  }
  blocks.lower.resize(end, 0.0);
  blocks.upper.resize(end, 0.0);
  blocks.angular.resize(end - n_rows + 3, 0);
  blocks.angular.resize(end, 1);

  std::array<double, 18> g_a{}, g_b{};
  contact_jacobian(rows, g_a, g_b);
  const Vec3 tangent2 = rows.normal.cross(rows.tangent);
  for (const auto& [g, sign] : {std::pair(&g_a, -1.0), std::pair(&g_b, 1.0)}) {
    blocks.jacobian.insert(blocks.jacobian.end(), g->begin(), g->end());
    const auto turn = [&blocks, s = sign](const Vec3& axis) {
      blocks.jacobian.insert(blocks.jacobian.end(),
                             {0.0, 0.0, 0.0, s * axis.x(), s * axis.y(), s * axis.z()});
    };
    if (rolling >= 0.0) {
      turn(rows.tangent);
      turn(tangent2);
    }
    if (spinning >= 0.0) turn(rows.normal);
    blocks.jacobian_begin.push_back(std::ssize(blocks.jacobian));
  }
}

}  // namespace catena
