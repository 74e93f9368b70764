// How a subdomain's blocks come into batches, and their impulses back to the problem.
#include <algorithm>

#include "catena/base/index.hpp"
#include "catena/base/release.hpp"
#include "catena/constraints/block_diagonal.hpp"
#include "catena/constraints/block_rows.hpp"
#include "solvers/batches/subdomain.hpp"

namespace catena {
namespace {

void put3(const Vec3& from, double (&to)[3][kLanes], int lane) {
  for (int i = 0; i < 3; ++i) to[i][lane] = from[i];
}

Vec3 get3(const double (&from)[3][kLanes], int lane) {
  return {from[0][lane], from[1][lane], from[2][lane]};
}

/// Asks for what the contact some lanes on is packed from or written to: contacts of large problems
/// lie beyond the caches, in another order than lanes. `impulses` are those of rigid contacts.
/// Inlined by force: g++ takes a function that only fetches for one without effect, and its calls
/// out.
[[gnu::always_inline]] inline void fetch_ahead(const ConstraintProblem& problem,
                                               std::span<const Index> lanes, std::size_t lane,
                                               const double* impulses) {
  constexpr std::size_t kAhead = 16;
  if (lane + kAhead >= lanes.size() || lanes[lane + kAhead] == kNoIndex) return;
  const Index block = lanes[lane + kAhead];
  const RigidContact& c = problem.contacts[block];
  // all lines up to the last number
  for (std::size_t i = 0; i < 3; ++i)
    __builtin_prefetch(reinterpret_cast<const char*>(&c) + 64 * i);
  __builtin_prefetch(&c.cohesion);
  __builtin_prefetch(impulses + Offset{3} * block);
}

/// What a body's M^-1 counts here where so many subdomains have a copy of it.
double share(Index multiplicity) { return static_cast<double>(std::max<Index>(1, multiplicity)); }

/// First guess of a contact in its frame, shifted by cohesion and made admissible.
Vec3 guess_of(const LocalSolveOptions& rules, const RigidContact& c,
              std::span<const double> impulses, Index block) {
  const double* guess = impulses.data() + 3 * block;
  return admissible_contact(rules.law, {guess[0] + c.cohesion, guess[1], guess[2]}, c.friction);
}

}  // namespace

void Subdomain::pack(const ConstraintProblem& problem, const SweepPlan& plan,
                     std::span<const Index> multiplicity, std::span<const BodyRole> roles,
                     std::span<const double> impulses) {
  const bool arms = std::any_of(plan.begin(), plan.end(),
                                [](const PartPlan& part) { return !part.arms.empty(); });
  place_bodies(problem, multiplicity, roles, arms);
  std::size_t n_spheres = 0, n_arms = 0, n_rolling = 0, n_explicit = 0;
  for (const PartPlan& part : plan) {
    n_spheres += part.spheres.size();
    n_arms += part.arms.size();
    n_rolling += part.rolling.size();
    n_explicit += part.explicit_contacts.size();
  }
  make_room(spheres_, n_spheres / kLanes);
  make_room(sphere_origin_, n_spheres);
  make_room(arms_, n_arms / kLanes);
  make_room(arm_origin_, n_arms);
  make_room(rolling_, n_rolling / kLanes);
  make_room(rolling_origin_, n_rolling);
  make_room(explicit_contacts_, n_explicit / kLanes);
  make_room(explicit_origin_, n_explicit);
  const auto masses = [&] {
    return InverseMasses(
        problem, bodies_, [this](Index body) { return place_of(body); }, lines_.size());
  };
  if (n_explicit > 0) inverse_masses_ = masses();
  swap_masses();
  if (n_explicit > 0 && !other_masses_.empty()) split_masses_ = masses();
  for (std::size_t part = 0; part < kSweepParts; ++part) {
    PartRanges& range = ranges_[part];
    range = {{spheres_.size(), 0},
             {arms_.size(), 0},
             {rolling_.size(), 0},
             {explicit_contacts_.size(), 0},
             {narrow<std::size_t>(general_.size()), 0}};
    pack_spheres(problem, plan[part].spheres, impulses);
    pack_arms(problem, plan[part].arms, impulses);
    pack_rolling(problem, plan[part].rolling, impulses);
    pack_explicit_contacts(problem, plan[part].explicit_contacts, impulses);
    pack_general(problem, plan[part].general, impulses);
    range.spheres.end = spheres_.size();
    range.arms.end = arms_.size();
    range.rolling.end = rolling_.size();
    range.explicit_contacts.end = explicit_contacts_.size();
    range.general.end = general_.size();
    if (part == ordinal(SweepPart::crossing)) swap_masses();
  }
  if (!other_masses_.empty() ||
      std::any_of(multiplicity_.begin(), multiplicity_.end(), [](double m) { return m > 1.0; }))
    note_diagonals(problem);
  scratch_.resize(Offset{2} * general_.most_rows);
}

/// M^-1 times `multiplicity`; of a body that is not rigid it is in its blocks alone.
Subdomain::LineMass Subdomain::line_mass(const ProblemBodies& bodies, Index body, Index line,
                                         double multiplicity) {
  LineMass mass{line, bodies.mass_kind[body] == MassKind::rigid, multiplicity, 0.0, 0.0, {}};
  if (!mass.rigid) return mass;
  const double* numbers = bodies.inverse_mass.data() + bodies.mass_begin[body];
  mass.inverse_mass = multiplicity * numbers[0];
  mass.inverse_inertia = multiplicity * (numbers[1] + numbers[4] + numbers[6]) / 3.0;
  for (std::size_t j = 0; j < 6; ++j) mass.inertia.x[j] = multiplicity * numbers[j + 1];
  return mass;
}

void Subdomain::place_bodies(const ConstraintProblem& problem, std::span<const Index> multiplicity,
                             std::span<const BodyRole> roles, bool with_inertia) {
  const ProblemBodies& bodies = problem.bodies;
  const std::size_t n = bodies_.size();
  make_room(line_, n);
  make_room(dofs_, n);
  make_room(line_of_body_, bodies.size());
  line_of_body_.resize(bodies.size());
  Index lines = 1;
  for (const Index b : bodies_) {
    line_.push_back(lines);
    line_of_body_[b] = lines;
    dofs_.push_back(bodies.dofs(b));
    lines += bodies.mass_kind[b] == MassKind::rigid ? 1 : (dofs_.back() + 7) / 8;
  }
  assign_with_room(multiplicity_, lines, 1.0);
  assign_with_room(lines_, lines, BodyLine{});
  if (with_inertia) assign_with_room(inertia_, lines, InertiaLine{});
  for (std::size_t i = 0; i < n; ++i) {
    const Index b = bodies_[i];
    const bool foreign = roles[b] == BodyRole::foreign;
    const double split = share(multiplicity[b]);
    LineMass mass = line_mass(bodies, b, line_[i], foreign ? split : 1.0);
    swap_mass(mass);
    if (!foreign && split > 1.0) other_masses_.push_back(line_mass(bodies, b, line_[i], split));
  }
}

void Subdomain::pack_spheres(const ConstraintProblem& problem, std::span<const Index> plan,
                             std::span<const double> impulses) {
  for (std::size_t first = 0; first < plan.size(); first += kLanes) {
    SphereBatch& batch = spheres_.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      const Index block = plan[first + lane];
      sphere_origin_.push_back(block);
      fetch_ahead(problem, plan, first + lane, impulses.data());
      if (block != kNoIndex) pack_sphere(problem, block, impulses, batch, lane);
    }
  }
}

