#include "scenarios/make/geometry_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numbers>
#include <span>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/collision/hull_builder.hpp"
#include "catena/io/read_bytes.hpp"
#include "catena/io/surface_file.hpp"
#include "catena/io/yaml_settings.hpp"
#include "scenarios/make/clump.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

/// A hull whose volume exceeds that of the file's surface by more has a dent that is no rounding.
constexpr double kConvex = 1e-4;

bool has_one_closed_end(const ShapeSettings& s) {
  return s.type == ShapeType::hollow_cylinder && (s.ends == kLowerEnd || s.ends == kUpperEnd);
}

bool needs_geometry(const ShapeSettings& s, GeometryFrame frame) {
  switch (s.type) {
    case ShapeType::hull:
    case ShapeType::mesh:
    case ShapeType::heightfield:
    case ShapeType::compound:
      return true;
    default:
      // its centre of mass is not in the middle: it becomes the only part of a compound
      return has_one_closed_end(s) && frame != GeometryFrame::as_written;
  }
}

std::string text_of(const Vec3& v) {
  return "(" + short_text(v[0]) + ", " + short_text(v[1]) + ", " + short_text(v[2]) + ")";
}

std::string count_of(std::int64_t n, const std::string& one, const std::string& many) {
  return n == 1 ? "1 " + one : std::to_string(n) + " " + many;
}

std::string place_of(const TriangleMesh& surface, const EdgeFaults& edges) {
  const Vec3& a = surface.vertices[edges.first[0]];
  const Vec3& b = surface.vertices[edges.first[1]];
  return "; the first is from " + text_of(a) + " to " + text_of(b) + " m";
}

/// Rejects what is no surface of a body.
void check_edges(const TriangleMesh& surface, const SurfaceEdges& edges, const std::string& where,
                 bool may_be_open) {
  if (edges.crowded.count > 0) {
    throw Error(count_of(edges.crowded.count, "edge has", "edges have") + " more than two faces" +
                    place_of(surface, edges.crowded),
                where, "remove inner walls and double faces, so that two faces meet at each edge");
  }
  if (edges.disagreed.count > 0) {
    throw Error("inverted faces: neighbours disagree about outside at " +
                    count_of(edges.disagreed.count, "edge", "edges") +
                    place_of(surface, edges.disagreed),
                where,
                "make all faces counter-clockwise seen from outside (Blender: Mesh, Normals, "
                "Recalculate Outside)");
  }
  if (edges.open.count > 0 && !may_be_open) {
    throw Error("open: " + count_of(edges.open.count, "edge has", "edges have") + " only one face" +
                    place_of(surface, edges.open),
                where, "close the holes, or, for a mesh that is a sheet, add `open: true`");
  }
}

/// Volume of a closed surface; rejects one that has none or is turned inside out.
double closed_volume(const TriangleMesh& surface, const std::string& where) {
  const double volume = mass_properties(surface.vertices, surface.triangles).volume;
  Aabb box;
  for (const Vec3& v : surface.vertices) box.merge({v, v});
  const double size = (box.hi - box.lo).maxCoeff();
  if (!(std::abs(volume) > 1e-12 * size * size * size)) {
    throw Error("the surface encloses no volume", where, "give a body with thickness");
  }
  if (volume < 0.0) {
    throw Error(
        "turned inside out: all faces point inwards (volume " + short_text(volume) + " m^3)", where,
        "reverse the order of the corners of every face (Blender: Mesh, Normals, "
        "Flip)");
  }
  return volume;
}

/// The surface of a file in m, without triangles that have no area.
TriangleMesh surface_of(const ShapeSettings& s, const std::string& content, Model& model) {
  TriangleMesh surface = parse_surface(content, s.file);
  const double factor = unit_in_metres(s.unit) * s.scale;
  for (Vec3& v : surface.vertices) v *= factor;
  const std::int64_t flat = drop_flat_triangles(surface);
  if (flat > 0) {
    model.warnings.push_back(s.file + ": " + count_of(flat, "triangle", "triangles") +
                             " without area left out");
    if (surface.triangles.empty())
      throw Error("no triangle has an area", s.file, "check unit and scale, or export it again");
    weld(surface);
  }
  return surface;
}

