#include "solvers/batches/subdomain.hpp"

#include <Eigen/LU>
#include <algorithm>

#include "catena/base/index.hpp"
#include "catena/base/release.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena {
namespace {

/// One contact of a batch by the general local solve (KernelOptions::solve). D is as
/// make_contact_block left it, and only `cone` asks for its eigenvalue.
void solve_one(const void* context, const double* d, const double* w, const double* lambda,
               double friction, double* z) {
  Mat3 full;
  full << d[0], d[1], d[2], d[1], d[3], d[4], d[2], d[4], d[5];
  const auto& rules = *static_cast<const LocalSolveOptions*>(context);
  const ContactBlock block = rules.local == LocalSolve::cone
                                 ? make_contact_block(full)
                                 : ContactBlock{full, full.inverse(), full.trace()};
  const Vec3 solved =
      solve_contact(rules, block, {w[0], w[1], w[2]}, {lambda[0], lambda[1], lambda[2]}, friction);
  std::copy_n(solved.data(), 3, z);
}

/// The same of a RollingBatch (KernelOptions::solve_rolling).
void solve_one_rolling(const void* context, const RollingTurn& turn, double* z) {
  solve_rolling_turn(static_cast<const LocalSolveOptions*>(context)->law, turn, z);
}

KernelOptions batch_rules_of(const LocalSolveOptions& rules) {
  KernelOptions out;
  out.law = rules.law == ContactLaw::frictionless ? BatchLaw::frictionless
            : rules.law == ContactLaw::ccp        ? BatchLaw::ccp
                                                  : BatchLaw::coulomb;
  out.omega = rules.omega;
  out.solve = solve_one;
  out.solve_rolling = solve_one_rolling;
  out.vector_solve =
      law_form(rules.law).is_cone() && rules.local == LocalSolve::exact && rules.omega == 1.0;
  return out;
}

}  // namespace

void find_touched_bodies(const ConstraintProblem& problem, std::span<const Index> blocks,
                         std::vector<char>& touched, std::vector<Index>& bodies) {
  assign_with_room(touched, problem.bodies.size(), 0);
  for (const Index k : blocks) for_each_body_index(problem, k, [&](Index b) { touched[b] = 1; });
  make_room(bodies, touched.size());
  bodies.clear();
  for (Index b = 0; b < problem.bodies.size(); ++b)
    if (touched[b] != 0) bodies.push_back(b);
}

/// Without blocks; the memory stays, but that of large lists.
void Subdomain::clear() {
  for (std::vector<Index>* list :
       {&line_, &dofs_, &line_of_body_, &sphere_origin_, &arm_origin_, &explicit_origin_})
    clear_large(*list);
  const auto clear_all = [](auto&... lists) { (clear_large(lists), ...); };
  clear_all(multiplicity_, lines_, inertia_, spheres_, arms_, rolling_, explicit_contacts_,
            rolling_origin_, scratch_, other_masses_);
  clear_all(sphere_diagonal_, arm_diagonal_, rolling_diagonal_, sphere_kept_, arm_kept_,
            rolling_kept_, sphere_history_, arm_history_, rolling_history_, explicit_history_);
  inverse_masses_ = split_masses_ = {};
  general_.clear();
}

void Subdomain::rest() {
  clear();
  planner_.rest();
  for (MixedNumbers& numbers : mixed_) numbers.rest();
}

void Subdomain::start(const ConstraintProblem& problem, std::span<const Index> blocks,
                      std::span<const Index> bodies, std::span<const Index> multiplicity,
                      std::span<const BodyRole> roles, const SweepOptions& rules,
                      std::span<const double> impulses) {
  clear();
  rules_ = rules;
  batch_rules_ = batch_rules_of(rules.local);
  bodies_ = bodies;
  mixes_ = cohesive_ = false;
  const SweepPlan& plan = planner_.plan(problem, blocks, roles, rules.local);
  if (rules.carried == nullptr) return pack(problem, plan, multiplicity, roles, impulses);
  SweepPlan one_by_one = plan;
  for (PartPlan& part : one_by_one) part = {{}, {}, {}, {}, flatten({part, {}, {}, {}})};
  pack(problem, one_by_one, multiplicity, roles, impulses);
}

