// A group of ranks and the few collective operations that Catena uses. Of the other
// modules only io includes mpi.h, for HDF5; nothing of MPI appears in public headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace catena {

/// Bytes for, or from, another rank.
struct Parcel {
  int rank = 0;
  std::vector<std::byte> bytes;
};

/// What this rank has sent point to point since construction, and how long it has waited.
struct TrafficCount {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  /// In collectives, exchanges and at the ends of halos, s: for other ranks and their messages.
  double waited_s = 0.0;
};

/// A duplicated MPI communicator (RAII). Copies share it.
///
/// All members are collective unless they say otherwise, and deterministic: sums
/// over ranks are made in rank order, the same bits on every rank and in every run.
/// MPI errors are turned into Error(runtime_error).
class Communicator {
 public:
  /// The communicator of MPI_COMM_SELF: one rank, for tests and tools. Initialises
  /// MPI where it is not yet (and then finalises it at exit).
  static Communicator self();
  /// The communicator of MPI_COMM_WORLD; called from main only.
  static Communicator world();
  /// Wraps (duplicates) a caller's MPI_Comm given by its Fortran handle.
  static Communicator from_fortran(int handle);

  int rank() const;            ///< not collective
  int size() const;            ///< number of ranks; not collective
  int fortran_handle() const;  ///< not collective; for libraries that need the MPI_Comm

  /// Returns when all ranks have called it.
  void barrier() const;
  /// Sums over all ranks, the same on each: made in the order of ranks.
  double sum(double value) const;
  /// Sum over all ranks.
  std::int64_t sum(std::int64_t value) const;
  double max(double value) const;                  ///< NaN on any rank gives NaN
  double min(double value) const;                  ///< as max
  std::int64_t max(std::int64_t value) const;      ///< over all ranks
  std::int64_t min(std::int64_t value) const;      ///< over all ranks
  void sum(std::span<double> values) const;        ///< item by item, in place
  void max(std::span<double> values) const;        ///< item by item, in place; hands NaN on
  void sum(std::span<std::int64_t> values) const;  ///< item by item, in place
  /// Sum over the ranks before this one (0 on rank 0).
  std::int64_t exclusive_sum(std::int64_t value) const;

  /// Every rank's `values` (the same number on each), in rank order: O(ranks) memory.
  std::vector<double> all_gather(std::span<const double> values) const;
  /// The same of integers.
  std::vector<std::int64_t> all_gather(std::span<const std::int64_t> values) const;
  /// Every rank's `values` of any number, concatenated in rank order. O(total)
  /// memory: only for what is O(ranks) or small.
  std::vector<std::byte> all_gather_bytes(std::span<const std::byte> values,
                                          std::vector<std::size_t>* counts = nullptr) const;
  /// Concatenation on rank `root` only; empty elsewhere.
  std::vector<std::byte> gather_bytes(int root, std::span<const std::byte> values,
                                      std::vector<std::size_t>* counts = nullptr) const;
  /// What rank `root` has, of any size, to all.
  void broadcast(int root, std::vector<std::byte>& bytes) const;
  /// The same of a text.
  void broadcast(int root, std::string& text) const;

  /// Sparse all-to-all: each rank sends to whom it likes; returns what came, sorted
  /// by source rank (nonblocking consensus, so no O(ranks) traffic). Parcels to
  /// oneself are allowed. At most one parcel per target.
  std::vector<Parcel> exchange(std::vector<Parcel> outgoing) const;

  const TrafficCount& traffic() const;  ///< not collective; messages: exchange(), halos

  /// Not collective: ends every rank after `message` has reached stderr.
  [[noreturn]] void abort(int code, const std::string& message) const;

  /// What MPI calls it; of the module comm alone.
  struct Impl;
  /// Of the module comm alone.
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  explicit Communicator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// A vector of sums and one of maxima on their way over all ranks: posted at one
/// sweep, used at a later fixed one. Maxima hand NaN on.
class PendingReduction {
 public:
  explicit PendingReduction(const Communicator& comm);
  ~PendingReduction();
  PendingReduction(PendingReduction&&) noexcept;
  PendingReduction& operator=(PendingReduction&&) noexcept;

  /// Collective. Copies the values and posts; one reduction may be pending at a time.
  void begin(std::span<const double> sums, std::span<const double> maxima);
  bool pending() const;  ///< between begin and end
  /// Collective. Waits; the spans have the sizes given to begin.
  void end(std::span<double> sums, std::span<double> maxima);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Collective. Runs `work` on every rank; if it throws on any of them, every rank
/// throws Error with the message and code of the lowest failing rank. `work` itself
/// must not communicate.
void all_or_none(const Communicator& comm, const std::function<void()>& work);

/// MPI library version string, for --version and provenance.
std::string mpi_version();

}  // namespace catena
