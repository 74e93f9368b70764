#include "io/hdf5/pending_rows.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "io/hdf5/atomic_file.hpp"

namespace catena::hdf5 {
namespace {

/// An open file, closed at its end of life.
class Descriptor {
 public:
  explicit Descriptor(int id) : id_(id) {}
  ~Descriptor() {
    if (id_ >= 0) ::close(id_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int id() const { return id_; }

 private:
  int id_;
};

}  // namespace

std::byte* PendingRows::add(std::uint64_t offset, std::size_t size) {
  if (n_pieces_ == pieces_.size()) pieces_.emplace_back();
  Piece& piece = pieces_[n_pieces_++];
  if (!piece.bytes || piece.room < size) {
    // a little more, for bodies that come in and contacts that close
    piece.room = size + size / 8;
    piece.bytes.reset();
    piece.bytes = std::make_unique_for_overwrite<std::byte[]>(piece.room);
  }
  piece.offset = offset;
  piece.size = size;
  return piece.bytes.get();
}

void PendingRows::write(const std::string& path) const {
  constexpr std::size_t kMost = std::size_t{8} << 20;  // bytes of one call
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.id() < 0) fail_with_errno(path, "cannot be opened to write its rows");
  for (const Piece& piece : std::span(pieces_).first(n_pieces_)) {
    for (std::size_t done = 0; done < piece.size;) {
      const ssize_t n =
          ::pwrite(file.id(), piece.bytes.get() + done, std::min(kMost, piece.size - done),
                   static_cast<off_t>(piece.offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail_with_errno(path, "its rows cannot be written");
      done += static_cast<std::size_t>(n);
    }
  }
  if (::fsync(file.id()) != 0) fail_with_errno(path, "cannot be synced");
}

}  // namespace catena::hdf5
