#include "solvers/joints/elimination/redundant/regularised_factor.hpp"

#include <string>
#include <utility>

#include "catena/base/error.hpp"

namespace catena {
namespace {

constexpr double kDriveWeight = 1e3;

}  // namespace

RegularisedFactor::RegularisedFactor(std::unique_ptr<CholeskyFactor> factor, const OwnRows& rows)
    : factor_(std::move(factor)), rows_(&rows), added_(rows.size(), 1.0) {}

void RegularisedFactor::factor(const MechanismRows& joints, double epsilon, bool soft_drives) {
  epsilon_ = epsilon;
  const std::span<const double> diagonal = rows_->diagonal();
  const std::span<const char> drive = rows_->drive();
  for (std::size_t i = 0; i < added_.size(); ++i) added_[i] = epsilon * diagonal[i];
  for (std::size_t i = 0; soft_drives && i < drive.size(); ++i)
    if (drive[i] != 0) added_[i] *= kDriveWeight;
  if (factor_->factor(joints, added_)) return;
  if (epsilon < kLargeRegularisation) return factor(joints, kLargeRegularisation, soft_drives);
  throw Error("the matrix of " + std::to_string(added_.size()) +
                  " joint rows is not positive definite, though regularised",
              "joints", "look for joints with very different masses or lengths",
              ExitCode::runtime_error);
}

void RegularisedFactor::damp(std::span<double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= added_[i];
  factor_->solve(x);
}

}  // namespace catena
