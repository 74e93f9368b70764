// Points, lines and triangles as VTK's XML files, with arrays appended as raw bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "catena/math/types.hpp"

namespace catena::vtk {

/// Takes the numbers of an array, one after the other, and writes them to a file.
class NumberSink {
 public:
  /// `path` is for messages.
  NumberSink(std::FILE* file, const std::string& path) : file_(file), path_(path) {}

  void put(double value) { put_bytes(&value); }
  void put(std::int64_t value) { put_bytes(&value); }
  void put(const Vec3& value) {
    for (const double x : value) put(x);
  }
  /// Throws Error(input_output) where the disk refuses.
  void flush();
  std::uint64_t n_numbers() const { return n_numbers_; }

 private:
  void put_bytes(const void* number);

  std::FILE* file_;
  const std::string& path_;
  std::vector<std::byte> buffer_;
  std::uint64_t n_numbers_ = 0;
};

using Fill = std::function<void(NumberSink&)>;

enum class NumberType : std::uint8_t { float64, int64 };

/// Numbers of all points or cells; `fill` puts them, `components` for each.
struct Array {
  std::string name;
  NumberType type = NumberType::float64;
  int components = 1;
  Fill fill;
};

/// What cells are, by the number of their corners.
enum class CellKind : std::uint8_t { vertex = 1, line = 2, triangle = 3 };

/// A data set that is made while it is written: nothing of it need be held.
struct PolyData {
  CellKind kind = CellKind::vertex;
  std::uint64_t n_points = 0;
  std::uint64_t n_cells = 0;
  Fill points;                    ///< three coordinates each, m
  Fill corners;                   ///< numbers of points, as many as the kind says for each cell
  std::vector<Array> point_data;  ///< these of the same names and types on every rank
  std::vector<Array> cell_data;
};

/// Not collective. Writes a piece (.vtp) that appears whole or not at all; makes sure of room for
/// it first. Throws Error(input_output).
void write_piece(const std::string& path, const PolyData& data);

/// Not collective. The same of an index of pieces (.pvtp), which stand in its folder; of `data`
/// only the arrays' names and types count.
void write_pieces_index(const std::string& path, const PolyData& data,
                        const std::vector<std::string>& pieces);

}  // namespace catena::vtk
