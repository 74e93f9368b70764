#include "io/result/geometry.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "io/hdf5/columns.hpp"

namespace catena {

namespace {

/// In the order of ShapeType.
constexpr std::array<const char*, 11> kNames = {"none",    "sphere",      "plane",           "box",
                                                "capsule", "cylinder",    "hollow_cylinder", "hull",
                                                "mesh",    "heightfield", "compound"};

/// Writes lists that every rank holds; rank 0's rows count.
class Writer {
 public:
  Writer(hdf5::File& file, const Communicator& comm, std::string group)
      : file_(file), writes_(comm.rank() == 0), group_(std::move(group)) {}

  void numbers(const char* name, const std::vector<double>& values, std::uint64_t width,
               const char* unit) {
    file_.write_rows(group_ + "/" + name, part(values), rows(values.size(), width), width, unit);
  }
  void vectors(const char* name, const std::vector<Vec3>& values, const char* unit) {
    std::vector<double> flat;
    for (const Vec3& v : values) flat.insert(flat.end(), v.begin(), v.end());
    numbers(name, flat, 3, unit);
  }
  void integers(const char* name, const std::vector<std::int64_t>& values, std::uint64_t width) {
    file_.write_rows(group_ + "/" + name, part(values), rows(values.size(), width), width, "");
  }
  void words(const char* name, const std::vector<std::string>& values, std::size_t length) {
    file_.write_text_rows(group_ + "/" + name,
                          text_column(values, length, [](auto& value) { return value; }), length,
                          rows(values.size(), 0));
  }

 private:
  template <class T>
  std::span<const T> part(const std::vector<T>& values) const {
    return std::span<const T>(values).first(writes_ ? values.size() : 0);
  }
  hdf5::RowRange rows(std::size_t size, std::uint64_t width) const {
    const std::uint64_t n = size / std::max<std::uint64_t>(width, 1);
    return {writes_ ? 0 : n, writes_ ? n : 0, n};
  }

