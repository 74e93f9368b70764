#include "subdomain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace catena {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

Index dofs_of(const ProblemBodies& bodies, Index b) {
  return bodies.dof_begin[at(b) + 1] - bodies.dof_begin[at(b)];
}

/// Calls visit(body) for each body of a block.
template <class Visit>
void for_each_body(const ConstraintProblem& problem, Index block, Visit&& visit) {
  const auto n_contacts = static_cast<Index>(problem.contacts.size());
  if (block < n_contacts) {
    visit(problem.contacts[at(block)].body_a);
    visit(problem.contacts[at(block)].body_b);
    return;
  }
  const GeneralBlocks& general = problem.blocks;
  for (Index j = general.body_begin[at(block - n_contacts)];
       j < general.body_begin[at(block - n_contacts) + 1]; ++j)
    visit(general.body[at(j)]);
}

/// Inverse inertia if it is isotropic to round-off (a turned sphere's is only that).
bool isotropic(std::span<const double> mass) {
  constexpr double kRoundOff = 1e-14;
  const double mean = (mass[1] + mass[4] + mass[6]) / 3.0;
  const double limit = kRoundOff * mean;
  return std::abs(mass[1] - mean) <= limit && std::abs(mass[4] - mean) <= limit &&
         std::abs(mass[6] - mean) <= limit && std::abs(mass[2]) <= limit &&
         std::abs(mass[3]) <= limit && std::abs(mass[5]) <= limit;
}

/// Whether a contact sees this body as a sphere: the arm along the normal and an
/// isotropic inertia, or an immovable body that does not turn.
bool seen_as_sphere(const ProblemBodies& bodies, Index b, const Vec3& arm, const Vec3& normal) {
  constexpr double kRoundOff = 1e-12;
  const bool prescribed = bodies.mass_kind[at(b)] == MassKind::prescribed;
  if (prescribed) {
    const double* v = bodies.free_velocity.data() + bodies.dof_begin[at(b)];
    if (v[3] == 0.0 && v[4] == 0.0 && v[5] == 0.0) return true;
  } else if (bodies.mass_kind[at(b)] != MassKind::rigid ||
             !isotropic(std::span(bodies.inverse_mass).subspan(at(bodies.mass_begin[at(b)]), 7))) {
    return false;
  }
  return arm.cross(normal).squaredNorm() <= kRoundOff * kRoundOff * arm.squaredNorm();
}

void copy3(const Vec3& from, double* to) {
  for (int i = 0; i < 3; ++i) to[i] = from[i];
}

}  // namespace

std::vector<Index> touched_bodies(const ConstraintProblem& problem, std::span<const Index> blocks) {
  std::vector<char> touched(at(problem.bodies.size()), 0);
  for (const Index k : blocks) for_each_body(problem, k, [&](Index b) { touched[at(b)] = 1; });
  std::vector<Index> bodies;
  for (Index b = 0; b < problem.bodies.size(); ++b)
    if (touched[at(b)] != 0) bodies.push_back(b);
  return bodies;
}

std::vector<Index> sweep_order(const ConstraintProblem& problem, std::span<const Index> blocks) {
  const auto n_contacts = static_cast<Index>(problem.contacts.size());
  // prescribed bodies last: their contacts go with the dynamic body, and rank by rank the
  // order is the same wherever such a body is kept
  const auto rank_of = [&](Index b) {
    return problem.bodies.mass_kind[at(b)] == MassKind::prescribed ? problem.bodies.size() + b : b;
  };
  const auto key = [&](Index k) -> std::uint64_t {
    if (k >= n_contacts) return std::numeric_limits<std::uint64_t>::max();
    const auto a = static_cast<std::uint32_t>(rank_of(problem.contacts[at(k)].body_a));
    const auto b = static_cast<std::uint32_t>(rank_of(problem.contacts[at(k)].body_b));
    return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  };
  // equal keys keep the order of the blocks
  std::vector<std::pair<std::uint64_t, Index>> keyed;
  keyed.reserve(blocks.size());
  for (const Index k : blocks) keyed.emplace_back(key(k), k);
  std::sort(keyed.begin(), keyed.end());
  std::vector<Index> order;
  order.reserve(keyed.size());
  for (const auto& entry : keyed) order.push_back(entry.second);
  return order;
}

Subdomain::Subdomain(const ConstraintProblem& problem, std::span<const Index> blocks,
                     std::span<const Index> multiplicity, const PackRules& rules,
                     std::span<const double> impulses)
    : rules_(rules), bodies_(touched_bodies(problem, blocks)) {
  place_bodies(problem, multiplicity);
  std::array<std::vector<Index>, kSweepParts> parts;
  std::vector<Index> interior;
  for (const Index k : sweep_order(problem, blocks)) {
    bool boundary = false;
    for_each_body(problem, k, [&](Index b) { boundary = boundary || multiplicity[at(b)] > 1; });
    (boundary ? parts[0] : interior).push_back(k);
  }
  const auto half = interior.begin() + static_cast<std::ptrdiff_t>((interior.size() + 1) / 2);
  parts[1].assign(interior.begin(), half);
  parts[2].assign(half, interior.end());
  for (int part = 0; part < kSweepParts; ++part)
    for (const Index k : parts[at(part)])
      append(problem, k, static_cast<SweepPart>(part), impulses);
  scratch_.resize(2 * at(general_.most_rows));
}

