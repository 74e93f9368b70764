#include "search/candidates.hpp"

#include <algorithm>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena::search {

/// Collective. Tells the owned bodies that reach other ranks' boxes.
void Candidates::choose_offers(const Bodies& bodies, std::span<const Aabb> boxes,
                               const Probes& probes) {
  std::vector<RankBoxes::Member> members;
  members.reserve(probes.all().size());
  for (const Probe& probe : probes.all()) {
    const BodyConstants& body = bodies.constants[probe.body];
    members.push_back({half_extent(body.shape), probe.dynamic});
  }
  rank_boxes_.group(members, boxes);
  rank_boxes_.select(near_ranks_.find(rank_boxes_, probes.images()), comm_.rank(), boxes,
                     probes.images(), by_box_);
  for (auto& [rank, list] : by_box_) {
    for (Index& i : list) i = probes.all()[i].body;
  }
}

void Candidates::exchange(const Bodies& bodies, const State& state, const WideBoxes& wide,
                          Probes& probes, LocalBodies& local) {
  place_.clear();
  local.ghost_motions.clear();
  if (comm_.size() > 1) {
    if (!wide.keeps_offers()) choose_offers(bodies, wide.boxes(probes), probes);
    offered_ = by_box_;
    merge_offers(offered_, bodies.links.offered);
    std::vector<Parcel> outgoing;
    for (const auto& [rank, list] : offered_) {
      Packer out(list.size() * sizeof(BodyRecord));
      for (const Index i : list) {
        const BodyConstants& body = bodies.constants[i];
        out.put(BodyRecord{body, {state.body[i].pose, local.twist(i)}});
        if (body.kind == BodyKind::kinematic) out.put(motion_of(state, body));
      }
      outgoing.push_back({rank, out.take()});
    }
    for (const Parcel& parcel : comm_.exchange(std::move(outgoing))) {
      Unpacker in(parcel.bytes);
      for (Index place = 0; !in.empty(); ++place) {
        const auto record = in.get<BodyRecord>();
        place_.push_back(place);
        if (takes_part(record.constants)) {
          probes.add_swept(record.constants, record.state.pose, record.state.twist, local.size());
        }
        local.constants.push_back(record.constants);
        local.state.push_back(record.state);
        local.owner.push_back(parcel.rank);
        if (record.constants.kind == BodyKind::kinematic)
          local.ghost_motions.push_back({record.constants.id, in.get<MotionStart>()});
      }
    }
    std::ranges::sort(local.ghost_motions, {}, &BodyMotion::body);
  }
  local.n_ghost = to_index(place_.size());
}

void Candidates::keep_needed(const JointLinks& links, ContactSet& out) {
  LocalBodies& local = out.bodies;
  if (local.n_ghost == 0) return;
  const std::size_t n_owned = local.n_owned;
  const std::size_t n_candidates = local.n_ghost;
  const std::size_t n_others = local.constants.size() - n_owned;
  moved_to_.assign(n_others, kNoIndex);
  for (std::size_t k = 0; k < n_others; ++k) {
    if (k >= n_candidates || joints_need(links, local.constants[n_owned + k])) {
      moved_to_[k] = 0;
    }
  }
  for (const Contact& contact : out.contacts) {
    for (const Index body : {contact.body_a, contact.body_b}) {
      if (body >= local.n_owned) moved_to_[body - n_owned] = 0;
    }
  }
  std::size_t to = n_owned, kept = 0;
  for (std::size_t k = 0; k < n_others; ++k) {
    if (moved_to_[k] == kNoIndex) continue;
    if (k < n_candidates) place_[kept++] = place_[k];
    local.constants.other(to) = local.constants[n_owned + k];
    local.state.other(to) = local.state[n_owned + k];
    local.owner[to] = local.owner[n_owned + k];
    moved_to_[k] = to_index(to++);
  }
  local.constants.resize(to);
  local.state.resize(to);
  local.owner.resize(to);
  place_.resize(kept);
  local.n_ghost = to_index(kept);
  const auto renumber = [&](Index& body) {
    if (body >= local.n_owned) body = moved_to_[body - n_owned];
  };
  for (Contact& contact : out.contacts) {
    renumber(contact.body_a);
    renumber(contact.body_b);
  }
}

void Candidates::plan_halo(ContactSet& out) const {
  out.ghosts.neighbours.clear();
  if (comm_.size() == 1) return;
  auto& neighbours = out.ghosts.neighbours;
  const LocalBodies& local = out.bodies;
  std::vector<ValueParcel<Index>> wanted;
  for (Index g = 0; g < local.n_ghost; ++g) {
    const std::size_t i = local.n_owned + g;
    if (local.constants[i].kind != BodyKind::dynamic) continue;
    if (neighbours.empty() || neighbours.back().rank != local.owner[i]) {
      neighbours.push_back({local.owner[i], {}, {}});
      wanted.push_back({local.owner[i], {}});
    }
    neighbours.back().receive.push_back(local.n_owned + g);
    wanted.back().values.push_back(place_[g]);
  }
  const auto by_rank = [](const auto& x, int rank) { return x.rank < rank; };
  for (const auto& parcel : exchange_values(comm_, std::move(wanted))) {
    auto at = std::lower_bound(neighbours.begin(), neighbours.end(), parcel.rank, by_rank);
    if (at == neighbours.end() || at->rank != parcel.rank) {
      at = neighbours.insert(at, {parcel.rank, {}, {}});
    }
    const auto offer = std::lower_bound(offered_.begin(), offered_.end(), parcel.rank,
                                        [](const auto& x, int rank) { return x.first < rank; });
    CATENA_CHECK(offer != offered_.end() && offer->first == parcel.rank, "what was offered");
    for (const Index place : parcel.values) at->send.push_back(offer->second[place]);
  }
}

}  // namespace catena::search
