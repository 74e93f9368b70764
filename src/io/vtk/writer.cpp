#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/base/text.hpp"
#include "catena/io/vtk_writer.hpp"
#include "io/vtk/body_numbers.hpp"
#include "io/vtk/folder.hpp"
#include "io/vtk/polydata_file.hpp"
#include "io/vtk/surfaces.hpp"

namespace catena {
namespace {

using vtk::Array;
using vtk::CellKind;
using vtk::NumberSink;
using vtk::NumberType;
using vtk::PolyData;

/// Numbers by which texts go: their order of first use.
class TextNumbers {
 public:
  explicit TextNumbers(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) number_.try_emplace(text, std::ssize(number_));
  }
  /// -1: unknown.
  std::int64_t of(const std::string& text) const {
    const auto at = number_.find(text);
    return at == number_.end() ? -1 : at->second;
  }

 private:
  std::map<std::string, std::int64_t> number_;
};

/// What the files of one snapshot are made from. Arrays refer to it until they are written.
struct Scene {
  const Model& model;
  const Bodies& bodies;
  const State& state;
  int rank;
  const TextNumbers& generators;
  const vtk::BodyNumbers& numbers;
  const vtk::Appearance& seen;
  const std::vector<ContactRecord>& contacts;
  double step;
};

/// An array of std::int64_t, double or Vec3.
template <class Number>
Array array_for(std::string name, vtk::Fill fill) {
  return {std::move(name),
          std::is_same_v<Number, std::int64_t> ? NumberType::int64 : NumberType::float64,
          std::is_same_v<Number, Vec3> ? 3 : 1, std::move(fill)};
}

/// Puts what `value` makes of each item of a list.
template <class List, class Value>
vtk::Fill fill_from(const List& list, Value value) {
  return [&list, value](NumberSink& to) {
    for (const auto& item : list) to.put(value(item));
  };
}

/// The same as an array.
template <class List, class Value>
Array array_of(std::string name, const List& list, Value value) {
  return array_for<decltype(value(list[0]))>(std::move(name), fill_from(list, value));
}

/// The numbers of bodies, each as often as `times(item)` says, for items that know their body's
/// row.
template <class List, class Times>
std::vector<Array> body_arrays(const Scene& s, const List& list, Times times) {
  std::vector<Array> arrays;
  const auto add = [&]<class Value>(const char* name, Value value) {
    arrays.push_back(array_for<decltype(value(0))>(name, [&list, times, value](NumberSink& to) {
      for (const auto& item : list) {
        const auto number = value(item.row);
        for (std::size_t k = 0; k < times(item); ++k) to.put(number);
      }
    }));
  };
  const std::vector<BodyConstants>& body = s.bodies.constants;
  const std::vector<BodyMotionState>& now = s.state.body;
  add("speed", [&now](std::size_t i) { return now[i].twist.v.norm(); });
  add("force", [&s](std::size_t i) { return s.numbers.force[i]; });
  add("coordination", [&s](std::size_t i) { return s.numbers.coordination[i]; });
  add("size", [&body](std::size_t i) { return bounding_radius(body[i].shape); });
  add("rank", [&s](std::size_t) { return std::int64_t{s.rank}; });
  add("material", [&body](std::size_t i) { return std::int64_t{body[i].material}; });
  add("generator",
      [&s, &body](std::size_t i) { return s.generators.of(s.model.names.text_of(body[i].id)); });
  add("group", [&body](std::size_t i) { return std::int64_t{body[i].group}; });
  add("id", [&body](std::size_t i) { return body[i].id; });
  add("velocity", [&now](std::size_t i) { return now[i].twist.v; });
  add("angular_velocity", [&now](std::size_t i) { return now[i].twist.w; });
  return arrays;
}

/// Points 0, 1, 2, ... one after the other.
vtk::Fill in_order(std::uint64_t n) {
  return [n](NumberSink& to) {
    for (std::uint64_t k = 0; k < n; ++k) to.put(static_cast<std::int64_t>(k));
  };
}

/// A point per item.
template <class List, class Position>
PolyData points_of(const List& list, Position position) {
  PolyData data;
  data.n_points = data.n_cells = list.size();
  data.points = fill_from(list, position);
  data.corners = in_order(list.size());
  return data;
}

PolyData spheres_of(const Scene& s) {
  const auto& spheres = s.seen.spheres;
  PolyData data = points_of(spheres, [](const vtk::PlacedSphere& x) -> Vec3 { return x.centre; });
  data.point_data =
      body_arrays(s, spheres, [](const vtk::PlacedSphere&) { return std::size_t{1}; });
  data.point_data.push_back(
      array_of("radius", spheres, [](const vtk::PlacedSphere& x) { return x.radius; }));
  return data;
}

PolyData surfaces_of(const Scene& s) {
  const auto& placed = s.seen.surfaces;
  PolyData data;
  data.kind = CellKind::triangle;
  for (const vtk::PlacedSurface& p : placed) {
    data.n_points += p.surface->points.size();
    data.n_cells += p.surface->triangles.size();
  }
  data.points = [&placed](NumberSink& to) {
    for (const vtk::PlacedSurface& p : placed)
      for (const Vec3& point : p.surface->points)
        to.put(Vec3(p.pose.p + p.pose.q * p.scale.cwiseProduct(point)));
  };
  data.corners = [&placed](NumberSink& to) {
    std::int64_t first = 0;
    for (const vtk::PlacedSurface& p : placed) {
      for (const auto& triangle : p.surface->triangles)
        for (const std::int64_t corner : triangle) to.put(first + corner);
      first += std::ssize(p.surface->points);
    }
  };
  data.cell_data = body_arrays(
      s, placed, [](const vtk::PlacedSurface& p) { return p.surface->triangles.size(); });
  return data;
}

PolyData contacts_of(const Scene& s) {
  const auto& contacts = s.contacts;
  PolyData data = points_of(contacts, [](const ContactRecord& c) -> Vec3 { return c.point; });
  data.point_data.push_back({"bodies", NumberType::int64, 2, [&contacts](NumberSink& to) {
                               for (const ContactRecord& c : contacts) {
                                 to.put(c.key.a);
                                 to.put(c.key.b);
                               }
                             }});
  data.point_data.push_back(
      array_of("normal", contacts, [](const ContactRecord& c) -> Vec3 { return c.normal; }));
  data.point_data.push_back(
      array_of("gap", contacts, [](const ContactRecord& c) { return c.gap; }));
  data.point_data.push_back(array_of(
      "force", contacts, [h = s.step](const ContactRecord& c) { return Vec3(c.impulse / h); }));
  return data;
}

PolyData lines_of(const std::vector<vtk::Link>& links) {
  PolyData data;
  data.kind = CellKind::line;
  data.n_points = 2 * links.size();
  data.n_cells = links.size();
  data.points = [&links](NumberSink& to) {
    for (const vtk::Link& link : links) {
      to.put(link.a);
      to.put(link.b);
    }
  };
  data.corners = in_order(data.n_points);
  return data;
}

PolyData chains_of(const Scene& s) {
  PolyData data = lines_of(s.numbers.chains);
  data.cell_data.push_back(
      array_of("normal_force", s.numbers.chains, [](const vtk::Link& link) { return link.force; }));
  return data;
}

PolyData joints_of(const Scene& s) {
  PolyData data = lines_of(s.numbers.joints);
  data.cell_data.push_back(
      array_of("id", s.numbers.joints, [](const vtk::Link& link) { return link.id; }));
  return data;
}

/// In the order of vtk::kKinds.
std::array<PolyData, vtk::kKinds.size()> kinds_of(const Scene& s) {
  return {spheres_of(s), surfaces_of(s), contacts_of(s), chains_of(s), joints_of(s)};
}

std::string piece_name(const std::string& kind, std::int64_t step, std::size_t rank) {
  return vtk::stem_of(kind, step) + "-" + std::to_string(rank) + ".vtp";
}

}  // namespace

