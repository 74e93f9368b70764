// HDF5 behind one checked wrapper: every call's result is checked, every failure names
// the file and the object in it. The only header of Catena that includes hdf5.h.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/comm/communicator.hpp"
#include "catena/comm/row_range.hpp"
#include "io/hdf5/pending_rows.hpp"

namespace catena::hdf5 {

/// An HDF5 identifier, closed at its end of life.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle& operator=(Handle&& other) noexcept;
  ~Handle() { (void)reset(); }
  hid_t id() const { return id_; }
  /// Closes now; negative on failure.
  herr_t reset();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Which rows of a dataset this rank writes or reads. The rows written by all ranks together are
/// 0 .. total-1, each once.
using RowRange = catena::RowRange;

/// Writes the numbers of this rank's rows from `first` on into the buffer, as many as it holds.
template <class T>
using Pieces = std::function<void(std::uint64_t first, std::span<T>)>;

/// How HDF5 lays out what it keeps beside the data: as every reader knows it, or with checksums.
enum class Format { oldest, checked };

/// Closes the library with all that failed to close in it; what is open must not be used again.
void end();

/// An open file. Objects are named by absolute paths ("/bodies/position"). All members
/// throw Error(input_output) "file: /object: what failed".
///
/// A file made with a communicator is written collectively: every rank calls the same
/// members in the same order with the same arguments, but for its own rows. Other files
/// belong to the one rank that opened them.
class File {
 public:
  /// This rank alone, read only. HDF5 or not, readable or not: Error says which.
  static File open(const std::string& path);
  /// This rank alone; replaces what is there.
  static File create(const std::string& path);
  /// Collective; replaces what is there.
  static File create(const Communicator& comm, const std::string& path,
                     Format format = Format::oldest);

  const std::string& path() const { return path_; }

  bool exists(const std::string& object) const;
  bool is_dataset(const std::string& object) const;
  /// Names of what a group holds, in alphabetical order.
  std::vector<std::string> members(const std::string& group) const;
  /// Extents of a dataset.
  std::vector<std::uint64_t> extents(const std::string& dataset) const;

  /// Whole datasets of numbers, in row order. Throws for any other type.
  std::vector<double> read_doubles(const std::string& dataset) const;
  std::vector<std::int64_t> read_integers(const std::string& dataset) const;
  /// Rows of a dataset of total x width numbers (width 0: one dimension). Throws for other extents
  /// and any other type.
  std::vector<double> read_double_rows(const std::string& dataset, const RowRange& rows,
                                       std::uint64_t width) const;
  std::vector<std::int64_t> read_integer_rows(const std::string& dataset, const RowRange& rows,
                                              std::uint64_t width) const;
  /// Rows of a list of words: strings of one fixed length, at most 256 bytes.
  std::vector<std::string> read_text_rows(const std::string& dataset, const RowRange& rows) const;
  /// A dataset of one string, fixed or variable length; "" if it is anything else.
  std::string read_text(const std::string& dataset) const;

  bool has_attribute(const std::string& object, const std::string& name) const;
  /// An attribute as text, whatever its type (numbers with 17 digits); "" if absent.
  std::string attribute_text(const std::string& object, const std::string& name) const;
  double attribute_number(const std::string& object, const std::string& name) const;
  std::vector<std::string> attribute_names(const std::string& object) const;

  void make_group(const std::string& group);
  void write(const std::string& dataset, std::span<const double> values,
             std::span<const std::uint64_t> extents, std::string_view unit = {});
  void write(const std::string& dataset, std::span<const std::int32_t> values);
  void write(const std::string& dataset, std::span<const std::int64_t> values,
             std::span<const std::uint64_t> extents);
  /// A scalar string dataset, NUL-terminated, as H5LTmake_dataset_string makes it.
  void write_text(const std::string& dataset, const std::string& text);

  /// Whether the numbers of a dataset are those that were written: false if its attribute
  /// `checksum` says otherwise, true if it has none.
  bool is_intact(const std::string& dataset) const;

