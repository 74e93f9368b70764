// One step's velocities do not depend on the number of ranks, beyond the solver's tolerance.
#include <gtest/gtest.h>

#include "regression/scenes.hpp"

namespace catena {
namespace {

using test::expect_same_velocities;
using test::solved_spheres;

TEST(RankCount, DoesNotChangeTheVelocitiesOfThousandFrictionlessSpheres) {
  expect_same_velocities(solved_spheres("ccp", 0.0, "[10, 10, 5]"), 3000);
}

TEST(RankCount, DoesNotChangeTheVelocitiesOfSixtyFrictionalSpheres) {
  expect_same_velocities(solved_spheres("ccp", 0.5, "[5, 3, 2]"), 150);
}

}  // namespace
}  // namespace catena