void Subdomain::pack_sphere(const ConstraintProblem& problem, Index block,
                            std::span<const double> impulses, SphereBatch& batch, int lane) {
  const RigidContact& c = problem.contacts[block];
  const Index line_a = line_of(c.body_a), line_b = line_of(c.body_b);
  const double* a = lines_[line_a].x;
  const double* b = lines_[line_b].x;
  // N_kk of round bodies is diagonal and needs two numbers of each: not by block_diagonal
  const double arm_a = c.arm_a.dot(c.normal), arm_b = c.arm_b.dot(c.normal);
  const double moved_n = a[kInverseMass] + b[kInverseMass];
  const double d_n = moved_n + c.compliance;
  const double d_t = moved_n + arm_a * arm_a * a[kInverseInertia] +
                     arm_b * arm_b * b[kInverseInertia] + c.tangent_compliance;
  batch.a[lane] = line_a;
  batch.b[lane] = line_b;
  batch.arm_a[lane] = arm_a;
  batch.arm_b[lane] = arm_b;
  // of lambda + c n in place of lambda
  cohesive_ = cohesive_ || c.cohesion != 0.0;
  batch.bias[lane] = c.bias - c.compliance * c.cohesion;
  batch.friction[lane] = c.friction;
  batch.sigma_n[lane] = c.compliance;
  batch.sigma_t[lane] = c.tangent_compliance;
  const bool moves = moved_n > 0.0;
  batch.inverse_d_n[lane] = moves ? 1.0 / d_n : 0.0;
  batch.inverse_d_t[lane] = moves ? 1.0 / d_t : 0.0;
  const Vec3 z = moves ? guess_of(rules_.local, c, impulses, block) : Vec3(Vec3::Zero());
  const Vec3 tangent2 = c.normal.cross(c.tangent);
  put3(c.normal, batch.n, lane);
  put3(z[0] * c.normal + z[1] * c.tangent + z[2] * tangent2, batch.p, lane);
  put3(c.tangent_bias[0] * c.tangent + c.tangent_bias[1] * tangent2, batch.slip_bias, lane);
}

