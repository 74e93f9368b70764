#include "catena/io/snapshot_table.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "catena/base/error.hpp"
#include "io/hdf5/file.hpp"
#include "io/result/format.hpp"
#include "io/result/geometry.hpp"

namespace catena {
namespace {

constexpr std::uint64_t kChunk = 4096;
/// Orientations are written at unit length; a larger error was not made by rounding.
constexpr double kUnitLength = 1e-9;

hdf5::File open_snapshot(const std::string& path) {
  hdf5::File file = hdf5::File::open(path);
  if (file.attribute_text("/", "format") != "catena-snapshot") {
    throw Error("is not a snapshot of a result", path, "name DIR/snapshots/NUMBER.h5");
  }
  refuse_newer(file);
  return file;
}

hdf5::File open_bodies(const std::string& snapshot) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::absolute(snapshot).lexically_normal().parent_path().parent_path();
  const std::string path = (directory / "bodies.h5").string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error("is missing", path, "the shapes of " + snapshot + " stand in it",
                ExitCode::input_output);
  }
  hdf5::File file = hdf5::File::open(path);
  if (file.attribute_text("/", "format") != "catena-bodies") {
    throw Error("does not hold the bodies of a result", path);
  }
  refuse_newer(file);
  return file;
}

/// A snapshot and the bodies of its result, both in ascending id: those of the snapshot are among
/// the others, which keep the rows of bodies that have left.
class Snapshot {
 public:
  explicit Snapshot(const std::string& path)
      : snapshot_(open_snapshot(path)), bodies_(open_bodies(path)) {
    const std::vector<std::uint64_t> extents = snapshot_.extents("/bodies/id");
    if (extents.size() != 1) fail(snapshot_, "/bodies/id", "is not a list");
    total_ = extents[0];
    const std::vector<std::uint64_t> all = bodies_.extents("/bodies/id");
    if (all.size() != 1) fail(bodies_, "/bodies/id", "is not a list");
    total_bodies_ = all[0];
    // where no body comes or goes snapshots have no masses, and all bodies are in all of them
    if (total_bodies_ != total_ && !snapshot_.exists("/bodies/mass")) {
      fail(snapshot_, "/bodies/id", "its ids are not those of " + bodies_.path());
    }
  }

  std::uint64_t total() const { return total_; }

  /// Which rows from `first` on, kChunk at most, hold dynamic bodies.
  std::vector<std::uint64_t> dynamic_rows(std::uint64_t first) const {
    const hdf5::RowRange range{first, std::min(kChunk, total_ - first), total_};
    const Match match = match_rows(range);
    const std::vector<std::string> kinds = bodies_.read_text_rows("/bodies/kind", match.range);
    const std::vector<std::string> shapes = bodies_.read_text_rows("/bodies/shape", match.range);
    std::vector<std::uint64_t> rows;
    for (std::size_t i = 0; i < match.at.size(); ++i) {
      const std::uint64_t row = match.range.first + match.at[i];
      const std::string& kind = kinds[match.at[i]];
      const std::string& shape = shapes[match.at[i]];
      if (kind == "fixed" || kind == "kinematic") continue;
      if (kind != "dynamic") fail(bodies_, "/bodies/kind", "unknown kind", row, kind);
      const ShapeType type = shape_type_of(shape);
      if (type == ShapeType::none || type == ShapeType::plane || type == ShapeType::mesh ||
          type == ShapeType::heightfield) {
        throw Error(
            "row " + std::to_string(row) + ": a table cannot hold the shape '" + shape + "'",
            bodies_.path() + ": /bodies/shape",
            "tables hold bodies that have a mass by their shape");
      }
      rows.push_back(first + i);
    }
    return rows;
  }