Geometry hull_of(std::span<const Vec3> points, const std::string& where, std::int64_t* n_inside) {
  HullFaces faces;
  try {
    faces = build_hull(points);
  } catch (const Error& e) {
    throw Error(e.found(), e.where().empty() ? where : where + ": " + e.where(), e.fix());
  }
  *n_inside = faces.n_inside;
  for (std::size_t f = 1; f < faces.face_begin.size(); ++f) {
    const std::int32_t corners = faces.face_begin[f] - faces.face_begin[f - 1];
    if (corners > kMostFaceCorners)
      throw Error("a face of the hull has " + std::to_string(corners) + " corners, more than " +
                      std::to_string(kMostFaceCorners),
                  where, "take fewer points on it, or a cylinder");
  }
  Geometry hull;
  hull.type = ShapeType::hull;
  hull.vertices = std::move(faces.vertices);
  hull.face_begin = std::move(faces.face_begin);
  hull.face_corners = std::move(faces.face_corners);
  hull.face_normals = std::move(faces.face_normals);
  hull.face_offsets = std::move(faces.face_offsets);
  return hull;
}

Geometry hull_of_points(const std::vector<Vec3>& points, const std::string& where, Model& model) {
  std::int64_t n_inside = 0;
  Geometry hull = hull_of(points, where, &n_inside);
  if (n_inside > 0) {
    model.warnings.push_back(where + ": " + std::to_string(n_inside) + " of " +
                             std::to_string(points.size()) +
                             " vertices lie inside the hull or on its faces and are left out");
  }
  return hull;
}

Geometry hull_from_file(const ShapeSettings& s, const std::string& content, Model& model) {
  const TriangleMesh surface = surface_of(s, content, model);
  if (surface.triangles.empty()) return hull_of_points(surface.vertices, s.file, model);
  check_edges(surface, edges_of(surface), s.file, false);
  const double volume = closed_volume(surface, s.file);
  std::int64_t ignored = 0;  // points on flat faces are a matter of how these were cut up
  Geometry hull = hull_of(surface.vertices, s.file, &ignored);
  complete_geometry(hull, GeometryFrame::as_written);
  const double excess = hull.volume / volume - 1.0;
  if (excess > kConvex) {
    throw Error(
        "not convex: its hull has " + short_text(100.0 * excess) + " % more volume", s.file,
        "add `decompose: {}`, which makes convex pieces of it, or, if it does not move, use "
        "it as a mesh");
  }
  return hull;
}

/// Corners of a rod of `sides` sides, of which a cross-section has the area of the circle: so its
/// volume is that of the round rod with cones as tips.
std::vector<Vec3> pointed_rod(const ShapeSettings& s) {
  using std::numbers::pi;
  const double corner = s.radius * std::sqrt(2.0 * pi / (s.sides * std::sin(2.0 * pi / s.sides)));
  const double tip = 0.5 * s.length, shoulder = tip - s.tip_length;
  std::vector<Vec3> points = {{0.0, 0.0, -tip}, {0.0, 0.0, tip}};
  for (int k = 0; k < s.sides; ++k) {
    const double angle = 2.0 * pi * k / s.sides;
    const Vec3 rim(corner * std::cos(angle), corner * std::sin(angle), shoulder);
    points.push_back(rim);
    if (shoulder > 0.0) points.emplace_back(rim.x(), rim.y(), -shoulder);
  }
  return points;
}

Geometry hull_geometry(const ShapeSettings& s, const std::string& name, const std::string& content,
                       Model& model) {
  if (!s.file.empty()) return hull_from_file(s, content, model);
  if (!std::isnan(s.tip_length)) return hull_of_points(pointed_rod(s), name, model);
  std::vector<Vec3> points;
  for (std::size_t i = 0; i + 3 <= s.vertices.size(); i += 3)
    points.emplace_back(s.vertices[i], s.vertices[i + 1], s.vertices[i + 2]);
  return hull_of_points(points, name, model);
}

