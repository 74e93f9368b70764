#include "io/vtk/polydata_file.hpp"

#include <cstring>
#include <memory>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/io/text_file.hpp"
#include "io/hdf5/atomic_file.hpp"

namespace catena::vtk {
namespace {

constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

std::string type_name(NumberType type) { return type == NumberType::float64 ? "Float64" : "Int64"; }

/// An array with what it takes in the file.
struct Placed {
  Array array;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< of its length, in the appended data
};

/// The arrays of a piece in the order in which they are appended.
class Layout {
 public:
  explicit Layout(const PolyData& data) {
    const std::uint64_t corners = ordinal(data.kind) * data.n_cells;
    for (const Array& array : data.point_data) add(point_data_, array, data.n_points);
    for (const Array& array : data.cell_data) add(cell_data_, array, data.n_cells);
    add(points_, {"Points", NumberType::float64, 3, data.points}, data.n_points);
    add(cells_, {"connectivity", NumberType::int64, 1, data.corners}, corners);
    const auto width = narrow<std::int64_t>(ordinal(data.kind));
    const auto n = narrow<std::int64_t>(data.n_cells);
    add(cells_,
        {"offsets", NumberType::int64, 1,
         [=](NumberSink& to) {
           for (std::int64_t end = 1; end <= n; ++end) to.put(width * end);
         }},
        data.n_cells);
  }

  std::string header(const PolyData& data) const {
    const auto count = [&](CellKind kind) {
      return std::to_string(data.kind == kind ? data.n_cells : 0);
    };
    std::string text =
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" "
        "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  <PolyData>\n    <Piece "
        "NumberOfPoints=\"" +
        std::to_string(data.n_points) + "\" NumberOfVerts=\"" + count(CellKind::vertex) +
        "\" NumberOfLines=\"" + count(CellKind::line) + "\" NumberOfStrips=\"0\" NumberOfPolys=\"" +
        count(CellKind::triangle) + "\">\n";
    text += section("PointData", point_data_) + section("CellData", cell_data_) +
            section("Points", points_);
    text += section(data.kind == CellKind::vertex ? "Verts"
                    : data.kind == CellKind::line ? "Lines"
                                                  : "Polys",
                    cells_);
    return text + "    </Piece>\n  </PolyData>\n  <AppendedData encoding=\"raw\">\n_";
  }

  /// Of the appended data.
  std::uint64_t bytes() const { return end_; }

  template <class Take>
  void for_each(Take take) const {
    for (const auto* list : {&point_data_, &cell_data_, &points_, &cells_})
      for (const Placed& placed : *list) take(placed);
  }

 private:
  void add(std::vector<Placed>& list, const Array& array, std::uint64_t count) {
    Placed placed{array, kNumberBytes * count * static_cast<std::uint64_t>(array.components), end_};
    end_ += kNumberBytes + placed.bytes;
    list.push_back(std::move(placed));
  }
  static std::string section(const std::string& name, const std::vector<Placed>& list) {
    std::string text = "      <" + name + ">\n";
    for (const Placed& p : list)
      text += "        <DataArray type=\"" + type_name(p.array.type) + "\" Name=\"" + p.array.name +
              "\" NumberOfComponents=\"" + std::to_string(p.array.components) +
              "\" format=\"appended\" offset=\"" + std::to_string(p.offset) + "\"/>\n";
    return text + "      </" + name + ">\n";
  }

  std::vector<Placed> point_data_, cell_data_, points_, cells_;
  std::uint64_t end_ = 0;
};

constexpr const char* kFooter = "\n  </AppendedData>\n</VTKFile>\n";

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

void write_text(std::FILE* file, const std::string& text, const std::string& path) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
    fail_with_errno(path, "cannot be written");
}

/// Under the part name.
void write_part(const std::string& path, const std::string& header, const Layout& layout) {
  std::unique_ptr<std::FILE, Close> file(std::fopen(part_name(path).c_str(), "wb"));
  if (!file) fail_with_errno(path, "cannot be created");
  write_text(file.get(), header, path);
  layout.for_each([&](const Placed& placed) {
    NumberSink sink(file.get(), path);
    sink.put(narrow<std::int64_t>(placed.bytes));
    if (placed.array.fill) placed.array.fill(sink);
    sink.flush();
    CATENA_CHECK(
        kNumberBytes * (sink.n_numbers() - 1) == placed.bytes,
        "an array of " + path + " has another length than announced: " + placed.array.name);
  });
  write_text(file.get(), kFooter, path);
  if (std::fclose(file.release()) != 0) fail_with_errno(path, "cannot be written");
}

}  // namespace

void NumberSink::put_bytes(const void* number) {
  if (buffer_.empty()) buffer_.reserve(kBufferBytes);
  const auto* const bytes = static_cast<const std::byte*>(number);
  buffer_.insert(buffer_.end(), bytes, bytes + kNumberBytes);
  ++n_numbers_;
  if (buffer_.size() >= kBufferBytes) flush();
}

void NumberSink::flush() {
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size())
    fail_with_errno(path_, "cannot be written");
  buffer_.clear();
}

void write_piece(const std::string& path, const PolyData& data) {
  const Layout layout(data);
  const std::string header = layout.header(data);
  check_room(path, narrow<std::int64_t>(header.size() + layout.bytes() + std::strlen(kFooter)));
  try {
    write_part(path, header, layout);
  } catch (...) {
    std::remove(part_name(path).c_str());
    throw;
  }
  publish(path);
}

void write_pieces_index(const std::string& path, const PolyData& data,
                        const std::vector<std::string>& pieces) {
  const auto section = [](const std::string& name, const std::vector<Array>& arrays) {
    std::string text = "    <" + name + ">\n";
    for (const Array& array : arrays)
      text += "      <PDataArray type=\"" + type_name(array.type) + "\" Name=\"" + array.name +
              "\" NumberOfComponents=\"" + std::to_string(array.components) + "\"/>\n";
    return text + "    </" + name + ">\n";
  };
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"PPolyData\" version=\"1.0\" "
      "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n  <PPolyData GhostLevel=\"0\">\n";
  text += section("PPointData", data.point_data) + section("PCellData", data.cell_data) +
          section("PPoints", {{"Points", NumberType::float64, 3, {}}});
  for (const std::string& piece : pieces) text += "    <Piece Source=\"" + piece + "\"/>\n";
  write_text_file(path, text + "  </PPolyData>\n</VTKFile>\n");
}

}  // namespace catena::vtk
