#include "solvers/first_order/contact_groups.hpp"

#include <algorithm>
#include <array>

#include "catena/constraints/block_rows.hpp"
#include "solvers/first_order/flat_jacobians.hpp"
#include "solvers/first_order/flat_rows.hpp"

namespace catena::first_order {
namespace {

void put(const Vec3& from, double (&to)[3][kLanes], int lane) {
  for (int i = 0; i < 3; ++i) to[i][lane] = from[i];
}

Vec3 taken(const double (&from)[3][kLanes], int lane) {
  return {from[0][lane], from[1][lane], from[2][lane]};
}

template <class Group>
void fill(HugeVector<Group>& groups, std::size_t n, Index nowhere) {
  Group empty{};
  std::fill_n(empty.a, kLanes, nowhere);
  std::fill_n(empty.b, kLanes, nowhere);
  groups.assign(n, empty);
}

}  // namespace

ContactGroups::ContactGroups(const ConstraintProblem& problem, const RowLayout& layout,
                             Index nowhere)
    : problem_(problem), layout_(layout), kernels_(available_step_kernels().back()) {
  fill(spheres_, layout.sphere_groups, nowhere);
  fill(contacts_, layout.contact_groups, nowhere);
  fill(rows_, layout.row_groups, nowhere);
  for (const Place& place : layout.places) {
    if (!place.grouped()) break;
    ++n_grouped_;
    if (place.group() < spheres_.size())
      pack_sphere(place, problem.contacts[place.block]);
    else if (place.group() < spheres_.size() + contacts_.size())
      pack_contact(place, problem.contacts[place.block]);
    else
      pack_rows(place);
  }
}

void ContactGroups::pack_sphere(const Place& place, const RigidContact& c) {
  SphereGroup& group = spheres_[place.group()];
  const int lane = place.lane();
  const double by_n = layout_.by_scale[place.first];
  const double by_t = layout_.by_scale[place.first + kLanes];
  const RowConstants normal = row_constants(problem_, place.block, 0, by_n);
  const RowConstants first = row_constants(problem_, place.block, 1, by_t);
  const RowConstants second = row_constants(problem_, place.block, 2, by_t);
  group.a[lane] = problem_.bodies.dof_begin[c.body_a];
  group.b[lane] = problem_.bodies.dof_begin[c.body_b];
  put(c.normal, group.n, lane);
  group.arm_a[lane] = c.arm_a.dot(c.normal);
  group.arm_b[lane] = c.arm_b.dot(c.normal);
  group.by_normal[lane] = by_n;
  group.by_tangent[lane] = by_t;
  group.mu[lane] = scaled_friction(problem_, layout_, place);
  group.offset_n[lane] = normal.offset;
  put(first.offset * c.tangent + second.offset * c.normal.cross(c.tangent), group.offset_t, lane);
  group.sigma_n[lane] = normal.compliance;
  group.sigma_t[lane] = first.compliance;
}

void ContactGroups::pack_contact(const Place& place, const RigidContact& c) {
  ContactGroup& group = contacts_[place.group() - spheres_.size()];
  const int lane = place.lane();
  group.a[lane] = problem_.bodies.dof_begin[c.body_a];
  group.b[lane] = problem_.bodies.dof_begin[c.body_b];
  put(c.normal, group.n, lane);
  put(c.tangent, group.t, lane);
  put(c.arm_a, group.arm_a, lane);
  put(c.arm_b, group.arm_b, lane);
  group.by_normal[lane] = layout_.by_scale[place.first];
  group.by_tangent[lane] = layout_.by_scale[place.first + kLanes];
  group.mu[lane] = scaled_friction(problem_, layout_, place);
  for (Index r = 0; r < 3; ++r) {
    const RowConstants row = row_constants(problem_, place.block, r,
                                           r == 0 ? group.by_normal[lane] : group.by_tangent[lane]);
    group.offset[r][lane] = row.offset;
    (r == 0 ? group.sigma_n : group.sigma_t)[lane] = row.compliance;
  }
}

void ContactGroups::pack_rows(const Place& place) {
  RowGroup& group = rows_[place.group() - spheres_.size() - contacts_.size()];
  const int lane = place.lane();
  group.mu[lane] = scaled_friction(problem_, layout_, place);
  std::array<double, 3> by;
  for (Index r = 0; r < 3; ++r) {
    by[r] = layout_.by_scale[place.first + Offset{r} * kLanes];
    const RowConstants row = row_constants(problem_, place.block, r, by[r]);
    group.offset[r][lane] = row.offset;
    group.sigma[r][lane] = row.compliance;
  }
  std::size_t side = 0;
  for_each_body(problem_, place.block, [&](Index b, const double* g) {
    (side == 0 ? group.a : group.b)[lane] = problem_.bodies.dof_begin[b];
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t d = 0; d < 6; ++d) group.g[side][d][r][lane] = by[r] * *g++;
    ++side;
  });
}

