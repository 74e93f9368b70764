// Which values of n^T A n are null.
#pragma once

#include <Eigen/Core>

namespace catena {

/// n^T A n of unit vectors, a sum of squares and therefore known far below round-off of A: null.
inline constexpr double kNull = 1e-18;

/// The largest value that may be null where bodies miss their places by a part `misfit` of a
/// length. Such a misfit m turns a null vector's value into some m^2; how many depends on the
/// mechanism (a ring of 12 hinges on a bump: more than 100). Taken for genuine, such rows lock the
/// mechanism, and their reactions have no bound.
double null_by_misfit(double misfit);

/// How many of the values of n^T A n, ascending, are null where joints miss their places by
/// `misfit`: all up to kNull, and beyond, up to what the misfit allows, those below the widest gap
/// (as a ratio), if there is one; `above` is the value that bounds the last gap. Values are over
/// the diagonal and misfits over arms, so that units do not count.
Eigen::Index count_null(const Eigen::VectorXd& values, double misfit, double above);

}  // namespace catena
