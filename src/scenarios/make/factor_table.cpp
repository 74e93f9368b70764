// Factors over time from CSV files or from the case itself.
#include <charconv>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/io/read_bytes.hpp"
#include "catena/scenarios/factor.hpp"
#include "scenarios/make/joint_maker.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena {

namespace scenarios {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// One of the two numbers of a line.
double number_of(std::string_view text, const std::string& where) {
  text = trimmed(text);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    throw Error("'" + std::string(text.substr(0, 40)) + "' is not a finite number", where);
  }
  return value;
}

/// Rows t, value of a CSV text with a header; throws Error naming `source` and line.
std::vector<double> parse_factor(std::string_view text, const std::string& source) {
  std::vector<double> rows;
  bool header = false;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = source + ":" + std::to_string(line_number);
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos || line.find(',', comma + 1) != std::string_view::npos) {
      throw Error("found no two columns", where, "the columns are t, value");
    }
    const std::string_view first = line.substr(0, comma), second = line.substr(comma + 1);
    if (!header) {
      if (trimmed(first) != "t" || trimmed(second) != "value") {
        throw Error("the header is '" + std::string(line.substr(0, 40)) + "'", where,
                    "t,value is expected");
      }
      header = true;
      continue;
    }
    rows.push_back(number_of(first, where));
    rows.push_back(number_of(second, where));
    const std::size_t n = rows.size();
    if (n > 2 && !(rows[n - 2] > rows[n - 4])) {
      throw Error("the time " + std::string(trimmed(first)) + " does not ascend", where,
                  "sort the rows by time");
    }
  }
  if (rows.empty()) throw Error("the table has no rows", source, "a line such as 0,1 is expected");
  return rows;
}

}  // namespace

std::vector<ValueTable> factor_tables(const SceneSettings& scene, const Communicator& comm) {
  std::vector<ValueTable> tables;
  for (const JointMaker::Factor& factor : JointMaker::factors(scene)) {
    ValueTable& table = tables.emplace_back(read_factor(comm, *factor.entry, factor.place));
    for (double& value : table.value) value *= factor.times;
  }
  return tables;
}

}  // namespace scenarios

ValueTable read_factor(const Communicator& comm, const FactorSettings& s,
                       const std::string& place) {
  std::vector<double> rows = s.rows;
  if (!s.file.empty()) {
    std::string text;
    all_or_none(comm, [&] {
      if (comm.rank() == 0) scenarios::with_place(place, [&] { text = read_bytes(s.file); });
    });
    comm.broadcast(0, text);
    all_or_none(comm, [&] {
      scenarios::with_place(place, [&] { rows = scenarios::parse_factor(text, s.file); });
    });
  }
  ValueTable table;
  table.interpolation = s.interpolation_or_default();
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    table.time.push_back(rows[i]);
    table.value.push_back(rows[i + 1]);
  }
  return table;
}

}  // namespace catena
