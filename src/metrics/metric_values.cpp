#include <limits>

#include "catena/metrics/errors.hpp"

namespace catena {

std::string_view metric_unit(Metric metric) {
  switch (metric) {
    case Metric::energy:
      return "J";
    case Metric::natural_map:
    case Metric::natural_map_rms:
      return "m/s";
    case Metric::fischer_burmeister:
      return "J^0.5";
    case Metric::siconos:
    case Metric::fclib_merit:
    case Metric::scaled:
    case Metric::gap:
      break;
  }
  return "1";
}

double value_of(const Errors& errors, Metric metric) {
  switch (metric) {
    case Metric::energy:
      return errors.energy;
    case Metric::natural_map:
      return errors.natural_map;
    case Metric::natural_map_rms:
      return errors.natural_map_rms;
    case Metric::siconos:
      return errors.siconos;
    case Metric::fclib_merit:
      return errors.fclib_merit;
    case Metric::scaled:
      return errors.scaled;
    case Metric::gap:
      return errors.gap;
    case Metric::fischer_burmeister:
      return errors.fischer_burmeister;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

ErrorSet set_of(Metric metric) {
  switch (metric) {
    case Metric::energy:
      return ErrorSet::energy;
    case Metric::natural_map:
    case Metric::natural_map_rms:
      return ErrorSet::natural_map;
    default:
      return ErrorSet::all;
  }
}

}  // namespace catena
