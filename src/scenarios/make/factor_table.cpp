// Tables over time, of factors and of gravity, from CSV files or from the case itself.
#include <algorithm>
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

/// Rows of a CSV text whose header names `columns`, the first of which ascends; throws Error naming
/// `source` and line.
std::vector<double> parse_rows(std::string_view text, const std::string& source,
                               std::string_view columns) {
  const auto width = static_cast<std::size_t>(std::ranges::count(columns, ',')) + 1;
  std::vector<double> rows;
  bool header = false;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = source + ":" + std::to_string(line_number);
    std::vector<std::string_view> fields;
    for (std::string_view rest = line;;) {
      const std::size_t comma = rest.find(',');
      fields.push_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    if (fields.size() != width) {
      throw Error(
          "found " + std::to_string(fields.size()) + " columns, not " + std::to_string(width),
          where, "the columns are " + std::string(columns));
    }
    if (!header) {
      std::string found;
      for (const std::string_view name : fields)
        found += (found.empty() ? "" : ",") + std::string(name);
      if (found != columns) {
        throw Error("the header is '" + std::string(line.substr(0, 40)) + "'", where,
                    std::string(columns) + " is expected");
      }
      header = true;
      continue;
    }
    for (const std::string_view field : fields) rows.push_back(number_of(field, where));
    const std::size_t n = rows.size();
    if (n > width && !(rows[n - width] > rows[n - 2 * width])) {
      throw Error("the time " + std::string(fields[0]) + " does not ascend", where,
                  "sort the rows by time");
    }
  }
  if (rows.empty()) throw Error("the table has no rows", source, "a line of numbers is expected");
  return rows;
}

/// Collective. Rows of the file, which rank 0 reads; what is wrong is reported with `place`.
std::vector<double> rows_of_file(const std::string& file, const std::string& place,
                                 std::string_view columns, const Communicator& comm) {
  std::string text;
  all_or_none(comm, [&] {
    if (comm.rank() == 0) scenarios::with_place(place, [&] { text = read_bytes(file); });
  });
  comm.broadcast(0, text);
  std::vector<double> rows;
  all_or_none(
      comm, [&] { scenarios::with_place(place, [&] { rows = parse_rows(text, file, columns); }); });
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

std::vector<ValueTable> gravity_table(const SceneSettings& scene, const Communicator& comm) {
  const GravityTableSettings& s = scene.gravity_table;
  if (!s.present) return {};
  constexpr std::size_t kWidth = 4;
  const std::vector<double> rows =
      s.file.empty() ? s.rows : rows_of_file(s.file, s.place, "t,gx,gy,gz", comm);
  for (std::size_t i = 2; scene.dimension == 2 && i < rows.size(); i += kWidth) {
    if (rows[i] != 0.0)
      throw Error("gravity has a component along y, out of the plane of two dimensions", s.place,
                  "set the column gy to zero, or dimension to 3");
  }
  std::vector<ValueTable> components(kWidth - 1);
  for (std::size_t i = 0; i + kWidth <= rows.size(); i += kWidth) {
    for (std::size_t k = 0; k < components.size(); ++k) {
      components[k].time.push_back(rows[i]);
      components[k].value.push_back(rows[i + 1 + k]);
    }
  }
  for (ValueTable& component : components) component.interpolation = Interpolation::linear;
  return components;
}

std::array<CellDrive, 3> cell_drives(const SceneSettings& scene, const Communicator& comm) {
  std::array<CellDrive, 3> drives;
  for (std::size_t k = 0; k < 3; ++k) {
    const CellDriveSettings& s = scene.periodic.deform[k];
    if (!s.present) continue;
    CellDrive& drive = drives[k];
    const bool by_rate = std::isnan(s.stress);
    drive.kind = by_rate ? CellDrive::Kind::rate : CellDrive::Kind::stress;
    drive.target = by_rate ? s.strain_rate : s.stress;
    drive.largest_rate = s.max_strain_rate;
    drive.gain = s.gain;
    drive.place = s.place;
    if (s.table.present) drive.table = read_factor(comm, s.table, s.place + ".table");
  }
  return drives;
}

}  // namespace scenarios

ValueTable read_factor(const Communicator& comm, const FactorSettings& s,
                       const std::string& place) {
  std::vector<double> rows = s.rows;
  if (!s.file.empty()) rows = scenarios::rows_of_file(s.file, place, "t,value", comm);
  ValueTable table;
  table.interpolation = s.interpolation_or_default();
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    table.time.push_back(rows[i]);
    table.value.push_back(rows[i + 1]);
  }
  return table;
}

}  // namespace catena
