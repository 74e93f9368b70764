#include "catena/io/surface_file.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"

namespace catena {

namespace {

constexpr std::string_view kBlank = " \t\r\f\v";

/// The lines of a text and the words in them.
class Lines {
 public:
  Lines(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  /// False at the end of the text.
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    ++number_;
    return true;
  }
  /// The next word of the line; empty at its end.
  std::string_view word(std::string_view separators = kBlank) {
    const std::size_t begin = line_.find_first_not_of(separators);
    if (begin == std::string_view::npos) {
      line_ = {};
      return {};
    }
    const std::size_t end = std::min(line_.find_first_of(separators, begin), line_.size());
    const std::string_view found = line_.substr(begin, end - begin);
    line_.remove_prefix(end);
    return found;
  }
  [[noreturn]] void fail(const std::string& found, const std::string& fix = {}) const {
    throw Error(found, name_ + ":" + std::to_string(number_), fix);
  }
  double number(std::string_view text) const {
    double value = 0.0;
    const char* end = text.data() + text.size();
    const std::size_t sign = !text.empty() && text[0] == '+' ? 1 : 0;
    const auto [stop, error] = std::from_chars(text.data() + sign, end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value)) {
      fail(text.empty() ? "a number is missing"
                        : "'" + std::string(text.substr(0, 40)) + "' is not a finite number");
    }
    return value;
  }
  Vec3 vector() {
    Vec3 v;
    for (int i = 0; i < 3; ++i) v[i] = number(word());
    return v;
  }

 private:
  std::string_view rest_, line_;
  const std::string& name_;
  std::int64_t number_ = 0;
};

std::int32_t add_vertex(TriangleMesh& surface, const Vec3& v) {
  surface.vertices.push_back(v);
  return narrow<std::int32_t>(surface.vertices.size()) - 1;
}

constexpr std::size_t kBinaryHead = 84, kBinaryTriangle = 50;

std::uint32_t binary_count(std::string_view content) {
  std::uint32_t n = 0;
  for (std::size_t k = 0; k < 4; ++k)
    n |= static_cast<std::uint32_t>(static_cast<unsigned char>(content[80 + k])) << (8 * k);
  return n;
}

float little_endian_float(const char* bytes) {
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < 4; ++k)
    bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[k])) << (8 * k);
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

bool is_whole_binary_stl(std::string_view content) {
  return content.size() >= kBinaryHead &&
         content.size() == kBinaryHead + kBinaryTriangle * binary_count(content);
}

TriangleMesh parse_binary_stl(std::string_view content, const std::string& name) {
  if (content.size() < kBinaryHead) {
    throw Error("neither an STL text (solid ...) nor a binary STL: only " +
                    std::to_string(content.size()) + " bytes",
                name, "export it again");
  }
  const std::uint32_t n = binary_count(content);
  if (!is_whole_binary_stl(content)) {
    throw Error("a binary STL of " + std::to_string(n) + " triangles has " +
                    std::to_string(kBinaryHead + kBinaryTriangle * std::size_t{n}) +
                    " bytes, this has " + std::to_string(content.size()),
                name, "it is cut off or no STL: export it again");
  }
  TriangleMesh surface;
  for (std::uint32_t t = 0; t < n; ++t) {
    const char* at = content.data() + kBinaryHead + kBinaryTriangle * std::size_t{t} + 12;
    std::array<std::int32_t, 3> triangle{};
    for (std::size_t k = 0; k < 3; ++k) {
      Vec3 v;
      for (std::size_t i = 0; i < 3; ++i)
        v[i] = static_cast<double>(little_endian_float(at + 12 * k + 4 * i));
      if (!v.allFinite())
        throw Error("triangle " + std::to_string(t) + ": not finite", name, "export it again");
      triangle[k] = add_vertex(surface, v);
    }
    surface.triangles.push_back(triangle);
  }
  return surface;
}

TriangleMesh parse_text_stl(std::string_view content, const std::string& name) {
  TriangleMesh surface;
  Lines lines(content, name);
  std::vector<std::int32_t> corners;
  bool in_facet = false, ended = false;
  while (lines.next()) {
    const std::string_view word = lines.word();
    if (word.empty() || word == "solid" || word == "outer" || word == "endloop") continue;
    if (word == "facet") {
      if (in_facet) lines.fail("a facet begins in another one");
      in_facet = true;
      corners.clear();
    } else if (word == "vertex") {
      if (!in_facet) lines.fail("a vertex stands outside a facet");
      corners.push_back(add_vertex(surface, lines.vector()));
    } else if (word == "endfacet") {
      if (corners.size() != 3) {
        lines.fail("a facet has " + std::to_string(corners.size()) + " vertices",
                   "STL has triangles only");
      }
      surface.triangles.push_back({corners[0], corners[1], corners[2]});
      in_facet = false;
    } else if (word == "endsolid") {
      ended = !in_facet;
    } else {
      lines.fail("'" + std::string(word.substr(0, 40)) + "' is not understood",
                 "words of an STL text are solid, facet, outer, vertex, endloop, endfacet, "
                 "endsolid; a binary STL may be cut off");
    }
  }
  if (!ended) lines.fail("ends without endsolid", "the file is cut off: export it again");
  return surface;
}

