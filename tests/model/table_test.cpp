// Tables over time against closed forms, and what each interpolation promises.
#include "catena/model/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "catena/base/random.hpp"

namespace catena {
namespace {

using enum Interpolation;

constexpr Interpolation kAll[] = {monotone, linear, cubic};

/// Very uneven spacing (1e-4 to 1 s), flat pieces, ups and downs; 1 to 12 rows.
ValueTable random_table(std::uint64_t seed, Interpolation interpolation) {
  ValueTable table;
  table.interpolation = interpolation;
  double t = uniform_pm1(seed, 0, 0), x = uniform_pm1(seed, 0, 1);
  const auto rows = static_cast<std::uint64_t>(1.0 + 12.0 * uniform01(seed, 0, 2));
  for (std::uint64_t k = 0; k < rows; ++k) {
    table.time.push_back(t);
    table.value.push_back(x);
    t += std::pow(10.0, -4.0 * uniform01(seed, k, 3));
    const double kind = uniform01(seed, k, 4);
    if (kind > 0.3) x += uniform_pm1(seed, k, 5) * std::pow(10.0, -3.0 * uniform01(seed, k, 6));
  }
  return table;
}

/// Times within piece k, its first row included.
std::vector<double> times_in(const ValueTable& table, std::size_t k) {
  std::vector<double> times;
  const double from = table.time[k], length = table.time[k + 1] - from;
  for (int i = 0; i < 50; ++i) times.push_back(from + length * i / 50.0);
  times.push_back(from + length * (1.0 - 1e-12));
  return times;
}

TEST(Tables, GoThroughTheirRowsAndAreConstantBeforeAndAfter) {
  for (const Interpolation interpolation : kAll) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const ValueTable table = random_table(seed, interpolation);
      for (std::size_t k = 0; k < table.time.size(); ++k)
        EXPECT_EQ(table.at(table.time[k]), table.value[k]) << seed << " " << k;
      for (const double far : {1e-9, 1.0, 1e6}) {
        EXPECT_EQ(table.at(table.time.front() - far), table.value.front());
        EXPECT_EQ(table.at(table.time.back() + far), table.value.back());
        EXPECT_EQ(table.slope(table.time.front() - far), 0.0);
        EXPECT_EQ(table.slope(table.time.back() + far), 0.0);
      }
    }
  }
}

TEST(Tables, MonotoneNeverLeavesTheIntervalBetweenNeighbouringRows) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const ValueTable table = random_table(seed, monotone);
    for (std::size_t k = 0; k + 1 < table.time.size(); ++k) {
      const auto [low, high] = std::minmax(table.value[k], table.value[k + 1]);
      const double rise = table.value[k + 1] - table.value[k];
      double before = table.value[k];
      for (const double t : times_in(table, k)) {
        const double x = table.at(t), slope = table.slope(t);
        EXPECT_TRUE(x >= low && x <= high) << seed << " " << k << " " << t;
        // it does not turn back either; a flat piece is flat
        EXPECT_GE((x - before) * rise, -1e-14 * std::abs(rise)) << seed << " " << k;
        EXPECT_GE(slope * rise, -1e-9 * rise * rise / (table.time[k + 1] - table.time[k]));
        if (rise == 0.0) {
          EXPECT_EQ(x, low);
          EXPECT_EQ(slope, 0.0);
        }
        before = x;
      }
    }
  }
}

TEST(Tables, CubicLeavesItWhereMonotoneDoesNot) {
  const ValueTable gate{{0.0, 0.6, 0.65, 10.0}, {0.0, 0.0, 0.1, 0.1}, cubic};
  ValueTable held = gate;
  held.interpolation = monotone;

  EXPECT_LT(gate.at(0.3), -0.2);
  for (double t = 0.0; t < 11.0; t += 0.001) {
    if (t <= 0.6 || t >= 0.65) {
      EXPECT_EQ(held.at(t), t <= 0.6 ? 0.0 : 0.1);
    }
    EXPECT_TRUE(held.at(t) >= 0.0 && held.at(t) <= 0.1);
  }
  // between rows with slopes 0 a cubic is 3 s^2 - 2 s^3
  EXPECT_NEAR(held.at(0.6125), 0.1 * (3.0 / 16.0 - 2.0 / 64.0), 1e-15);
}

TEST(Tables, MonotoneAndCubicHaveAContinuousSlopeAndLinearHasKinks) {
  for (const Interpolation interpolation : kAll) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const ValueTable table = random_table(seed, interpolation);
      for (std::size_t k = 1; k + 1 < table.time.size(); ++k) {
        const double t = table.time[k];
        const double left = table.slope(t, 0.5 * (table.time[k - 1] + t)), right = table.slope(t);
        const double before = (table.value[k] - table.value[k - 1]) / (t - table.time[k - 1]);
        const double after = (table.value[k + 1] - table.value[k]) / (table.time[k + 1] - t);
        // slopes round like differences of values over the shorter gap
        const double largest = std::max(
            {std::abs(table.value[k - 1]), std::abs(table.value[k]), std::abs(table.value[k + 1])});
        const double scale = std::abs(before) + std::abs(after) + std::abs(right) +
                             largest / std::min(t - table.time[k - 1], table.time[k + 1] - t);
        if (interpolation == linear) {
          EXPECT_EQ(left, before);
          EXPECT_EQ(right, after);
        } else {
          EXPECT_NEAR(left, right, 1e-11 * scale) << seed << " " << k;
        }
      }
    }
  }
}