Geometry mesh_geometry(const ShapeSettings& s, const std::string& content, Model& model) {
  TriangleMesh surface = surface_of(s, content, model);
  if (surface.triangles.empty()) {
    throw Error("has vertices but no faces", s.file, "export it with faces");
  }
  SurfaceEdges edges = edges_of(surface);
  check_edges(surface, edges, s.file, s.open);
  Geometry mesh;
  mesh.type = ShapeType::mesh;
  mesh.two_sided = edges.open.count > 0;
  if (mesh.two_sided) {
    model.warnings.push_back(s.file + ": open, " +
                             count_of(edges.open.count, "edge has", "edges have") +
                             " only one face: bodies touch it from both sides");
  } else {
    closed_volume(surface, s.file);
  }
  mesh.vertices = std::move(surface.vertices);
  mesh.triangles = std::move(surface.triangles);
  mesh.neighbours = std::move(edges.neighbours);
  return mesh;
}

/// The spheres of a clump's file, and a remark on how much of a surface they fill.
std::vector<CompoundPart> clump_parts(const ShapeSettings& s, const std::string& content,
                                      Model& model) {
  if (s.spheres == 0) return listed_spheres(s, content);
  Geometry mesh = mesh_geometry(s, content, model);
  complete_geometry(mesh, GeometryFrame::as_written);
  double volume = 0.0;
  std::vector<CompoundPart> parts = filling_spheres(mesh, s.file, s.spheres, volume);
  if (parts.empty())
    throw Error("no sphere fits inside", s.file, "give a body that is not thin, or a hull");
  const double filled = mass_properties(parts, model.geometries).volume;
  model.warnings.push_back(
      s.file + ": " + count_of(std::ssize(parts), "sphere has", "spheres have") + " " +
      short_text(100.0 * filled / volume) + " % of its volume, from which the mass follows");
  return parts;
}

Geometry heightfield_geometry(const ShapeSettings& s, const std::string& content) {
  Geometry field;
  field.type = ShapeType::heightfield;
  field.heights = s.heights;
  std::size_t columns = s.columns;
  if (!s.file.empty()) {
    field.heights = parse_number_rows(content, s.file, columns);
    if (columns < 2 || field.heights.size() < 2 * columns)
      throw Error("fewer than two rows or columns", s.file, "a surface needs two of each");
    for (double& z : field.heights) z *= unit_in_metres(s.unit);
  }
  field.n_x = narrow<std::int32_t>(columns);
  field.n_y = narrow<std::int32_t>(field.heights.size() / columns);
  field.dx = s.spacing[0];
  field.dy = s.spacing[1];
  return field;
}

/// The closed surface of a file with the box tree over it.
Geometry closed_mesh(const ShapeSettings& s, const std::string& content, Model& model) {
  Geometry mesh = mesh_geometry(s, content, model);
  complete_geometry(mesh, GeometryFrame::as_written);
  return mesh;
}

/// How far pieces of a surface may reach beyond it, m.
double tolerance_of(const ShapeSettings& s, const Geometry& mesh) {
  constexpr double kPart = 0.01;
  if (!std::isnan(s.decompose.tolerance)) return s.decompose.tolerance;
  return kPart * (mesh.bounds.hi - mesh.bounds.lo).maxCoeff();
}

ConvexPieces cut_pieces(const ShapeSettings& s, const std::string& content) {
  Model ignored;  // every rank remarks on the surface when it makes the geometry
  const Geometry mesh = closed_mesh(s, content, ignored);
  return convex_pieces(mesh, s.decompose.pieces, tolerance_of(s, mesh));
}

