// Tables over time, of factors and of gravity, from CSV files or from the case itself.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
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

/// Rows of a CSV text whose header names `columns`, the first of which ascends unless they are
/// places; throws Error naming
/// `source` and line.
std::vector<double> parse_rows(std::string_view text, const std::string& source,
                               std::string_view columns) {
  const auto width = static_cast<std::size_t>(std::ranges::count(columns, ',')) + 1;
  const bool ascends = !columns.starts_with("x");
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
    if (ascends && n > width && !(rows[n - width] > rows[n - 2 * width])) {
      const std::string name = columns.front() == 't' ? "time" : "angle";
      throw Error("the " + name + " " + std::string(fields[0]) + " does not ascend", where,
                  "sort the rows by " + name);
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

/// Adds a row before and one behind a cam's turn, so that its ends have the slopes of what goes on.
void close_turn(const std::string& place, ValueTable& lift) {
  constexpr double kTurn = 2.0 * std::numbers::pi, kRounding = 1e-5;
  const std::size_t n = lift.time.size();
  constexpr std::size_t kFewest = 4;
  if (n < kFewest)
    throw Error("has " + std::to_string(n) + " rows", place, "a turn needs four at least");
  if (std::abs(lift.time.front()) > kRounding || std::abs(lift.time.back() - kTurn) > kRounding)
    throw Error("goes from " + short_text(lift.time.front(), 6) + " to " +
                    short_text(lift.time.back(), 6) + " rad, which is no turn",
                place, "let the angles go from 0 to 360 deg, 6.283185 rad");
  const auto [least, most] = std::ranges::minmax(lift.value);
  if (std::abs(lift.value.back() - lift.value.front()) > 1e-9 * (most - least))
    throw Error("ends with another lift than it begins with", place,
                "give the same lift at 0 and at 360 deg");
  lift.time.front() = 0.0;
  lift.time.back() = kTurn;
  lift.value.back() = lift.value.front();
  const double before = lift.time[n - 2] - kTurn, after = lift.time[1] + kTurn;
  const double value_before = lift.value[n - 2], value_after = lift.value[1];
  lift.time.insert(lift.time.begin(), before);
  lift.value.insert(lift.value.begin(), value_before);
  lift.time.push_back(after);
  lift.value.push_back(value_after);
}

/// The curve through these points, from the joint's place on.
Curve curve_through(const std::vector<double>& numbers, const CurveSettings& s, const Vec3& from,
                    const PeriodicBox& box) {
  const std::size_t fewest = s.closed ? 3 : 2;
  std::vector<Vec3> points;
  for (std::size_t i = 0; i + 3 <= numbers.size(); i += 3)
    points.push_back(Vec3(numbers[i], numbers[i + 1], numbers[i + 2]) - from);
  if (points.size() < fewest)
    throw Error("has " + std::to_string(points.size()) + " points", s.place,
                s.closed ? "a closed curve needs three at least" : "a curve needs two at least");
  for (std::size_t k = s.closed ? 0 : 1; k < points.size(); ++k) {
    const Vec3& before = points[k > 0 ? k - 1 : points.size() - 1];
    if (!((points[k] - before).norm() > 0.0))
      throw Error("point " + std::to_string(k) + " stands where the one before it does", s.place,
                  s.closed ? "leave it out: a closed curve goes back to its first point by itself"
                           : "leave it out");
    if (!box.nearest_shift(points[k]).isZero(0.0))
      throw Error("point " + std::to_string(k) + " is more than half a period away", s.place,
                  "make the periodic box larger, or the curve shorter");
  }
  return {std::move(points), s.closed};
}

std::vector<Curve> curves_of(const SceneSettings& scene, const PeriodicBox& box,
                             const Communicator& comm) {
  std::vector<Curve> curves;
  for (const JointSettings& s : scene.joints) {
    if (s.type != JointType::point_on_curve) continue;
    const CurveSettings& curve = s.curve;
    const std::vector<double> points =
        curve.file.empty() ? curve.points : rows_of_file(curve.file, curve.place, "x,y,z", comm);
    for (std::size_t i = 1; scene.dimension == 2 && i < points.size(); i += 3)
      if (points[i] != s.at[1])
        throw Error("the curve leaves the plane of two dimensions", curve.place,
                    "give all points the y of `at`");
    curves.push_back(curve_through(points, curve, Vec3(s.at[0], s.at[1], s.at[2]), box));
  }
  return curves;
}

std::vector<ValueTable> factor_tables(const SceneSettings& scene, const Communicator& comm) {
  std::vector<ValueTable> tables;
  for (const JointMaker::Factor& factor : JointMaker::factors(scene)) {
    ValueTable& table = tables.emplace_back(
        read_factor(comm, *factor.entry, factor.place, factor.lift ? "angle,lift" : "t,value"));
    for (double& value : table.value) value *= factor.times;
    if (factor.lift) close_turn(factor.place, table);
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

ValueTable read_factor(const Communicator& comm, const FactorSettings& s, const std::string& place,
                       std::string_view columns) {
  std::vector<double> rows = s.rows;
  if (!s.file.empty()) rows = scenarios::rows_of_file(s.file, place, columns, comm);
  ValueTable table;
  table.interpolation = s.interpolation_or_default();
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    table.time.push_back(rows[i]);
    table.value.push_back(rows[i + 1]);
  }
  return table;
}

}  // namespace catena