/// Vertex of an OBJ face: "3", "3/1", "3//2", "-1"; counted from 1, negative from the last.
std::int32_t obj_corner(const Lines& lines, std::string_view word, std::size_t n_vertices) {
  const std::string_view text = word.substr(0, word.find('/'));
  std::int64_t index = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, index);
  const std::int64_t n = n_vertices;
  if (error != std::errc() || stop != end || index == 0 || index > n || index < -n) {
    lines.fail("'" + std::string(word.substr(0, 40)) + "' names no vertex",
               "there are " + std::to_string(n) + " before this line");
  }
  return narrow<std::int32_t>(index > 0 ? index - 1 : n + index);
}

/// Whether a polygon can be cut into a fan from its first corner: all its triangles look the same
/// way.
bool is_fan(const TriangleMesh& surface, std::span<const std::int32_t> corners) {
  const auto at = [&](std::size_t k) { return surface.vertices[corners[k]]; };
  Vec3 normal = Vec3::Zero();  // twice the area of the polygon
  for (std::size_t k = 1; k + 1 < corners.size(); ++k)
    normal += (at(k) - at(0)).cross(at(k + 1) - at(0));
  const double size = normal.norm();
  for (std::size_t k = 1; k + 1 < corners.size(); ++k) {
    const Vec3 part = (at(k) - at(0)).cross(at(k + 1) - at(0));
    if (part.dot(normal) < -1e-9 * size * size) return false;
  }
  return true;
}

TriangleMesh parse_obj(std::string_view content, const std::string& name) {
  TriangleMesh surface;
  Lines lines(content, name);
  while (lines.next()) {
    const std::string_view word = lines.word();
    if (word == "v") {
      add_vertex(surface, lines.vector());
    } else if (word == "f") {
      std::vector<std::int32_t> corners;
      for (std::string_view w = lines.word(); !w.empty(); w = lines.word())
        corners.push_back(obj_corner(lines, w, surface.vertices.size()));
      if (corners.size() < 3) lines.fail("a face has fewer than three corners");
      if (corners.size() > 3 && !is_fan(surface, corners))
        lines.fail("the face is not convex", "cut it into triangles");
      for (std::size_t k = 1; k + 1 < corners.size(); ++k)
        surface.triangles.push_back({corners[0], corners[k], corners[k + 1]});
    }
  }
  return surface;
}

/// Programs write the rounding of a zero, differently in each facet: such corners would not meet.
void clear_noise(TriangleMesh& surface) {
  constexpr double kNoise = 1e-12;  // part of the size
  Vec3 lo = surface.vertices[0], hi = lo;
  for (const Vec3& v : surface.vertices) {
    lo = lo.cwiseMin(v);
    hi = hi.cwiseMax(v);
  }
  const double least = kNoise * (hi - lo).maxCoeff();
  for (Vec3& v : surface.vertices) {
    for (double& x : v)
      if (std::abs(x) < least) x = 0.0;
  }
}

bool ends_with(const std::string& name, std::string_view ending) {
  if (name.size() < ending.size()) return false;
  for (std::size_t i = 0; i < ending.size(); ++i) {
    const char c = name[name.size() - ending.size() + i];
    if (std::tolower(static_cast<unsigned char>(c)) != ending[i]) return false;
  }
  return true;
}

}  // namespace

TriangleMesh parse_surface(std::string_view content, const std::string& name) {
  TriangleMesh surface;
  if (ends_with(name, ".obj")) {
    surface = parse_obj(content, name);
  } else if (!ends_with(name, ".stl")) {
    throw Error("neither .stl nor .obj", name, "convert it to one of these formats");
  } else if (!is_whole_binary_stl(content) && content.starts_with("solid")) {
    surface = parse_text_stl(content, name);
  } else {
    surface = parse_binary_stl(content, name);
  }
  if (surface.vertices.empty()) throw Error("has no triangles", name, "export it again");
  if (!surface.triangles.empty()) {
    clear_noise(surface);
    weld(surface);
  }
  return surface;
}

std::vector<double> parse_number_rows(std::string_view content, const std::string& name,
                                      std::size_t& columns) {
  constexpr std::string_view kSeparators = ",; \t\r";
  std::vector<double> values;
  columns = 0;
  Lines lines(content, name);
  while (lines.next()) {
    std::string_view word = lines.word(kSeparators);
    if (word.empty() || word.front() == '#') continue;
    std::size_t n = 0;
    for (; !word.empty(); word = lines.word(kSeparators), ++n) values.push_back(lines.number(word));
    if (columns == 0) columns = n;
    if (n != columns) {
      lines.fail("found " + std::to_string(n) + " numbers",
                 "the rows before have " + std::to_string(columns));
    }
  }
  if (columns == 0) throw Error("has no numbers", name, "rows of numbers are expected");
  return values;
}

}  // namespace catena
