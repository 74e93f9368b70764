#include "catena/base/version.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/io/checkpoint.hpp"
#include "io/checkpoint/file.hpp"
#include "io/hdf5/write_together.hpp"

namespace catena {
namespace {

using namespace checkpoint_file;

/// Sums mod 2^64 over ranks: halves apart, since signed sums may not overflow.
std::int64_t sum_of_words(const Communicator& comm, std::uint64_t value) {
  std::array<std::int64_t, 2> half{narrow<std::int64_t>(value & 0xffffffffU),
                                   narrow<std::int64_t>(value >> 32)};
  comm.sum(half);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(half[0]) +
                                   (static_cast<std::uint64_t>(half[1]) << 32));
}

class Writer {
 public:
  Writer(const Communicator& comm, hdf5::File& file) : comm_(comm), file_(file) {}

  /// Collective. A dataset of records of `width` bytes with its checksum.
  template <class Fill>
  void write(const std::string& name, std::size_t width, const hdf5::RowRange& rows, Fill fill) {
    std::uint64_t sum = 0;
    file_.write_records(name, width, rows, [&](std::uint64_t first, std::span<std::byte> piece) {
      fill(static_cast<std::size_t>(first), piece);
      sum += checksum(piece, (rows.first + first) * width / 8);
    });
    file_.set_attribute(name, "checksum", sum_of_words(comm_, sum));
  }

  /// Collective. Rows of all ranks in their order.
  hdf5::RowRange range_of(std::size_t count) const {
    const std::int64_t n = count;
    return {static_cast<std::uint64_t>(comm_.exclusive_sum(n)), count,
            static_cast<std::uint64_t>(comm_.sum(n))};
  }

  template <class Record>
  void write_column(const std::string& name, const std::vector<Record>& column) {
    const std::size_t width = records::width_of<Record>();
    write(name, width, range_of(column.size()), [&](std::size_t first, std::span<std::byte> piece) {
      for (std::size_t i = 0; i * width < piece.size(); ++i)
        records::pack(column[first + i], piece.subspan(i * width, width));
    });
  }

  /// Words that are this rank's own (`one`: or rank 0's alone).
  void write_words(const std::string& name, std::span<const std::byte> bytes, bool one = false) {
    const bool silent = one && comm_.rank() > 0;
    write(name, 8, range_of(silent ? 0 : bytes.size() / 8),
          [&](std::size_t first, std::span<std::byte> piece) {
            std::memcpy(piece.data(), bytes.data() + 8 * first, piece.size());
          });
  }

 private:
  const Communicator& comm_;
  hdf5::File& file_;
};

std::vector<std::byte> packed_scalars(const State& state) {
  Packer out;
  for_each_number([&](const char*, const auto& value) { out.put(value); }, state);
  return out.take();
}

std::vector<std::byte> packed_kept(const CheckpointNotes& notes) {
  if (notes.kept.empty()) return {};
  Packer out;
  out.put(narrow<std::int64_t>(notes.kept.size()));
  for (const auto& [name, bytes] : notes.kept) {
    out.put_list(name);
    out.put_list(bytes);
  }
  return take_words(out);
}

/// Attributes for people and other programs; what is read back stands in the datasets.
void write_attributes(hdf5::File& file, const Head& head, const State& state) {
  file.set_attribute("/", "format", std::string(kFormat));
  file.set_attribute("/", "format_version", kVersion);
  file.set_attribute("/", "git_hash", std::string(git_hash()));
  file.set_attribute("/", "time", state.time);
  file.set_attribute("/", "step", state.step);
  file.set_attribute("/", "ranks", head.ranks);
  file.set_attribute("/", "config", head.config);
  // made here, they are without the time of day: equal states give equal bytes
  for (const char* group : {"/provenance", "/bodies", "/joints"}) file.make_group(group);
  for (const auto& [name, value] : head.provenance) file.set_attribute("/provenance", name, value);
}

}  // namespace

void write_checkpoint(const Communicator& comm, const std::string& path,
                      const CheckpointNotes& notes, const Bodies& bodies, const State& state) {
  Head head;
  head.layout = layout();
  head.ranks = comm.size();
  head.n_parts = notes.n_parts;
  head.n_inflow = std::ssize(state.inflow);
  head.n_outflow = std::ssize(state.outflow);
  head.n_probes = std::ssize(state.probes);
  head.n_controls = std::ssize(state.controls);
  head.n_force_factors = std::ssize(state.force_factors);
  head.n_plane_motions = std::ssize(state.plane_motions);
  head.n_cell = std::ssize(state.cell);
  head.config = notes.config;
  head.provenance = notes.provenance;
  const std::vector<std::byte> head_bytes = head.packed();
  const std::vector<std::byte> scalars = packed_scalars(state);
  const std::vector<std::byte> kept = packed_kept(notes);

  Counts counts{};
  std::size_t bytes = scalars.size() + kept.size() + sizeof counts;
  for_each_column(
      [&](const std::string&, Count which, const auto& column) {
        using Record = typename std::decay_t<decltype(column)>::value_type;
        counts[which] = std::ssize(column);
        bytes += column.size() * records::width_of<Record>();
      },
      bodies, state);
  counts[kKeptWords] = kept.size() / 8;
  const auto total = static_cast<std::uint64_t>(comm.sum(narrow<std::int64_t>(bytes)));
  write_together(
      comm, path, total + 2 * head_bytes.size(),
      [&](hdf5::File& file) {
        write_attributes(file, head, state);
        Writer out(comm, file);
        out.write_words("/head", head_bytes, true);
        out.write_words("/counts", std::as_bytes(std::span(counts)));
        out.write_words("/scalars", scalars);
        out.write_words("/kept", kept);
        for_each_column([&](const std::string& name, Count,
                            const auto& column) { out.write_column(name, column); },
                        bodies, state);
      },
      hdf5::Format::checked);
}

}  // namespace catena
