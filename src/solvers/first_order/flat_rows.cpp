#include "solvers/first_order/flat_rows.hpp"

#include <algorithm>

#include "catena/constraints/contact_cone.hpp"
#include "catena/math/cone.hpp"

namespace catena::first_order {
namespace {

Vec6 gather(const std::array<int, 6>& row, std::size_t first, std::span<const double> x) {
  Vec6 out = Vec6::Zero();
  for (std::size_t i = 0; i < 6; ++i)
    if (row[i] >= 0) out[i] = x[first + row[i]];
  return out;
}

/// P of three rows under the problem's law, `mu` of the scaled cone.
Vec3 project_three(ContactLaw law, const Vec3& y, double mu) {
  if (!law_form(law).box) return project_cone(y, mu);
  const double normal = y[0] <= 0.0 ? 0.0 : y[0], bound = mu * normal;
  return {normal, std::clamp(y[1], -bound, bound), std::clamp(y[2], -bound, bound)};
}

}  // namespace

FlatRows::FlatRows(const ConstraintProblem& problem, std::span<const Index> blocks,
                   std::span<const double> by_scale)
    : law_(problem.law) {
  for (const Index block : blocks) {
    const BlockView view = block_view(problem, block);
    const std::size_t first = row_.size();
    for (Index r = 0; r < view.rows; ++r) {
      row_.push_back(view.row + r);
      by_scale_.push_back(by_scale[view.row + r]);
    }
    cohesion_.resize(row_.size(), 0.0);
    if (view.kind == BlockKind::contact) {
      add_contact(problem, block, first);
      cohesion_[first] = view.cohesion;
      continue;
    }
    for (Index r = 0; r < view.rows; ++r) {
      const std::size_t i = first + r, row = view.row + r - problem.first_general_row();
      Scalar scalar{i, -kInfinity, kInfinity};
      if (view.kind == BlockKind::unilateral) scalar.lower = 0.0;
      if (view.kind == BlockKind::boxed) {
        const double lower = problem.blocks.lower[row], upper = problem.blocks.upper[row];
        if (by_scale_[i] > 0.0) {
          scalar.lower = lower / by_scale_[i];
          scalar.upper = upper / by_scale_[i];
        } else {  // x = 0 is the bound nearest to no impulse
          cohesion_[i] = -std::clamp(0.0, lower, upper);
        }
      }
      scalars_.push_back(scalar);
    }
  }
  for (auto* x : {&x_[0], &x_[1], &x_[2], &y_}) x->assign(row_.size(), 0.0);
}

void FlatRows::add_contact(const ConstraintProblem& problem, Index block, std::size_t first) {
  const ContactCone own = contact_cone(problem, block);
  const bool three = row_.size() - first == 3 && has_kernels(problem);
  Cone cone{first, own.row, {}, three};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!own.has(i)) continue;
    const double by_disc = by_scale_[first + own.row[kDiscBegin[i]]];
    if (by_disc > 0.0) cone.discs.bound[i] = own.discs.bound[i] * by_scale_[first] / by_disc;
  }
  cones_.push_back(cone);
}

Vec6 FlatRows::projected(const Cone& cone, const Vec6& y) const {
  if (!cone.three)
    return law_form(law_).box ? clamp_rows(cone.discs, y) : project_disc_cone(cone.discs, y);
  Vec6 z = Vec6::Zero();
  z.head<3>() = project_three(law_, y.head<3>(), cone.discs.bound[0]);
  return z;
}

void FlatRows::load(std::span<const double> impulses, int slot) {
  std::vector<double>& x = x_[slot];
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = by_scale_[i] > 0.0 ? (impulses[row_[i]] + cohesion_[i]) / by_scale_[i] : 0.0;
  for (const Scalar& s : scalars_) x[s.row] = std::clamp(x[s.row], s.lower, s.upper);
  for (const Cone& cone : cones_) {
    const Vec6 z = projected(cone, gather(cone.row, cone.first, x));
    for (std::size_t i = 0; i < 6; ++i)
      if (cone.row[i] >= 0) x[cone.first + cone.row[i]] = z[i];
  }
}

void FlatRows::store(int slot, std::span<double> impulses) const {
  for (std::size_t i = 0; i < row_.size(); ++i)
    impulses[row_[i]] = x_[slot][i] * by_scale_[i] - cohesion_[i];
}

std::span<const double> FlatRows::momentum_point(const MomentumPoint& y, const Slots& slots) {
  const std::vector<double>&now = x_[slots.now], &before = x_[slots.before];
  for (std::size_t i = 0; i < y_.size(); ++i) y_[i] = y.keep * now[i] + y.take * before[i];
  return y_;
}

StepSums FlatRows::step(const StepWeights& weights, const Slots& slots, std::span<const double> g) {
  const std::vector<double>& now = x_[slots.now];
  std::vector<double>& next = x_[slots.next];
  StepSums sums;
  const auto take = [&](std::size_t i, double z, double g_i) {
    next[i] = z;
    sums.moved += (z - y_[i]) * (z - y_[i]);
    sums.along += g_i * (z - now[i]);
    sums.size += z * z;
  };
  for (const Scalar& s : scalars_)
    take(s.row, std::clamp(y_[s.row] - weights.inverse_l * g[s.row], s.lower, s.upper), g[s.row]);
  for (Cone& cone : cones_) {
    Vec6 shifted = gather(cone.row, cone.first, g);
    if (weights.renew) cone.shift = cone.discs.shift(shifted);
    shifted[0] += cone.shift;
    const Vec6 z = projected(cone, gather(cone.row, cone.first, y_) - weights.inverse_l * shifted);
    for (std::size_t i = 0; i < 6; ++i)
      if (cone.row[i] >= 0) take(cone.first + cone.row[i], z[i], shifted[i]);
  }
  return sums;
}

double FlatRows::along_step(const Slots& slots, std::span<const double> a,
                            std::span<const double> b) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < y_.size(); ++i) sum += (x_[slots.next][i] - y_[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace catena::first_order
