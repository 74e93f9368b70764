#include "io/hdf5/write_together.hpp"

#include <exception>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "io/hdf5/atomic_file.hpp"

namespace catena {
namespace {

/// More than the headers and attributes of a file take, short texts included.
constexpr std::int64_t kHeaderBytes = 64 * 1024;

}  // namespace

void write_part(const Communicator& comm, const std::string& path, std::uint64_t bytes,
                const std::function<void(hdf5::File&)>& write, hdf5::Format format) {
  all_or_none(comm, [&] {
    if (comm.rank() == 0) check_room(path, narrow<std::int64_t>(bytes) + kHeaderBytes);
  });
  std::optional<hdf5::File> file;
  std::exception_ptr failure;
  try {
    file.emplace(hdf5::File::create(comm, part_name(path), format));
  } catch (...) {
    failure = std::current_exception();
  }
  // Creation is collective: it succeeds on all ranks or on none.
  all_or_none(comm, [&] {
    if (failure) std::rethrow_exception(failure);
  });
  try {
    write(*file);
    file->close();
  } catch (const Error& error) {
    comm.abort(static_cast<int>(ExitCode::input_output), error.what());
  }
}

void publish_together(const Communicator& comm, const std::string& path) {
  all_or_none(comm, [&] {
    if (comm.rank() == 0) publish(path);
  });
}

void write_together(const Communicator& comm, const std::string& path, std::uint64_t bytes,
                    const std::function<void(hdf5::File&)>& write, hdf5::Format format) {
  write_part(comm, path, bytes, write, format);
  publish_together(comm, path);
}

}  // namespace catena
