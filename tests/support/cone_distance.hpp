// How far impulses are outside of what their blocks admit, by code of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "catena/constraints/constraint_problem.hpp"

namespace catena::test {

struct Outside {
  double distance = 0.0;  ///< N s, an upper bound of the largest distance
  double largest = 0.0;   ///< impulse (or cohesion), N s
  bool finite = true;

  void add(long double outside, long double size) {
    finite = finite && std::isfinite(outside) && std::isfinite(size);
    distance = std::max(distance, static_cast<double>(outside));
    largest = std::max(largest, static_cast<double>(size));
  }
  /// Distance over the largest impulse; infinite where something is not finite.
  double relative() const {
    if (!finite) return std::numeric_limits<double>::infinity();
    return distance == 0.0 ? 0.0 : distance / largest;
  }
};

/// A contact's rows in full: normal (`cohesion` not yet added), two tangents, two rolling rows,
/// spinning row; couples count by their bound, a length, and at 1 m where it is 0.
inline void add_contact_rows(ContactLaw law, std::span<const double, 6> rows,
                             std::array<double, 3> bounds, double cohesion, Outside& out) {
  const long double n = static_cast<long double>(rows[0]) + cohesion;
  long double outside = std::max(0.0L, -n), size = std::abs(n) + cohesion;
  constexpr std::array<std::array<int, 2>, 3> kRows = {{{1, 2}, {3, 4}, {5, 5}}};
  for (std::size_t i = 0; i < 3; ++i) {
    const double bound = law == ContactLaw::frictionless ? 0.0 : std::max(0.0, bounds[i]);
    const long double radius = bound * std::max(0.0L, n), unit = i > 0 && bound > 0.0 ? bound : 1.0;
    const long double a = rows[static_cast<std::size_t>(kRows[i][0])];
    const long double b = i < 2 ? rows[static_cast<std::size_t>(kRows[i][1])] : 0.0;
    const long double length =
        law == ContactLaw::box ? std::max(std::abs(a), std::abs(b)) : std::sqrt(a * a + b * b);
    // not max(), which would drop what is not a number
    // beside a cone the nearest point is on the nearest generator, below its tip the tip
    const long double slope = bound / unit;
    const long double by =
        n > 0.0L && law != ContactLaw::box ? std::sqrt(1.0L + slope * slope) : 1.0L;
    outside += length <= radius ? 0.0L : (length - radius) / (unit * by);
    size += length / unit;
  }
  out.add(outside, size);
}

/// One rank's impulses.
inline Outside outside_of(const ConstraintProblem& problem, std::span<const double> impulses) {
  Outside out;
  const std::size_t n_contacts = problem.contacts.size();
  for (Index k = 0; k < problem.n_blocks(); ++k) {
    const auto block = static_cast<std::size_t>(k);
    const bool rigid = problem.assembled || block < n_contacts;
    const GeneralBlocks& g = problem.blocks;
    const std::size_t j = rigid ? 0 : block - n_contacts;
    const std::size_t row =
        rigid ? 3 * block : 3 * n_contacts + static_cast<std::size_t>(g.row_begin[j]);
    if (!rigid && g.kind[j] != BlockKind::contact) {
      for (auto i = static_cast<std::size_t>(g.row_begin[j]);
           i < static_cast<std::size_t>(g.row_begin[j + 1]); ++i) {
        const double x = impulses[3 * n_contacts + i];
        long double outside = std::isfinite(x) ? 0.0 : x;
        if (g.kind[j] == BlockKind::unilateral) outside = std::max(0.0, -x);
        if (g.kind[j] == BlockKind::boxed)
          outside = std::max({0.0, g.lower[i] - x, x - g.upper[i]});
        out.add(outside, std::abs(x));
      }
      continue;
    }
    std::array<double, 6> rows{};
    std::array<double, 3> bounds{};
    double cohesion = 0.0;
    std::copy_n(impulses.begin() + static_cast<std::ptrdiff_t>(row), 3, rows.begin());
    if (problem.assembled) {
      bounds[0] = problem.assembled->friction[block];
    } else if (rigid) {
      bounds[0] = problem.contacts[block].friction;
      cohesion = problem.contacts[block].cohesion;
    } else {
      bounds[0] = g.friction[j];
      cohesion = g.cohesion.empty() ? 0.0 : g.cohesion[j];
      std::size_t next = row + 3;
      if (!g.rolling.empty() && g.rolling[j] >= 0.0) {
        bounds[1] = g.rolling[j];
        rows[3] = impulses[next++];
        rows[4] = impulses[next++];
      }
      if (!g.spinning.empty() && g.spinning[j] >= 0.0) {
        bounds[2] = g.spinning[j];
        rows[5] = impulses[next];
      }
    }
    add_contact_rows(problem.law, rows, bounds, cohesion, out);
  }
  return out;
}

}  // namespace catena::test
