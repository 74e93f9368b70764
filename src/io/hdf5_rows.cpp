// Distributed datasets, made piece by piece while they are written.
#include <algorithm>

#include "io/hdf5_file.hpp"

namespace catena::hdf5 {
namespace {

/// Bytes of a piece: enough for the disk, and still in the processor's cache.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

}  // namespace

template <class T>
void File::write_pieces(const std::string& dataset, const Pieces<T>& values, const RowRange& rows,
                        std::uint64_t width, std::uint64_t items, hid_t memory_type,
                        hid_t file_type) {
  const std::vector<hsize_t> extents =
      width == 0 ? std::vector<hsize_t>{rows.total} : std::vector<hsize_t>{rows.total, width};
  const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                     H5Sclose);
  check(space.id(), dataset, "its extents are not valid");
  const Handle data = make_dataset(dataset, file_type, space);
  if (rows.total == 0) return;

  // Each rank's part is contiguous. Where parts are large, ranks write them on their own: gathering
  // them on a few ranks first costs more than the disk does. All ranks decide alike.
  const std::uint64_t row_bytes = items * sizeof(T);
  const bool alone = !parallel_ || rows.total * row_bytes >= kPiece * static_cast<unsigned>(ranks_);
  const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  if (parallel_)
    H5Pset_dxpl_mpio(transfer.id(), alone ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
  const std::uint64_t most = alone ? std::max<std::uint64_t>(1, kPiece / row_bytes)
                                   : std::max<std::uint64_t>(1, rows.count);
  std::vector<T> buffer(std::min(most, rows.count) * items);
  std::vector<hsize_t> start(extents.size(), 0), count = extents;
  // a rank without rows still takes part in a collective call
  for (std::uint64_t first = 0; first < rows.count || (first == 0 && !alone); first += most) {
    const std::uint64_t n = std::min(most, rows.count - first);
    const std::span<T> piece(buffer.data(), n * items);
    if (n > 0) values(first, piece);
    start[0] = rows.first + first;
    count[0] = n;
    const Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                        H5Sclose);
    const herr_t selected = n == 0
                                ? std::min(H5Sselect_none(space.id()), H5Sselect_none(memory.id()))
                                : H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(),
                                                      nullptr, count.data(), nullptr);
    check(selected, dataset, "its rows cannot be selected");
    check(H5Dwrite(data.id(), memory_type, memory.id(), space.id(), transfer.id(), piece.data()),
          dataset, "cannot be written (disk full?)");
  }
}

void File::write_rows(const std::string& dataset, const Pieces<double>& values,
                      const RowRange& rows, std::uint64_t width, std::string_view unit) {
  write_pieces(dataset, values, rows, width, std::max<std::uint64_t>(width, 1), H5T_NATIVE_DOUBLE,
               H5T_IEEE_F64LE);
  set_attribute(dataset, "unit", std::string(unit));
}

void File::write_rows(const std::string& dataset, const Pieces<std::int64_t>& values,
                      const RowRange& rows, std::uint64_t width, std::string_view unit) {
  write_pieces(dataset, values, rows, width, std::max<std::uint64_t>(width, 1), H5T_NATIVE_INT64,
               H5T_STD_I64LE);
  set_attribute(dataset, "unit", std::string(unit));
}

void File::write_text_rows(const std::string& dataset, const Pieces<char>& values,
                           std::uint64_t length, const RowRange& rows) {
  length = std::max<std::uint64_t>(length, 1);
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), length);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  write_pieces(dataset, values, rows, 0, length, type.id(), type.id());
  set_attribute(dataset, "unit", std::string());
}

}  // namespace catena::hdf5
