// Reference series and values of the validation cases in tests/data/validation.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace catena::test {

/// Rows of a CSV file whose first line names the columns after '#'. Words that are no
/// numbers read as NaN.
struct ReferenceSeries {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;
  double at(std::size_t row, const std::string& column) const;
};

/// tests/data/validation/<name>/reference.csv. Throws std::runtime_error if unreadable.
ReferenceSeries read_reference(const std::string& name);

/// tests/data/validation/<name>/values.csv.
std::map<std::string, double> read_values(const std::string& name);

}  // namespace catena::test