void Subdomain::pack_arms(const ConstraintProblem& problem, std::span<const Index> plan,
                          std::span<const double> impulses) {
  for (std::size_t first = 0; first < plan.size(); first += kLanes) {
    GeneralContactBatch& batch = arms_.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      const Index block = plan[first + lane];
      arm_origin_.push_back(block);
      fetch_ahead(problem, plan, first + lane, impulses.data());
      // an empty lane solves w = D lambda: zero stays zero
      for (const int i : {0, 3, 5}) batch.d[i][lane] = 1.0;
      if (block != kNoIndex) pack_arm(problem, block, impulses, batch, lane);
    }
  }
}

void Subdomain::pack_arm(const ConstraintProblem& problem, Index block,
                         std::span<const double> impulses, GeneralContactBatch& batch, int lane) {
  const RigidContact& c = problem.contacts[block];
  const Index line_a = line_of(c.body_a), line_b = line_of(c.body_b);
  Mat3 d = mobility_matrix(problem.bodies, c, multiplicity_[line_a], multiplicity_[line_b]);
  if (!(d.trace() > 0.0)) return;  // nothing moves: left empty
  d.diagonal() += compliance_of(c);
  d = make_contact_block(d).d;
  batch.a[lane] = line_a;
  batch.b[lane] = line_b;
  put3(c.normal, batch.n, lane);
  put3(c.tangent, batch.t, lane);
  put3(c.arm_a, batch.arm_a, lane);
  put3(c.arm_b, batch.arm_b, lane);
  put3(guess_of(rules_.local, c, impulses, block), batch.lambda, lane);
  cohesive_ = cohesive_ || c.cohesion != 0.0;
  put3(bias_of(c) - Vec3(c.compliance * c.cohesion, 0.0, 0.0), batch.bias, lane);
  batch.friction[lane] = c.friction;
  batch.sigma_n[lane] = c.compliance;
  batch.sigma_t[lane] = c.tangent_compliance;
  const double packed[6] = {d(0, 0), d(0, 1), d(0, 2), d(1, 1), d(1, 2), d(2, 2)};
  for (int i = 0; i < 6; ++i) batch.d[i][lane] = packed[i];
}

void Subdomain::pack_rolling(const ConstraintProblem& problem, std::span<const Index> plan,
                             std::span<const double> impulses) {
  for (std::size_t first = 0; first < plan.size(); first += kLanes) {
    RollingBatch& batch = rolling_.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      const Index block = plan[first + lane];
      RollingOrigin& origin = rolling_origin_.emplace_back();
      if (block == kNoIndex) continue;
      const RoundContact c = *find_round_contact(problem, block);
      origin = {block, c.row, c.place, c.tangent1, c.tangent2, c.cohesion};
      pack_rolling(c, block_view(problem, block).rows, impulses, batch, lane);
    }
  }
}

