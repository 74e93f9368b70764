// Bodies from a CSV file or a snapshot.
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"
#include "catena/io/snapshot_table.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

constexpr std::array<std::string_view, 16> kColumns = {"id", "shape", "radius", "x",  "y",  "z",
                                                       "qw", "qx",    "qy",     "qz", "vx", "vy",
                                                       "vz", "wx",    "wy",     "wz"};
enum Column { id, shape, radius, x, y, z, qw, qx, qy, qz, vx, vy, vz, wx, wy, wz };
constexpr int kAbsent = -1;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = line.find(separator);
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

bool is_snapshot(const std::string& file) {
  return file.ends_with(".h5") || file.ends_with(".hdf5");
}

/// A CSV table's header and the reading of its rows.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {
    if (std::filesystem::is_directory(file)) {
      throw Error("is a directory", file, "name a CSV file or a snapshot", ExitCode::input_output);
    }
    stream_.open(file);
    if (!stream_) throw Error("cannot be read", file, "check the path", ExitCode::input_output);
    at_.fill(kAbsent);
  }

  /// The next line that says something; false at the end of the file.
  bool next_line() {
    while (std::getline(stream_, line_)) {
      ++number_;
      const std::string_view text = trimmed(line_);
      if (!text.empty() && text.front() != '#') return true;
    }
    if (stream_.bad()) throw Error("cannot be read", file_, "", ExitCode::input_output);
    return false;
  }

  void read_header() {
    if (!next_line()) fail("the table is empty", "a header line such as shape,x,y,z is expected");
    const std::vector<std::string_view> names = split(line_, ',');
    n_columns_ = names.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto known = std::find(kColumns.begin(), kColumns.end(), names[i]);
      if (known == kColumns.end()) {
        const std::vector<std::string> candidates(kColumns.begin(), kColumns.end());
        const std::string near = nearest_word(names[i], candidates);
        fail("unknown column '" + std::string(names[i]) + "'",
             near.empty() ? "known: id, shape or radius, x, y, z, qw ... qz, vx ... vz, wx ... wz"
                          : "did you mean " + near + "?");
      }
      int& at = at_[known - kColumns.begin()];
      if (at != kAbsent) fail("the column '" + std::string(names[i]) + "' stands twice", "");
      at = narrow<int>(i);
    }
    if (has(shape) == has(radius))
      fail("needs a column shape or a column radius", "give one of them");
    need({x, y, z}, true);
    need({qw, qx, qy, qz}, false);
    need({vx, vy, vz}, false);
    need({wx, wy, wz}, false);
  }

  TableRow read_row() {
    const std::vector<std::string_view> fields = split(line_, ',');
    if (fields.size() != n_columns_) {
      fail("found " + std::to_string(fields.size()) + " fields",
           "the header names " + std::to_string(n_columns_));
    }
    fields_ = &fields;
    TableRow row;
    row.shape = has(shape) ? shape_of_text(field(shape))
                           : Shape{ShapeType::sphere, Vec3::Constant(positive(field(radius)))};
    row.pose.p = vector(x);
    if (has(qw)) row.pose.q = rotation();
    if (has(vx)) row.twist.v = vector(vx);
    if (has(wx)) row.twist.w = vector(wx);
    if (has(id)) check_id(field(id));
    return row;
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& fix) const {
    throw Error(found, file_ + ":" + std::to_string(number_), fix);
  }
  bool has(Column c) const { return at_[c] != kAbsent; }
  void need(std::initializer_list<Column> group, bool always) const {
    bool any = always;
    for (const Column c : group) any = any || has(c);
    for (const Column c : group) {
      if (any && !has(c)) fail("the column " + std::string(kColumns[c]) + " is missing", "");
    }
  }
  std::string_view field(int column) const { return (*fields_)[at_[column]]; }
  double number(std::string_view text) const {
    double value = 0.0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value)) {
      fail("'" + std::string(text.substr(0, 40)) + "' is not a finite number", "");
    }
    return value;
  }
  double positive(std::string_view text) const {
    const double value = number(text);
    if (!(value > 0.0)) fail("the size " + std::string(text) + " is not positive", "");
    return value;
  }
  Vec3 vector(int first) const {
    return {number(field(first)), number(field(first + 1)), number(field(first + 2))};
  }
  Quat rotation() const {
    const Quat q(number(field(qw)), number(field(qx)), number(field(qy)), number(field(qz)));
    if (!(q.norm() > 0.0)) fail("the quaternion has no length", "no turn is 1,0,0,0");
    return q.normalized();
  }
  /// "sphere:0.1", "box:0.1:0.2:0.3" with full edges, "capsule:RADIUS:LENGTH" and
  /// "cylinder:RADIUS:LENGTH" as in a case.
  Shape shape_of_text(std::string_view text) const {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts[0] == "sphere" && parts.size() == 2) {
      return {ShapeType::sphere, Vec3::Constant(positive(parts[1]))};
    }
    if (parts[0] == "box" && parts.size() == 4) {
      return {ShapeType::box,
              0.5 * Vec3(positive(parts[1]), positive(parts[2]), positive(parts[3]))};
    }
    if ((parts[0] == "capsule" || parts[0] == "cylinder") && parts.size() == 3) {
      return {parts[0] == "capsule" ? ShapeType::capsule : ShapeType::cylinder,
              Vec3(positive(parts[1]), 0.5 * positive(parts[2]), 0.0)};
    }
    fail("'" + std::string(text.substr(0, 40)) + "' is no shape",
         "write sphere:RADIUS, box:X:Y:Z with full edges, capsule:RADIUS:LENGTH or "
         "cylinder:RADIUS:LENGTH, m");
  }
  /// Rows are numbered anew, in order; ids only show that no row is lost or doubled.
  void check_id(std::string_view text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end)
      fail("'" + std::string(text.substr(0, 40)) + "' is no id", "");
    if (value <= last_id_)
      fail("the id " + std::string(text) + " does not ascend", "sort the rows by id");
    last_id_ = value;
  }

  const std::string& file_;
  std::ifstream stream_;
  std::string line_;
  std::int64_t number_ = 0;
  std::array<int, kColumns.size()> at_{};
  std::size_t n_columns_ = 0;
  const std::vector<std::string_view>* fields_ = nullptr;
  std::int64_t last_id_ = std::numeric_limits<std::int64_t>::min();
};