void Subdomain::load_velocities(const ConstraintProblem& problem,
                                std::span<const double> velocities) {
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const std::span<double> copy = velocity(i);
    std::copy_n(velocities.begin() + problem.bodies.dof_begin[bodies_[i]], copy.size(),
                copy.begin());
  }
}

double Subdomain::sweep(SweepPart part, bool forward) {
  const PartRanges& range = ranges_[ordinal(part)];
  const bool split = part == SweepPart::crossing && !other_masses_.empty();
  const InverseMasses& masses = split ? split_masses_ : inverse_masses_;
  if (split) swap_masses();
  batch_rules_.context = &rules_.local;
  const auto mixing = [&](HugeVector<BatchHistory>& history, const Range& of) -> BatchMixing* {
    if (!mixes_) return nullptr;
    mixing_.history = history.data() + of.begin;
    return &mixing_;
  };
  const auto spheres = [&] {
    return rules_.kernels.sphere(spheres_.data() + range.spheres.begin,
                                 range.spheres.end - range.spheres.begin, lines_.data(),
                                 batch_rules_, forward, mixing(sphere_history_, range.spheres));
  };
  const auto arms = [&] {
    return rules_.kernels.arm(arms_.data() + range.arms.begin, range.arms.end - range.arms.begin,
                              lines_.data(), inertia_.data(), batch_rules_, forward,
                              mixing(arm_history_, range.arms));
  };
  const auto rolling = [&] {
    return rules_.kernels.rolling(rolling_.data() + range.rolling.begin,
                                  range.rolling.end - range.rolling.begin, lines_.data(),
                                  batch_rules_, forward,
                                  mixing(rolling_history_, {2 * range.rolling.begin, 0}));
  };
  const auto explicit_contacts = [&] {
    return rules_.kernels.explicit_contact(
        explicit_contacts_.data() + range.explicit_contacts.begin,
        range.explicit_contacts.end - range.explicit_contacts.begin, lines_.data(), masses.lines(),
        batch_rules_, forward, mixing(explicit_history_, range.explicit_contacts));
  };
  const auto general = [&] {
    return sweep_explicit_blocks(general_, to_index(range.general.begin),
                                 to_index(range.general.end), {line_data(), 8 * lines_.size()},
                                 rules_.local, forward, scratch_);
  };
  double residual = 0.0;
  if (forward) {
    residual += spheres();
    residual += arms();
    residual += rolling();
    residual += explicit_contacts();
    residual += general();
  } else {
    residual += general();
    residual += explicit_contacts();
    residual += rolling();
    residual += arms();
    residual += spheres();
  }
  if (split) swap_masses();
  return residual;
}

BatchErrors Subdomain::errors(bool at_zero, const BodyLine* velocities) const {
  BatchErrors sum;
  const auto add = [&](auto kernel, const auto& batches, const Range& range,
                       const HugeVector<BatchDiagonal>& diagonal) {
    // those of the crossing part come first
    const bool given = range.begin < diagonal.size();
    const BatchErrors part =
        kernel(batches.data() + range.begin, range.end - range.begin, velocities, batch_rules_.law,
               given ? diagonal.data() + range.begin : nullptr, at_zero);
    sum.normal += part.normal;
    sum.friction += part.friction;
    sum.scale += part.scale;
  };
  for (const PartRanges& range : ranges_) {
    add(rules_.kernels.sphere_errors, spheres_, range.spheres, sphere_diagonal_);
    add(rules_.kernels.arm_errors, arms_, range.arms, arm_diagonal_);
    add(rules_.kernels.rolling_errors, rolling_, range.rolling, rolling_diagonal_);
  }
  return sum;
}

void Subdomain::apply_impulses(SweepPart part) {
  const auto& [spheres, arms, rolling, explicit_contacts, general] = ranges_[ordinal(part)];
  const bool split = part == SweepPart::crossing;
  if (split) swap_masses();
  rules_.kernels.sphere_apply(spheres_.data() + spheres.begin, spheres.end - spheres.begin,
                              lines_.data());
  rules_.kernels.arm_apply(arms_.data() + arms.begin, arms.end - arms.begin, lines_.data(),
                           inertia_.data());
  rules_.kernels.rolling_apply(rolling_.data() + rolling.begin, rolling.end - rolling.begin,
                               lines_.data());
  if (split) swap_masses();
}

