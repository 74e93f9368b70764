#include "catena/comm/path_messages.hpp"

#include <numeric>
#include <utility>

namespace catena {
namespace {

HaloPlan plan_of(const std::vector<MessagePath>& paths) {
  HaloPlan plan;
  Index out = 0;
  Index in = 0;
  for (const MessagePath& path : paths) {
    if (path.send == 0 && path.receive == 0) continue;
    HaloPlan::Neighbour& neighbour = plan.neighbours.emplace_back();
    neighbour.rank = path.rank;
    neighbour.send.resize(path.send);
    neighbour.receive.resize(path.receive);
    std::iota(neighbour.send.begin(), neighbour.send.end(), out);
    std::iota(neighbour.receive.begin(), neighbour.receive.end(), in);
    out += path.send;
    in += path.receive;
  }
  return plan;
}

}  // namespace

PathMessages::PathMessages(const Communicator& comm, const std::vector<MessagePath>& paths, Tag tag)
    : halo_(comm, plan_of(paths), 1, tag) {
  for (const MessagePath& path : paths) {
    out_begin_.push_back(out_begin_.back() + path.send);
    in_begin_.push_back(in_begin_.back() + path.receive);
    sent_ += path.send > 0 ? 1 : 0;
  }
  out_.resize(out_begin_.back());
  in_.resize(in_begin_.back());
}

std::vector<MessagePath> reversed(std::vector<MessagePath> paths) {
  for (MessagePath& path : paths) std::swap(path.send, path.receive);
  return paths;
}

}  // namespace catena
