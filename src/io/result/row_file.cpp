#include "io/result/row_file.hpp"

#include <utility>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "io/hdf5/atomic_file.hpp"
#include "io/result/directory.hpp"

namespace catena {

RowFile::RowFile(RowFile&& other) noexcept
    : path_(std::move(other.path_)),
      columns_(std::move(other.columns_)),
      file_(std::exchange(other.file_, nullptr)),
      line_(std::move(other.line_)) {}

RowFile::~RowFile() {
  if (file_ != nullptr) std::fclose(file_);
}

std::string RowFile::header() const {
  std::string line;
  for (const SeriesColumn& c : columns_) {
    if (!line.empty()) line += ',';
    line += c.unit.empty() ? c.name : c.name + " [" + c.unit + "]";
  }
  return line + "\n";
}

void RowFile::create() {
  file_ = std::fopen(path_.c_str(), "w");
  if (file_ == nullptr) fail_with_errno(path_, "cannot be created");
  write(header());
  sync();
}

void RowFile::resume(std::int64_t step) {
  cut_series(path_, header(), step);
  file_ = std::fopen(path_.c_str(), "a");
  if (file_ == nullptr) fail_with_errno(path_, "cannot be appended to");
}

void RowFile::append(std::span<const double> values) {
  CATENA_CHECK(values.size() == columns_.size(), "a row has other columns");
  line_.clear();
  for (std::size_t k = 0; k < values.size(); ++k) {
    append_exact_text(line_, values[k]);
    line_ += k + 1 < values.size() ? ',' : '\n';
  }
  write(line_);
}

void RowFile::sync() { sync_to_disk(path_); }

void RowFile::write(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0)
    fail_with_errno(path_, "cannot be written");
}

}  // namespace catena