/// Between masses as they are split in the crossing part and true ones.
void Subdomain::swap_masses() {
  for (LineMass& mass : other_masses_) swap_mass(mass);
}

void Subdomain::swap_mass(LineMass& mass) {
  std::swap(multiplicity_[mass.line], mass.multiplicity);
  if (!mass.rigid) return;
  BodyLine& line = lines_[mass.line];
  std::swap(line.x[kInverseMass], mass.inverse_mass);
  std::swap(line.x[kInverseInertia], mass.inverse_inertia);
  if (!inertia_.empty()) std::swap(inertia_[mass.line], mass.inertia);
}

void Subdomain::begin_mixing() {
  mixes_ = true;
  const auto begin = [](const auto& batches, auto impulses, HugeVector<BatchHistory>& history) {
    make_room(history, batches.size());
    for (const auto& batch : batches) {
      BatchHistory& h = history.emplace_back();
      for (int i = 0; i < 3; ++i) std::copy_n(impulses(batch)[i], kLanes, h.before[i]);
    }
  };
  begin(
      spheres_, [](const SphereBatch& batch) { return batch.p; }, sphere_history_);
  begin(
      arms_, [](const GeneralContactBatch& batch) { return batch.lambda; }, arm_history_);
  begin(
      explicit_contacts_, [](const ExplicitContactBatch& batch) { return batch.lambda; },
      explicit_history_);
  make_room(rolling_history_, 2 * rolling_.size());
  for (const RollingBatch& batch : rolling_)
    for (const auto& numbers : {batch.p, batch.m}) {
      BatchHistory& h = rolling_history_.emplace_back();
      for (int i = 0; i < 3; ++i) std::copy_n(numbers[i], kLanes, h.before[i]);
    }
  // whole lines, which vector registers hold: what stands behind the velocities does not change
  mixed_[0].start(line_data(), lines_.size(), 8, 8);
  mixed_[1].start(general_.lambda.data(), general_.lambda.size(), 1, 1, general_.sigma);
}

void Subdomain::mix(double gamma) {
  mixing_ = {};
  mixing_.gamma = gamma;
  for (MixedNumbers& numbers : mixed_) numbers.mix(gamma);
}

MixProducts Subdomain::mix_products() {
  MixProducts sum{mixing_.ff, mixing_.fd, mixing_.dd};
  for (MixedNumbers& numbers : mixed_) {
    const MixProducts of = numbers.products();
    sum.ff += of.ff;
    sum.fd += of.fd;
    sum.dd += of.dd;
  }
  return sum;
}

/// Calls visit(impulses of a batch, its place among those kept) for all batches.
template <class Visit>
void Subdomain::for_each_kept(const Visit& visit) {
  const auto all = [&](auto& batches, auto impulses, HugeVector<BatchImpulses>& kept,
                       std::size_t each, std::size_t first) {
    if (kept.size() != each * batches.size()) {
      make_room(kept, each * batches.size());
      kept.resize(each * batches.size());
    }
    for (std::size_t i = 0; i < batches.size(); ++i)
      visit(impulses(batches[i]), kept[each * i + first].p);
  };
  all(
      spheres_, [](SphereBatch& c) { return c.p; }, sphere_kept_, 1, 0);
  all(
      arms_, [](GeneralContactBatch& c) { return c.lambda; }, arm_kept_, 1, 0);
  all(
      rolling_, [](RollingBatch& c) { return c.p; }, rolling_kept_, 2, 0);
  all(
      rolling_, [](RollingBatch& c) { return c.m; }, rolling_kept_, 2, 1);
}

void Subdomain::keep() {
  for_each_kept([](const auto* from, auto* to) { std::copy_n(from[0], 3 * kLanes, to[0]); });
}

void Subdomain::swap_kept() {
  for_each_kept([](auto* a, auto* b) { std::swap_ranges(a[0], a[0] + 3 * kLanes, b[0]); });
}

}  // namespace catena
