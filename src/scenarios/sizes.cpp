#include <algorithm>
#include <cmath>
#include <numbers>

#include "catena/scenarios/size_settings.hpp"

namespace catena {

namespace {

using Kind = SizeSettings::Kind;

/// Inverse of the normal distribution cut off to [lo, hi], in standard deviations: the value
/// below which the fraction u lies, by bisection.
double normal_quantile(double lo, double hi, double u) {
  // the tail below keeps its digits where the one above is next to 1
  if (lo > 0.0) return -normal_quantile(-hi, -lo, 1.0 - u);
  const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const double wanted = below(lo) + u * (below(hi) - below(lo));
  double a = lo, b = hi;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (a + b);
    (below(middle) < wanted ? a : b) = middle;
  }
  return 0.5 * (a + b);
}

/// Value below which the fraction u of a density x^exponent on [lo, hi] lies.
double power_quantile(double lo, double hi, double exponent, double u) {
  const double p = exponent + 1.0, ratio = hi / lo;
  if (std::abs(p) < 1e-9) return lo * std::pow(ratio, u);
  return lo * std::pow(1.0 + u * (std::pow(ratio, p) - 1.0), 1.0 / p);
}

/// Volumes go as the cube of a length: what a mass density loses to be one of numbers.
constexpr double kCube = 3.0;

/// The number of bodies in a class of a sieve curve in which mass (or number) is even in log size,
/// over its mass (or number).
double number_per_measure(SizeMeasure by, double lo, double hi) {
  if (by == SizeMeasure::number) return 1.0;
  return (std::pow(lo, -kCube) - std::pow(hi, -kCube)) / (kCube * std::log(hi / lo));
}

}  // namespace

Sizes::Sizes(const SizeSettings& settings, double diameter)
    : settings_(settings), diameter_(diameter) {
  double sum = 0.0;
  if (settings_.kind == Kind::table) {
    for (const SizeSettings::Entry& entry : settings_.table) upto_.push_back(sum += entry.weight);
  } else if (settings_.kind == Kind::sieve) {
    const std::vector<double>& rows = settings_.sieve;
    const double unit = rows[rows.size() - 2];  // powers of lengths stay in range
    for (std::size_t i = 2; i < rows.size(); i += 2)
      upto_.push_back(sum += (rows[i + 1] - rows[i - 1]) *
                             number_per_measure(settings_.by, rows[i - 2] / unit, rows[i] / unit));
  }
  for (double& part : upto_) part /= sum;
}

double Sizes::factor(double u) const {
  const SizeSettings& s = settings_;
  switch (s.kind) {
    case Kind::none:
      return 1.0;
    case Kind::uniform:
      return s.uniform[0] + u * (s.uniform[1] - s.uniform[0]);
    case Kind::normal: {
      const double x =
          normal_quantile((s.min - s.mean) / s.deviation, (s.max - s.mean) / s.deviation, u);
      return std::clamp(s.mean + s.deviation * x, s.min, s.max);
    }
    case Kind::log_normal: {
      // a log-normal of masses is one of numbers with a smaller median
      const double shift = s.by == SizeMeasure::mass ? kCube * s.deviation * s.deviation : 0.0;
      const double mean = std::log(s.median) - shift;
      const double x = normal_quantile((std::log(s.min) - mean) / s.deviation,
                                       (std::log(s.max) - mean) / s.deviation, u);
      return std::clamp(std::exp(mean + s.deviation * x), s.min, s.max);
    }
    case Kind::power: {
      const double exponent = s.exponent - (s.by == SizeMeasure::mass ? kCube : 0.0);
      return std::clamp(power_quantile(s.min, s.max, exponent, u), s.min, s.max);
    }
    case Kind::sieve:
      return sieved(u) / diameter_;
    case Kind::table:
      break;
  }
  const auto at = std::ranges::upper_bound(upto_, u) - upto_.begin();
  return s.table[std::min<std::size_t>(at, s.table.size() - 1)].factor;
}

double Sizes::sieved(double u) const {
  std::size_t k = std::ranges::upper_bound(upto_, u) - upto_.begin();
  k = std::min(k, upto_.size() - 1);
  const double before = k == 0 ? 0.0 : upto_[k - 1];
  const double lo = settings_.sieve[2 * k], hi = settings_.sieve[2 * k + 2];
  // even in log size by the measure
  const double exponent = settings_.by == SizeMeasure::mass ? -1.0 - kCube : -1.0;
  const double v = (u - before) / (upto_[k] - before);
  return std::clamp(power_quantile(lo, hi, exponent, v), lo, hi);
}

double Sizes::largest() const {
  const SizeSettings& s = settings_;
  if (s.kind == Kind::uniform) return s.uniform[1];
  if (s.kind == Kind::sieve) {  // of the classes that hold anything
    std::size_t i = s.sieve.size() - 2;
    while (i > 2 && s.sieve[i + 1] == s.sieve[i - 1]) i -= 2;
    return s.sieve[i] / diameter_;
  }
  if (s.kind == Kind::table)
    return std::ranges::max(s.table, {}, &SizeSettings::Entry::factor).factor;
  return s.kind == Kind::none ? 1.0 : s.max;
}

}  // namespace catena