  hdf5::File& file_;
  bool writes_;
  std::string group_;
};

void write_parts(Writer& out, const std::vector<CompoundPart>& parts) {
  std::vector<std::string> shape;
  std::vector<double> size, position, orientation;
  std::vector<std::int64_t> geometry, closed_ends;
  for (const CompoundPart& part : parts) {
    shape.emplace_back(shape_name(part.shape.type));
    const std::array<double, 3> numbers = size_in_file(part.shape);
    size.insert(size.end(), numbers.begin(), numbers.end());
    geometry.push_back(part.shape.geometry);
    closed_ends.push_back(part.shape.closed_ends);
    const Quat& q = part.pose.q;
    position.insert(position.end(), part.pose.p.begin(), part.pose.p.end());
    orientation.insert(orientation.end(), {q.w(), q.x(), q.y(), q.z()});
  }
  out.words("part_shape", shape, kShapeNameLength);
  out.numbers("part_size", size, 3, "m");
  out.integers("part_geometry", geometry, 0);
  out.integers("part_closed_ends", closed_ends, 0);
  out.numbers("part_position", position, 3, "m");
  out.numbers("part_orientation", orientation, 4, "");
}

void write_triangles(Writer& out, const Geometry& g) {
  out.vectors("vertices", g.vertices, "m");
  std::vector<std::int64_t> corners;
  for (const auto& t : g.triangles) corners.insert(corners.end(), t.begin(), t.end());
  out.integers("triangles", corners, 3);
}

void write_numbers(Writer& out, const Geometry& g) {
  if (g.type == ShapeType::hull) {
    out.vectors("vertices", g.vertices, "m");
    out.integers("face_begin", {g.face_begin.begin(), g.face_begin.end()}, 0);
    out.integers("face_corners", {g.face_corners.begin(), g.face_corners.end()}, 0);
    out.vectors("face_normals", g.face_normals, "");
    out.numbers("face_offsets", g.face_offsets, 0, "m");
  } else if (g.type == ShapeType::mesh) {
    write_triangles(out, g);
  } else if (g.type == ShapeType::heightfield) {
    out.numbers("heights", g.heights, static_cast<std::uint64_t>(g.n_x), "m");
    out.vectors("origin", {g.origin}, "m");
    out.numbers("spacing", {g.dx, g.dy}, 0, "m");
  } else {
    write_parts(out, g.parts);
    if (!g.triangles.empty()) write_triangles(out, g);
  }
}

[[noreturn]] void fail(const hdf5::File& file, const std::string& object, const std::string& what) {
  throw Error(what, file.path() + ": " + object, {}, ExitCode::input_output);
}

std::vector<Vec3> vectors(const hdf5::File& file, const std::string& dataset) {
  const std::vector<double> flat = file.read_doubles(dataset);
  std::vector<Vec3> values;
  for (std::size_t i = 0; i + 3 <= flat.size(); i += 3)
    values.emplace_back(flat[i], flat[i + 1], flat[i + 2]);
  for (const Vec3& v : values) {
    if (!v.allFinite()) fail(file, dataset, "not finite");
  }
  return values;
}

std::vector<std::int32_t> small_integers(const hdf5::File& file, const std::string& dataset,
                                         std::int64_t end) {
  const std::vector<std::int64_t> wide = file.read_integers(dataset);
  for (const std::int64_t i : wide) {
    if (i < 0 || i >= end) fail(file, dataset, std::to_string(i) + " is out of range");
  }
  return {wide.begin(), wide.end()};
}

void read_hull(const hdf5::File& file, const std::string& group, Geometry& g) {
  g.vertices = vectors(file, group + "/vertices");
  const auto n = std::ssize(g.vertices);
  g.face_corners = small_integers(file, group + "/face_corners", n);
  const auto n_corners = std::ssize(g.face_corners);
  g.face_begin = small_integers(file, group + "/face_begin", n_corners + 1);
  g.face_normals = vectors(file, group + "/face_normals");
  g.face_offsets = file.read_doubles(group + "/face_offsets");
  const bool fits = !g.face_begin.empty() && g.face_begin.front() == 0 &&
                    g.face_begin.back() == n_corners && std::ranges::is_sorted(g.face_begin) &&
                    g.face_normals.size() + 1 == g.face_begin.size() &&
                    g.face_offsets.size() == g.face_normals.size();
  if (!fits) fail(file, group, "its faces contradict each other");
}

/// Of the closed surface that parts stand for, if there is one.
void read_triangles(const hdf5::File& file, const std::string& group, Geometry& g) {
  if (!file.exists(group + "/triangles")) return;
  g.vertices = vectors(file, group + "/vertices");
  const std::vector<std::int32_t> corners =
      small_integers(file, group + "/triangles", std::ssize(g.vertices));
  for (std::size_t i = 0; i + 3 <= corners.size(); i += 3)
    g.triangles.push_back({corners[i], corners[i + 1], corners[i + 2]});
}

/// False if a part is none that moves.
bool read_parts(const hdf5::File& file, const std::string& group, const std::vector<Geometry>& all,
                Geometry& g) {
  const std::vector<Vec3> size = vectors(file, group + "/part_size");
  const std::vector<Vec3> position = vectors(file, group + "/part_position");
  const std::vector<double> q = file.read_doubles(group + "/part_orientation");
  const std::vector<std::int64_t> geometry = file.read_integers(group + "/part_geometry");
  const std::vector<std::int64_t> ends = file.read_integers(group + "/part_closed_ends");
  const std::size_t n = size.size();
  const std::vector<std::string> names = file.read_text_rows(group + "/part_shape", {0, n, n});
  if (position.size() != n || q.size() != 4 * n || geometry.size() != n || ends.size() != n)
    fail(file, group, "its parts contradict each other");
  for (std::size_t i = 0; i < n; ++i) {
    CompoundPart part;
    part.shape.type = shape_type_of(names[i]);
    part.shape.size = size_from_file(part.shape.type, size[i]);
    part.shape.closed_ends = static_cast<std::uint8_t>(ends[i] & (kLowerEnd | kUpperEnd));
    part.pose.p = position[i];
    part.pose.q = Quat(q[4 * i], q[4 * i + 1], q[4 * i + 2], q[4 * i + 3]);
    const bool is_hull = part.shape.type == ShapeType::hull;
    if (part.shape.type == ShapeType::mesh) return false;
    if (part.shape.type == ShapeType::none || (geometry[i] >= 0) != is_hull ||
        geometry[i] >= std::ssize(all))
      fail(file, group, "part " + std::to_string(i) + " is no shape");
    if (is_hull) {
      const Geometry& hull = all[geometry[i]];
      if (hull.type != ShapeType::hull) fail(file, group, "a part's geometry is no hull");
      part.shape.geometry = narrow<std::int32_t>(geometry[i]);
      part.shape.geometry_radius = hull.radius;
      // the hull was turned to its principal axes when it was read; the part goes with it
      part.pose.q = part.pose.q * hull.written.q.conjugate();
      part.pose.p -= part.pose.q * (part.shape.size.x() * hull.written.p);
    }
    g.parts.push_back(part);
  }
  return true;
}

}  // namespace

const char* shape_name(ShapeType type) { return kNames[ordinal(type)]; }

ShapeType shape_type_of(const std::string& name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  return at == kNames.end() ? ShapeType::none : static_cast<ShapeType>(at - kNames.begin());
}

std::array<double, 3> size_in_file(const Shape& shape) {
  const Vec3& s = shape.size;
  switch (shape.type) {
    case ShapeType::none:
    case ShapeType::plane:
      return {0.0, 0.0, 0.0};
    case ShapeType::box:
      return {2.0 * s.x(), 2.0 * s.y(), 2.0 * s.z()};
    case ShapeType::capsule:
    case ShapeType::cylinder:
      return {s.x(), 2.0 * s.y(), 0.0};
    case ShapeType::hollow_cylinder:
      return {s.x(), 2.0 * s.y(), s.z()};
    default:
      return {s.x(), 0.0, 0.0};
  }
}

Vec3 size_from_file(ShapeType type, const Vec3& size) {
  if (type == ShapeType::box) return 0.5 * size;
  if (type == ShapeType::sphere) return Vec3::Constant(size.x());
  return {size.x(), 0.5 * size.y(), size.z()};
}

void write_geometries(hdf5::File& file, const Communicator& comm,
                      const std::vector<Geometry>& geometries) {
  file.make_group("/geometries");
  for (std::size_t k = 0; k < geometries.size(); ++k) {
    const std::string group = "/geometries/" + std::to_string(k);
    file.make_group(group);
    Geometry g = geometries[k];
    file.set_attribute(group, "type", std::string(shape_name(g.type)));
    file.set_attribute(group, "name", g.name);
    file.set_attribute(group, "two_sided", std::int64_t{g.two_sided ? 1 : 0});
    const Quat to_written = g.written.q.conjugate();
    move_geometry(g, {Vec3::Zero(), to_written});
    // compounds refer to hulls in their own frames: those are written unturned, too
    for (CompoundPart& part : g.parts) {
      if (part.shape.geometry < 0) continue;
      const Geometry& other = geometries[part.shape.geometry];
      part.pose.q = (part.pose.q * other.written.q).normalized();
    }
    Writer out(file, comm, group);
    out.numbers("principal_axes", {to_written.w(), to_written.x(), to_written.y(), to_written.z()},
                0, "");
    write_numbers(out, g);
  }
}

std::uint64_t bytes_of_geometries(const std::vector<Geometry>& geometries) {
  std::uint64_t bytes = 0;
  for (const Geometry& g : geometries) {
    bytes += 8192 + 24 * (g.vertices.size() + g.triangles.size()) + 8 * g.heights.size() +
             8 * (g.face_corners.size() + 5 * g.face_begin.size()) + 128 * g.parts.size();
  }
  return bytes;
}

std::vector<Geometry> read_moving_geometries(const hdf5::File& file) {
  if (!file.exists("/geometries")) return {};
  std::vector<Geometry> geometries(file.members("/geometries").size());
  // compounds refer to hulls, which may come after them
  for (const ShapeType wanted : {ShapeType::hull, ShapeType::compound}) {
    for (std::size_t k = 0; k < geometries.size(); ++k) {
      const std::string group = "/geometries/" + std::to_string(k);
      if (shape_type_of(file.attribute_text(group, "type")) != wanted) continue;
      Geometry& g = geometries[k];
      bool moves = true;
      if (wanted == ShapeType::hull) {
        read_hull(file, group, g);
      } else {
        moves = read_parts(file, group, geometries, g);
        read_triangles(file, group, g);
      }
      if (!moves) continue;
      g.type = wanted;
      complete_geometry(g, GeometryFrame::principal, geometries);
      if (!(g.volume > 0.0)) fail(file, group, "has no volume");
    }
  }
  for (std::size_t k = 0; k < geometries.size(); ++k)
    geometries[k].name = file.attribute_text("/geometries/" + std::to_string(k), "name");
  return geometries;
}

}  // namespace catena
