// Datasets of plain records, piece by piece.
#include <algorithm>
#include <array>

#include "io/hdf5/file.hpp"

namespace catena::hdf5 {
namespace {

/// Bytes of a piece: large enough for the disk, small beside what a rank holds.
constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;

std::uint64_t rows_of_piece(std::uint64_t width) {
  return std::max<std::uint64_t>(1, kPiece / width);
}

/// Selects `count` records from `first` on in the file; returns the memory's space.
Handle select(const Handle& file_space, std::uint64_t first, std::uint64_t count,
              std::uint64_t width, herr_t& status) {
  const std::array<hsize_t, 2> start = {first, 0}, size = {count, width};
  status = H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr, size.data(),
                               nullptr);
  return {H5Screate_simple(2, size.data(), nullptr), H5Sclose};
}

}  // namespace

void File::write_records(
    const std::string& dataset, std::uint64_t width, const RowRange& rows,
    const std::function<void(std::uint64_t first, std::span<std::byte>)>& fill) {
  const std::array<hsize_t, 2> extents = {rows.total, width};
  const Handle space(H5Screate_simple(2, extents.data(), nullptr), H5Sclose);
  const Handle making(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Handle linking(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(linking.id(), 1);
  H5Pset_obj_track_times(making.id(), false);
  H5Pset_fill_time(making.id(), H5D_FILL_TIME_NEVER);  // every row is written once
  const Handle data(H5Dcreate2(id_.id(), dataset.c_str(), H5T_STD_U8LE, space.id(), linking.id(),
                               making.id(), H5P_DEFAULT),
                    H5Dclose);
  check(data.id(), dataset, "the dataset cannot be created");
  const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  if (parallel_) H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_INDEPENDENT);
  const std::uint64_t most = rows_of_piece(width);
  std::vector<std::byte> buffer(std::min(most, rows.count) * width);
  for (std::uint64_t first = 0; first < rows.count; first += most) {
    const std::uint64_t count = std::min(most, rows.count - first);
    const std::span<std::byte> piece(buffer.data(), count * width);
    fill(first, piece);
    herr_t selected = 0;
    const Handle memory = select(space, rows.first + first, count, width, selected);
    check(selected, dataset, "its rows cannot be selected");
    check(
        H5Dwrite(data.id(), H5T_NATIVE_UINT8, memory.id(), space.id(), transfer.id(), piece.data()),
        dataset, "cannot be written (disk full?)");
  }
}

void File::read_records(
    const std::string& dataset, std::uint64_t width, const RowRange& rows,
    const std::function<void(std::uint64_t first, std::span<const std::byte>)>& take) const {
  const Handle data = open_dataset(dataset);
  const Handle type(H5Dget_type(data.id()), H5Tclose);
  if (width == 0 || extents(dataset) != std::vector<std::uint64_t>{rows.total, width} ||
      H5Tget_class(type.id()) != H5T_INTEGER || H5Tget_size(type.id()) != 1)
    fail(dataset, "is not " + std::to_string(rows.total) + " records of " + std::to_string(width) +
                      " bytes");
  // a damaged header can claim any size
  if (rows.total > 0 && H5Dget_storage_size(data.id()) < rows.total * width)
    fail(dataset, "holds less than its extents say");
  const Handle space(H5Dget_space(data.id()), H5Sclose);
  const std::uint64_t most = rows_of_piece(width);
  std::vector<std::byte> buffer(std::min(most, rows.count) * width);
  for (std::uint64_t first = 0; first < rows.count; first += most) {
    const std::uint64_t count = std::min(most, rows.count - first);
    const std::span<std::byte> piece(buffer.data(), count * width);
    herr_t selected = 0;
    const Handle memory = select(space, rows.first + first, count, width, selected);
    check(selected, dataset, "its rows cannot be selected");
    check(H5Dread(data.id(), H5T_NATIVE_UINT8, memory.id(), space.id(), H5P_DEFAULT, piece.data()),
          dataset, "cannot be read");
    take(first, piece);
  }
}

}  // namespace catena::hdf5
