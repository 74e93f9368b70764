#include "solvers/first_order/body_motion.hpp"

#include <Eigen/LU>
#include <algorithm>

#include "catena/base/release.hpp"
#include "solvers/sphere_contacts.hpp"

namespace catena::first_order {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Line = std::array<double, 8>;

Line line_of(const BodyLine& line) {
  Line out;
  std::copy_n(line.x, 8, out.begin());
  return out;
}

void write(const Line& from, BodyLine& to) { std::copy(from.begin(), from.end(), to.x); }

Eigen::Map<Vec3> spin_of(BodyLine& line) { return Eigen::Map<Vec3>(line.x + 3); }

double inverse_or_zero(double x) { return x > 0.0 ? 1.0 / x : 0.0; }

Index lines_of(const ProblemBodies& bodies, Index b) { return (bodies.dofs(b) + 7) / 8; }

}  // namespace

void BodyMotion::start(const ConstraintProblem& problem, const Subdomain& packed) {
  bodies_ = &problem.bodies;
  place_bodies(packed);
  turning_.clear();
  dense_.clear();
  for (Index b = 0; b < bodies_->size(); ++b) note_inverses(b);
  for (Index b = 0; b < bodies_->n_owned; ++b) note_mass(b);
  ghosts_.clear();
  for (Index b = bodies_->n_owned; b < bodies_->size(); ++b)
    for (Index i = 0; i < lines_of(*bodies_, b); ++i) ghosts_.push_back(line_[b] + i);
  for (HugeVector<BodyLine>& v : v_) {
    make_room(v, free_.size());
    v.assign(free_.begin(), free_.end());
  }
  to_owners_.reset();
  to_ghosts_.reset();
  if (problem.ghosts.neighbours.empty()) return;
  const HaloPlan plan = line_plan(problem.ghosts);
  to_owners_.emplace(problem.comm, plan, 8, Tag::product_forces);
  to_ghosts_.emplace(problem.comm, plan, 8, Tag::product_velocities);
}

void BodyMotion::rest() {
  for (std::vector<Index>* list : {&line_, &other_, &ghosts_}) clear_large(*list);
  clear_large(kind_);
  clear_large(turning_);
  clear_large(dense_);
  for (HugeVector<BodyLine>* lines : {&free_, &y_, &forces_, &v_[0], &v_[1], &v_[2]})
    clear_large(*lines);
}

void BodyMotion::place_bodies(const Subdomain& packed) {
  assign_with_room(line_, bodies_->size(), kNoIndex);
  for (std::size_t i = 0; i < packed.bodies().size(); ++i)
    line_[packed.bodies()[i]] = packed.line(i);
  Index n = packed.n_lines();
  for (Index b = 0; b < bodies_->size(); ++b) {
    if (line_[b] != kNoIndex) continue;
    line_[b] = n;
    n += lines_of(*bodies_, b);
  }
  for (HugeVector<BodyLine>* lines : {&free_, &y_, &forces_})
    assign_with_room(*lines, n, BodyLine{});
  assign_with_room(kind_, n, Kind::not_here);
  assign_with_room(other_, n, kNoIndex);
}

/// What errors read, of ghosts, too.
void BodyMotion::note_inverses(Index b) {
  if (bodies_->mass_kind[b] != MassKind::rigid) return;
  const double* m = bodies_->inverse_mass.data() + bodies_->mass_begin[b];
  BodyLine& line = free_[line_[b]];
  line.x[kInverseMass] = m[0];
  if (is_isotropic({m, 7})) line.x[kInverseInertia] = (m[1] + m[4] + m[6]) / 3.0;
}

void BodyMotion::note_mass(Index b) {
  const Index line = line_[b];
  const double* m = bodies_->inverse_mass.data() + bodies_->mass_begin[b];
  if (bodies_->mass_kind[b] == MassKind::dense) {
    kind_[line] = Kind::dense;
    other_[line] = to_index(dense_.size());
    const Index n = bodies_->dofs(b);
    const Matrix mass = Eigen::Map<const Matrix>(m, n, n).inverse();
    dense_.push_back({n, {m, m + n * n}, {mass.data(), mass.data() + mass.size()}});
    return;
  }
  kind_[line] = Kind::round;
  if (bodies_->is_prescribed(b)) return;
  if (is_isotropic({m, 7})) {
    y_[line].x[kInverseMass] = inverse_or_zero(m[0]);
    y_[line].x[kInverseInertia] = inverse_or_zero(free_[line].x[kInverseInertia]);
    return;
  }
  kind_[line] = Kind::turning;
  other_[line] = to_index(turning_.size());
  Turning& body = turning_.emplace_back();
  body.inverse << m[1], m[2], m[3], m[2], m[4], m[5], m[3], m[5], m[6];
  body.inertia = body.inverse.inverse();
  body.mass = inverse_or_zero(m[0]);
}

HaloPlan BodyMotion::line_plan(const HaloPlan& ghosts) const {
  HaloPlan out;
  const auto expand = [&](const std::vector<Index>& items) {
    std::vector<Index> lines;
    for (const Index b : items)
      for (Index i = 0; i < lines_of(*bodies_, b); ++i) lines.push_back(line_[b] + i);
    return lines;
  };
  for (const HaloPlan::Neighbour& n : ghosts.neighbours)
    out.neighbours.push_back({n.rank, expand(n.send), expand(n.receive)});
  return out;
}

void BodyMotion::load(std::span<const double> velocities, HugeVector<BodyLine>& lines) const {
  for (Index b = 0; b < bodies_->size(); ++b)
    std::copy_n(velocities.data() + bodies_->dof_begin[b], bodies_->dofs(b),
                numbers(lines).data() + place(b));
}