  /// Calls take(i, shape, state) for rows[i], i = 0, 1, ...; the rows ascend and lie in one chunk.
  template <class Take>
  void read(const std::vector<std::uint64_t>& rows, const Take& take) const {
    const hdf5::RowRange range{rows.front(), rows.back() - rows.front() + 1, total_};
    const auto numbers = [&](const char* dataset, std::uint64_t width) {
      return snapshot_.read_double_rows(dataset, range, width);
    };
    const Match match = match_rows(range);
    const Shapes shapes(bodies_, match.range);
    const std::vector<double> position = numbers("/bodies/position", 3);
    const std::vector<double> orientation = numbers("/bodies/orientation", 4);
    const std::vector<double> velocity = numbers("/bodies/velocity", 3);
    const std::vector<double> angular = numbers("/bodies/angular_velocity", 3);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t row = rows[i];
      const std::size_t at = row - range.first;
      const Shape body = shape_of(shapes, match.at[at], match.range.first + match.at[at]);
      BodyMotionState state;
      state.pose.p = vector(snapshot_, "/bodies/position", position, at, row);
      const double* q = orientation.data() + 4 * at;
      state.pose.q = Quat(q[0], q[1], q[2], q[3]);
      if (!(std::abs(state.pose.q.norm() - 1.0) <= kUnitLength))
        fail(snapshot_, "/bodies/orientation", "not of unit length", row);
      state.twist.v = vector(snapshot_, "/bodies/velocity", velocity, at, row);
      state.twist.w = vector(snapshot_, "/bodies/angular_velocity", angular, at, row);
      take(i, body, state);
    }
  }

 private:
  /// Rows of bodies.h5: row k of those asked for is row range.first + at[k].
  struct Match {
    hdf5::RowRange range;
    std::vector<std::size_t> at;
  };

  /// Columns of bodies.h5 that make shapes.
  struct Shapes {
    std::vector<std::string> name;
    std::vector<double> radius, size;
    std::vector<std::int64_t> geometry, ends;

    Shapes(const hdf5::File& bodies, const hdf5::RowRange& range)
        : name(bodies.read_text_rows("/bodies/shape", range)),
          radius(bodies.read_double_rows("/bodies/radius", range, 0)),
          size(bodies.read_double_rows("/bodies/size", range, 3)),
          // results of the first version have neither
          geometry(range.count, -1),
          ends(range.count, 0) {
      if (bodies.exists("/bodies/geometry"))
        geometry = bodies.read_integer_rows("/bodies/geometry", range, 0);
      if (bodies.exists("/bodies/closed_ends"))
        ends = bodies.read_integer_rows("/bodies/closed_ends", range, 0);
    }
  };

  /// First row of bodies.h5 whose id is not below `id`.
  std::uint64_t row_of(std::int64_t id) const {
    std::uint64_t low = 0, high = total_bodies_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const hdf5::RowRange one{middle, 1, total_bodies_};
      if (bodies_.read_integer_rows("/bodies/id", one, 0)[0] < id) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// Where the bodies of a part of the snapshot stand in bodies.h5.
  Match match_rows(const hdf5::RowRange& rows) const {
    Match match;
    match.range.total = total_bodies_;
    const std::vector<std::int64_t> ids = snapshot_.read_integer_rows("/bodies/id", rows, 0);
    if (ids.empty()) return match;
    match.range.first = row_of(ids.front());
    match.range.count = row_of(ids.back() + 1) - match.range.first;
    const std::vector<std::int64_t> known = bodies_.read_integer_rows("/bodies/id", match.range, 0);
    for (const std::int64_t id : ids) {
      const auto found = std::lower_bound(known.begin(), known.end(), id);
      if (found == known.end() || *found != id) {
        fail(snapshot_, "/bodies/id", "its ids are not those of " + bodies_.path());
      }
      match.at.push_back(found - known.begin());
    }
    return match;
  }

  /// Shape `at` of those read, which is row `row` of the file.
  Shape shape_of(const Shapes& shapes, std::size_t at, std::uint64_t row) const {
    Shape body;
    body.type = shape_type_of(shapes.name[at]);
    body.size = size_from_file(body.type, vector(bodies_, "/bodies/size", shapes.size, at, row));
    if (body.type == ShapeType::sphere) body.size = Vec3::Constant(shapes.radius[at]);
    if (!is_size(body))
      fail(bodies_, body.type == ShapeType::sphere ? "/bodies/radius" : "/bodies/size",
           body.type == ShapeType::sphere ? "not a positive radius" : "not a positive size", row);
    if (body.type == ShapeType::hollow_cylinder) {
      body.closed_ends =
          static_cast<std::uint8_t>(shapes.ends[at] & std::int64_t{kLowerEnd | kUpperEnd});
    }
    if (body.type == ShapeType::hull || body.type == ShapeType::compound) {
      if (shapes.geometry[at] < 0) fail(bodies_, "/bodies/geometry", "missing", row);
      body.geometry = narrow<std::int32_t>(shapes.geometry[at]);
    }
    return body;
  }

  [[noreturn]] static void fail(const hdf5::File& file, const std::string& dataset,
                                const std::string& what) {
    throw Error(what, file.path() + ": " + dataset, {}, ExitCode::input_output);
  }
  [[noreturn]] static void fail(const hdf5::File& file, const std::string& dataset,
                                const std::string& what, std::uint64_t row,
                                const std::string& found = {}) {
    fail(file, dataset,
         "row " + std::to_string(row) + ": " + what + (found.empty() ? "" : " '" + found + "'"));
  }
  /// Whether the numbers are those of a shape that has a volume.
  static bool is_size(const Shape& shape) {
    const Vec3& s = shape.size;
    if (!s.allFinite() || !(s.x() > 0.0)) return false;
    if (shape.type == ShapeType::box) return s.minCoeff() > 0.0;
    if (shape.type == ShapeType::hollow_cylinder) return s.y() > 0.0 && s.z() > 0.0;
    if (shape.type == ShapeType::capsule || shape.type == ShapeType::cylinder) return s.y() > 0.0;
    return true;
  }
  static Vec3 vector(const hdf5::File& file, const char* dataset, const std::vector<double>& values,
                     std::size_t at, std::uint64_t row) {
    const Vec3 v(values[3 * at], values[3 * at + 1], values[3 * at + 2]);
    if (!v.allFinite()) fail(file, dataset, "not finite", row);
    return v;
  }

  hdf5::File snapshot_, bodies_;
  std::uint64_t total_ = 0;
  std::uint64_t total_bodies_ = 0;
};

}  // namespace