std::string remark_on(const ShapeSettings& s, const ConvexPieces& pieces, const Geometry& mesh) {
  const double tolerance = tolerance_of(s, mesh);
  const double volume = mass_properties(mesh.vertices, mesh.triangles).volume;
  const double more = std::max(0.0, pieces.volume / volume - 1.0);
  const bool exact = pieces.reach == 0.0;
  std::string text =
      s.file + ": " + count_of(std::ssize(pieces.corners), "convex piece", "convex pieces");
  if (exact) return text + ", which together are exactly the surface";
  text += " with " + short_text(100.0 * more) +
          " % more volume than the surface, which reach up to " + short_text(pieces.reach) +
          " m beyond it";
  if (pieces.reach > tolerance)
    text += ": more than decompose.tolerance, " + short_text(tolerance) +
            " m; allow more pieces (decompose.pieces)";
  return text;
}

/// Appends the pieces to the model's geometries; the surface, whose mass the body has, and its
/// pieces as parts are returned.
Geometry decomposed(const ShapeSettings& s, const std::string& content, const ConvexPieces& pieces,
                    Model& model) {
  Geometry compound = closed_mesh(s, content, model);
  model.warnings.push_back(remark_on(s, pieces, compound));
  compound.type = ShapeType::compound;
  compound.neighbours.clear();
  for (const std::vector<Vec3>& corners : pieces.corners) {
    std::int64_t ignored = 0;
    Geometry hull = hull_of(corners, s.file, &ignored);
    hull.name = s.file;
    complete_geometry(hull, GeometryFrame::principal);
    const Quat q = hull.written.q.conjugate();
    compound.parts.push_back(
        {shape_of_geometry(hull, narrow<std::int32_t>(model.geometries.size())),
         {-(q * hull.written.p), q}});
    model.geometries.push_back(std::move(hull));
  }
  return compound;
}

/// A geometry as a part at a place; pieces of a surface become parts themselves.
void add_parts(const Shape& shape, Pose pose, const Model& model,
               std::vector<CompoundPart>& parts) {
  if (shape.geometry < 0) {
    parts.push_back({shape, pose});
    return;
  }
  const Geometry& geometry = model.geometries[static_cast<std::size_t>(shape.geometry)];
  pose.q = pose.q * geometry.written.q.conjugate();
  pose.p -= pose.q * geometry.written.p;
  if (geometry.type != ShapeType::compound || geometry.triangles.empty()) {
    parts.push_back({shape, pose});
    return;
  }
  for (const CompoundPart& piece : geometry.parts)
    parts.push_back({piece.shape, {pose.p + pose.q * piece.pose.p, pose.q * piece.pose.q}});
}

/// What parts of a compound and bodies share is found from the settings that are described.
std::string key_of(const ShapeSettings& shape, GeometryFrame frame, const Vec3& centre) {
  ShapeSettings copy = shape;
  std::string key = std::to_string(static_cast<int>(frame));
  // in hexadecimal, so that no two centres have one text
  for (const double x : centre) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), " %a", x);
    key += text.data();
  }
  return key + print_json([&](SettingsVisitor& visit) { describe_shape(visit, copy); });
}

/// Moves the origin of the body's frame to `centre`, which is given in the written frame.
void move_origin_to(Geometry& geometry, const Vec3& centre, std::span<const Geometry> geometries) {
  const Vec3 shift = -(geometry.written.p + geometry.written.q * centre);
  move_geometry(geometry, {shift, Quat::Identity()});
  geometry.written.p += shift;
  const Vec3 squares = shift.cwiseAbs2();
  geometry.inertia_per_mass += Vec3::Constant(squares.sum()) - squares;
  bound_geometry(geometry, geometries);
}

GeometryFrame frame_of(const BodySettings& s) {
  if (kind_of(s) != BodyKind::dynamic) return GeometryFrame::as_written;
  return std::isnan(s.inertia[0]) ? GeometryFrame::principal : GeometryFrame::centred;
}

}  // namespace

