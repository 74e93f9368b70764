// Numbers that travel between a rank and a few others, over the same paths every time.
#pragma once

#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/comm/halo_exchange.hpp"

namespace catena {

/// One other rank, and how many doubles go to it and come from it (0: no message).
struct MessagePath {
  int rank = -1;
  Index send = 0;
  Index receive = 0;
};

/// Persistent messages along paths of ascending ranks. What is sent to path p stands at out(p),
/// what came from it at in(p). A path without numbers costs nothing and waits for nobody.
class PathMessages {
 public:
  PathMessages(const Communicator& comm, const std::vector<MessagePath>& paths, Tag tag);

  double* out(std::size_t path) { return out_.data() + out_begin_[path]; }
  const double* in(std::size_t path) const { return in_.data() + in_begin_[path]; }
  /// Neighbours.
  void begin() { halo_.begin(out_); }
  void end() { halo_.end(in_); }
  std::int64_t sent_messages() const { return sent_; }
  bool any() const { return !out_.empty() || !in_.empty(); }

 private:
  std::vector<std::size_t> out_begin_ = {0};
  std::vector<std::size_t> in_begin_ = {0};
  std::vector<double> out_, in_;
  std::int64_t sent_ = 0;
  HaloExchange halo_;
};

/// The same paths the other way round.
std::vector<MessagePath> reversed(std::vector<MessagePath> paths);

}  // namespace catena