void Subdomain::pack_rolling(const RoundContact& c, Index rows, std::span<const double> impulses,
                             RollingBatch& batch, int lane) {
  // line 0 for bodies that do not move
  const auto line = [&](const RoundContact::Side& side) {
    return side.body == kNoIndex ? Index{0} : line_of(side.body);
  };
  const Index line_a = line(c.a), line_b = line(c.b);
  const BodyLine& a = lines_[line_a];
  const BodyLine& b = lines_[line_b];
  const double i_a = a.x[kInverseInertia], i_b = b.x[kInverseInertia];
  const double moved = a.x[kInverseMass] + b.x[kInverseMass], turned = i_a + i_b;
  const auto [mu, mu_r, mu_s] = c.friction.bound;
  const bool has_rolling = c.place[3] >= 0, has_spinning = c.place[5] >= 0;
  batch.a[lane] = line_a;
  batch.b[lane] = line_b;
  put3(c.normal, batch.n, lane);
  batch.arm_a[lane] = c.a.arm;
  batch.arm_b[lane] = c.b.arm;
  // of lambda + c n in place of lambda
  cohesive_ = cohesive_ || c.cohesion != 0.0;
  batch.bias[lane] = c.bias[0] - c.compliance[0] * c.cohesion;
  put3(c.bias[1] * c.tangent1 + c.bias[2] * c.tangent2, batch.slip_bias, lane);
  put3(c.bias[3] * c.tangent1 + c.bias[4] * c.tangent2 + c.bias[5] * c.normal, batch.turn_bias,
       lane);
  batch.friction[lane] = mu;
  batch.rolling[lane] = mu_r;
  batch.spinning[lane] = mu_s;
  batch.has_rolling[lane] = has_rolling ? 1.0 : 0.0;
  batch.sigma_n[lane] = c.compliance[0];
  batch.sigma_t[lane] = c.compliance[1];
  batch.sigma_s[lane] = c.compliance[5];
  // also the weight of all of the couple in mixes
  batch.sigma_r[lane] = has_rolling ? c.compliance[3] : c.compliance[5];
  batch.inverse_d_n[lane] = 1.0 / (moved + c.compliance[0]);
  batch.inverse_d_s[lane] = mu_s > 0.0 ? 1.0 / (turned + c.compliance[5]) : 0.0;
  const double d_t = moved + c.a.arm * c.a.arm * i_a + c.b.arm * c.b.arm * i_b + c.compliance[1];
  const double d_r = turned + c.compliance[3];
  const bool slides = mu > 0.0, rolls = mu_r > 0.0;
  const double coupling = slides && rolls ? c.a.arm * i_a + c.b.arm * i_b : 0.0;
  const double determinant = d_t * d_r - coupling * coupling;
  batch.h_t[lane] = slides ? d_r / determinant : 0.0;
  batch.h_r[lane] = rolls ? d_t / determinant : 0.0;
  batch.h_c[lane] = coupling / determinant;

  const std::span<const double> given = impulses.subspan(c.row, rows);
  Vec6 z = Vec6::Zero();
  for (int i = 0; i < 6; ++i)
    if (c.place[i] >= 0) z[i] = given[c.place[i]];
  z[0] += c.cohesion;
  z = law_form(rules_.local.law).frictionless
          ? Vec6(Vec6::Unit(0) * std::max(0.0, z[0]))
          : project_disc_cone(c.friction, z,
                              {moved + c.compliance[0], d_t, d_r, turned + c.compliance[5]});
  if (!has_spinning) z[5] = 0.0;
  put3(z[0] * c.normal + z[1] * c.tangent1 + z[2] * c.tangent2, batch.p, lane);
  put3(z[3] * c.tangent1 + z[4] * c.tangent2 + z[5] * c.normal, batch.m, lane);
}