void Subdomain::place_bodies(const ConstraintProblem& problem,
                             std::span<const Index> multiplicity) {
  const ProblemBodies& bodies = problem.bodies;
  Index lines = 0;
  for (const Index b : bodies_) {
    line_.push_back(lines);
    dofs_.push_back(dofs_of(bodies, b));
    multiplicity_.push_back(static_cast<double>(std::max<Index>(1, multiplicity[at(b)])));
    lines += bodies.mass_kind[at(b)] == MassKind::rigid ? 1 : (dofs_.back() + 7) / 8;
  }
  lines_.assign(at(lines), BodyLine{});
  inertia_.assign(at(lines), InertiaLine{});
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const Index b = bodies_[i];
    if (bodies.mass_kind[at(b)] != MassKind::rigid) continue;
    const double* mass = bodies.inverse_mass.data() + bodies.mass_begin[at(b)];
    BodyLine& line = lines_[at(line_[i])];
    line.x[kInverseMass] = multiplicity_[i] * mass[0];
    line.x[kInverseInertia] = multiplicity_[i] * (mass[1] + mass[4] + mass[6]) / 3.0;
    for (std::size_t j = 0; j < 6; ++j)
      inertia_[at(line_[i])].x[j] = multiplicity_[i] * mass[j + 1];
  }
}

Index Subdomain::place_of(Index body) const {
  return static_cast<Index>(std::lower_bound(bodies_.begin(), bodies_.end(), body) -
                            bodies_.begin());
}

Subdomain::Pack Subdomain::pack_of(const ConstraintProblem& problem, Index block) const {
  if (block >= static_cast<Index>(problem.contacts.size()) ||
      rules_.formulation == Formulation::acceleration)
    return Pack::general;
  const RigidContact& c = problem.contacts[at(block)];
  const LocalRules& local = rules_.local;
  const bool closed = local.law != ContactLaw::box && local.local != LocalSolve::cone &&
                      (local.local != LocalSolve::scalar || local.omega == 1.0 ||
                       local.law == ContactLaw::frictionless);
  const bool spheres = closed && seen_as_sphere(problem.bodies, c.body_a, c.arm_a, c.normal) &&
                       seen_as_sphere(problem.bodies, c.body_b, c.arm_b, c.normal);
  for (const Index b : {c.body_a, c.body_b})
    if (problem.bodies.mass_kind[at(b)] == MassKind::dense) return Pack::general;
  return spheres ? Pack::sphere : Pack::arm;
}

void Subdomain::append(const ConstraintProblem& problem, Index block, SweepPart part,
                       std::span<const double> impulses) {
  const Pack pack = pack_of(problem, block);
  Index end = 0;
  switch (pack) {
    case Pack::sphere:
      append_sphere(problem, block, impulses);
      end = static_cast<Index>(spheres_.size());
      break;
    case Pack::arm:
      append_arm(problem, block, impulses);
      end = static_cast<Index>(arms_.size());
      break;
    case Pack::general:
      append_block(general_, problem, block, rules_.local.law, impulses, [this](Index body) {
        const std::size_t i = at(place_of(body));
        return BodyPlace{8 * at(line_[i]), multiplicity_[i]};
      });
      if (rules_.formulation == Formulation::acceleration) subtract_free_motion(problem);
      end = general_.size();
      break;
  }
  std::vector<Run>& runs = runs_[static_cast<std::size_t>(part)];
  if (!runs.empty() && runs.back().pack == pack)
    runs.back().end = end;
  else
    runs.push_back({pack, end - 1, end});
}

void Subdomain::subtract_free_motion(const ConstraintProblem& problem) {
  const ExplicitBlocks::Block& block = general_.blocks.back();
  for (Index j = block.reference_begin; j < block.reference_end; ++j) {
    const ExplicitBlocks::Reference& ref = general_.references[at(j)];
    const auto line = static_cast<Index>(ref.velocity / 8);
    const auto i = static_cast<std::size_t>(std::lower_bound(line_.begin(), line_.end(), line) -
                                            line_.begin());
    const double* v =
        problem.bodies.free_velocity.data() + problem.bodies.dof_begin[at(bodies_[i])];
    for (Index row = 0; row < block.rows; ++row)
      for (Index m = 0; m < ref.dofs; ++m)
        general_.q[at(block.row + row)] -= general_.g[ref.g + at(row * ref.dofs + m)] * v[m];
  }
}

