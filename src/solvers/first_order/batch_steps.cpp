#include "solvers/first_order/batch_steps.hpp"

#include <algorithm>

#include "catena/base/release.hpp"
#include "catena/constraints/block_rows.hpp"

namespace catena::first_order {
namespace {

/// 1/s^2 of all lanes; `origin`: the block of each.
void set_scales(const ConstraintProblem& problem, std::span<const Index> origin,
                std::span<const double> by_scale, HugeVector<StepBatch>& batches) {
  assign_with_room(batches, origin.size() / kLanes, StepBatch{});
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const Index block = origin[i];
    if (block == kNoIndex) continue;
    const std::size_t row = block_view(problem, block).row;
    StepBatch& batch = batches[i / kLanes];
    batch.h_n[i % kLanes] = by_scale[row] * by_scale[row];
    batch.h_t[i % kLanes] = by_scale[row + 1] * by_scale[row + 1];
  }
}

}  // namespace

void BatchSteps::start(const ConstraintProblem& problem, Subdomain& packed,
                       std::span<const double> by_scale) {
  packed_ = &packed;
  set_scales(problem, packed.sphere_origin(), by_scale, spheres_);
  set_scales(problem, packed.arm_origin(), by_scale, arms_);
  set_scales(problem, packed.explicit_origin(), by_scale, explicit_contacts_);
}

void BatchSteps::rest() {
  for (HugeVector<StepBatch>* batches : {&spheres_, &arms_, &explicit_contacts_})
    clear_large(*batches);
}

void BatchSteps::load(int slot) {
  const auto take = [slot](const auto& impulses, StepBatch& to) {
    std::copy_n(impulses[0], 3 * kLanes, to.x[slot][0]);
  };
  for (std::size_t i = 0; i < spheres_.size(); ++i) take(packed_->spheres()[i].p, spheres_[i]);
  for (std::size_t i = 0; i < arms_.size(); ++i) take(packed_->arms()[i].lambda, arms_[i]);
  for (std::size_t i = 0; i < explicit_contacts_.size(); ++i)
    take(packed_->explicit_contacts()[i].lambda, explicit_contacts_[i]);
}

void BatchSteps::store(int slot) const {
  const auto give = [slot](const StepBatch& from, auto& impulses) {
    std::copy_n(from.x[slot][0], 3 * kLanes, impulses[0]);
  };
  for (std::size_t i = 0; i < spheres_.size(); ++i) give(spheres_[i], packed_->spheres()[i].p);
  for (std::size_t i = 0; i < arms_.size(); ++i) give(arms_[i], packed_->arms()[i].lambda);
  for (std::size_t i = 0; i < explicit_contacts_.size(); ++i)
    give(explicit_contacts_[i], packed_->explicit_contacts()[i].lambda);
}

StepSums BatchSteps::step(const StepPass& pass) {
  const BatchKernels& kernels = packed_->kernels();
  StepSums sums =
      kernels.sphere_steps(packed_->spheres().data(), spheres_.data(), spheres_.size(), pass);
  sums.add(kernels.arm_steps(packed_->arms().data(), arms_.data(), arms_.size(), pass));
  sums.add(kernels.explicit_steps(packed_->explicit_contacts().data(), explicit_contacts_.data(),
                                  explicit_contacts_.size(), pass));
  return sums;
}

}  // namespace catena::first_order
