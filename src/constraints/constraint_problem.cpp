#include "catena/constraints/constraint_problem.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace catena {
namespace {

/// Where a check failed: throws std::logic_error "<what> <index>: <found>".
[[noreturn]] void broken(const char* what, std::int64_t index, const std::string& found) {
  throw std::logic_error("constraint problem: " + std::string(what) + " " + std::to_string(index) +
                         ": " + found);
}

template <class T>
bool all_finite(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T x) { return std::isfinite(x); });
}

template <class T>
bool ascending_from_zero(const std::vector<T>& begin, std::size_t n) {
  return begin.size() == n + 1 && begin.front() == 0 && std::is_sorted(begin.begin(), begin.end());
}

std::size_t mass_numbers(MassKind kind, std::size_t dofs) {
  switch (kind) {
    case MassKind::prescribed:
      return 0;
    case MassKind::rigid:
      return 7;
    case MassKind::dense:
      return dofs * dofs;
  }
  return 0;
}

void check_bodies(const ProblemBodies& bodies) {
  const std::size_t n = bodies.id.size();
  if (bodies.mass_kind.size() != n || !ascending_from_zero(bodies.dof_begin, n) ||
      !ascending_from_zero(bodies.mass_begin, n))
    broken("bodies", bodies.size(), "arrays of different length or offsets not ascending");
  if (bodies.n_owned < 0 || bodies.n_owned > bodies.size())
    broken("bodies", bodies.size(), "n_owned is " + std::to_string(bodies.n_owned));
  if (bodies.free_velocity.size() != static_cast<std::size_t>(bodies.n_dofs()) ||
      std::ssize(bodies.inverse_mass) != bodies.mass_begin.back())
    broken("bodies", bodies.size(), "velocities or masses do not match the offsets");
  for (std::size_t b = 0; b < n; ++b) {
    const std::size_t dofs = bodies.dof_begin[b + 1] - bodies.dof_begin[b];
    const std::size_t numbers = bodies.mass_begin[b + 1] - bodies.mass_begin[b];
    if (dofs == 0) broken("body", bodies.id[b], "no velocities");
    if (bodies.mass_kind[b] == MassKind::rigid && dofs != 6)
      broken("body", bodies.id[b], "a rigid body with " + std::to_string(dofs) + " velocities");
    if (numbers != mass_numbers(bodies.mass_kind[b], dofs))
      broken("body", bodies.id[b], std::to_string(numbers) + " numbers of inverse mass");
    const std::size_t dof = bodies.dof_begin[b];
    const std::size_t mass = bodies.mass_begin[b];
    if (!all_finite(std::span(bodies.free_velocity).subspan(dof, dofs)) ||
        !all_finite(std::span(bodies.inverse_mass).subspan(mass, numbers)))
      broken("body", bodies.id[b], "free velocity or inverse mass is not finite");
  }
}

void check_contacts(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  for (std::size_t k = 0; k < problem.contacts.size(); ++k) {
    const RigidContact& c = problem.contacts[k];
    const std::int64_t at = k;
    for (const Index b : {c.body_a, c.body_b}) {
      if (b < 0 || b >= bodies.size()) broken("contact", at, "no body " + std::to_string(b));
      if (bodies.dof_begin[b + 1] - bodies.dof_begin[b] != 6)
        broken("contact", at, "its body " + std::to_string(b) + " has not 6 velocities");
    }
    if (c.body_a == c.body_b) broken("contact", at, "a body against itself");
    if (!c.normal.allFinite() || !c.tangent.allFinite() || !c.arm_a.allFinite() ||
        !c.arm_b.allFinite() || !bias_of(c).allFinite())
      broken("contact", at, "geometry or bias is not finite");
    if (std::abs(c.normal.norm() - 1.0) > 1e-9 || std::abs(c.tangent.norm() - 1.0) > 1e-9 ||
        std::abs(c.normal.dot(c.tangent)) > 1e-9)
      broken("contact", at, "normal and tangent are not orthonormal");
    for (const double sigma : {c.compliance, c.tangent_compliance})
      if (!(sigma >= 0.0) || std::isinf(sigma))
        broken("contact", at, "compliance " + std::to_string(sigma));
    if (!(c.friction >= 0.0) || std::isinf(c.friction))
      broken("contact", at, "friction " + std::to_string(c.friction));
    if (!(c.cohesion >= 0.0) || std::isinf(c.cohesion))
      broken("contact", at, "cohesion " + std::to_string(c.cohesion));
  }
}

