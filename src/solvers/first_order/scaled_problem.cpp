#include "solvers/first_order/scaled_problem.hpp"

#include <algorithm>

#include "catena/math/types.hpp"

namespace catena::first_order {
namespace {

/// Two bodies of six velocities each, or one.
bool fits_rows(const ConstraintProblem& problem, Index general) {
  const GeneralBlocks& blocks = problem.blocks;
  const Index first = blocks.body_begin[general], last = blocks.body_begin[general + 1];
  if (last - first > 2) return false;
  const std::vector<Index>& dof = problem.bodies.dof_begin;
  return std::all_of(blocks.body.begin() + first, blocks.body.begin() + last,
                     [&](Index b) { return dof[b + 1] - dof[b] == 6; });
}

/// Places of one kind of contacts after `first`, padded to whole groups.
std::size_t place_contacts(const std::vector<Index>& blocks, std::size_t first,
                           std::vector<Place>& places) {
  for (std::size_t i = 0; i < blocks.size(); ++i)
    places.push_back({blocks[i], (first + i / kLanes) * kGroupRows + i % kLanes, kLanes, 3});
  return (blocks.size() + kLanes - 1) / kLanes;
}

}  // namespace

RowLayout lay_out(const ConstraintProblem& problem, bool with_joints) {
  const auto n_contacts = to_index(problem.contacts.size());
  std::vector<Index> rigid, rows, other, single;
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const BlockView view = block_view(problem, k);
    if (view.kind == BlockKind::bilateral && !with_joints) continue;
    if (view.kind != BlockKind::contact || view.rows != 3 || !has_kernels(problem))
      single.push_back(k);
    else if (problem.assembled)
      other.push_back(k);
    else if (k < n_contacts)
      rigid.push_back(k);
    else
      (fits_rows(problem, k - n_contacts) ? rows : other).push_back(k);
  }
  RowLayout layout;
  layout.rigid_groups = place_contacts(rigid, 0, layout.places);
  layout.row_groups = place_contacts(rows, layout.rigid_groups, layout.places);
  const std::size_t known = layout.rigid_groups + layout.row_groups;
  layout.n_groups = known + place_contacts(other, known, layout.places);
  layout.size = layout.n_groups * kGroupRows;
  for (const Index k : single) {
    const std::size_t n = block_view(problem, k).rows;
    layout.places.push_back({k, layout.size, 1, n});
    layout.size += n;
  }
  return layout;
}

ScaledProblem::ScaledProblem(const ConstraintProblem& problem, DelassusOperator& op,
                             JointSystem* joints, double splitting)
    : problem_(problem), layout_(lay_out(problem, joints == nullptr)) {
  scale_rows(problem, splitting, layout_);
  cones_.resize(layout_.n_groups);
  row_.assign(layout_.size, kNoIndex);
  cohesion_.assign(layout_.size, 0.0);
  bool cohesive = false;
  for (const Place& place : layout_.places) {
    const BlockView view = block_view(problem, place.block);
    for (std::size_t r = 0; r < place.rows; ++r)
      row_[place.first + r * place.stride] = view.row + to_index(r);
    if (view.kind == BlockKind::contact) {
      add_contact(place);
      cohesion_[place.first] = view.cohesion;
      cohesive |= view.cohesion > 0.0;
      continue;
    }
    for (std::size_t r = 0; r < place.rows; ++r) {
      const std::size_t i = place.first + r, row = view.row + r - problem.first_general_row();
      const double s = layout_.by_scale[i] > 0.0 ? 1.0 / layout_.by_scale[i] : 0.0;
      Scalar scalar{i, -kInfinity, kInfinity};
      if (view.kind == BlockKind::unilateral) scalar.lower = 0.0;
      if (view.kind == BlockKind::boxed) {
        const double lower = problem.blocks.lower[row], upper = problem.blocks.upper[row];
        if (s > 0.0) {
          scalar.lower = s * lower;
          scalar.upper = s * upper;
        } else {  // x = 0 is the bound nearest to no impulse
          cohesion_[i] = -std::clamp(0.0, lower, upper);
        }
      }
      scalars_.push_back(scalar);
    }
  }
  if (problem.assembled) {
    require_kernels(problem, "a first-order method on an assembled operator");
    product_ = make_assembled_product(problem, layout_);
    return;
  }
  std::vector<double> zero(problem.n_rows(), 0.0), free(problem.bodies.n_dofs());
  // x = 0 is lambda = -c n
  for (std::size_t i = 0; cohesive && i < row_.size(); ++i)
    if (row_[i] != kNoIndex) zero[row_[i]] = -cohesion_[i];
  op.velocities(zero, free);
  product_ = make_body_product(problem, layout_, joints, op, free);
}