GeometryPlan::GeometryPlan(const SceneSettings& scene) : scene_(scene) {
  for (const BodySettings& s : scene.bodies) {
    of_body_.push_back(add(s.shape, frame_of(s), "bodies." + s.name, s.centre_of_mass));
  }
  for (const GeneratorSettings& g : scene.generators) {
    const ShapeSettings* shape = g.shape();
    const auto* chain = std::get_if<ChainSettings>(&g.kind);
    const bool has_inertia = chain != nullptr && !std::isnan(chain->inertia[0]);
    const Vec3 centre = chain != nullptr ? chain->centre_of_mass : Vec3(Vec3::Constant(kNone));
    const GeometryFrame frame = has_inertia ? GeometryFrame::centred : GeometryFrame::principal;
    of_generator_.push_back(
        shape == nullptr ? -1 : add(*shape, frame, "generators." + g.name(), centre));
    const auto* pack = std::get_if<PackSettings>(&g.kind);
    of_region_.push_back(pack == nullptr ? -1
                                         : add(pack->region.mesh, GeometryFrame::as_written,
                                               "generators." + g.name() + ".region"));
  }
}

int GeometryPlan::add(const ShapeSettings& shape, GeometryFrame frame, const std::string& name,
                      const Vec3& centre) {
  // a shape whose centre of mass is elsewhere becomes the only part of a compound
  if (!needs_geometry(shape, frame) && centre.array().isNaN().any()) return -1;
  const std::string key = key_of(shape, frame, centre);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  Item item{&shape, frame, name, shape.place.empty() ? name : shape.place, centre, {}};
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    const ShapeSettings& part = shape.parts[i].shape;
    // parts come in their own principal frames; only surfaces and whole shapes stay as written
    const bool has_frame = part.type == ShapeType::hull;
    item.parts.push_back(add(part, has_frame ? GeometryFrame::principal : GeometryFrame::as_written,
                             name + ".shapes." + std::to_string(i)));
  }
  items_.push_back(std::move(item));
  const int number = narrow<int>(items_.size()) - 1;
  known_.emplace(key, number);
  return number;
}

Shape GeometryPlan::shape_at(const ShapeSettings& shape, int geometry, const Model& model) {
  if (geometry < 0) return shape_of(shape);
  return shape_of_geometry(model.geometries[geometry], geometry);
}

Shape GeometryPlan::shape_of_body(std::size_t body, const Model& model) const {
  return shape_at(scene_.bodies[body].shape, of_body_[body], model);
}

Shape GeometryPlan::shape_like(const BodySettings& body, const Model& model) const {
  const GeometryFrame frame = frame_of(body);
  if (!needs_geometry(body.shape, frame) && body.centre_of_mass.array().isNaN().any())
    return shape_of(body.shape);
  const auto at = known_.find(key_of(body.shape, frame, body.centre_of_mass));
  if (at == known_.end())
    throw Error("is a shape that no body of the case has", body.shape.place,
                "hulls, clumps, surfaces and bodies with a centre_of_mass of their own are made "
                "with the case: let it have an equal body, or an insertion of such bodies");
  return shape_at(body.shape, at->second, model);
}

Shape GeometryPlan::shape_of_generator(std::size_t generator, const Model& model) const {
  const ShapeSettings* shape = scene_.generators[generator].shape();
  return shape == nullptr ? Shape{} : shape_at(*shape, of_generator_[generator], model);
}

const Geometry* GeometryPlan::region_of_generator(std::size_t generator, const Model& model) const {
  const int geometry = of_region_[generator];
  return geometry < 0 ? nullptr : &model.geometries[static_cast<std::size_t>(geometry)];
}

Geometry GeometryPlan::make_compound(const Item& item, const std::string& content,
                                     Model& model) const {
  const ShapeSettings& s = *item.shape;
  Geometry geometry;
  geometry.type = ShapeType::compound;
  for (std::size_t i = 0; i < s.parts.size(); ++i) {
    const PartSettings& part = s.parts[i];
    add_parts(shape_at(part.shape, item.parts[i], model), {part.at, part.orientation.value()},
              model, geometry.parts);
  }
  if (s.type == ShapeType::compound && !s.file.empty())
    geometry.parts = clump_parts(s, content, model);
  else if (s.parts.empty())
    geometry.parts.push_back({shape_of(s), {}});
  return geometry;
}