/// Rolling, spinning and cohesion: where they are given, and how many rows they ask for.
void check_contact_block(const GeneralBlocks& blocks, std::size_t k, Index rows) {
  const std::int64_t at = k;
  const bool contact = blocks.kind[k] == BlockKind::contact;
  Index expected = 3;
  for (const auto* values : {&blocks.rolling, &blocks.spinning}) {
    if (values->empty() || (*values)[k] == -1.0) continue;
    const bool rolling = values == &blocks.rolling;
    if (!((*values)[k] >= 0.0) || std::isinf((*values)[k]) || !contact)
      broken("block", at,
             std::string(rolling ? "rolling" : "spinning") + " friction " +
                 std::to_string((*values)[k]));
    expected += rolling ? 2 : 1;
  }
  if (contact && rows != expected)
    broken("block", at,
           "a contact of " + std::to_string(rows) + " rows instead of " + std::to_string(expected));
  if (blocks.cohesion.empty()) return;
  const double cohesion = blocks.cohesion[k];
  if (!(cohesion >= 0.0) || std::isinf(cohesion) || (!contact && cohesion != 0.0))
    broken("block", at, "cohesion " + std::to_string(cohesion));
}

void check_block_rows(const GeneralBlocks& blocks, std::size_t k) {
  const std::int64_t at = k;
  const Index rows = blocks.row_begin[k + 1] - blocks.row_begin[k];
  if (rows == 0) broken("block", at, "no rows");
  check_contact_block(blocks, k, rows);
  if (!(blocks.friction[k] >= 0.0) || std::isinf(blocks.friction[k]))
    broken("block", at, "friction " + std::to_string(blocks.friction[k]));
  for (Index i = blocks.row_begin[k]; i < blocks.row_begin[k + 1]; ++i) {
    if (!std::isfinite(blocks.q[i])) broken("block", at, "q is not finite");
    if (!(blocks.compliance[i] >= 0.0) || std::isinf(blocks.compliance[i]))
      broken("block", at, "compliance " + std::to_string(blocks.compliance[i]));
    if (blocks.kind[k] == BlockKind::boxed && !(blocks.lower[i] <= blocks.upper[i]))
      broken("block", at, "lower bound above upper bound");
  }
}

void check_blocks(const ConstraintProblem& problem) {
  const GeneralBlocks& blocks = problem.blocks;
  const ProblemBodies& bodies = problem.bodies;
  const std::size_t n = blocks.kind.size();
  if (blocks.name.size() != n || blocks.friction.size() != n ||
      !ascending_from_zero(blocks.row_begin, n) || !ascending_from_zero(blocks.body_begin, n))
    broken("blocks", blocks.size(), "arrays of different length or offsets not ascending");
  for (const auto* values : {&blocks.rolling, &blocks.spinning, &blocks.cohesion})
    if (!values->empty() && values->size() != n)
      broken("blocks", blocks.size(), "rolling, spinning or cohesion is not one per block");
  if (!blocks.key.empty() && blocks.key.size() != n)
    broken("blocks", blocks.size(), "keys are not one per block");
  if (!blocks.at_rest.empty() && blocks.at_rest.size() != n)
    broken("blocks", blocks.size(), "rows at rest are not counted per block");
  const std::size_t rows = blocks.n_rows();
  if (blocks.q.size() != rows || blocks.compliance.size() != rows || blocks.lower.size() != rows ||
      blocks.upper.size() != rows || blocks.angular.size() != rows)
    broken("blocks", blocks.size(), "row arrays do not have one entry per row");
  const std::size_t references = blocks.body_begin.back();
  if (blocks.body.size() != references || !ascending_from_zero(blocks.jacobian_begin, references) ||
      std::ssize(blocks.jacobian) != blocks.jacobian_begin.back())
    broken("blocks", blocks.size(), "Jacobians do not match the bodies named");
  if (!all_finite(std::span(blocks.jacobian))) broken("blocks", 0, "a Jacobian is not finite");
  for (std::size_t k = 0; k < n; ++k) {
    check_block_rows(blocks, k);
    const std::size_t first = blocks.body_begin[k];
    const std::size_t last = blocks.body_begin[k + 1];
    const Index block_rows = blocks.row_begin[k + 1] - blocks.row_begin[k];
    for (std::size_t j = first; j < last; ++j) {
      const Index b = blocks.body[j];
      const std::int64_t at = k;
      if (b < 0 || b >= bodies.size()) broken("block", at, "no body " + std::to_string(b));
      const Index dofs = bodies.dof_begin[b + 1] - bodies.dof_begin[b];
      if (blocks.jacobian_begin[j + 1] - blocks.jacobian_begin[j] !=
          std::int64_t{block_rows} * dofs)
        broken("block", at, "a Jacobian is not rows x velocities");
      if (std::find(blocks.body.begin() + first, blocks.body.begin() + j, b) !=
          blocks.body.begin() + j)
        broken("block", at, "names a body twice");
    }
  }
}

