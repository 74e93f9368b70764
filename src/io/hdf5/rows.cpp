// Distributed datasets, made piece by piece while they are written.
#include <algorithm>

#include "catena/base/index.hpp"
#include "io/hdf5/checksum.hpp"
#include "io/hdf5/file.hpp"

namespace catena::hdf5 {
namespace {

/// Bytes of a piece: enough for the disk, and still in the processor's cache.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

template <class T>
Pieces<T> pieces_of(std::span<const T> values, const RowRange& rows, std::uint64_t width,
                    const std::string& dataset) {
  const std::uint64_t items = std::max<std::uint64_t>(width, 1);
  CATENA_CHECK(values.size() == rows.count * items, dataset);
  return [values, items](std::uint64_t first, std::span<T> out) {
    std::copy_n(values.begin() + (first * items), out.size(), out.begin());
  };
}

}  // namespace

std::byte* File::kept_place(const Handle& data, hid_t memory_type, hid_t file_type,
                            std::uint64_t first, std::uint64_t size) {
  if (kept_ == nullptr) return nullptr;
  // parallel HDF5 gives contiguous datasets their place when they are made
  const haddr_t begin = H5Dget_offset(data.id());
  const bool as_in_file = H5Tequal(memory_type, file_type) > 0;
  return begin == HADDR_UNDEF || !as_in_file ? nullptr : kept_->add(begin + first, size);
}

template <class T>
std::uint64_t File::write_pieces(const std::string& dataset, const Pieces<T>& values,
                                 const RowRange& rows, std::uint64_t width, std::uint64_t items,
                                 hid_t memory_type, hid_t file_type) {
  const std::vector<hsize_t> extents =
      width == 0 ? std::vector<hsize_t>{rows.total} : std::vector<hsize_t>{rows.total, width};
  const Handle space(H5Screate_simple(narrow<int>(extents.size()), extents.data(), nullptr),
                     H5Sclose);
  check(space.id(), dataset, "its extents are not valid");
  const Handle data = make_dataset(dataset, file_type, space);
  if (rows.total == 0) return 0;

  // Each rank's part is contiguous. Where parts are large, ranks write them on their own: gathering
  // them on a few ranks first costs more than the disk does. All ranks decide alike.
  const std::uint64_t row_bytes = items * sizeof(T);
  std::byte* const kept =
      kept_place(data, memory_type, file_type, rows.first * row_bytes, rows.count * row_bytes);
  const bool alone = kept != nullptr || !parallel_ ||
                     rows.total * row_bytes >= kPiece * static_cast<unsigned>(comm_->size());
  const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  if (parallel_)
    H5Pset_dxpl_mpio(transfer.id(), alone ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
  const std::uint64_t most = alone ? std::max<std::uint64_t>(1, kPiece / row_bytes)
                                   : std::max<std::uint64_t>(1, rows.count);
  std::vector<T> buffer(kept != nullptr ? 0 : std::min(most, rows.count) * items);
  std::vector<hsize_t> start(extents.size(), 0), count = extents;
  std::uint64_t sum = 0;
  // a rank without rows still takes part in a collective call
  for (std::uint64_t first = 0; first < rows.count || (first == 0 && !alone); first += most) {
    const std::uint64_t n = std::min(most, rows.count - first);
    T* const begin =
        kept != nullptr ? reinterpret_cast<T*>(kept + (first * row_bytes)) : buffer.data();
    const std::span<T> piece(begin, n * items);
    if (n > 0) values(first, piece);
    sum += checksum(std::as_bytes(piece), (rows.first + first) * row_bytes / 8);
    if (kept != nullptr) continue;
    start[0] = rows.first + first;
    count[0] = n;
    const Handle memory(H5Screate_simple(narrow<int>(count.size()), count.data(), nullptr),
                        H5Sclose);
    const herr_t selected = n == 0
                                ? std::min(H5Sselect_none(space.id()), H5Sselect_none(memory.id()))
                                : H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(),
                                                      nullptr, count.data(), nullptr);
    check(selected, dataset, "its rows cannot be selected");
    check(H5Dwrite(data.id(), memory_type, memory.id(), space.id(), transfer.id(), piece.data()),
          dataset, "cannot be written (disk full?)");
  }
  return sum;
}

template <class T>
void File::write_number_rows(const std::string& dataset, const Pieces<T>& values,
                             const RowRange& rows, std::uint64_t width, std::string_view unit,
                             hid_t memory_type, hid_t file_type) {
  std::int64_t sum = write_pieces(dataset, values, rows, width, std::max<std::uint64_t>(width, 1),
                                  memory_type, file_type);
  if (comm_) sum = comm_->sum(sum);
  set_attribute(dataset, "unit", std::string(unit));
  set_attribute(dataset, "checksum", sum);
}

void File::write_rows(const std::string& dataset, const Pieces<double>& values,
                      const RowRange& rows, std::uint64_t width, std::string_view unit) {
  write_number_rows(dataset, values, rows, width, unit, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE);
}

void File::write_rows(const std::string& dataset, const Pieces<std::int64_t>& values,
                      const RowRange& rows, std::uint64_t width, std::string_view unit) {
  write_number_rows(dataset, values, rows, width, unit, H5T_NATIVE_INT64, H5T_STD_I64LE);
}

void File::write_rows(const std::string& dataset, std::span<const double> values,
                      const RowRange& rows, std::uint64_t width, std::string_view unit) {
  write_rows(dataset, pieces_of(values, rows, width, dataset), rows, width, unit);
}

void File::write_rows(const std::string& dataset, std::span<const std::int64_t> values,
                      const RowRange& rows, std::uint64_t width, std::string_view unit) {
  write_rows(dataset, pieces_of(values, rows, width, dataset), rows, width, unit);
}

bool File::is_intact(const std::string& dataset) const {
  if (!has_attribute(dataset, "checksum")) return true;
  const Handle data = open_dataset(dataset);
  const Handle type(H5Dget_type(data.id()), H5Tclose);
  std::vector<std::uint64_t> wanted = extents(dataset);
  if (wanted.empty() || wanted.size() > 2 || H5Tget_size(type.id()) != 8) return false;
  const std::uint64_t items = wanted.size() == 2 ? wanted[1] : 1;
  const std::uint64_t most =
      std::max<std::uint64_t>(1, kPiece / (8 * std::max<std::uint64_t>(1, items)));
  std::uint64_t sum = 0;
  for (std::uint64_t first = 0; first < wanted[0]; first += most) {
    const RowRange rows = {first, std::min(most, wanted[0] - first), wanted[0]};
    std::vector<std::uint64_t> words(rows.count * items);
    // as they are in the file: floats are not converted
    read_raw_rows(data, dataset, rows, wanted.size() == 2 ? items : 0, type.id(), words.data());
    sum += checksum(std::as_bytes(std::span(words)), first * items);
  }
  return attribute_text(dataset, "checksum") == std::to_string(narrow<std::int64_t>(sum));
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