Geometry GeometryPlan::make(const Item& item, const std::string& content,
                            const ConvexPieces& pieces, Model& model) const {
  const ShapeSettings& s = *item.shape;
  Geometry geometry;
  if (s.decompose.present) {
    geometry = decomposed(s, content, pieces, model);
  } else if (s.type == ShapeType::hull) {
    geometry = hull_geometry(s, item.place, content, model);
  } else if (s.type == ShapeType::mesh) {
    geometry = mesh_geometry(s, content, model);
  } else if (s.type == ShapeType::heightfield) {
    geometry = heightfield_geometry(s, content);
  } else {
    geometry = make_compound(item, content, model);
  }
  geometry.name = s.file.empty() ? item.name : s.file;
  complete_geometry(geometry, item.frame, model.geometries);
  if (item.frame != GeometryFrame::as_written) {
    const Vec3 inertia = geometry.volume * geometry.inertia_per_mass;
    if (!(geometry.volume > 0.0 && std::isnormal(geometry.volume) &&
          std::isnormal(inertia.minCoeff()) && std::isfinite(inertia.maxCoeff()))) {
      throw Error("volume or inertia are zero or leave the range of numbers", item.place,
                  "check sizes, unit and scale");
    }
  }
  if (!item.centre.array().isNaN().any()) move_origin_to(geometry, item.centre, model.geometries);
  return geometry;
}

namespace {

/// Collective. Gives rank 0's pieces to all, bit by bit.
void share(const Communicator& comm, ConvexPieces& pieces) {
  std::vector<double> numbers;
  if (comm.rank() == 0) {
    numbers = {pieces.volume, pieces.reach};
    for (const std::vector<Vec3>& corners : pieces.corners) {
      numbers.push_back(static_cast<double>(corners.size()));
      for (const Vec3& v : corners) numbers.insert(numbers.end(), v.begin(), v.end());
    }
  }
  std::vector<std::byte> bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  comm.broadcast(0, bytes);
  numbers.resize(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  pieces = {{}, numbers[0], numbers[1]};
  for (std::size_t at = 2; at < numbers.size();) {
    const auto n = static_cast<std::size_t>(numbers[at++]);
    std::vector<Vec3>& corners = pieces.corners.emplace_back();
    for (std::size_t k = 0; k < n; ++k, at += 3)
      corners.emplace_back(numbers[at], numbers[at + 1], numbers[at + 2]);
  }
}

/// Keys of contacts number the pairs of parts and the periodic image in 32 bits.
void check_numbers_of_parts(const Model& model) {
  const Geometry* most = nullptr;
  std::int64_t moving = 1;  // parts of the largest shape of a dynamic body
  for (const Geometry& g : model.geometries) {
    if (most == nullptr || g.n_items() > most->n_items()) most = &g;
    if (g.type == ShapeType::compound) moving = std::max(moving, g.n_items());
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / kImages;
  if (most == nullptr || most->n_items() <= kMost / moving) return;
  throw Error("has " + std::to_string(most->n_items()) +
                  " triangles or parts, too many to be touched by bodies of " +
                  std::to_string(moving) + " part" + (moving == 1 ? "" : "s"),
              most->name, "use a coarser surface, or clumps of fewer parts");
}

}  // namespace

void GeometryPlan::build(const Communicator& comm, Model& model) const {
  std::vector<std::string> contents(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::string& file = items_[i].shape->file;
    if (file.empty()) continue;
    all_or_none(comm, [&] {
      if (comm.rank() == 0) with_place(items_[i].place, [&] { contents[i] = read_bytes(file); });
    });
    comm.broadcast(0, contents[i]);
  }
  std::vector<ConvexPieces> pieces(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].shape->decompose.present) continue;
    all_or_none(comm, [&] {
      if (comm.rank() != 0) return;
      with_place(items_[i].place, [&] { pieces[i] = cut_pieces(*items_[i].shape, contents[i]); });
    });
    share(comm, pieces[i]);
  }
  all_or_none(comm, [&] {
    model.geometries.resize(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      with_place(items_[i].place, [&] {
        Geometry made = make(items_[i], contents[i], pieces[i], model);
        model.geometries[i] = std::move(made);
      });
    }
    check_numbers_of_parts(model);
  });
}

}  // namespace catena::scenarios
