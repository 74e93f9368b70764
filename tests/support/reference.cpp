#include "support/reference.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace catena::test {

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  std::stringstream stream(line);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

std::ifstream open(const std::string& name, const std::string& file) {
  const std::string path = std::string(CATENA_TEST_DATA) + "/validation/" + name + "/" + file;
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path);
  return stream;
}

double number(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return end == word.c_str() ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace

double ReferenceSeries::at(std::size_t row, const std::string& column) const {
  const auto it = std::find(columns.begin(), columns.end(), column);
  if (it == columns.end()) throw std::runtime_error("no column " + column);
  return rows.at(row).at(static_cast<std::size_t>(it - columns.begin()));
}

ReferenceSeries read_reference(const std::string& name) {
  std::ifstream stream = open(name, "reference.csv");
  ReferenceSeries series;
  std::string line;
  std::getline(stream, line);
  line.erase(0, line.find_first_not_of("# "));
  series.columns = split(line);
  while (std::getline(stream, line)) {
    std::vector<double> row;
    for (const std::string& word : split(line)) row.push_back(number(word));
    series.rows.push_back(row);
  }
  return series;
}

std::map<std::string, double> read_values(const std::string& name) {
  std::ifstream stream = open(name, "values.csv");
  std::map<std::string, double> values;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words = split(line);
    values[words.at(0)] = number(words.at(1));
  }
  return values;
}

}  // namespace catena::test
