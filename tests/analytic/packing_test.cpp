// Settled packings: solid fraction and coordination against the bands of the literature
// (tests/data/validation/G01_granular_bands/bands.csv).
//
// What the protocol reaches: slow pressing by a central field without walls leaves random
// close packing without friction, and with friction packings near the loose end of the bands
// (violent pouring or shaking would make them denser). Coordination is that of an inside
// without body forces, where rattlers carry nothing and are left out.
#include "analytic/packing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace catena::test {
namespace {

struct Band {
  double low = 0.0, high = 0.0;
};

Band band(const std::string& quantity, const std::string& friction) {
  std::ifstream file(std::string(CATENA_TEST_DATA) + "/validation/G01_granular_bands/bands.csv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, mu, low, expected, high;
    std::getline(words, name, ',');
    std::getline(words, mu, ',');
    std::getline(words, low, ',');
    std::getline(words, expected, ',');
    std::getline(words, high, ',');
    if (name == quantity && mu == friction) return {std::stod(low), std::stod(high)};
  }
  throw std::runtime_error("bands.csv has no " + quantity + " for friction " + friction);
}

/// Presses, lets settle, takes the pull off the inside, and compares with the bands.
void expect_in_bands(double friction, const std::string& row, int pressing_steps) {
  PackingSettings settings;
  settings.friction = friction;
  Packing packing(settings);
  packing.press(pressing_steps, 0.5, 30);
  packing.press(30, 0.0, 300);
  const double free_radius = packing.inner_radius() + 1.0;
  packing.press(friction >= 1.0 ? 20 : 5, 0.0, 1500, free_radius, friction >= 1.0);
  packing.press(1, 0.0, 6000, free_radius, friction >= 1.0);

  const PackingMeasures m = packing.measure();
  const SolveReport& solve = packing.report().solve;
  std::printf(
      "friction %g: solid fraction %.4f, coordination %.3f of %d spheres, rattlers %.3f, "
      "overlap %.1e of the diameter at most, natural map %.1e of %.1e m/s\n",
      friction, m.fraction, m.coordination, m.spheres, m.rattlers, m.max_overlap,
      solve.errors.natural_map, solve.initial.natural_map);
  const Band fraction = band("packing_fraction_3D", row);
  const Band coordination = band("coordination_z_no_rattlers", row);
  EXPECT_GE(m.fraction, fraction.low);
  EXPECT_LE(m.fraction, fraction.high);
  EXPECT_GE(m.coordination, coordination.low);
  EXPECT_LE(m.coordination, coordination.high);
  EXPECT_GT(m.spheres, 350);
  EXPECT_LT(m.rattlers, 0.15);
  // the figures are those of hard spheres in balance, not of an unfinished solve
  EXPECT_LT(m.max_overlap, 1e-4);
  EXPECT_LT(solve.errors.natural_map, 3e-3 * solve.initial.natural_map);
  EXPECT_NEAR(m.fraction, packing.sampled_fraction(100000), 0.006);
}

TEST(Packing, WithoutFrictionIsRandomClosePackedAndIsostatic) { expect_in_bands(0.0, "0.0", 800); }

TEST(Packing, WithFriction03LiesInThePublishedBands) { expect_in_bands(0.3, "0.3", 500); }

TEST(Packing, WithHighFrictionIsRandomLoosePackedNearFourContacts) {
  expect_in_bands(10.0, "inf(>=10)", 500);
}

TEST(LensVolume, AgreesWithClosedForms) {
  EXPECT_NEAR(lens_volume(1.0, 1.0, 1.0), 5.0 / 12.0 * M_PI, 1e-14);  // two caps of height 1/2
  EXPECT_NEAR(lens_volume(2.0, 0.5, 1.2), M_PI / 6.0, 1e-14);         // inside
  EXPECT_NEAR(lens_volume(0.5, 2.0, 0.0), M_PI / 6.0, 1e-14);         // around
  EXPECT_EQ(lens_volume(1.0, 1.0, 2.0), 0.0);                         // touching
  EXPECT_NEAR(lens_volume(1e6, 0.5, 1e6), M_PI / 12.0, 1e-6);         // cut by a plane in half
}

}  // namespace
}  // namespace catena::test