void check_assembled(const AssembledOperator& op) {
  const Index rows = op.n_rows();
  if (rows < 0 || rows % 3 != 0) broken("operator", rows, "rows are not three per contact");
  const std::size_t contacts = rows / 3;
  if (op.r.size() != static_cast<std::size_t>(rows) || op.friction.size() != contacts ||
      op.name.size() != contacts)
    broken("operator", rows, "r, friction or names do not match the rows");
  if (!ascending_from_zero(op.row_begin, rows) || std::ssize(op.column) != op.row_begin.back() ||
      op.value.size() != op.column.size())
    broken("operator", rows, "sparse arrays do not match");
  for (const Index c : op.column)
    if (c < 0 || c >= rows + op.n_halo_rows) broken("operator", rows, "column out of range");
  if (!all_finite(std::span(op.value)) || !all_finite(std::span(op.r)))
    broken("operator", rows, "N or r is not finite");
  for (std::size_t k = 0; k < contacts; ++k)
    if (!(op.friction[k] >= 0.0) || std::isinf(op.friction[k]))
      broken("contact", narrow<std::int64_t>(k), "friction is negative or not finite");
  for (const HaloPlan::Neighbour& neighbour : op.halo.neighbours) {
    for (const Index item : neighbour.send)
      if (item < 0 || item >= rows / 3) broken("halo", neighbour.rank, "sends no block of ours");
    for (const Index item : neighbour.receive)
      if (item < rows / 3 || item >= (rows + op.n_halo_rows) / 3)
        broken("halo", neighbour.rank, "receives into no halo block");
  }
}

/// Every dynamic body that is not owned is received exactly once; only owned dynamic
/// bodies are sent.
void check_ghosts(const ConstraintProblem& problem) {
  const ProblemBodies& bodies = problem.bodies;
  std::vector<int> received(bodies.size(), 0);
  for (const HaloPlan::Neighbour& neighbour : problem.ghosts.neighbours) {
    for (const Index b : neighbour.send)
      if (b < 0 || b >= bodies.n_owned)
        broken("ghosts", neighbour.rank, "sends body " + std::to_string(b) + ", not owned");
    for (const Index b : neighbour.receive) {
      if (b < bodies.n_owned || b >= bodies.size())
        broken("ghosts", neighbour.rank, "receives body " + std::to_string(b) + ", not a ghost");
      ++received[b];
    }
  }
  for (Index b = bodies.n_owned; b < bodies.size(); ++b) {
    const int expected = bodies.mass_kind[b] == MassKind::prescribed ? 0 : 1;
    if (received[b] != expected)
      broken("body", bodies.id[b],
             "received by the halo " + std::to_string(received[b]) + " times");
  }
}

}  // namespace

/// Few numbers, without the call that inserting a range makes.
template <std::size_t kCount>
static void append(std::vector<double>& list, const std::array<double, kCount>& numbers) {
  const std::size_t first = list.size();
  list.resize(first + kCount);
  for (std::size_t i = 0; i < kCount; ++i) list[first + i] = numbers[i];
}

void GeneralBlocks::clear() {
  for (auto* list : {&row_begin, &body_begin}) list->assign(1, 0);
  jacobian_begin.assign(1, 0);
  kind.clear();
  name.clear();
  body.clear();
  key.clear();
  angular.clear();
  at_rest.clear();
  file_velocity.clear();
  for (auto* list :
       {&jacobian, &friction, &rolling, &spinning, &cohesion, &q, &compliance, &lower, &upper})
    list->clear();
}

