#include "catena/model/joint.hpp"

#include <algorithm>

namespace catena {

double ValueTable::at(double t) const {
  const auto after = std::upper_bound(time.begin(), time.end(), t);
  if (after == time.begin()) return value.front();
  if (after == time.end()) return value.back();
  const auto i = static_cast<std::size_t>(after - time.begin());
  const double part = (t - time[i - 1]) / (time[i] - time[i - 1]);
  return value[i - 1] + part * (value[i] - value[i - 1]);
}

double ValueTable::slope(double t) const {
  const auto after = std::upper_bound(time.begin(), time.end(), t);
  if (after == time.begin() || after == time.end()) return 0.0;
  const auto i = static_cast<std::size_t>(after - time.begin());
  return (value[i] - value[i - 1]) / (time[i] - time[i - 1]);
}

double ValueTable::mean(double t, double h) const {
  double sum = 0.0, from = t;
  auto next = std::upper_bound(time.begin(), time.end(), t);
  while (from < t + h) {
    const double to = next == time.end() ? t + h : std::min(*next, t + h);
    sum += 0.5 * (at(from) + at(to)) * (to - from);
    from = to;
    if (next != time.end()) ++next;
  }
  return sum / h;
}

}  // namespace catena
