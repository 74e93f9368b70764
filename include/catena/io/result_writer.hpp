// Results of a run on disk (docs/output.md): snapshots, series, index, XDMF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catena/comm/communicator.hpp"
#include "catena/constraints/contact_record.hpp"
#include "catena/model/state.hpp"

namespace catena {

/// Where a result came from: attributes of /provenance, in this order.
using Provenance = std::vector<std::pair<std::string, std::string>>;

/// One column of the series.
struct SeriesColumn {
  std::string name;
  std::string unit;
};

/// A table of its own, `probes/<name>.csv`: one of its columns is called `step`.
struct ProbeTable {
  std::string name;
  std::vector<SeriesColumn> columns;
};

/// A row of one of them, by its place in the list.
struct ProbeRow {
  std::size_t probe = 0;
  std::vector<double> values;
};

/// A joint as a snapshot holds it: held by one rank.
struct JointRecord {
  std::int64_t id = -1;
  /// Per row, on body b relative to a, N s (N m s of angular rows); the rest 0.
  std::array<double, 6> impulse{};
  /// World frame, on body b: impulse, N s, then couple about the joint's point p_B, N m s.
  std::array<double, 6> reaction{};
  /// Impulses of limit, motor and friction along the first coordinate, then the second, N s or N m
  /// s.
  std::array<double, 6> drive{};
  /// m or rad; NaN where the joint has none.
  std::array<double, 3> coordinate = {std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::quiet_NaN()};
};

/// Writes a result directory. No layout depends on the rank count: rows are ordered by
/// global id (contacts by key, joints by their id). Every file is written under a temporary name,
/// synced and renamed, so that a kill loses at most the one being written. All members are
/// collective and throw Error(input_output) on every rank if one fails. Room on the disk is
/// made sure of before a file is written; a collective write that fails all the same cannot be
/// recovered from and ends all ranks with exit code 5 (Communicator::abort).
class ResultWriter {
 public:
  /// Creates `directory` (and snapshots/) and starts series.csv. If the directory holds
  /// anything already: throws Error(bad_input) unless `force`, which removes only Catena's
  /// own files.
  ResultWriter(const Communicator& comm, std::string directory, Provenance provenance,
               std::vector<SeriesColumn> columns, bool force, std::vector<ProbeTable> probes = {});
  /// Goes on with the result in `directory` after `step`, or starts one there: snapshots, dumps,
  /// checkpoints and rows of the series and of probes after it are dropped, and so is what a kill
  /// left half written. `kept`: of kept() of the ranks that wrote it. Throws Error(bad_input) if
  /// the directory holds something else, or a series with other columns.
  ResultWriter(const Communicator& comm, std::string directory, Provenance provenance,
               std::vector<SeriesColumn> columns, std::int64_t step,
               std::span<const std::vector<std::byte>> kept, std::vector<ProbeTable> probes = {});
  ~ResultWriter();

  /// bodies.h5: constants of all bodies and joints, and the provenance. With `flow`, where bodies
  /// come and go, snapshots hold mass and size as well, and the file may be written anew: rows of
  /// bodies and joints that it held stay, also of joints that have broken since. Collective.
  void write_bodies(const Model& model, const Bodies& bodies, bool flow = false);
  /// snapshots/<state.step, 8 digits>.h5. Contacts and joints are this rank's; they may be empty.
  ///
  /// Where rows take less than `most_buffered` bytes of each rank, they are copied, and a thread
  /// writes them while the caller goes on: returns true then, and settle() gives the snapshot its
  /// name. Waits for the snapshot before.
  bool write_snapshot(const Model& model, const Bodies& bodies, const State& state,
                      std::vector<ContactRecord> contacts, std::vector<JointRecord> joints = {},
                      double most_buffered = 0.0);
  /// If a snapshot is being written in the background, and is whole by now on all ranks (which
  /// are waited for if `wait`), gives it its name and returns the seconds that this took on the
  /// slowest rank; else 0. Throws what its writing threw.
  double settle(bool wait);
  /// Appends a row to series.csv (rank 0's values count).
  void append_series(std::span<const double> values);
  /// The same to tables of probes.
  void append_probes(std::span<const ProbeRow> rows);
  /// result.h5 (links to bodies and snapshots, and the series) and result.xdmf. Waits for a
  /// snapshot that is being written in the background. On rank 0 returns
  /// the names of snapshots that cannot be read and are left out.
  std::vector<std::string> finish();
  /// What a checkpoint must keep of this rank, so that a resumed run writes bodies.h5 as this one
  /// would: rows of bodies that may have left, and of joints that may have broken. Empty where
  /// nothing comes, goes or breaks.
  std::vector<std::byte> kept() const;

  const std::string& directory() const;
  const Provenance& provenance() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Not collective. Rebuilds result.h5 and result.xdmf of a directory from bodies.h5, the
/// snapshots and series.csv that stand in it. Returns the names of snapshots that cannot be
/// read and are left out. Throws Error(input_output) if it is no result directory.
std::vector<std::string> rebuild_index(const std::string& directory);

}  // namespace catena