Vec3 ContactGroups::get(const Place& place, int slot) const {
  const int lane = place.lane();
  std::size_t k = place.group();
  if (k < spheres_.size()) {
    const RigidContact& c = problem_.contacts[place.block];
    const Vec3 x = taken(spheres_[k].x[slot], lane);
    return {c.normal.dot(x), c.tangent.dot(x), c.normal.cross(c.tangent).dot(x)};
  }
  k -= spheres_.size();
  return k < contacts_.size() ? taken(contacts_[k].x[slot], lane)
                              : taken(rows_[k - contacts_.size()].x[slot], lane);
}

void ContactGroups::set(const Place& place, int slot, const Vec3& x) {
  const int lane = place.lane();
  std::size_t k = place.group();
  if (k < spheres_.size()) {
    const RigidContact& c = problem_.contacts[place.block];
    put(x[0] * c.normal + x[1] * c.tangent + x[2] * c.normal.cross(c.tangent), spheres_[k].x[slot],
        lane);
    return;
  }
  k -= spheres_.size();
  put(x, k < contacts_.size() ? contacts_[k].x[slot] : rows_[k - contacts_.size()].x[slot], lane);
}

void ContactGroups::load(std::span<const double> impulses, int slot) {
  for (const Place& place : std::span(layout_.places).first(n_grouped_)) {
    const BlockView view = block_view(problem_, place.block);
    Vec3 x;
    for (Index r = 0; r < 3; ++r) {
      const double by = layout_.by_scale[place.first + Offset{r} * kLanes];
      const double lambda = impulses[view.row + r] + (r == 0 ? view.cohesion : 0.0);
      x[r] = by > 0.0 ? lambda / by : 0.0;
    }
    set(place, slot, project_three(problem_.law, x, scaled_friction(problem_, layout_, place)));
  }
}

void ContactGroups::store(int slot, std::span<double> impulses) const {
  const auto n_contacts = to_index(problem_.contacts.size());
  for (const Place& place : std::span(layout_.places).first(n_grouped_)) {
    const Vec3 x = get(place, slot);
    const double* by = layout_.by_scale.data() + place.first;
    const bool rigid = place.block < n_contacts;
    const std::size_t row = rigid ? Offset{3} * place.block : block_view(problem_, place.block).row;
    const double cohesion = rigid ? problem_.contacts[place.block].cohesion
                                  : block_view(problem_, place.block).cohesion;
    impulses[row] = by[0] * x[0] - cohesion;
    impulses[row + 1] = by[kLanes] * x[1];
    impulses[row + 2] = by[2 * kLanes] * x[2];
  }
}

StepSums ContactGroups::step(const StepPass& pass) {
  StepSums sums = kernels_.spheres(spheres_.data(), spheres_.size(), pass);
  sums.add(kernels_.contacts(contacts_.data(), contacts_.size(), pass));
  sums.add(kernels_.rows(rows_.data(), rows_.size(), pass));
  return sums;
}

}  // namespace catena::first_order