void ProblemBodies::reserve(std::size_t n) {
  id.reserve(n);
  mass_kind.reserve(n);
  dof_begin.reserve(n + 1);
  mass_begin.reserve(n + 1);
  inverse_mass.reserve(7 * n);
  free_velocity.reserve(6 * n);
}

void ProblemBodies::clear() {
  id.clear();
  mass_kind.clear();
  dof_begin.assign(1, 0);
  mass_begin.assign(1, 0);
  inverse_mass.clear();
  free_velocity.clear();
  file_velocity.clear();
  n_owned = 0;
}

void ProblemBodies::add_prescribed(GlobalId body, const Twist& twist) {
  id.push_back(body);
  mass_kind.push_back(MassKind::prescribed);
  dof_begin.push_back(dof_begin.back() + 6);
  mass_begin.push_back(mass_begin.back());
  append(free_velocity, std::array<double, 6>{twist.v.x(), twist.v.y(), twist.v.z(), twist.w.x(),
                                              twist.w.y(), twist.w.z()});
}

void ProblemBodies::add_rigid(GlobalId body, double inverse_mass_value, const Mat3& inverse_inertia,
                              const Twist& free_twist) {
  add_prescribed(body, free_twist);
  mass_kind.back() = MassKind::rigid;
  const Mat3& i = inverse_inertia;
  append(inverse_mass, std::array<double, 7>{inverse_mass_value, i(0, 0), i(0, 1), i(0, 2), i(1, 1),
                                             i(1, 2), i(2, 2)});
  mass_begin.back() += 7;
}

void ProblemBodies::add_rigid(GlobalId body, double inverse_mass_value, double inverse_inertia,
                              const Twist& free_twist) {
  add_prescribed(body, free_twist);
  mass_kind.back() = MassKind::rigid;
  const double i = inverse_inertia;
  append(inverse_mass, std::array<double, 7>{inverse_mass_value, i, 0.0, 0.0, i, 0.0, i});
  mass_begin.back() += 7;
}

void ProblemBodies::add_dense(GlobalId body, std::span<const double> inverse_mass_block,
                              std::span<const double> free_velocities) {
  const std::size_t n = free_velocities.size();
  if (inverse_mass_block.size() != n * n)
    broken("body", body,
           std::to_string(inverse_mass_block.size()) + " numbers of inverse mass for " +
               std::to_string(n) + " velocities");
  id.push_back(body);
  mass_kind.push_back(MassKind::dense);
  dof_begin.push_back(dof_begin.back() + to_index(n));
  mass_begin.push_back(mass_begin.back() + to_index(n * n));
  inverse_mass.insert(inverse_mass.end(), inverse_mass_block.begin(), inverse_mass_block.end());
  free_velocity.insert(free_velocity.end(), free_velocities.begin(), free_velocities.end());
}

BlockView block_view(const ConstraintProblem& problem, Index block) {
  if (problem.assembled)
    return {BlockKind::contact, 3 * block, 3, problem.assembled->friction[block], -1.0, -1.0, 0.0};
  const auto n_contacts = to_index(problem.contacts.size());
  if (block < n_contacts) {
    const RigidContact& c = problem.contacts[block];
    return {BlockKind::contact, 3 * block, 3, c.friction, -1.0, -1.0, c.cohesion};
  }
  const std::size_t g = block - n_contacts;
  const GeneralBlocks& blocks = problem.blocks;
  const auto value = [g](const std::vector<double>& values, double none) {
    return values.empty() ? none : values[g];
  };
  return {blocks.kind[g],
          problem.first_general_row() + blocks.row_begin[g],
          blocks.row_begin[g + 1] - blocks.row_begin[g],
          blocks.friction[g],
          value(blocks.rolling, -1.0),
          value(blocks.spinning, -1.0),
          value(blocks.cohesion, 0.0)};
}

std::array<int, 6> standard_row_slots(const BlockView& contact) {
  std::array<int, 6> place = {0, 1, 2, -1, -1, -1};
  int next = 3;
  if (contact.rolling >= 0.0) {
    place[3] = next++;
    place[4] = next++;
  }
  if (contact.spinning >= 0.0) place[5] = next;
  return place;
}

