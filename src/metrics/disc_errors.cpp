#include "metrics/disc_errors.hpp"

#include "catena/constraints/contact_cone.hpp"

namespace catena::row_errors {
namespace {

/// Energy error: the metric of D = diag(N_nn, a_t, a_t, a_r, a_r, a_s).
void add_energy(const DiscContact& c, const Vec6& shifted, Part& part) {
  const std::array<double, 4> weights = {c.diagonal[0], disc_mean(c.diagonal, 0),
                                         disc_mean(c.diagonal, 1), disc_mean(c.diagonal, 2)};
  DiscCone cone = c.cone;
  Vec6 weight = Vec6::Zero(), y = c.lambda;
  weight[0] = weights[0];
  y[0] -= shifted[0] / weights[0];
  for (std::size_t i = 0; i < 3; ++i) {
    if (weights[i + 1] <= 0.0) cone.bound[i] = 0.0;
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row) {
      weight[row] = weights[i + 1];
      if (weights[i + 1] > 0.0) y[row] -= shifted[row] / weights[i + 1];
    }
  }
  const Vec6 e = c.lambda - project_disc_cone(cone, y, weights);
  part.energy_normal = 0.5 * weight[0] * e[0] * e[0];
  for (int row = 1; row < 6; ++row) part.energy_friction += 0.5 * weight[row] * e[row] * e[row];
}

/// The normal with the tangents as for three rows, given what w_n is less the push of the
/// couples' discs (ccp); each couple's disc by x = (mu_i y_n, y_i), y = (|z_i|, z_i), which says
/// that it dissipates most.
double fischer_of(const DiscContact& c) {
  const double a_t = disc_mean(c.diagonal, 0);
  const double tangent_shift = c.cone.bound[0] * disc_length(c.w, 0);
  const double couple_shift = c.cone.shift(c.w) - tangent_shift;
  Vec3 w = c.w.head<3>();
  w[0] += c.coulomb ? tangent_shift : -couple_shift;
  double sum =
      cone_contact<ErrorSet::all>(c.lambda.head<3>(), w, c.diagonal[0], a_t, c.cone.bound[0])
          .fischer;
  for (std::size_t i = 1; i < 3; ++i) {
    const double a = disc_mean(c.diagonal, i);
    if (a <= 0.0) continue;
    const double root = std::sqrt(a);
    const int first = kDiscBegin[i], second = kDiscRows[i] == 2 ? first + 1 : -1;
    const Vec3 x(c.cone.bound[i] * root * c.lambda[0], root * c.lambda[first],
                 second < 0 ? 0.0 : root * c.lambda[second]);
    if (c.cone.bound[i] == 0.0) {
      sum += x[1] * x[1] + x[2] * x[2];
      continue;
    }
    const Vec3 z(disc_length(c.w, i) / root, c.w[first] / root,
                 second < 0 ? 0.0 : c.w[second] / root);
    sum += fischer_burmeister_cone(x, z).squaredNorm();
  }
  return sum;
}

}  // namespace

LinearRows linear_rows(const DiscContact& c) {
  LinearRows out;
  out.lambda = c.lambda;
  out.w = c.w;
  out.length.setOnes();
  out.cone = c.cone;
  out.a = (c.diagonal[0] + c.diagonal[1] + c.diagonal[2]) / 3.0;
  for (std::size_t i = 1; i < 3; ++i) {
    const double a = disc_mean(c.diagonal, i);
    const bool moves = a > 0.0 && out.a > 0.0;
    const double length = moves ? std::sqrt(out.a / a) : 0.0;
    out.cone.bound[i] = moves ? c.cone.bound[i] / length : 0.0;
    for (int row = kDiscBegin[i]; row < kDiscBegin[i] + kDiscRows[i]; ++row) {
      out.length[row] = length;
      out.lambda[row] = moves ? c.lambda[row] / length : 0.0;
      out.w[row] = c.cone.bound[i] > 0.0 ? c.w[row] * length : 0.0;
    }
  }
  return out;
}

Part disc_contact(const DiscContact& c) {
  Part part;
  const LinearRows rows = linear_rows(c);
  Vec6 w = rows.w;
  if (c.coulomb) w[0] += rows.cone.shift(rows.w);
  part.unscaled = (rows.lambda - project_disc_cone(rows.cone, rows.lambda - w)).squaredNorm();
  part.work = rows.lambda.dot(rows.w);
  if (rows.a <= 0.0) return part;
  const Vec6 e = rows.lambda - project_disc_cone(rows.cone, rows.lambda - w / rows.a);
  part.scaled = e.squaredNorm();
  part.natural = rows.a * e.head<3>().norm();
  for (int row = 3; row < 6; ++row) {
    const double x = rows.length[row] > 0.0 ? rows.a * e[row] / rows.length[row] : 0.0;
    part.natural_angular = length_of(part.natural_angular, x);
  }
  part.slip = rows.w.squaredNorm() / (rows.a * rows.a);
  if (c.diagonal[0] <= 0.0) return part;
  Vec6 shifted = c.w;
  if (c.coulomb) shifted[0] += c.cone.shift(c.w);
  add_energy(c, shifted, part);
  part.fischer = fischer_of(c);
  return part;
}

}  // namespace catena::row_errors
