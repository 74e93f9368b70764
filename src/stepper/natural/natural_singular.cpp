// Sub-steps near singular positions, where joints' rows lose a rank.
//
// With sigma a singular value of the rows that vanishes there, a stage that misses the joints by f
// takes velocities elsewhere by f/sigma, and multipliers of forces that rows hold grow as 1/sigma.
// Neither belongs to the motion, which is smooth. Near such positions stages are therefore
// evaluated at the nearest places that meet the joints, where the rows' kernel is that of the
// motion to round-off, and of the momenta's rates only that part is kept which the joints do not
// take: p* + J^T nu with any nu(t) leads to the same velocities (docs/theory.md, "Singular
// positions").
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "catena/base/random.hpp"
#include "catena/comm/sums.hpp"
#include "catena/math/sum.hpp"
#include "stepper/natural/natural_stepper_impl.hpp"

namespace catena {

namespace {

/// Softness (Impl::softness) from which on rows may be losing a rank, and the ratio of two of a
/// sub-step that says that they do: far from such positions it changes as slowly as the places do.
constexpr double kSoft = 30.0, kChanges = 1.1;
/// A place is singular, as far as round-off lets it be seen, where the softness exceeds kSingular
/// per row and kAbove times the sub-step's (masses that differ by orders make rows as soft all
/// along it), or falls to a part kLost of the sub-step's: multipliers leave out what has lost its
/// rank for good. Softness to find at places beside it, per row.
constexpr double kSingular = 3e4, kAbove = 100.0, kLost = 0.1, kBeside = 3e3;
/// The least softness of a sub-step's start, middle and end is at least this part of the second
/// least, wherever the position lies, as it goes as the inverse square of the distance, unless that
/// place has lost the rank.
constexpr double kOutside = 0.05;
constexpr std::uint64_t kSeed = 22;

}  // namespace

/// Right-hand sides and velocities for free velocities alone: no row asks for anything, prescribed
/// bodies are at rest.
template <class SetFree>
void NaturalStepper::Impl::set_at_rest(const SetFree& set_free_of) {
  std::fill(problem.blocks.q.begin(), problem.blocks.q.end(), 0.0);
  std::fill(problem.bodies.free_velocity.begin(), problem.bodies.free_velocity.end(), 0.0);
  for (std::size_t n = 0; n < dynamic.size(); ++n) set_free_of(n);
}

/// Collective, after factor(). How large multipliers x have to be that hold velocities z of no
/// order: the largest N_rr x_r^2 of all rows, with z of kinetic energy about 1/6 J in each
/// direction, so that it is a pure number. About 1, and 1/sigma^2 with a singular value sigma that
/// vanishes. The problem's free velocities are lost.
NaturalSoftness NaturalStepper::Impl::softness() {
  asked = problem.blocks.q;
  set_at_rest([&](std::size_t n) {
    const std::size_t b = dynamic[n];
    const double* m = problem.bodies.inverse_mass.data() + problem.bodies.mass_begin[b];
    double* v = problem.bodies.free_velocity.data() + 6 * b;
    const std::array<double, 6> inverse = {m[0], m[0], m[0], m[1], m[4], m[6]};
    for (std::size_t d = 0; d < 6; ++d)
      v[d] = std::sqrt(std::max(0.0, inverse[d])) *
             uniform_pm1(kSeed, static_cast<std::uint64_t>(problem.bodies.id[b]), d);
  });
  scaled.resize(impulses.size());
  op->free_residual(scaled);
  system.move(problem, scaled, velocities, impulses);
  std::ranges::copy(asked, problem.blocks.q.begin());
  const GeneralBlocks& blocks = problem.blocks;
  constexpr GlobalId kLast = std::numeric_limits<GlobalId>::max();
  NaturalSoftness largest{0.0, kLast};
  std::array<double, 6> y{};
  for (Index k = 0; k < blocks.size(); ++k)
    for (Index r = blocks.row_begin[k]; r < blocks.row_begin[k + 1]; ++r) {
      double diagonal = 0.0;
      for (Index n = blocks.body_begin[k]; n < blocks.body_begin[k + 1]; ++n) {
        const Index b = blocks.body[n];
        if (!is_dynamic(b)) continue;
        const std::span<const double> g(
            blocks.jacobian.data() + blocks.jacobian_begin[n] + 6 * (r - blocks.row_begin[k]), 6);
        apply_inverse_mass(problem.bodies, b, g, y);
        for (std::size_t d = 0; d < 6; ++d) diagonal += g[d] * y[d];
      }
      scaled[r] = std::sqrt(diagonal) * impulses[r];
      const double own = scaled[r] * scaled[r];
      if (own < largest.value || std::isnan(own)) continue;
      largest.joint =
          own > largest.value ? blocks.name[k] : std::min(largest.joint, blocks.name[k]);
      largest.value = own;
    }
  const double over_all = comm.max(largest.value);
  const GlobalId joint = comm.min(largest.value == over_all ? largest.joint : kLast);
  return {over_all, joint == kLast ? kNoBody : joint};
}

/// Collective, after factor() at the usual stage nearest half way through the sub-step, or at its
/// end.
void NaturalStepper::Impl::note_softness(bool at_end) {
  const NaturalSoftness now = softness();
  if (now.value > softest.value) softest = now;
  softness_of[at_end ? 1 : 0] = now.value;
  scaled_before.resize(scaled.size(), 0.0);
  Sum product(problem.ordered);
  for (std::size_t r = 0; r < scaled.size(); ++r) product += scaled[r] * scaled_before[r];
  turned = turned || total(comm, product, problem.ordered) < 0.0;
  scaled_before = scaled;
}

/// Collective, before the first of careful stages. How soft rows are where the sub-step is farthest
/// from the position: the least above kSoft of its start, middle and end, unless that place lies in
/// the position and has lost the rank. Long mechanisms stay soft without it, but the middle is then
/// softer than neither end, as no distance makes it, or the least falls below kOutside.
void NaturalStepper::Impl::find_usual_softness() {
  place_bodies(time, stages.y);
  set_rows(time);
  factor();
  std::array<double, 3> found = {softness().value, softness_of[0], softness_of[1]};
  const bool middle_lost = found[1] < std::min(found[0], found[2]);
  std::sort(found.begin(), found.end());
  auto usual = found.begin();
  if (middle_lost || usual[0] < kOutside * usual[1]) ++usual;
  while (usual + 1 != found.end() && *usual <= kSoft) ++usual;
  usual_softness = *usual;
}

/// Whether the softness of the sub-step's stages is that of rows which lose a rank: it changes, or
/// the multipliers turn, as sigma does where the position lies half way between two stages.
bool NaturalStepper::Impl::comes_near_singular() const {
  return softest.value > kSoft &&
         (softest.value > kChanges * std::min(softness_of[0], softness_of[1]) || turned);
}

/// Whether the whole of a careful sub-step lies as near to a singular position as places are taken
/// beside it: estimates there are round-off over sigma, which grows in shorter sub-steps, and error
/// control would end in front of the position.
bool NaturalStepper::Impl::is_all_singular() const {
  return careful && usual_softness > kBeside * static_cast<double>(all_rows);
}

/// Collective. Moves owned bodies from on.place to the nearest places with orthonormal axes that
/// meet the joints, by Newton's method; drivers keep their misfits. Rows are set there.
void NaturalStepper::Impl::to_joints(double t) {
  constexpr int kMostMoves = 3;
  constexpr double kFalls = 0.1, kMet = 1e-13;
  const auto straighten = [&](std::size_t b) {
    on.place[b].a = axes_of(on.mass[b], orientation_of(on.mass[b], on.place[b].a, at.pose[b].q));
  };
  for (const Index b : dynamic) straighten(b);
  share_places();
  set_masses();
  set_rows(t);
  std::vector<double> rhs(misfit.size()), move(velocities.size());
  double before = std::numeric_limits<double>::infinity();
  for (int n = 0; n < kMostMoves; ++n) {
    const double now = drift();
    if (!(now > kMet) || !(now < kFalls * before)) return;
    before = now;
    for (std::size_t j = 0; j < joints.size(); ++j)
      for (auto r = row[j]; r < row[j + 1]; ++r)
        rhs[r] = joints[j].is_driver(narrow<int>(r - row[j])) ? 0.0 : -misfit[r];
    if (!factor()) return;
    system.move(problem, rhs, move);
    for (const Index b : dynamic) {
      const Vec3 turn = vector_at(move.data() + 6 * b + 3);
      on.place[b].r += vector_at(move.data() + 6 * b);
      for (int c = 0; c < 3; ++c) on.place[b].a.col(c) += turn.cross(on.place[b].a.col(c));
      straighten(b);
    }
    share_places();
    set_masses();
    set_rows(t);
  }
}

/// Collective. Change at stage i at the nearest place to `state` that meets the joints; false,
/// without one, if that is too near a singular position for it, unless `anyhow`.
bool NaturalStepper::Impl::evaluate(double t, std::span<const double> state, std::size_t i,
                                    bool anyhow) {
  place_bodies(t, state);
  to_joints(t);
  factor();
  if (!anyhow) {
    if (is_singular(t)) return false;
    place_prescribed(t);
  }
  set_free_velocities(state);
  solve_rows();
  held = impulses;
  for (std::size_t b = 0; b < on.place.size(); ++b)
    if (is_dynamic(b)) on.twist[b] = solved_twist(b);
  set_rates();
  set_loads(t, i);
  set_change(state, stages.k[i]);
  take_reactions_out(t, i);
  return true;
}

/// Collective, after factor(). Whether rows have lost a rank but for round-off.
bool NaturalStepper::Impl::is_singular(double t) {
  const NaturalSoftness now = softness();
  if (now.value > peak.value) {
    peak = now;
    peak_time = t;
  }
  return now.value > std::max(kSingular * static_cast<double>(all_rows), kAbove * usual_softness) ||
         now.value < kLost * usual_softness;
}

/// Collective. Change at stage i in a singular position, from those at six places along
/// `direction`, three on either side: what is smooth along it is their combination up to the sixth
/// power of the distance. The fourth would not do: where a step ends there its velocities are
/// found so, off by that power of a step as a whole and not times the step.
void NaturalStepper::Impl::evaluate_across(double t, std::span<const double> state, std::size_t i,
                                           std::span<const Twist> direction) {
  constexpr std::array<double, 6> kWay = {1.0, -1.0, 2.0, -2.0, 3.0, -3.0},
                                  kWeight = {0.75, 0.75, -0.3, -0.3, 0.05, 0.05};
  std::vector<double> beside(state.size()), change(state.size(), 0.0), spring(joints.size(), 0.0),
      reaction(impulses.size(), 0.0), hold(impulses.size(), 0.0);
  std::vector<Twist> twist(on.twist.size());
  std::vector<Powers> power(stages.power[i].size());
  // half a sub-step is far enough, and softness, which is usual at its farther end, falls as the
  // square of the distance
  const double farther = std::max(t - time, time + dt - t);
  const double beside_by = std::min(
      0.5 * dt, farther * std::sqrt(usual_softness / (kBeside * static_cast<double>(all_rows))));
  for (std::size_t n = 0; n < kWay.size(); ++n) {
    const double way = beside_by * kWay[n], weight = kWeight[n];
    std::copy(state.begin(), state.end(), beside.begin());
    for (std::size_t d = 0; d < dynamic.size(); ++d) {
      const Twist& along = direction[dynamic[d]];
      double* s = beside.data() + kWidth * d;
      put_vector(vector_at(s) + way * along.v, s);
      for (int c = 3; c < kPlaceWidth; c += 3)
        put_vector(vector_at(s + c) + way * along.w.cross(vector_at(s + c)), s + c);
    }
    evaluate(t + way, beside, i, true);
    for (std::size_t d = 0; d < change.size(); ++d) change[d] += weight * stages.k[i][d];
    for (std::size_t j = 0; j < spring.size(); ++j) spring[j] += weight * stages.spring[i][j];
    for (std::size_t r = 0; r < reaction.size(); ++r) {
      reaction[r] += weight * stages.reaction[i][r];
      hold[r] += weight * held[r];
    }
    for (std::size_t b = 0; b < twist.size(); ++b) {
      twist[b].v += weight * on.twist[b].v;
      twist[b].w += weight * on.twist[b].w;
    }
    for (std::size_t p = 0; p < power.size(); ++p) {
      power[p].springs += weight * stages.power[i][p].springs;
      power[p].external += weight * stages.power[i][p].external;
      power[p].motors += weight * stages.power[i][p].motors;
    }
  }
  stages.k[i] = std::move(change);
  stages.spring[i] = std::move(spring);
  stages.reaction[i] = std::move(reaction);
  held = std::move(hold);
  stages.power[i] = std::move(power);
  on.twist = std::move(twist);
}

/// Collective. Change at stage i, of a sub-step near a singular position.
void NaturalStepper::Impl::careful_stage(double t, std::span<const double> state, std::size_t i) {
  const std::vector<Twist> before = i == 0 ? at.twist : on.twist;
  if (!evaluate(t, state, i, false)) evaluate_across(t, state, i, before);
}

/// Collective. Velocities and, where that is no singular position, places that meet the joints at
/// the end of a sub-step, from places on.place and the momenta of `stages.y`.
void NaturalStepper::Impl::finish_carefully(double t) {
  std::vector<double>& y = stages.y;
  for (std::size_t n = 0; n < dynamic.size(); ++n) {
    const std::size_t b = dynamic[n];
    put_vector(on.place[b].r, y.data() + kWidth * n);
    put_axes(on.place[b].a, y.data() + kWidth * n + 3);
    put_momenta(b, free_twist(b), on.place[b].a, y.data() + kWidth * n + 12);
  }
  const std::vector<NaturalCoordinates> places = on.place;
  const std::vector<Twist> before = on.twist;
  to_joints(t);
  factor();
  const bool singular = is_singular(t);
  if (singular) {
    evaluate_across(t, y, 0, before);
    std::copy(places.begin(), places.end(), on.place.begin());
    share_places();
    set_masses();
  } else {
    for (const Index b : dynamic) {
      at.pose[b].p = on.place[b].r;
      at.pose[b].q = orientation_of(on.mass[b], on.place[b].a, at.pose[b].q);
    }
  }
  const std::vector<Twist> found = on.twist;
  place_prescribed(t);
  set_rows(t);
  if (!singular) {
    set_free_velocities(y);
    solve_rows();
    return;
  }
  impulses = held;
  for (std::size_t b = 0; b < on.place.size(); ++b) {
    if (!is_dynamic(b)) continue;
    for (double* v : {velocities.data() + 6 * b, problem.bodies.free_velocity.data() + 6 * b}) {
      put_vector(found[b].v, v);
      put_vector(found[b].w, v + 3);
    }
  }
}

/// Collective. Of stage i's p*' leaves what neither joints nor internal constraints take, M T V'
/// with the V' that joints allow; what the joints take are the reactions.
void NaturalStepper::Impl::take_reactions_out(double t, std::size_t i) {
  std::vector<double>& change = stages.k[i];
  if (driven) set_driven_rates(t, driver_now, carried_now);
  set_at_rest([&](std::size_t n) {
    const std::size_t b = dynamic[n];
    const double* rate = change.data() + kWidth * n + 12;
    set_free(b, vector_at(rate), spin_of(on.mass[b], on.place[b].a, axes_at(rate + 3)));
  });
  solve_rows();
  stages.reaction[i] = impulses;
  for (std::size_t j = 0; driven && j < joints.size(); ++j)
    for (auto r = row[j]; r < row[j + 1]; ++r) {
      stages.power[i][j].motors += impulses[r] * driver_now[r];
      stages.power[i][j].external -= impulses[r] * carried_now[r];
    }
  for (std::size_t n = 0; n < dynamic.size(); ++n)
    put_momenta(dynamic[n], solved_twist(dynamic[n]), on.place[dynamic[n]].a,
                change.data() + kWidth * n + 12);
}

}  // namespace catena