/// Calls visit(k, b, sign) for the normal row of every contact: of block k, b or -b as it is
/// stored.
template <class Visit>
static void each_normal_row(ConstraintProblem& problem, const Visit& visit) {
  const std::size_t n_rigid = problem.contacts.size();
  for (std::size_t k = 0; k < n_rigid; ++k) visit(k, problem.contacts[k].bias, 1.0);
  for (std::size_t k = 0; k < problem.blocks.kind.size(); ++k)
    if (problem.blocks.kind[k] == BlockKind::contact)
      visit(n_rigid + k, problem.blocks.q[problem.blocks.row_begin[k]], -1.0);
}

void remove_shift(ConstraintProblem& problem) {
  each_normal_row(problem, [&](std::size_t k, double& b, double) { b = problem.unshifted[k]; });
  problem.shift.clear();
  problem.lagged = false;
  problem.law = ContactLaw::coulomb;
}

void set_shift(ConstraintProblem& problem, std::vector<double> shift) {
  if (!problem.lagged) {
    problem.unshifted.assign(shift.size(), 0.0);
    each_normal_row(problem, [&](std::size_t k, double& b, double) { problem.unshifted[k] = b; });
  }
  each_normal_row(problem, [&](std::size_t k, double& b, double sign) {
    b = problem.unshifted[k] + sign * shift[k];
  });
  problem.shift = std::move(shift);
  problem.lagged = true;
  problem.law = ContactLaw::ccp;
}

void contact_jacobian(const RigidContact& contact, std::span<double, 18> g_a,
                      std::span<double, 18> g_b) {
  // d . (v + w x r) = d . v + (r x d) . w for each direction d
  const std::array<Vec3, 3> direction = {contact.normal, contact.tangent,
                                         contact.normal.cross(contact.tangent)};
  for (std::size_t i = 0; i < 3; ++i) {
    const Vec3& d = direction[i];
    const Vec3 turn_a = contact.arm_a.cross(d);
    const Vec3 turn_b = contact.arm_b.cross(d);
    for (int c = 0; c < 3; ++c) {
      const std::size_t at = 6 * i + c;
      g_a[at] = -d[c];
      g_a[at + 3] = -turn_a[c];
      g_b[at] = d[c];
      g_b[at + 3] = turn_b[c];
    }
  }
}

void apply_inverse_mass(const ProblemBodies& bodies, Index b, std::span<const double> f,
                        std::span<double> y) {
  const double* m = bodies.inverse_mass.data() + bodies.mass_begin[b];
  switch (bodies.mass_kind[b]) {
    case MassKind::prescribed:
      std::fill(y.begin(), y.end(), 0.0);
      return;
    case MassKind::rigid:
      for (std::size_t i = 0; i < 3; ++i) y[i] = m[0] * f[i];
      y[3] = m[1] * f[3] + m[2] * f[4] + m[3] * f[5];
      y[4] = m[2] * f[3] + m[4] * f[4] + m[5] * f[5];
      y[5] = m[3] * f[3] + m[5] * f[4] + m[6] * f[5];
      return;
    case MassKind::dense: {
      const std::size_t n = y.size();
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < n; ++j) sum += m[i * n + j] * f[j];
        y[i] = sum;
      }
      return;
    }
  }
}

void check_problem(const ConstraintProblem& problem) {
  if (problem.assembled) {
    if (problem.bodies.size() != 0 || !problem.contacts.empty() || problem.blocks.size() != 0)
      broken("operator", 0, "the problem has bodies besides");
    check_assembled(*problem.assembled);
  } else {
    check_bodies(problem.bodies);
    check_contacts(problem);
    check_blocks(problem);
    check_ghosts(problem);
  }
  const bool by_subdomains = !problem.block_subdomain.empty() || !problem.body_subdomain.empty();
  if (by_subdomains && std::ssize(problem.block_subdomain) != problem.n_blocks())
    broken("subdomains", std::ssize(problem.block_subdomain), "not one per block");
  if (by_subdomains && std::ssize(problem.body_subdomain) != problem.bodies.n_owned)
    broken("subdomains of bodies", std::ssize(problem.body_subdomain), "not one per owned body");
  if (problem.lagged && (std::ssize(problem.shift) != problem.n_blocks() ||
                         problem.unshifted.size() != problem.shift.size()))
    broken("shifts", std::ssize(problem.shift), "not one per block");
}

}  // namespace catena
