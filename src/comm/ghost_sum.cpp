#include "catena/comm/ghost_sum.hpp"

namespace catena {

GhostSum::GhostSum(const Communicator& comm, const HaloPlan& ghosts, int width, Tag tag)
    : width_(width), to_owners_(comm, ghosts.reversed_into_slots(item_), width, tag) {
  slots_.resize(item_.size() * Offset{width});
}

void GhostSum::begin(std::span<const double> values) { to_owners_.begin(values); }

void GhostSum::end(std::span<double> values) {
  to_owners_.end(slots_);
  const std::size_t width = width_;
  for (std::size_t s = 0; s < item_.size(); ++s)
    for (std::size_t d = 0; d < width; ++d)
      values[Offset{item_[s]} * width + d] += slots_[s * width + d];
}

void sum_with_ghosts(const Communicator& comm, const HaloPlan& ghosts, int width, Tag there,
                     Tag back, std::span<double> values) {
  GhostSum(comm, ghosts, width, there).complete(values);
  HaloExchange to_ghosts(comm, ghosts, width, back);
  to_ghosts.begin(values);
  to_ghosts.end(values);
}

}  // namespace catena