void BodyMotion::store(int slot, std::span<double> velocities) const {
  for (Index b = 0; b < bodies_->size(); ++b)
    std::copy_n(numbers(v_[slot]).data() + place(b), bodies_->dofs(b),
                velocities.data() + bodies_->dof_begin[b]);
}

/// Of one line, whose forces become zero.
void BodyMotion::renew(std::size_t line, const MomentumPoint& y, const Slots& slots) {
  const Line next = line_of(v_[slots.next][line]), now = line_of(v_[slots.now][line]);
  Line sum;
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = y.keep * next[k] + y.take * now[k];
  write(sum, y_[line]);
  forces_[line] = {};
}

void BodyMotion::make_y(const MomentumPoint& y, const Slots& slots) {
  for (std::size_t line = 1; line < y_.size(); ++line) {
    const Line now = line_of(v_[slots.now][line]), before = line_of(v_[slots.before][line]);
    Line sum;
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = y.keep * now[k] + y.take * before[k];
    const double m = y_[line].x[kInverseMass], i = y_[line].x[kInverseInertia];
    write(sum, y_[line]);
    if (kind_[line] != Kind::round) continue;
    y_[line].x[kInverseMass] = m;
    y_[line].x[kInverseInertia] = i;
  }
}

/// The bodies of this rank.
template <bool kForces, bool kSettles>
double BodyMotion::walk(const MomentumPoint& next_y, const Slots& slots) {
  constexpr std::size_t kNumbers = 6;
  std::array<double, kNumbers> sums{};
  double total = 0.0;
  const BodyLine *free_lines = free_.data(), *now_lines = v_[slots.now].data();
  BodyLine *next_lines = v_[slots.next].data(), *y_lines = y_.data(), *force_lines = forces_.data();
  for (std::size_t line = 1; line < free_.size(); ++line) {
    if (kind_[line] != Kind::round) {
      total += walk_other<kForces, kSettles>(line, next_y, slots);
      continue;
    }
    // number by number: wider copies would wait for the narrow stores before them
    double* const next = next_lines[line].x;
    double* const force = force_lines[line].x;
    if constexpr (kForces) {
      const double* const free = free_lines[line].x;
      const double m = free[kInverseMass], i = free[kInverseInertia];
      for (std::size_t k = 0; k < kNumbers; ++k) next[k] = free[k] + (k < 3 ? m : i) * force[k];
    }
    if constexpr (kSettles) {
      double* const y = y_lines[line].x;
      const double* const now = now_lines[line].x;
      const double m = y[kInverseMass], i = y[kInverseInertia];
      for (std::size_t k = 0; k < kNumbers; ++k) {
        const double change = next[k] - y[k];
        sums[k] += (k < 3 ? m : i) * change * change;
        y[k] = next_y.keep * next[k] + next_y.take * now[k];
        force[k] = 0.0;
      }
    }
  }
  for (const double sum : sums) total += sum;
  return total;
}

template <bool kForces, bool kSettles>
double BodyMotion::walk_other(std::size_t line, const MomentumPoint& next_y, const Slots& slots) {
  if (kind_[line] == Kind::not_here) return 0.0;
  const double *free = free_[line].x, *force = forces_[line].x;
  double *next = v_[slots.next][line].x, *y = y_[line].x;
  double energy = 0.0;
  if (kind_[line] == Kind::turning) {
    const Turning& body = turning_[other_[line]];
    if constexpr (kForces) {
      for (int k = 0; k < 3; ++k) next[k] = free[k] + free[kInverseMass] * force[k];
      spin_of(v_[slots.next][line]) = spin_of(free_[line]) + body.inverse * spin_of(forces_[line]);
    }
    if constexpr (kSettles) {
      for (int k = 0; k < 3; ++k) energy += body.mass * (next[k] - y[k]) * (next[k] - y[k]);
      const Vec3 turned = spin_of(v_[slots.next][line]) - spin_of(y_[line]);
      energy += turned.dot(body.inertia * turned);
      renew(line, next_y, slots);
    }
    return energy;
  }
  const Dense& body = dense_[other_[line]];
  for (Index i = 0; i < body.dofs; ++i) {
    const double *inverse = body.inverse.data() + i * body.dofs,
                 *mass = body.mass.data() + i * body.dofs;
    if constexpr (kForces) {
      next[i] = free[i];
      for (Index j = 0; j < body.dofs; ++j) next[i] += inverse[j] * force[j];
    }
    if constexpr (kSettles && !kForces)
      for (Index j = 0; j < body.dofs; ++j) energy += (next[i] - y[i]) * mass[j] * (next[j] - y[j]);
  }
  if constexpr (kForces && kSettles) return walk_other<false, true>(line, next_y, slots);
  if constexpr (kSettles)
    for (Index i = 0; i < (body.dofs + 7) / 8; ++i) renew(line + i, next_y, slots);
  return energy;
}

double BodyMotion::advance(const MomentumPoint& next_y, const Slots& slots) {
  if (to_owners_) to_owners_->complete(numbers(forces_));
  const double energy = walk<true, true>(next_y, slots);
  share(slots.next);
  for (const Index line : ghosts_) renew(line, next_y, slots);
  return energy;
}

void BodyMotion::push(const Slots& slots) {
  if (to_owners_) to_owners_->complete(numbers(forces_));
  walk<true, false>({}, slots);
}

double BodyMotion::settle(const MomentumPoint& next_y, const Slots& slots) {
  const double energy = walk<false, true>(next_y, slots);
  for (const Index line : ghosts_) renew(line, next_y, slots);
  return energy;
}

void BodyMotion::share(int slot) {
  if (!to_ghosts_) return;
  to_ghosts_->begin(numbers(v_[slot]));
  to_ghosts_->end(numbers(v_[slot]));
}

}  // namespace catena::first_order