BodyPlace Subdomain::place_of(Index body) const {
  const Index line = line_of(body);
  return {Offset{8} * line, multiplicity_[line]};
}

void Subdomain::pack_explicit_contacts(const ConstraintProblem& problem,
                                       std::span<const Index> plan,
                                       std::span<const double> impulses) {
  for (std::size_t first = 0; first < plan.size(); first += kLanes) {
    ExplicitContactBatch& batch = explicit_contacts_.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      const Index block = plan[first + lane];
      explicit_origin_.push_back(block);
      // as in pack_arms
      for (const int i : {0, 3, 5}) batch.d[i][lane] = 1.0;
      if (block != kNoIndex)
        pack_explicit_contact(
            problem, block, rules_.local.law, impulses,
            [this](Index body) { return place_of(body); }, batch, lane);
    }
  }
}

void Subdomain::pack_general(const ConstraintProblem& problem, std::span<const Index> plan,
                             std::span<const double> impulses) {
  for (const Index block : plan) {
    append_block(general_, problem, block, rules_.local.law, impulses,
                 [this](Index body) { return place_of(body); });
    if (rules_.carried != nullptr) rules_.carried->adapt(problem, general_, bodies_of_last_block());
  }
}

/// D of batches is of split masses: what errors are measured by is not.
void Subdomain::note_diagonals(const ConstraintProblem& problem) {
  const PartRanges& crossing = ranges_[ordinal(SweepPart::crossing)];
  const auto cones = [&](std::span<const Index> origin, const Range& range,
                         HugeVector<BatchDiagonal>& diagonal) {
    make_room(diagonal, range.end);
    diagonal.resize(range.end);
    for (std::size_t i = 0; i < range.end * kLanes; ++i) {
      if (origin[i] == kNoIndex) continue;
      const auto [normal, tangent] = cone_diagonal(problem, origin[i]);
      diagonal[i / kLanes].d[0][i % kLanes] = normal;
      diagonal[i / kLanes].d[1][i % kLanes] = tangent;
    }
  };
  cones(sphere_origin_, crossing.spheres, sphere_diagonal_);
  cones(arm_origin_, crossing.arms, arm_diagonal_);
  rolling_diagonal_.resize(crossing.rolling.end);
  for (std::size_t i = 0; i < crossing.rolling.end * kLanes; ++i) {
    const RollingOrigin& of = rolling_origin_[i];
    if (of.row == kNoIndex) continue;
    std::array<double, 6> d{};
    row_diagonals(problem, of.block, std::span(d).first(block_view(problem, of.block).rows));
    // both rows of a disc are alike
    const std::array<int, 4> rows = {of.place[0], of.place[1], of.place[3], of.place[5]};
    for (std::size_t j = 0; j < 4; ++j)
      rolling_diagonal_[i / kLanes].d[j][i % kLanes] = rows[j] < 0 ? 0.0 : d[rows[j]];
  }
}

/// Per reference.
std::vector<Index> Subdomain::bodies_of_last_block() const {
  const ExplicitBlocks::Block& block = general_.blocks.back();
  std::vector<Index> bodies;
  for (Index j = block.reference_begin; j < block.reference_end; ++j) {
    const auto line = to_index(general_.references[j].velocity / 8);
    bodies.push_back(bodies_[std::lower_bound(line_.begin(), line_.end(), line) - line_.begin()]);
  }
  return bodies;
}

