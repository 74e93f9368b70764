#include "search/ranks/near_ranks.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/comm/split.hpp"
#include "catena/comm/typed_exchange.hpp"

namespace catena::search {

namespace {

/// Collective. The box around all ranks' boxes.
Aabb box_around(const Communicator& comm, const Aabb& own) {
  Corners corners = corners_of({-own.lo, own.hi});
  comm.max(std::span<double>(corners));
  const Aabb all = box_at(corners.data());
  return {-all.lo, all.hi};
}

Aabb in_image(const Aabb& box, int code, const PeriodicImages& images) {
  return code == kNoImage ? box : images.image_of(box, code);
}

/// The images, the boxes themselves among them, in which `whole`, around all rows' boxes, overlaps
/// `target`. In any other no box does: shifting rounds corners without changing their order.
std::vector<int> near_images(const Aabb& whole, const Aabb& target, const PeriodicImages& images) {
  std::vector<int> codes;
  if (whole.overlaps(target)) codes.push_back(kNoImage);
  for (const int code : images.all()) {
    if (images.image_of(whole, code).overlaps(target)) codes.push_back(code);
  }
  return codes;
}

}  // namespace

NearRanks::NearRanks(const Communicator& comm, int group_size)
    : comm_(comm), group_size_(group_size) {
  CATENA_CHECK(group_size > 0, "a group has a rank");
}

std::span<const RankRow> NearRanks::find(const RankBoxes& own, const PeriodicImages& images) {
  const bool several = comm_.size() > group_size_;
  if (!group_) {
    group_ = several ? split(comm_, comm_.rank() / group_size_) : comm_;
    if (several) peers_ = split(comm_, comm_.rank() % group_size_);
  }
  const std::vector<double> told = group_->all_gather(std::span(own.published()));
  const int first = comm_.rank() - group_->rank();
  rows_.resize(group_->size());
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    rows_[k].rank = first + narrow<int>(k);
    std::copy_n(told.data() + k * RankBoxes::kDoubles, RankBoxes::kDoubles, rows_[k].boxes.begin());
  }
  if (several) hear_other_groups(own.whole(), images);
  return rows_;
}

/// Collective among the groups' first ranks. Which of this group's rows reach which group.
std::vector<Parcel> NearRanks::rows_for_others(const Aabb& own_group,
                                               const PeriodicImages& images) const {
  const Corners corners = corners_of(own_group);
  const std::vector<double> wholes = peers_->all_gather(std::span<const double>(corners));
  Aabb whole;
  for (const RankRow& row : rows_) {
    for (int k = 0; k < RankBoxes::kBoxes; ++k) whole.merge(row.box(k));
  }
  std::vector<Parcel> parcels;
  for (int group = 0; group < peers_->size(); ++group) {
    if (group == peers_->rank()) continue;
    const Aabb target = box_at(wholes.data() + 6 * Offset{group});
    const std::vector<int> codes = near_images(whole, target, images);
    if (codes.empty()) continue;
    const auto reaches = [&](const RankRow& row) {
      for (int k = 0; k < RankBoxes::kBoxes; ++k) {
        for (const int code : codes) {
          if (in_image(row.box(k), code, images).overlaps(target)) return true;
        }
      }
      return false;
    };
    Packer out;
    for (const RankRow& row : rows_) {
      if (reaches(row)) out.put(row);
    }
    if (!out.bytes().empty()) parcels.push_back({group, out.take()});
  }
  return parcels;
}

void NearRanks::hear_other_groups(const Aabb& own_rank, const PeriodicImages& images) {
  const Aabb own_group = box_around(*group_, own_rank);
  std::vector<RankRow> heard;
  if (group_->rank() == 0) {
    for (const Parcel& parcel : peers_->exchange(rows_for_others(own_group, images))) {
      Unpacker in(parcel.bytes);
      while (!in.empty()) heard.push_back(in.get<RankRow>());
    }
  }
  broadcast_values(*group_, 0, heard);
  rows_.insert(rows_.end(), heard.begin(), heard.end());
  std::ranges::sort(rows_, {}, &RankRow::rank);
}

}  // namespace catena::search