void Subdomain::append_sphere(const ConstraintProblem& problem, Index block,
                              std::span<const double> impulses) {
  const RigidContact& c = problem.contacts[at(block)];
  SphereContact s{};
  s.a = line_[at(place_of(c.body_a))];
  s.b = line_[at(place_of(c.body_b))];
  copy3(c.normal, s.n);
  const double* a = lines_[at(s.a)].x;
  const double* b = lines_[at(s.b)].x;
  s.arm_a = c.arm_a.dot(c.normal);
  s.arm_b = c.arm_b.dot(c.normal);
  s.bias = c.bias;
  s.friction = c.friction;
  const double d_n = a[kInverseMass] + b[kInverseMass];
  const double d_t =
      d_n + s.arm_a * s.arm_a * a[kInverseInertia] + s.arm_b * s.arm_b * b[kInverseInertia];
  s.inverse_d_n = d_n > 0.0 ? 1.0 / d_n : 0.0;
  s.inverse_d_t = d_t > 0.0 ? 1.0 / d_t : 0.0;
  const double* guess = impulses.data() + 3 * block;
  const Vec3 z =
      d_n > 0.0 ? admissible_contact(rules_.local.law, {guess[0], guess[1], guess[2]}, c.friction)
                : Vec3(Vec3::Zero());
  copy3(z[0] * c.normal + z[1] * c.tangent + z[2] * c.normal.cross(c.tangent), s.p);
  spheres_.push_back(s);
  sphere_origin_.push_back(block);
}

void Subdomain::append_arm(const ConstraintProblem& problem, Index block,
                           std::span<const double> impulses) {
  const RigidContact& c = problem.contacts[at(block)];
  ArmContact s{};
  s.a = line_[at(place_of(c.body_a))];
  s.b = line_[at(place_of(c.body_b))];
  copy3(c.normal, s.n);
  copy3(c.tangent, s.t);
  copy3(c.arm_a, s.arm_a);
  copy3(c.arm_b, s.arm_b);
  s.bias = c.bias;
  s.friction = c.friction;

  const Vec3 rows[3] = {c.normal, c.tangent, c.normal.cross(c.tangent)};
  Mat3 d = (lines_[at(s.a)].x[kInverseMass] + lines_[at(s.b)].x[kInverseMass]) * Mat3::Identity();
  for (const auto& [line, arm] : {std::pair(s.a, &c.arm_a), std::pair(s.b, &c.arm_b)}) {
    const double* i = inertia_[at(line)].x;
    Mat3 inverse;
    inverse << i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5];
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) d(j, k) += arm->cross(rows[j]).dot(inverse * arm->cross(rows[k]));
  }
  arm_blocks_.push_back(make_contact_block(d));
  const Mat3& inverse = arm_blocks_.back().d_inverse;
  const double packed[6] = {inverse(0, 0), inverse(0, 1), inverse(0, 2),
                            inverse(1, 1), inverse(1, 2), inverse(2, 2)};
  std::copy(std::begin(packed), std::end(packed), s.d_inverse);
  const double* guess = impulses.data() + 3 * block;
  copy3(admissible_contact(rules_.local.law, {guess[0], guess[1], guess[2]}, c.friction), s.lambda);
  arms_.push_back(s);
  arm_origin_.push_back(block);
}

void Subdomain::load_velocities(const ConstraintProblem& problem,
                                std::span<const double> velocities) {
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const std::span<double> copy = velocity(i);
    std::copy_n(velocities.begin() + problem.bodies.dof_begin[at(bodies_[i])], copy.size(),
                copy.begin());
  }
}

double Subdomain::sweep(SweepPart part, bool forward) {
  const std::vector<Run>& runs = runs_[static_cast<std::size_t>(part)];
  double residual = 0.0;
  for (std::size_t step = 0; step < runs.size(); ++step) {
    const Run& run = runs[forward ? step : runs.size() - 1 - step];
    const std::size_t begin = at(run.begin), count = at(run.end - run.begin);
    switch (run.pack) {
      case Pack::sphere:
        residual += sweep_sphere_contacts(std::span(spheres_).subspan(begin, count), lines_,
                                          rules_.local, forward);
        break;
      case Pack::arm:
        residual += sweep_arm_contacts(std::span(arms_).subspan(begin, count),
                                       std::span(arm_blocks_).subspan(begin, count), lines_,
                                       inertia_, rules_.local, forward);
        break;
      case Pack::general:
        residual +=
            sweep_explicit_blocks(general_, run.begin, run.end, {line_data(), 8 * lines_.size()},
                                  rules_.local, forward, scratch_);
        break;
    }
  }
  return residual;
}

void Subdomain::store_impulses(const ConstraintProblem& problem, std::span<double> impulses) const {
  for (std::size_t i = 0; i < spheres_.size(); ++i) {
    const RigidContact& c = problem.contacts[at(sphere_origin_[i])];
    const Vec3 p(spheres_[i].p[0], spheres_[i].p[1], spheres_[i].p[2]);
    double* out = impulses.data() + 3 * sphere_origin_[i];
    out[0] = c.normal.dot(p);
    out[1] = c.tangent.dot(p);
    out[2] = c.normal.cross(c.tangent).dot(p);
  }
  for (std::size_t i = 0; i < arms_.size(); ++i)
    std::copy_n(arms_[i].lambda, 3, impulses.data() + 3 * arm_origin_[i]);
  for (const ExplicitBlocks::Block& block : general_.blocks)
    std::copy_n(general_.lambda.data() + block.row, block.rows,
                impulses.data() + block.problem_row);
}

}  // namespace catena
