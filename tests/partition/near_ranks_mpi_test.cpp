// Ranks in groups find the same bodies for each other as ranks that all hear of all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "catena/base/random.hpp"
#include "catena/comm/collective_count.hpp"
#include "search/ranks/near_ranks.hpp"

namespace catena::search {
namespace {

using Selected = std::vector<std::pair<int, std::vector<Index>>>;

/// A rank's boxes: about a place of its own, and what may make them unlike others.
struct Scene {
  std::vector<RankBoxes::Member> members;
  std::vector<Aabb> boxes;
};

/// Scene `k` of a rank within 10 x 10 x 10 m: up to 12 bodies, a third of them fixed, within about
/// 2 m; on some ranks none, on others large ones, mostly fixed, or without end, or not numbers.
Scene random_scene(std::uint64_t k, int rank) {
  const auto id = 1000 * k + static_cast<std::uint64_t>(rank);
  const auto random = [id](std::uint64_t stream) { return uniform01(3, id, stream); };
  Scene scene;
  const Vec3 place = 10.0 * Vec3(random(0), random(1), random(2));
  const auto n = static_cast<std::uint64_t>(13.0 * random(3));
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t s = 10 + 10 * i;
    const Vec3 centre = place + 2.0 * Vec3(random(s), random(s + 1), random(s + 2));
    double half = 0.05 + 0.2 * random(s + 3);
    const bool large = random(s + 4) < 0.1;
    if (large) half = 5.0 * random(s + 5);
    if (random(s + 6) < 0.01) half = std::numeric_limits<double>::infinity();
    if (random(s + 7) < 0.02) half = std::numeric_limits<double>::quiet_NaN();
    scene.members.push_back({half, random(s + 8) > (large ? 0.9 : 0.3)});
    scene.boxes.push_back({centre.array() - half, centre.array() + half});
  }
  return scene;
}

RankRow row_of(int rank, const RankBoxes& boxes) { return {rank, boxes.published()}; }

/// What is selected where every rank hears of every other one, made anew from their scenes.
Selected by_all(std::uint64_t k, int own_rank, int n_ranks, const PeriodicImages& images) {
  std::vector<RankRow> rows;
  RankBoxes boxes;
  for (int rank = 0; rank < n_ranks; ++rank) {
    const Scene scene = random_scene(k, rank);
    boxes.group(scene.members, scene.boxes);
    rows.push_back(row_of(rank, boxes));
  }
  const Scene own = random_scene(k, own_rank);
  boxes.group(own.members, own.boxes);
  Selected selected;
  boxes.select(rows, own_rank, own.boxes, images, selected);
  return selected;
}

void expect_as_by_all(const PeriodicBox& box) {
  const Communicator comm = Communicator::world();
  PeriodicImages images(box);
  images.move_to(box, 0.1);
  std::size_t n_selected = 0;
  for (const int group_size : {1, 2, 3, NearRanks::kGroupSize}) {
    NearRanks near(comm, group_size);
    for (std::uint64_t k = 0; k < 300; ++k) {
      const Scene own = random_scene(k, comm.rank());
      RankBoxes boxes;
      boxes.group(own.members, own.boxes);
      Selected selected;
      boxes.select(near.find(boxes, images), comm.rank(), own.boxes, images, selected);
      EXPECT_EQ(selected, by_all(k, comm.rank(), comm.size(), images))
          << "groups of " << group_size << ", scene " << k;
      n_selected += selected.size();
    }
  }
  EXPECT_EQ(comm.sum(static_cast<std::int64_t>(n_selected)) > 100, comm.size() > 1);
}

TEST(NearRanks, GroupsOfRanksSelectWhatAllSelectTogether) { expect_as_by_all({}); }

TEST(NearRanks, SoTheyDoInBoxesWhoseImagesMove) {
  PeriodicBox box;
  box.active = {true, true, false};
  box.lo = {-0.1, 0.0, 0.0};
  box.hi = {10.1, 10.3, 10.0};
  box.shear_rate = 0.3;
  box.shear_along = 0;
  box.shear_across = 1;
  box.offset = 0.7;
  expect_as_by_all(box);
}

/// A dynamic body of half a width of 0.6 m at x = rank: it reaches those of the ranks beside it.
RankBoxes link_of_row(int rank) {
  const Vec3 centre(rank, 0.0, 0.0);
  RankBoxes boxes;
  boxes.group(std::vector<RankBoxes::Member>{{0.6, true}},
              std::vector<Aabb>{{centre.array() - 0.6, centre.array() + 0.6}});
  return boxes;
}

TEST(NearRanks, ARankOfARowHearsItsGroupAndTheRanksBesideIt) {
  const Communicator comm = Communicator::world();
  const int rank = comm.rank(), last = comm.size() - 1;
  const auto ranks_heard = [&](int group_size) {
    std::vector<std::int64_t> heard;
    NearRanks near(comm, group_size);
    for (const RankRow& row : near.find(link_of_row(rank), PeriodicImages({}))) {
      heard.push_back(row.rank);
      EXPECT_EQ(row.boxes, link_of_row(static_cast<int>(row.rank)).published());
    }
    return heard;
  };
  std::vector<std::int64_t> all, beside;
  for (int other = 0; other <= last; ++other) {
    all.push_back(other);
    if (std::abs(other - rank) <= 1) beside.push_back(other);
  }
  EXPECT_EQ(ranks_heard(NearRanks::kGroupSize), all);
  EXPECT_EQ(ranks_heard(1), beside);
}

TEST(NearRanks, WhatTheyTellIsCountedWithAllElse) {
  const Communicator comm = Communicator::world();
  const auto bytes_of_rows = [](int rows) { return 48 * 8 * rows; };
  NearRanks(comm).find(link_of_row(comm.rank()), PeriodicImages({}));
  // one gather of eight boxes of 48 bytes, and no message
  EXPECT_EQ(collective_count(comm).blocking, 1);
  EXPECT_EQ(collective_count(comm).gathered_bytes, bytes_of_rows(comm.size()));
  EXPECT_EQ(comm.traffic().messages, 0);
  if (comm.size() == 1) return;

  const Communicator again = Communicator::world();
  NearRanks(again, 1).find(link_of_row(comm.rank()), PeriodicImages({}));
  // the gather and the box of a group of one rank, those of all groups, the exchange between them,
  // and what it brought, as a number of bytes and their list
  EXPECT_EQ(collective_count(again).blocking, 6);
  EXPECT_EQ(collective_count(again).gathered_bytes, bytes_of_rows(1) + 48 * comm.size());
  // to each side a row, with its rank's number
  const bool at_end = comm.rank() == 0 || comm.rank() == comm.size() - 1;
  EXPECT_EQ(again.traffic().messages, at_end ? 1 : 2);
  EXPECT_EQ(again.traffic().bytes, (at_end ? 1 : 2) * (bytes_of_rows(1) + 8));
}

}  // namespace
}  // namespace catena::search
