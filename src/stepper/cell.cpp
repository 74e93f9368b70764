#include "catena/stepper/cell.hpp"

#include <algorithm>
#include <string>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/comm/sums.hpp"

namespace catena {

namespace {

/// xx, yy, zz, xy, yz, zx
constexpr std::array<std::pair<int, int>, 6> kSix = {
    {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {2, 0}}};
constexpr const char* kAxisNames[] = {"x", "y", "z"};

/// Local. Gives dynamic bodies the velocity of `rates` about the centre of the box.
void stir(const Bodies& bodies, const PeriodicBox& box, const Vec3& rates, State& state) {
  if (rates.isZero(0.0)) return;
  const Vec3 centre = box.centre();
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    if (bodies.constants[i].kind == BodyKind::dynamic)
      state.body[i].twist.v += rates.cwiseProduct(state.body[i].pose.p - centre);
}

}  // namespace

void CellSums::add_contact(const RigidContact& rows, const Vec3& branch, const Vec3& impulse,
                           const std::array<double, 2>& compliance, double diagonal, double h) {
  const auto response = [&](double sigma) { return 1.0 / (h * (sigma > 0.0 ? sigma : diagonal)); };
  const auto elastic = [&](double eps) { return eps > 0.0 ? h / eps : 0.0; };
  const double normal = response(rows.compliance), tangent = response(rows.tangent_compliance);
  const double normal_stays = elastic(compliance[0]), tangent_stays = elastic(compliance[1]);
  for (std::size_t n = 0; n < 6; ++n) {
    const auto [i, j] = kSix[n];
    sums_[kForces + n] += 0.5 / h * (impulse[i] * branch[j] + impulse[j] * branch[i]);
  }
  for (int k = 0; k < 3; ++k) {
    const double along = rows.normal[k] * rows.normal[k], across = 1.0 - along;
    const double squared = branch[k] * branch[k];
    sums_[kResponse + k] += squared * (along * normal + across * tangent);
    sums_[kElastic + k] += squared * (along * normal_stays + across * tangent_stays);
  }
}

void CellSums::add_body(double mass, const Vec3& c) {
  for (std::size_t n = 0; n < 6; ++n) {
    const auto [i, j] = kSix[n];
    sums_[kSquares + n] += mass * c[i] * c[j];
  }
  for (int k = 0; k < 3; ++k) sums_[kMomentum + k] += mass * c[k];
  sums_[kMass] += mass;
}

CellStress CellSums::stress(const Communicator& comm, double volume, double h, bool exact) const {
  SumWords words(exact);
  for (const Sum& sum : sums_) words.add(sum);
  comm.sum(words.words());
  CellStress stress;
  const double mass = words[kMass];
  for (std::size_t n = 0; n < 6; ++n) {
    const auto [i, j] = kSix[n];
    stress.contacts[n] = words[kForces + n] / volume;
    const double together = words[kMomentum + i] * words[kMomentum + j];
    if (mass > 0.0) stress.kinetic[n] = (words[kSquares + n] - together / mass) / volume;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const double gas = 3.0 * h * stress.kinetic[k];
    stress.response[k] = words[kResponse + k] / volume + gas;
    stress.elastic[k] = std::min(stress.response[k], words[kElastic + k] / volume + gas);
  }
  return stress;
}

double cell_volume(const PeriodicBox& box) {
  double volume = 1.0;
  for (std::size_t k = 0; k < 3; ++k)
    if (box.active[k]) volume *= box.length(k);
  return volume;
}

std::array<double, 3> cell_rates(const std::array<CellDrive, 3>& drives, const CellStress& stress,
                                 const std::array<double, 3>& before, double t, double h) {
  std::array<double, 3> rates{};
  for (std::size_t k = 0; k < 3; ++k) {
    const CellDrive& drive = drives[k];
    if (drive.kind == CellDrive::Kind::still) continue;
    const double target = drive.mean_target(t, h);
    if (drive.kind == CellDrive::Kind::rate) {
      rates[k] = target;
    } else {
      const double response = stress.response[k];
      const double push =
          (response - stress.elastic[k]) * before[k] + drive.gain * (stress.total(k) - target);
      // without anything that resists, as fast as it may
      rates[k] = std::abs(push) < drive.largest_rate * response ? push / response
                 : push == 0.0                                  ? 0.0
                               : std::copysign(drive.largest_rate, push);
    }
    if (!(1.0 + h * rates[k] > 0.0))
      throw Error("the cell would turn inside out along " + std::string(kAxisNames[k]) +
                      ": a rate of strain of " + short_text(rates[k]) + " 1/s in a step of " +
                      short_text(h) + " s",
                  drive.place, "lower it, or time.step");
  }
  return rates;
}

void take_up_cell(const Model& model, const Bodies& bodies, const PeriodicBox& before, bool rest,
                  double step, State& state) {
  PeriodicBox box = before;
  box.stretch_rate = cell_rates(model.cell, {}, {}, state.time, step);
  Vec3 change;
  for (int k = 0; k < 3; ++k) {
    const double had = rest ? 0.0 : before.stretch_rate[k];
    // of a given stress nothing new is known yet
    if (model.cell[k].kind == CellDrive::Kind::stress) box.stretch_rate[k] = had;
    change[k] = box.stretch_rate[k] - had;
  }
  keep_box(box, state);
  stir(bodies, box, change, state);
}

void start_cell(const Model& model, const Bodies& bodies, double step, State& state) {
  if (model.cell_moves()) take_up_cell(model, bodies, model.periodic, true, step, state);
}

}  // namespace catena