std::vector<Geometry> read_snapshot_geometries(const std::string& file) {
  open_snapshot(file);
  return read_moving_geometries(open_bodies(file));
}

std::int32_t count_snapshot_geometries(const std::string& file) {
  open_snapshot(file);
  const hdf5::File bodies = open_bodies(file);
  if (!bodies.exists("/geometries")) return 0;
  return narrow<std::int32_t>(bodies.members("/geometries").size());
}

std::int64_t count_snapshot_rows(const std::string& file) {
  const Snapshot snapshot(file);
  std::int64_t count = 0;
  for (std::uint64_t first = 0; first < snapshot.total(); first += kChunk)
    count += std::ssize(snapshot.dynamic_rows(first));
  return count;
}

void read_snapshot_rows(
    const std::string& file, std::int64_t first, std::int64_t last,
    const std::function<void(std::int64_t row, const Shape&, const BodyMotionState&)>& take) {
  const Snapshot snapshot(file);
  std::int64_t seen = 0;  // rows of the table before this chunk
  for (std::uint64_t at = 0; at < snapshot.total() && seen < last; at += kChunk) {
    std::vector<std::uint64_t> rows = snapshot.dynamic_rows(at);
    const auto n = std::ssize(rows);
    const std::int64_t begin = std::clamp<std::int64_t>(first - seen, 0, n);
    const std::int64_t end = std::clamp<std::int64_t>(last - seen, 0, n);
    if (begin < end) {
      snapshot.read({rows.begin() + begin, rows.begin() + end},
                    [&](std::size_t i, const Shape& shape, const BodyMotionState& state) {
                      take(seen + begin + narrow<std::int64_t>(i), shape, state);
                    });
    }
    seen += n;
  }
}

}  // namespace catena
