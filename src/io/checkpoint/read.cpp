#include <cstdlib>
#include <optional>

#include "catena/base/version.hpp"
#include "catena/comm/typed_exchange.hpp"
#include "catena/io/checkpoint.hpp"
#include "io/checkpoint/file.hpp"
#include "io/checkpoint/info.hpp"

namespace catena {
namespace {

using namespace checkpoint_file;

[[noreturn]] void refuse_damaged(const hdf5::File& file, const std::string& name) {
  throw Error("is damaged: its bytes are not those that were written", file.path() + ": " + name,
              "use an older checkpoint", ExitCode::input_output);
}

/// The checksum that a dataset was written with.
std::uint64_t expected_sum(const hdf5::File& file, const std::string& name) {
  if (!file.has_attribute(name, "checksum")) refuse_damaged(file, name);
  return static_cast<std::uint64_t>(
      std::strtoll(file.attribute_text(name, "checksum").c_str(), nullptr, 10));
}

/// Not collective. A whole dataset of words, verified.
std::vector<std::byte> read_whole(const hdf5::File& file, const std::string& name) {
  const std::uint64_t n = file.extents(name).at(0);
  std::vector<std::byte> bytes;
  file.read_records(name, 8, {0, n, n}, [&](std::uint64_t, std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  if (checksum(bytes, 0) != expected_sum(file, name)) refuse_damaged(file, name);
  return bytes;
}

/// Reads datasets of one open file and keeps account of what their checksums miss.
class Reader {
 public:
  explicit Reader(const std::string& path) : file_(hdf5::File::open(path)) {}
  const hdf5::File& file() const { return file_; }

  /// `take` gets this rank's records piece by piece; what they sum up to is compared later, over
  /// all ranks.
  template <class Take>
  void read(const std::string& name, std::size_t width, const hdf5::RowRange& rows, Take take) {
    std::uint64_t sum = 0;
    file_.read_records(name, width, rows,
                       [&](std::uint64_t first, std::span<const std::byte> piece) {
                         sum += checksum(piece, (rows.first + first) * width / 8);
                         take(first, piece);
                       });
    sums_.emplace_back(name, sum);
  }

  /// Collective. Throws on every rank if any dataset that was read is not as it was written.
  void verify(const Communicator& comm) const {
    std::vector<std::int64_t> halves;
    for (const auto& [name, sum] : sums_) {
      halves.push_back(narrow<std::int64_t>(sum & 0xffffffffU));
      halves.push_back(narrow<std::int64_t>(sum >> 32));
    }
    comm.sum(halves);
    all_or_none(comm, [&] {
      for (std::size_t k = 0; k < sums_.size(); ++k) {
        const std::uint64_t sum = static_cast<std::uint64_t>(halves[2 * k]) +
                                  (static_cast<std::uint64_t>(halves[2 * k + 1]) << 32);
        if (sum != expected_sum(file_, sums_[k].first)) refuse_damaged(file_, sums_[k].first);
      }
    });
  }

 private:
  hdf5::File file_;
  std::vector<std::pair<std::string, std::uint64_t>> sums_;
};

void check_format(const hdf5::File& file) {
  const auto refuse = [&](const std::string& what, const std::string& fix) {
    throw Error(what, file.path(), fix, ExitCode::input_output);
  };
  const std::string format = file.attribute_text("/", "format");
  if (format != kFormat)
    refuse(format.empty() ? "is HDF5, but no checkpoint of Catena"
                          : "is no checkpoint, but a file of format " + format,
           "");
  const std::string version = file.attribute_text("/", "format_version");
  if (version != std::to_string(kVersion))
    refuse("is a checkpoint of format version " + version + ", this build reads version " +
               std::to_string(kVersion),
           "resume with the build that wrote it, git hash " + file.attribute_text("/", "git_hash"));
}

Head read_head(const hdf5::File& file) {
  check_format(file);
  Head head = Head::unpacked(read_whole(file, "/head"));
  if (head.layout != layout())
    throw Error("holds other records than this build's (its git hash: " +
                    file.attribute_text("/", "git_hash") +
                    ", this build's: " + std::string(git_hash()) + ")",
                file.path(), "resume with the build that wrote it", ExitCode::input_output);
  return head;
}

/// What of the ranks' slabs one rank reads: its own, or an equal part of all.
struct Shares {
  std::array<hdf5::RowRange, kCounts> rows;
  int first_writer = 0, last_writer = 0;  ///< whose kept bytes and scalars

  Shares(const std::vector<Counts>& counts, int rank, int n_ranks) {
    const auto n_writers = narrow<int>(counts.size());
    const bool same = n_writers == n_ranks;
    const auto part = [&](std::int64_t total, int r) { return total * r / n_ranks; };
    // writer w's kept bytes go to the first rank whose part reaches beyond w
    first_writer = same ? rank : static_cast<int>(part(n_writers, rank));
    last_writer = same ? rank + 1 : static_cast<int>(part(n_writers, rank + 1));
    for (std::size_t k = 0; k < kCounts; ++k) {
      std::int64_t total = 0, before = 0, count = 0;
      for (int w = 0; w < n_writers; ++w) {
        const std::int64_t n = counts[w][k];
        if (w < first_writer) before += n;
        if (w >= first_writer && w < last_writer) count += n;
        total += n;
      }
      if (!same && k != kKeptWords) {
        before = part(total, rank);
        count = part(total, rank + 1) - before;
      }
      rows[k] = {static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(count),
                 static_cast<std::uint64_t>(total)};
    }
  }
};

std::vector<Counts> read_counts(const hdf5::File& file, const Head& head) {
  const std::vector<std::byte> bytes = read_whole(file, "/counts");
  if (head.ranks < 1 || bytes.size() / sizeof(Counts) != static_cast<std::uint64_t>(head.ranks))
    throw Error("does not hold what each of its ranks had", file.path(), {},
                ExitCode::input_output);
  std::vector<Counts> counts;
  Unpacker(bytes).append_to(counts, head.ranks);
  return counts;
}

void read_scalars(const hdf5::File& file, const Head& head, std::size_t row, State& state) {
  state.inflow.resize(head.n_inflow);
  state.outflow.resize(head.n_outflow);
  state.probes.resize(head.n_probes);
  state.controls.resize(head.n_controls);
  state.force_factors.resize(head.n_force_factors);
  state.plane_motions.resize(head.n_plane_motions);
  state.cell.resize(head.n_cell);
  const std::vector<std::byte> bytes = read_whole(file, "/scalars");
  const std::size_t width = 8 * scalar_words(state);
  if (bytes.size() != width * Offset{head.ranks})
    throw Error("holds other scalars than it says", file.path(), {}, ExitCode::input_output);
  Unpacker in(std::span<const std::byte>(bytes).subspan(row * width, width));
  for_each_number(
      [&](const char*, auto& value) { value = in.get<std::decay_t<decltype(value)>>(); }, state);
}

std::vector<std::byte> read_kept(Reader& in, const Shares& shares) {
  std::vector<std::byte> bytes(shares.rows[kKeptWords].count * 8);
  in.read("/kept", 8, shares.rows[kKeptWords],
          [&](std::size_t first, std::span<const std::byte> piece) {
            std::memcpy(bytes.data() + 8 * first, piece.data(), piece.size());
          });
  return bytes;
}

/// Takes the bytes that ranks kept apart: each rank's in a piece of its own.
void unpack_kept(std::span<const std::byte> bytes, const Shares& shares,
                 const std::vector<Counts>& counts, CheckpointNotes& notes) {
  for (int w = shares.first_writer; w < shares.last_writer; ++w) {
    const std::size_t n = 8 * counts[w][kKeptWords];
    if (n == 0) continue;
    WordReader blob(bytes.first(n));
    for (std::int64_t k = blob.number(); k > 0; --k) {
      std::string name = blob.text();
      notes.kept.emplace_back(std::move(name), blob.bytes());
    }
    bytes = bytes.subspan(n);
  }
}

/// Not collective. This rank's columns, not verified yet.
void read_columns(Reader& in, const Shares& shares, Checkpoint& checkpoint) {
  for_each_column(
      [&](const std::string& name, Count which, auto& column) {
        using Record = typename std::decay_t<decltype(column)>::value_type;
        const std::size_t width = records::width_of<Record>();
        const hdf5::RowRange& rows = shares.rows[which];
        column.resize(rows.count);
        in.read(name, width, rows, [&](std::size_t first, std::span<const std::byte> piece) {
          for (std::size_t i = 0; i * width < piece.size(); ++i)
            records::unpack(piece.subspan(i * width, width), column[first + i]);
        });
      },
      checkpoint.bodies, checkpoint.state);
}

}  // namespace

Checkpoint read_checkpoint(const Communicator& comm, const std::string& path) {
  Checkpoint checkpoint;
  std::optional<Reader> in;
  std::optional<Shares> shares;
  std::vector<Counts> counts;
  std::vector<std::byte> kept;
  all_or_none(comm, [&] {
    in.emplace(path);
    Head head = read_head(in->file());
    counts = read_counts(in->file(), head);
    shares.emplace(counts, comm.rank(), comm.size());
    checkpoint.ranks = narrow<int>(head.ranks);
    const bool same = checkpoint.ranks == comm.size();
    read_scalars(in->file(), head, same ? static_cast<std::size_t>(comm.rank()) : 0,
                 checkpoint.state);
    read_columns(*in, *shares, checkpoint);
    kept = read_kept(*in, *shares);
    checkpoint.notes.config = std::move(head.config);
    checkpoint.notes.provenance = std::move(head.provenance);
    checkpoint.notes.n_parts = static_cast<int>(head.n_parts);
  });
  in->verify(comm);
  all_or_none(comm, [&] { unpack_kept(kept, *shares, counts, checkpoint.notes); });
  return checkpoint;
}

CheckpointSummary summarise_checkpoint(const hdf5::File& file) {
  check_format(file);
  Head head = Head::unpacked(read_whole(file, "/head"));
  CheckpointSummary summary;
  summary.ranks = head.ranks;
  summary.n_parts = head.n_parts;
  summary.readable = head.layout == layout();
  summary.git_hash = file.attribute_text("/", "git_hash");
  const std::vector<Counts> all = read_counts(file, head);
  summary.provenance = std::move(head.provenance);
  for (const Counts& counts : all) {
    summary.bodies += counts[kBodies];
    summary.joints += counts[kJoints];
    summary.impulses += counts[kImpulses];
    summary.couples += counts[kCouples];
  }
  std::vector<std::string> names = {"/scalars", "/kept",  "/impulses", "/couples",
                                    "/motions", "/loads", "/broken"};
  for (const std::string group : {"/bodies", "/joints"})
    for (const std::string& name : file.members(group)) names.push_back(group + "/" + name);
  for (const std::string& name : names) {
    const std::vector<std::uint64_t> extents = file.extents(name);
    const std::uint64_t n = extents.at(0), width = extents.at(1);
    std::uint64_t sum = 0;
    file.read_records(name, width, {0, n, n},
                      [&](std::uint64_t first, std::span<const std::byte> piece) {
                        sum += checksum(piece, first * width / 8);
                      });
    if (sum != expected_sum(file, name)) refuse_damaged(file, name);
  }
  return summary;
}

}  // namespace catena
