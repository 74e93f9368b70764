// A table that grows by rows while a run goes on: CSV with units in the header.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "catena/io/result_writer.hpp"

namespace catena {

/// One file, written by one rank. Not collective; throws Error(input_output) where the disk
/// refuses.
class RowFile {
 public:
  RowFile(std::string path, std::vector<SeriesColumn> columns)
      : path_(std::move(path)), columns_(std::move(columns)) {}
  RowFile(RowFile&& other) noexcept;
  RowFile& operator=(RowFile&&) = delete;
  ~RowFile();

  /// Starts the file anew.
  void create();
  /// Goes on with it after `step`, or starts it. Throws Error(bad_input) if it has other columns.
  void resume(std::int64_t step);
  void append(std::span<const double> values);
  void sync();

 private:
  std::string header() const;
  void write(const std::string& line);

  std::string path_;
  std::vector<SeriesColumn> columns_;
  std::FILE* file_ = nullptr;
  std::string line_;  ///< as it is written
};

}  // namespace catena
