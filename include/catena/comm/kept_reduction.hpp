// A reduction that outlives a problem.
#pragma once

#include <memory>
#include <optional>

#include "catena/comm/communicator.hpp"

namespace catena {

/// A PendingReduction that is kept as long as the communicator stays the same.
class KeptReduction {
 public:
  /// Local. To be called before it is used with `comm`.
  void start(const Communicator& comm) {
    // one under way was left by an exception
    if (reduction_ && comm_ == comm.impl() && !reduction_->pending()) return;
    reduction_.emplace(comm);
    comm_ = comm.impl();
  }
  PendingReduction* operator->() { return &*reduction_; }

 private:
  std::optional<PendingReduction> reduction_;
  std::shared_ptr<Communicator::Impl> comm_;
};

}  // namespace catena
