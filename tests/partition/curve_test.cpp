#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "catena/partition/balance.hpp"
#include "catena/partition/tiles.hpp"

namespace catena {
namespace {

const Aabb kUnit{Vec3::Zero(), Vec3::Ones()};

TEST(Curve, ConsecutiveCellsShareAFace) {
  constexpr int n = 16;
  std::vector<std::pair<std::uint64_t, Eigen::Vector3i>> cells;
  for (int x = 0; x < n; ++x) {
    for (int y = 0; y < n; ++y) {
      for (int z = 0; z < n; ++z) {
        const Vec3 centre = (Vec3(x, y, z) + Vec3::Constant(0.5)) / n;
        cells.emplace_back(curve_key(centre, kUnit), Eigen::Vector3i(x, y, z));
      }
    }
  }
  std::sort(cells.begin(), cells.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < cells.size(); ++i) {
    EXPECT_EQ((cells[i].second - cells[i - 1].second).cwiseAbs().sum(), 1) << i;
  }
}

TEST(Curve, NeighboursOnTheFinestGridHaveDifferentKeys) {
  const double cell = 1.0 / (1 << 21);
  std::set<std::uint64_t> keys;
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 4; ++y) {
      for (int z = 0; z < 4; ++z) {
        const Vec3 corner = Vec3(0.3, 0.7, 0.55);
        keys.insert(curve_key(corner + cell * Vec3(x, y, z), kUnit));
      }
    }
  }
  EXPECT_EQ(keys.size(), 64U);
}

TEST(Curve, CellsAreCubicOnAStretchedBox) {
  const Aabb box{Vec3::Zero(), Vec3(100.0, 1.0, 1.0)};
  const Aabb cube{Vec3::Zero(), Vec3::Constant(100.0)};
  EXPECT_EQ(curve_key(Vec3(42.0, 0.5, 0.25), box), curve_key(Vec3(42.0, 0.5, 0.25), cube));
}

TEST(Curve, PointsOutsideAreClampedToTheBorder) {
  EXPECT_EQ(curve_key(Vec3(-5.0, 0.3, 2.0), kUnit), curve_key(Vec3(0.0, 0.3, 1.0), kUnit));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(curve_key(Vec3(inf, -inf, 0.3), kUnit), curve_key(Vec3(1.0, 0.0, 0.3), kUnit));
}

TEST(Curve, NanAndEmptyBoxesGiveAKey) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(curve_key(Vec3(nan, 0.3, 0.4), kUnit), curve_key(Vec3(0.0, 0.3, 0.4), kUnit));
  const Aabb point{Vec3::Ones(), Vec3::Ones()};
  EXPECT_EQ(curve_key(Vec3::Ones(), point), curve_key(Vec3::Ones(), point));
  EXPECT_EQ(curve_key(Vec3::Zero(), Aabb{}), curve_key(Vec3::Zero(), Aabb{}));
}

TEST(Balance, CountedWorkIsRowsTimesSweepsAndTheRestOfAStep) {
  EXPECT_DOUBLE_EQ(counted_work(300, 20.0, 0) - counted_work(300, 10.0, 0), 3000.0);
  EXPECT_DOUBLE_EQ(counted_work(300, 20.0, 100),
                   300.0 * (20.0 + kStepPerRow) + 100.0 * kStepPerBody);
  EXPECT_DOUBLE_EQ(counted_work(0, 20.0, 0), 0.0);
  EXPECT_DOUBLE_EQ(joint_work(300, 20.0), 300.0 * (20.0 * kSweepsPerJointRow + kStepPerJointRow));
}

TEST(Balance, TilesAreAsLargeAsFourRanksAllowUpTo2000Bodies) {
  EXPECT_EQ(size_of_tiles(100000, 300), 300);
  EXPECT_EQ(size_of_tiles(100000, 0), 2000);
  EXPECT_EQ(size_of_tiles(4050, 0), 1013);
  EXPECT_EQ(size_of_tiles(1000, 0), 500);
  EXPECT_EQ(size_of_tiles(0, 0), 500);
}

TEST(Balance, RanksOfPartsAscendAndCoverAllRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int parts = 1; parts <= 20; ++parts) {
      std::set<int> met;
      int last = 0;
      for (int p = 0; p < parts; ++p) {
        const int rank = rank_of_part(p, parts, ranks);
        EXPECT_GE(rank, last);
        EXPECT_LT(rank, ranks);
        last = rank;
        met.insert(rank);
      }
      EXPECT_EQ(met.size(), static_cast<std::size_t>(std::min(parts, ranks)));
    }
  }
}

}  // namespace
}  // namespace catena
