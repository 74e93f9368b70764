// Conditions on what probes measure.
#pragma once

#include <string>
#include <vector>

#include "catena/probes/probe_set.hpp"

namespace catena {

/// Comparisons of columns of probes with quantities, "plate.force_z > 1 kN and core.count < 10",
/// joined by `and` and `or`, of which `and` binds closer. A column that is not defined meets none.
class ProbeCondition {
 public:
  /// An empty text is never met. Throws Error at `where` for what is no such condition, and for
  /// unknown columns.
  ProbeCondition(const std::string& text, const ProbeSet& probes, const std::string& where);

  /// The comparisons that are met by the state of the last step, with the values; empty: it is not.
  std::string met(const State& state) const;

 private:
  struct Comparison {
    std::string text, unit;
    ProbeSet::Column column;
    bool less = false, equal = false;  ///< <, <=; else >, >=
    double value = 0.0;
    bool holds(double x) const;
  };
  std::vector<std::vector<Comparison>> any_of_all_;
};

}  // namespace catena