struct VtkWriter::Impl {
  Communicator comm;
  std::string directory;
  vtk::SurfaceMaker surfaces;
  std::array<std::vector<vtk::Entry>, vtk::kKinds.size()> entries;  ///< on rank 0

  /// Collective. Pieces of all ranks that have any, then the indices.
  void write(const std::array<PolyData, vtk::kKinds.size()>& data, const State& state) {
    const std::string folder = vtk::folder_of(directory) + "/";
    const auto rank = static_cast<std::size_t>(comm.rank());
    std::array<std::byte, vtk::kKinds.size()> there{};
    all_or_none(comm, [&] {
      for (std::size_t k = 0; k < data.size(); ++k) {
        // an index names a piece at least
        if (rank > 0 && data[k].n_points == 0) continue;
        there[k] = std::byte{1};
        vtk::write_piece(folder + piece_name(vtk::kKinds[k], state.step, rank), data[k]);
      }
    });
    const std::vector<std::byte> all = comm.gather_bytes(0, there);
    all_or_none(comm, [&] {
      if (rank > 0) return;
      for (std::size_t k = 0; k < data.size(); ++k) {
        std::vector<std::string> pieces;
        for (std::size_t r = 0; r * there.size() < all.size(); ++r)
          if (all[r * there.size() + k] != std::byte{0})
            pieces.push_back(piece_name(vtk::kKinds[k], state.step, r));
        const std::string name = vtk::stem_of(vtk::kKinds[k], state.step) + ".pvtp";
        vtk::write_pieces_index(folder + name, data[k], pieces);
        entries[k].push_back({state.step, exact_text(state.time), name});
      }
      for (std::size_t k = 0; k < data.size(); ++k)
        vtk::write_entries(directory, vtk::kKinds[k], entries[k]);
    });
  }
};

VtkWriter::VtkWriter(const Communicator& comm, std::string directory)
    : impl_(new Impl{comm, std::move(directory), {}, {}}) {
  all_or_none(comm, [&] {
    if (comm.rank() != 0) return;
    std::error_code failed;
    std::filesystem::create_directories(vtk::folder_of(impl_->directory), failed);
    if (failed)
      throw Error("cannot be made: " + failed.message(), vtk::folder_of(impl_->directory), {},
                  ExitCode::input_output);
    for (std::size_t k = 0; k < vtk::kKinds.size(); ++k)
      impl_->entries[k] = vtk::read_entries(impl_->directory, vtk::kKinds[k]);
  });
}

VtkWriter::~VtkWriter() = default;

void VtkWriter::write(const Model& model, const Bodies& bodies, const State& state,
                      std::vector<ContactRecord> contacts, double step, bool list_contacts) {
  const Communicator& comm = impl_->comm;
  std::ranges::sort(contacts, {}, &ContactRecord::key);
  vtk::BodyNumbers numbers = vtk::body_numbers(comm, model, bodies, state, contacts, step);
  if (!list_contacts) {
    contacts.clear();
    numbers.chains.clear();
  }
  vtk::Appearance seen;
  for (std::size_t i = 0; i < bodies.constants.size(); ++i)
    impl_->surfaces.add(model, bodies.constants[i].shape, state.body[i].pose, i, seen);
  const TextNumbers generators(model.names.texts());
  const Scene scene{model, bodies, state, comm.rank(), generators, numbers, seen, contacts, step};
  impl_->write(kinds_of(scene), state);
}

}  // namespace catena