void Subdomain::store_impulses(const ConstraintProblem& problem, std::span<double> impulses) const {
  for (std::size_t i = 0; i < sphere_origin_.size(); ++i) {
    fetch_ahead(problem, sphere_origin_, i, impulses.data());
    if (sphere_origin_[i] == kNoIndex) continue;
    const RigidContact& c = problem.contacts[sphere_origin_[i]];
    const Vec3 p = get3(spheres_[i / kLanes].p, narrow<int>(i % kLanes));
    double* out = impulses.data() + 3 * sphere_origin_[i];
    out[0] = c.normal.dot(p) - c.cohesion;
    out[1] = c.tangent.dot(p);
    out[2] = c.normal.cross(c.tangent).dot(p);
  }
  for (std::size_t i = 0; i < arm_origin_.size(); ++i) {
    fetch_ahead(problem, arm_origin_, i, impulses.data());
    if (arm_origin_[i] == kNoIndex) continue;
    const Vec3 lambda = get3(arms_[i / kLanes].lambda, narrow<int>(i % kLanes));
    double* out = impulses.data() + 3 * arm_origin_[i];
    out[0] = lambda[0] - problem.contacts[arm_origin_[i]].cohesion;
    out[1] = lambda[1];
    out[2] = lambda[2];
  }
  for (std::size_t i = 0; i < rolling_origin_.size(); ++i) {
    const RollingOrigin& of = rolling_origin_[i];
    if (of.row == kNoIndex) continue;
    const RollingBatch& batch = rolling_[i / kLanes];
    const int lane = narrow<int>(i % kLanes);
    const Vec3 n = get3(batch.n, lane), p = get3(batch.p, lane), m = get3(batch.m, lane);
    const Vec6 rows{n.dot(p) - of.cohesion, of.tangent1.dot(p), of.tangent2.dot(p),
                    of.tangent1.dot(m),     of.tangent2.dot(m), n.dot(m)};
    for (int row = 0; row < 6; ++row)
      if (of.place[row] >= 0) impulses[of.row + of.place[row]] = rows[row];
  }
  for (std::size_t i = 0; i < explicit_origin_.size(); ++i)
    if (explicit_origin_[i] != kNoIndex)
      unpack_explicit_contact(problem, explicit_origin_[i], explicit_contacts_[i / kLanes],
                              narrow<int>(i % kLanes), impulses);
  for (const ExplicitBlocks::Block& block : general_.blocks)
    std::copy_n(general_.lambda.data() + block.row, block.rows,
                impulses.data() + block.problem_row);
}

void Subdomain::load_impulses(const ConstraintProblem& problem, std::span<const double> impulses) {
  for (std::size_t i = 0; i < sphere_origin_.size(); ++i) {
    if (sphere_origin_[i] == kNoIndex) continue;
    const RigidContact& c = problem.contacts[sphere_origin_[i]];
    const double* in = impulses.data() + 3 * sphere_origin_[i];
    put3((in[0] + c.cohesion) * c.normal + in[1] * c.tangent + in[2] * c.normal.cross(c.tangent),
         spheres_[i / kLanes].p, narrow<int>(i % kLanes));
  }
  for (std::size_t i = 0; i < arm_origin_.size(); ++i) {
    if (arm_origin_[i] == kNoIndex) continue;
    const double* in = impulses.data() + 3 * arm_origin_[i];
    put3({in[0] + problem.contacts[arm_origin_[i]].cohesion, in[1], in[2]},
         arms_[i / kLanes].lambda, narrow<int>(i % kLanes));
  }
  for (std::size_t i = 0; i < rolling_origin_.size(); ++i) {
    const RollingOrigin& of = rolling_origin_[i];
    if (of.row == kNoIndex) continue;
    RollingBatch& batch = rolling_[i / kLanes];
    const int lane = narrow<int>(i % kLanes);
    const Vec3 n = get3(batch.n, lane);
    Vec6 rows = Vec6::Zero();
    for (int row = 0; row < 6; ++row)
      if (of.place[row] >= 0) rows[row] = impulses[of.row + of.place[row]];
    put3((rows[0] + of.cohesion) * n + rows[1] * of.tangent1 + rows[2] * of.tangent2, batch.p,
         lane);
    put3(rows[3] * of.tangent1 + rows[4] * of.tangent2 + rows[5] * n, batch.m, lane);
  }
  for (std::size_t i = 0; i < explicit_origin_.size(); ++i)
    if (explicit_origin_[i] != kNoIndex)
      load_explicit_contact(problem, explicit_origin_[i], impulses, explicit_contacts_[i / kLanes],
                            narrow<int>(i % kLanes));
  for (const ExplicitBlocks::Block& block : general_.blocks)
    std::copy_n(impulses.begin() + block.problem_row, block.rows,
                general_.lambda.begin() + block.row);
}

}  // namespace catena
