#include "solvers/pivoting/components.hpp"

#include <algorithm>
#include <numeric>

#include "catena/base/sort_unique.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

/// Sets of blocks that grow together (union by the least block, so that its number is the set's).
class Sets {
 public:
  explicit Sets(Index n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), Index{0}); }

  Index find(Index i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }
  void join(Index i, Index j) {
    i = find(i);
    j = find(j);
    parent_[std::max(i, j)] = std::min(i, j);
  }

 private:
  std::vector<Index> parent_;
};

bool moves(const ProblemBodies& bodies, Index b) {
  const auto begin = bodies.inverse_mass.begin() + bodies.mass_begin[b];
  const auto end = bodies.inverse_mass.begin() + bodies.mass_begin[b + 1];
  return std::any_of(begin, end, [](double x) { return x != 0.0; });
}

void join_by_bodies(const ConstraintProblem& problem, Sets& sets) {
  std::vector<Index> first(problem.bodies.size(), -1);  // block at each body
  const auto touch = [&](Index block, Index body) {
    if (!moves(problem.bodies, body)) return;
    Index& other = first[body];
    if (other < 0)
      other = block;
    else
      sets.join(other, block);
  };
  for (Index k = 0; k < problem.n_blocks(); ++k)
    for_each_body_index(problem, k, [&](Index body) { touch(k, body); });
}

void join_by_entries(const AssembledOperator& n, Sets& sets) {
  for (Index i = 0; i < n.n_rows(); ++i)
    for (std::int64_t e = n.row_begin[i]; e < n.row_begin[i + 1]; ++e)
      if (n.value[e] != 0.0) sets.join(i / 3, n.column[e] / 3);
}

/// Appends body b of `from`.
void copy_body(const ProblemBodies& from, Index b, ProblemBodies& to) {
  to.id.push_back(from.id[b]);
  to.mass_kind.push_back(from.mass_kind[b]);
  to.inverse_mass.insert(to.inverse_mass.end(), from.inverse_mass.begin() + from.mass_begin[b],
                         from.inverse_mass.begin() + from.mass_begin[b + 1]);
  to.free_velocity.insert(to.free_velocity.end(), from.free_velocity.begin() + from.dof_begin[b],
                          from.free_velocity.begin() + from.dof_begin[b + 1]);
  to.mass_begin.push_back(to_index(to.inverse_mass.size()));
  to.dof_begin.push_back(to_index(to.free_velocity.size()));
  if (b < from.n_owned) ++to.n_owned;
}

/// Place in an ascending list; -1: not there.
Index place_in(const std::vector<Index>& list, Index item) {
  const auto found = std::lower_bound(list.begin(), list.end(), item);
  return found != list.end() && *found == item ? to_index(found - list.begin()) : -1;
}

/// Appends block k of `from`; `bodies`: those of the component, ascending.
void copy_block(const GeneralBlocks& from, std::size_t k, const std::vector<Index>& bodies,
                GeneralBlocks& to) {
  to.kind.push_back(from.kind[k]);
  to.name.push_back(from.name[k]);
  to.friction.push_back(from.friction[k]);
  if (!from.rolling.empty()) to.rolling.push_back(from.rolling[k]);
  if (!from.spinning.empty()) to.spinning.push_back(from.spinning[k]);
  if (!from.cohesion.empty()) to.cohesion.push_back(from.cohesion[k]);
  if (!from.key.empty()) to.key.push_back(from.key[k]);
  for (auto j = from.body_begin[k]; j < from.body_begin[k + 1]; ++j) {
    to.body.push_back(place_in(bodies, from.body[j]));
    to.jacobian.insert(to.jacobian.end(), from.jacobian.begin() + from.jacobian_begin[j],
                       from.jacobian.begin() + from.jacobian_begin[j + 1]);
    to.jacobian_begin.push_back(std::ssize(to.jacobian));
  }
  to.body_begin.push_back(to_index(to.body.size()));
  for (auto r = from.row_begin[k]; r < from.row_begin[k + 1]; ++r) {
    to.q.push_back(from.q[r]);
    to.compliance.push_back(from.compliance[r]);
    to.lower.push_back(from.lower[r]);
    to.upper.push_back(from.upper[r]);
    to.angular.push_back(from.angular[r]);
  }
  to.row_begin.push_back(to_index(to.q.size()));
}

AssembledOperator rows_of_component(const AssembledOperator& from, const Component& component) {
  AssembledOperator to;
  for (const Index k : component.blocks) {
    to.friction.push_back(from.friction[k]);
    to.name.push_back(from.name[k]);
    for (auto row = 3 * k; row < 3 * k + 3; ++row) {
      to.r.push_back(from.r[row]);
      for (auto e = from.row_begin[row]; e < from.row_begin[row + 1]; ++e) {
        const Index block = place_in(component.blocks, from.column[e] / 3);
        if (block < 0) continue;  // a zero
        to.column.push_back(3 * block + from.column[e] % 3);
        to.value.push_back(from.value[e]);
      }
      to.row_begin.push_back(std::ssize(to.value));
    }
  }
  return to;
}

/// Ascending.
std::vector<Index> bodies_of(const ConstraintProblem& problem, const Component& component) {
  std::vector<Index> bodies;
  for (const Index k : component.blocks)
    for_each_body_index(problem, k, [&](Index body) { bodies.push_back(body); });
  sort_unique(bodies);
  return bodies;
}

}  // namespace

std::vector<Component> connected_components(const ConstraintProblem& problem) {
  Sets sets(problem.n_blocks());
  if (problem.assembled)
    join_by_entries(*problem.assembled, sets);
  else
    join_by_bodies(problem, sets);
  std::vector<Component> components;
  std::vector<Index> place(problem.n_blocks(), -1);
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    Index& p = place[sets.find(k)];
    if (p < 0) {
      p = to_index(components.size());
      components.emplace_back();
    }
    components[p].blocks.push_back(k);
    components[p].rows += block_view(problem, k).rows;
  }
  return components;
}

ConstraintProblem problem_of(const ConstraintProblem& problem, const Component& component) {
  ConstraintProblem part(problem.comm);
  part.law = problem.law;
  part.joint_misfit = problem.joint_misfit;
  part.ordered = problem.ordered;
  if (problem.assembled) {
    part.assembled = rows_of_component(*problem.assembled, component);
    return part;
  }
  const std::vector<Index> bodies = bodies_of(problem, component);
  for (const Index b : bodies) copy_body(problem.bodies, b, part.bodies);
  const auto n_contacts = to_index(problem.contacts.size());
  for (const Index k : component.blocks) {
    if (k >= n_contacts) {
      copy_block(problem.blocks, k - n_contacts, bodies, part.blocks);
      continue;
    }
    RigidContact& contact = part.contacts.emplace_back(problem.contacts[k]);
    contact.body_a = place_in(bodies, contact.body_a);
    contact.body_b = place_in(bodies, contact.body_b);
  }
  return part;
}

std::vector<Index> rows_of(const ConstraintProblem& problem, const Component& component) {
  std::vector<Index> rows;
  rows.reserve(component.rows);
  for (const Index k : component.blocks) {
    const BlockView view = block_view(problem, k);
    for (Index r = 0; r < view.rows; ++r) rows.push_back(view.row + r);
  }
  return rows;
}

}  // namespace catena