/// Reads rows [first, last) line by line; returns the number of rows met, at most `last`.
std::int64_t read_csv(const std::string& file, std::int64_t first, std::int64_t last,
                      const std::function<void(std::int64_t row, const TableRow&)>& take) {
  Reader reader(file);
  reader.read_header();
  std::int64_t row = 0;
  for (; row < last && reader.next_line(); ++row) {
    if (row >= first) take(row, reader.read_row());
  }
  return row;
}

}  // namespace

std::int64_t count_rows(const std::string& file) {
  if (is_snapshot(file)) return count_snapshot_rows(file);
  return read_csv(file, 0, std::numeric_limits<std::int64_t>::max(),
                  [](std::int64_t, const TableRow&) {});
}

void read_table(const std::string& file, std::int64_t first, std::int64_t last,
                const std::function<void(std::int64_t row, const TableRow&)>& take) {
  if (is_snapshot(file)) {
    read_snapshot_rows(file, first, last,
                       [&](std::int64_t row, const Shape& shape, const BodyMotionState& state) {
                         take(row, {shape, state.pose, state.twist});
                       });
  } else {
    read_csv(file, first, last, take);
  }
}

std::int32_t count_table_geometries(const std::string& file) {
  return is_snapshot(file) ? count_snapshot_geometries(file) : 0;
}

std::vector<Geometry> table_geometries(const std::string& file, std::int32_t first) {
  if (!is_snapshot(file)) return {};
  std::vector<Geometry> geometries = read_snapshot_geometries(file);
  for (Geometry& geometry : geometries) {
    for (CompoundPart& part : geometry.parts) {
      if (part.shape.geometry >= 0) part.shape.geometry += first;
    }
  }
  return geometries;
}

}  // namespace catena::scenarios
