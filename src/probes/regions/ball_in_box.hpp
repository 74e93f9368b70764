// Volume of a ball cut by planes at right angles.
#pragma once

#include "catena/math/types.hpp"

namespace catena::probes {

/// Volume of the ball of radius `r` about `centre` within the box, m^3, in closed form: what lies
/// beyond one face (a cap), two or three (below by the divergence theorem, the area on the sphere
/// by Gauss and Bonnet), put together by inclusion and exclusion. Relative round-off 1e-15.
double ball_in_box(const Vec3& centre, double r, const Vec3& lower, const Vec3& upper);

/// Volume that two balls share, m^3, `d` apart.
double ball_in_ball(double r, double other, double d);

/// Area that two discs share, m^2, `d` apart.
double disc_in_disc(double r, double other, double d);

}  // namespace catena::probes
