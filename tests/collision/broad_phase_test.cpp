#include "catena/collision/broad_phase.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "random_poses.hpp"
#include "support/sanitized.hpp"

namespace catena {
namespace {

using test::Random;
using Pairs = std::vector<std::pair<Index, Index>>;

bool empty(const Aabb& box) { return !(box.lo.array() <= box.hi.array()).all(); }

Pairs all_pairs(const std::vector<Aabb>& boxes, Index n_first) {
  Pairs pairs;
  for (std::size_t i = 0; i < boxes.size() && i < static_cast<std::size_t>(n_first); ++i) {
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      if (empty(boxes[i]) || empty(boxes[j]) || !boxes[i].overlaps(boxes[j])) continue;
      pairs.emplace_back(static_cast<Index>(i), static_cast<Index>(j));
    }
  }
  return pairs;
}

Aabb box_around(const Vec3& centre, const Vec3& half) { return {centre - half, centre + half}; }

Index count(const std::vector<Aabb>& boxes) { return static_cast<Index>(boxes.size()); }

Pairs found_by(BroadPhase& broad_phase, const std::vector<Aabb>& boxes, Index n_first) {
  const auto found = broad_phase.find(boxes, n_first);
  return {found.begin(), found.end()};
}

void expect_all_pairs(const std::vector<Aabb>& boxes, Index n_first) {
  BroadPhase broad_phase;
  const Pairs expected = all_pairs(boxes, n_first);
  EXPECT_EQ(found_by(broad_phase, boxes, n_first), expected);
  EXPECT_FALSE(expected.empty());
}

TEST(BroadPhase, FindsThePairsOfSimilarBoxesOnBothSidesOfTheOrigin) {
  Random random(1);
  std::vector<Aabb> boxes;
  for (int i = 0; i < 2000; ++i) {
    boxes.push_back(box_around(random.vector(-3, 3), random.vector(0.1, 0.25)));
  }

  expect_all_pairs(boxes, count(boxes));
}

TEST(BroadPhase, FindsThePairsOfSizesOverSixOrdersOfMagnitude) {
  for (std::uint64_t seed = 0; seed < (test::kSanitized ? 4 : 20); ++seed) {
    Random random(seed);
    std::vector<Aabb> boxes;
    for (int i = 0; i < 1000; ++i) {
      const double size = random.log_in(1e-4, 1e2);
      boxes.push_back(box_around(random.vector(-1, 1) * random.log_in(1e-3, 10),
                                 size * random.vector(0.0, 1.0)));
    }

    expect_all_pairs(boxes, count(boxes));
  }
}

TEST(BroadPhase, TouchingBoxesOnALatticeAreAllPairs) {
  // equal boxes whose faces coincide, 26 neighbours each, far from the origin so that
  // their size and their cells are rounded
  for (const double offset : {0.0, 1.0 / 3.0, 1e6, -1e9}) {
    std::vector<Aabb> boxes;
    for (int i = 0; i < 512; ++i) {
      const Vec3 cell(i % 8, (i / 8) % 8, i / 64);
      const Vec3 lo = 0.25 * cell + Vec3::Constant(offset);
      boxes.push_back({lo, lo + Vec3::Constant(0.25)});
    }

    expect_all_pairs(boxes, count(boxes));
  }
}

TEST(BroadPhase, AFewBoxesFarAwayChangeNothing) {
  Random random(3);
  std::vector<Aabb> boxes;
  for (int i = 0; i < 500; ++i) {
    boxes.push_back(box_around(random.vector(-1, 1), random.vector(0.05, 0.1)));
  }
  for (const double far : {1e9, -1e9, 1e15, 1e300, -1e300}) {
    for (int i = 0; i < 3; ++i) {
      boxes.push_back(box_around(Vec3(far, 0.01 * i, -far), Vec3::Constant(0.1)));
    }
  }

  expect_all_pairs(boxes, count(boxes));
}

TEST(BroadPhase, BoundlessBoxesMeetAllAndEmptyOnesNothing) {
  Random random(4);
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Aabb> boxes;
  for (int i = 0; i < 100; ++i) {
    boxes.push_back(box_around(random.vector(-1, 1), random.vector(0.0, 0.1)));
    if (i % 10 == 3) boxes.push_back(Aabb{});
    if (i % 10 == 5) boxes.push_back({Vec3::Constant(nan), Vec3::Constant(nan)});
    if (i % 40 == 7) boxes.push_back({Vec3::Constant(-inf), Vec3::Constant(inf)});
    if (i % 40 == 8) boxes.push_back({Vec3(-inf, -inf, -inf), Vec3(inf, inf, 0.0)});
  }

  expect_all_pairs(boxes, count(boxes));
}

TEST(BroadPhase, PointsAndCoincidentBoxesArePairs) {
  std::vector<Aabb> boxes;
  for (int i = 0; i < 40; ++i) boxes.push_back(box_around(Vec3(i / 4, 0, 0), Vec3::Zero()));
  for (int i = 0; i < 10; ++i) boxes.push_back(box_around(Vec3(3, 0, 0), Vec3::Constant(0.5)));

  expect_all_pairs(boxes, count(boxes));
}

TEST(BroadPhase, LeavesOutPairsOfGhosts) {
  Random random(5);
  std::vector<Aabb> boxes;
  for (int i = 0; i < 600; ++i) {
    boxes.push_back(box_around(random.vector(-1, 1), random.vector(0.05, 0.2)));
  }

  expect_all_pairs(boxes, 200);
  BroadPhase broad_phase;
  EXPECT_TRUE(broad_phase.find(boxes, 0).empty());
  EXPECT_TRUE(broad_phase.find({}, 0).empty());
}

TEST(BroadPhase, AHugeBoxOverScatteredTinyOnesVisitsOccupiedCellsOnly) {
  // 1e6 x 1e6 x 1e6 cells of the tiny boxes' size lie in the huge one: the test would not end
  Random random(6);
  std::vector<Aabb> boxes;
  for (int i = 0; i < 3000; ++i) {
    boxes.push_back(box_around(random.vector(-500, 500), Vec3::Constant(5e-4)));
  }
  boxes.push_back(box_around(Vec3::Zero(), Vec3::Constant(400)));

  expect_all_pairs(boxes, count(boxes));
}

TEST(BroadPhase, KeepsNothingFromTheLastCall) {
  Random random(7);
  BroadPhase broad_phase;
  for (int call = 0; call < 10; ++call) {
    std::vector<Aabb> boxes;
    for (int i = 0; i < 50 + 100 * (call % 3); ++i) {
      const double size = random.log_in(0.01, call % 2 == 0 ? 0.02 : 2.0);
      boxes.push_back(box_around(random.vector(-1, 1), Vec3::Constant(size)));
    }

    EXPECT_EQ(found_by(broad_phase, boxes, count(boxes)), all_pairs(boxes, count(boxes)));
  }
}

}  // namespace
}  // namespace catena
