// Rows of datasets that are written to their file after HDF5 has closed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace catena::hdf5 {

/// This rank's rows as the file is to hold them, with their places in it.
class PendingRows {
 public:
  /// Begins with another file. Its memory stays for that: fresh pages cost as much as copying.
  void clear() { n_pieces_ = 0; }
  /// Room for `size` bytes that are to stand at byte `offset` of the file.
  std::byte* add(std::uint64_t offset, std::size_t size);

  /// Not collective. Writes the rows into the file, which is there, and syncs it. Calls neither
  /// MPI nor HDF5, so that a thread may do it while others use both: no MPI library need allow
  /// calls from several threads, and Debian's HDF5 does not. Ranks write disjoint bytes. Throws
  /// Error(input_output).
  void write(const std::string& path) const;

 private:
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t size = 0, room = 0;
    std::unique_ptr<std::byte[]> bytes;
  };
  std::vector<Piece> pieces_;  ///< the first n_pieces_ are in use
  std::size_t n_pieces_ = 0;
};

}  // namespace catena::hdf5