  /// Rows of a distributed dataset of total x width numbers (width 0: one dimension).
  void write_rows(const std::string& dataset, std::span<const double> values, const RowRange& rows,
                  std::uint64_t width, std::string_view unit);
  void write_rows(const std::string& dataset, std::span<const std::int64_t> values,
                  const RowRange& rows, std::uint64_t width, std::string_view unit);
  /// As above, but the numbers are made piece by piece while they are written.
  void write_rows(const std::string& dataset, const Pieces<double>& values, const RowRange& rows,
                  std::uint64_t width, std::string_view unit);
  void write_rows(const std::string& dataset, const Pieces<std::int64_t>& values,
                  const RowRange& rows, std::uint64_t width, std::string_view unit);
  /// As above for strings of `length` bytes each, NUL-padded: fixed length, because parallel
  /// HDF5 cannot write variable-length data.
  void write_text_rows(const std::string& dataset, const Pieces<char>& values, std::uint64_t length,
                       const RowRange& rows);

  /// Rows of a distributed dataset of records of `width` bytes each, as they are. `fill` is asked
  /// for one piece of this rank's rows after the other, ascending: it writes `count` records from
  /// the rank's row `first` on into the buffer. Only the making of the dataset is collective: each
  /// rank writes its own piece of the file, as fast as the disk takes it.
  void write_records(const std::string& dataset, std::uint64_t width, const RowRange& rows,
                     const std::function<void(std::uint64_t first, std::span<std::byte>)>& fill);
  /// The same way back: `take` gets the records piece by piece.
  void read_records(
      const std::string& dataset, std::uint64_t width, const RowRange& rows,
      const std::function<void(std::uint64_t first, std::span<const std::byte>)>& take) const;

  /// From now on numbers and words of this rank's rows go into `rows` in place of the file, which
  /// is whole once all ranks have closed it and then have written theirs (PendingRows::write): its
  /// bytes are the same as without.
  void keep_rows(PendingRows& rows) { kept_ = &rows; }

  /// Of variable length, but short ones in a checked file: their bytes have a checksum then.
  void set_attribute(const std::string& object, const std::string& name, const std::string& text);
  void set_attribute(const std::string& object, const std::string& name, double value);
  void set_attribute(const std::string& object, const std::string& name, std::int64_t value);
  void link_external(const std::string& link, const std::string& file, const std::string& object);

  /// Flushes and closes; the destructor does the same without saying if it failed.
  void close();

 private:
  File(Handle id, std::string path, bool parallel)
      : id_(std::move(id)), path_(std::move(path)), parallel_(parallel) {}
  [[noreturn]] void fail(const std::string& object, const std::string& what) const;
  template <class Id>
  Id check(Id result, const std::string& object, const char* what) const {
    if (result < 0) fail(object, what);
    return result;
  }
  Handle open_dataset(const std::string& dataset) const;
  Handle open_object(const std::string& object) const;
  template <class T>
  std::vector<T> read_numbers(const std::string& dataset, H5T_class_t wanted, hid_t type) const;
  /// Reads the selected rows of an open dataset.
  void read_raw_rows(const Handle& data, const std::string& dataset, const RowRange& rows,
                     std::uint64_t width, hid_t memory_type, void* values) const;
  template <class T>
  std::vector<T> read_number_rows(const std::string& dataset, const RowRange& rows,
                                  std::uint64_t width, H5T_class_t wanted, hid_t type) const;
  void write_raw(const std::string& dataset, const void* values, hid_t memory_type, hid_t file_type,
                 std::span<const std::uint64_t> extents);
  /// Collective. A dataset of contiguous storage, whose values are all to be written.
  Handle make_dataset(const std::string& dataset, hid_t file_type, const Handle& space);
  /// Where `size` bytes of a dataset's rows are kept from byte `first` on; null if they are to be
  /// written. The same on all ranks but for the place.
  std::byte* kept_place(const Handle& data, hid_t memory_type, hid_t file_type, std::uint64_t first,
                        std::uint64_t size);
  /// `width` as for write_rows; `items` of T make up a row.
  /// Returns the checksum of this rank's part.
  template <class T>
  std::uint64_t write_pieces(const std::string& dataset, const Pieces<T>& values,
                             const RowRange& rows, std::uint64_t width, std::uint64_t items,
                             hid_t memory_type, hid_t file_type);
  /// With the attributes of a distributed dataset of numbers.
  template <class T>
  void write_number_rows(const std::string& dataset, const Pieces<T>& values, const RowRange& rows,
                         std::uint64_t width, std::string_view unit, hid_t memory_type,
                         hid_t file_type);

  Handle id_;
  std::string path_;
  bool parallel_ = false;
  Format format_ = Format::oldest;
  std::optional<Communicator> comm_;  ///< of the ranks that write together
  PendingRows* kept_ = nullptr;
};

/// Version of the HDF5 library.
std::string library_version();

}  // namespace catena::hdf5