TEST(Tables, TheSlopeIsTheDerivativeOfTheValue) {
  for (const Interpolation interpolation : kAll) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const ValueTable table = random_table(seed, interpolation);
      for (std::size_t k = 0; k + 1 < table.time.size(); ++k) {
        const double from = table.time[k], h = table.time[k + 1] - from;
        const auto rise = std::abs(table.value[k + 1] - table.value[k]);
        double most = rise / h;
        for (const double t : times_in(table, k)) most = std::max(most, std::abs(table.slope(t)));
        for (double s = 0.05; s < 1.0; s += 0.09) {
          // the error of central differences of a cubic is d^2 times a sixth of its third
          // derivative
          const double d = 1e-4 * h, t = from + s * h;
          const double difference = (table.at(t + d) - table.at(t - d)) / (2.0 * d);
          EXPECT_NEAR(table.slope(t), difference, 1e-6 * most + 1e-11 / h) << seed << " " << k;
        }
      }
    }
  }
}

TEST(Tables, MonotoneSlopesAreTheWeightedHarmonicMeansOfTheSecants) {
  // secants 1 and 1/2 over 1 s and 2 s: inside 9/(5/1 + 4/(1/2)) = 9/13, at the ends those of the
  // parabola x = 7/6 t - t^2/6: 7/6 and 1/6
  const ValueTable table{{0.0, 1.0, 3.0}, {0.0, 1.0, 2.0}, monotone};
  EXPECT_NEAR(table.slope(0.0), 7.0 / 6.0, 1e-15);
  EXPECT_NEAR(table.slope(1.0), 9.0 / 13.0, 1e-15);
  EXPECT_NEAR(table.slope(3.0, 2.0), 1.0 / 6.0, 1e-15);
  // Hermite's basis on [1, 3] at its middle: (x0 + x1)/2 + h (m0 - m1)/8
  EXPECT_NEAR(table.at(2.0), 1.5 + 2.0 * (9.0 / 13.0 - 1.0 / 6.0) / 8.0, 1e-15);
  // an end is cut back: secants 1 and -9, the parabola starts with 6, which is 3 at most
  const ValueTable peak{{0.0, 1.0, 2.0}, {0.0, 1.0, -8.0}, monotone};
  EXPECT_EQ(peak.slope(0.0), 3.0);
  EXPECT_EQ(peak.slope(1.0), 0.0);
  // secants 1 and 5: the parabola starts backwards, which is 0 at most
  const ValueTable late{{0.0, 1.0, 2.0}, {0.0, 1.0, 6.0}, monotone};
  EXPECT_EQ(late.slope(0.0), 0.0);
}

TEST(Tables, StraightRowsStayStraightAndTwoRowsAreALine) {
  for (const Interpolation interpolation : kAll) {
    ValueTable line{{-1.0, -0.9, 0.3, 5.0}, {}, interpolation};
    for (const double t : line.time) line.value.push_back(2.0 - 0.7 * t);
    for (double t = -0.99; t < 5.0; t += 0.07) {
      EXPECT_NEAR(line.at(t), 2.0 - 0.7 * t, 1e-14);
      EXPECT_NEAR(line.slope(t), -0.7, 1e-13);
    }
    const ValueTable two{{1.0, 3.0}, {4.0, 8.0}, interpolation};
    EXPECT_NEAR(two.at(1.5), 5.0, 1e-15);
    EXPECT_NEAR(two.slope(1.5), 2.0, 1e-15);
    const ValueTable one{{1.0}, {4.0}, interpolation};
    for (const double t : {0.0, 1.0, 2.0}) {
      EXPECT_EQ(one.at(t), 4.0);
      EXPECT_EQ(one.slope(t), 0.0);
      EXPECT_EQ(one.mean(t, 0.5), 4.0);
    }
  }
}

TEST(Tables, TheMeanIsTheIntegralOverRowsAndEnds) {
  for (const Interpolation interpolation : kAll) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const ValueTable table = random_table(seed, interpolation);
      const double from = table.time.front() - 0.3, to = table.time.back() + 0.2;
      // the trapezoidal rule on every piece by itself
      double sum = 0.3 * table.value.front() + 0.2 * table.value.back();
      constexpr int kParts = 2000;
      for (std::size_t k = 0; k + 1 < table.time.size(); ++k) {
        const double h = (table.time[k + 1] - table.time[k]) / kParts;
        for (int i = 0; i < kParts; ++i)
          sum +=
              0.5 * h * (table.at(table.time[k] + i * h) + table.at(table.time[k] + (i + 1) * h));
      }
      EXPECT_NEAR(table.mean(from, to - from) * (to - from), sum, 1e-5) << seed;
    }
  }
}

TEST(Tables, OneSideOfARowIsChosenByATimeInside) {
  const ValueTable kink{{0.0, 1.0, 2.0}, {0.0, 1.0, 3.0}, linear};
  EXPECT_EQ(kink.slope(1.0), 2.0);
  EXPECT_EQ(kink.slope(1.0, 0.9), 1.0);
  EXPECT_EQ(kink.slope(1.0, 1.1), 2.0);
  EXPECT_EQ(kink.slope(0.0, -0.1), 0.0);
  EXPECT_EQ(kink.slope(2.0, 1.9), 2.0);
  EXPECT_EQ(kink.slope(2.0, 2.1), 0.0);
}

}  // namespace
}  // namespace catena