void ScaledProblem::add_contact(const Place& place) {
  const ContactCone own = contact_cone(problem_, place.block);
  const double by_normal = layout_.by_scale[place.first];
  if (place.stride == kLanes) {
    ConeGroup& group = cones_[place.first / kGroupRows];
    const std::size_t lane = place.first % kGroupRows;
    const double by_tangent = layout_.by_scale[place.first + kLanes];
    group.mu[lane] = by_tangent > 0.0 ? own.discs.bound[0] * by_normal / by_tangent : 0.0;
    group.inverse[lane] = 1.0 / (1.0 + group.mu[lane] * group.mu[lane]);
    return;
  }
  Wide wide{place, own.row, {}};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!own.has(i)) continue;
    const double by_disc = layout_.by_scale[place.first + own.row[kDiscBegin[i]]];
    if (by_disc > 0.0) wide.cone.bound[i] = own.discs.bound[i] * by_normal / by_disc;
  }
  wide_.push_back(wide);
}

std::size_t ScaledProblem::n_shifts() const { return layout_.n_groups * kLanes + wide_.size(); }

Vec6 ScaledProblem::full(const Wide& wide, std::span<const double> x) const {
  Vec6 out = Vec6::Zero();
  for (std::size_t i = 0; i < 6; ++i)
    if (wide.row[i] >= 0) out[i] = x[wide.place.first + wide.row[i]];
  return out;
}

Vec6 ScaledProblem::projected(const Wide& wide, const Vec6& y) const {
  return law_form(problem_.law).box ? clamp_rows(wide.cone, y) : project_disc_cone(wide.cone, y);
}

void ScaledProblem::load(std::span<const double> impulses, std::span<double> x) const {
  for (std::size_t i = 0; i < layout_.size; ++i) {
    const double by = layout_.by_scale[i];
    x[i] = by > 0.0 ? (impulses[row_[i]] + cohesion_[i]) / by : 0.0;
  }
  for (std::size_t k = 0; k < cones_.size(); ++k)
    project(cones_[k], problem_.law, x.data() + k * kGroupRows);
  for (const Scalar& s : scalars_) x[s.row] = std::clamp(x[s.row], s.lower, s.upper);
  for (const Wide& wide : wide_) {
    const Vec6 z = projected(wide, full(wide, x));
    for (std::size_t i = 0; i < 6; ++i)
      if (wide.row[i] >= 0) x[wide.place.first + wide.row[i]] = z[i];
  }
}

void ScaledProblem::store(std::span<const double> x, std::span<double> impulses) const {
  for (std::size_t i = 0; i < layout_.size; ++i)
    if (row_[i] != kNoIndex) impulses[row_[i]] = x[i] * layout_.by_scale[i] - cohesion_[i];
  product_->store_joints(impulses);
}

StepSums ScaledProblem::step(const StepWeights& weights, const Iterate& iterate) const {
  StepSums sums;
  for (std::size_t k = 0; k < cones_.size(); ++k) {
    const std::size_t i = k * kGroupRows;
    first_order::step(
        cones_[k], problem_.law, weights,
        {iterate.x.data() + i, iterate.g.data() + i, iterate.y.data() + i, iterate.g_y.data() + i,
         iterate.shift.data() + k * kLanes, iterate.next.data() + i},
        sums);
  }
  step_others(weights, iterate, sums);
  return sums;
}

void ScaledProblem::step_others(const StepWeights& weights, const Iterate& it,
                                StepSums& sums) const {
  const auto count = [&](std::size_t i, double g) {
    const double d = it.next[i] - it.y[i];
    sums.moved += d * d;
    sums.along += g * (it.next[i] - it.x[i]);
    sums.size += it.next[i] * it.next[i];
  };
  for (std::size_t i = cones_.size() * kGroupRows; i < layout_.size; ++i) {
    it.y[i] = weights.keep * it.x[i] + weights.take * it.y[i];
    it.g_y[i] = weights.keep * it.g[i] + weights.take * it.g_y[i];
  }
  for (const Scalar& s : scalars_) {
    const double trial = it.y[s.row] - weights.inverse_l * it.g_y[s.row];
    it.next[s.row] = std::clamp(trial, s.lower, s.upper);
    count(s.row, it.g_y[s.row]);
  }
  for (std::size_t k = 0; k < wide_.size(); ++k) {
    const Wide& wide = wide_[k];
    double& shift = it.shift[cones_.size() * kLanes + k];
    Vec6 g = full(wide, it.g_y);
    if (weights.renew) shift = wide.cone.shift(g);
    g[0] += shift;
    const Vec6 z = projected(wide, full(wide, it.y) - weights.inverse_l * g);
    for (std::size_t i = 0; i < 6; ++i) {
      if (wide.row[i] < 0) continue;
      const std::size_t row = wide.place.first + wide.row[i];
      it.next[row] = z[i];
      count(row, g[i]);
    }
  }
}

}  // namespace catena::first_order
