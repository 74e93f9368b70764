// Tables of motions from a case or from CSV files.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "catena/base/error.hpp"
#include "catena/io/read_bytes.hpp"
#include "scenarios/flow_parts.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

namespace {

constexpr std::array<std::string_view, 7> kColumns = {"t", "x", "y", "z", "rx", "ry", "rz"};
constexpr std::size_t kTranslation = 1;
constexpr std::size_t kRotation = 4;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = line.find(',');
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

/// A table's text, line by line.
class Reader {
 public:
  Reader(std::string_view text, const std::string& source) : rest_(text), source_(source) {}

  MotionTable read() {
    read_header();
    MotionTable table;
    while (next_line()) {
      const std::array<double, 7> row = read_row();
      if (!table.time.empty() && !(row[0] > table.time.back())) {
        fail("the time " + std::to_string(row[0]) + " does not ascend", "sort the rows by time");
      }
      table.time.push_back(row[0]);
      table.position.emplace_back(row[1], row[2], row[3]);
      if (turns_) table.rotation.emplace_back(row[4], row[5], row[6]);
    }
    if (table.time.empty()) fail("the table has no rows", "a line such as 0,0,0,0 is expected");
    return table;
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& fix) const {
    throw Error(found, source_ + ":" + std::to_string(number_), fix);
  }

  /// The next line that says something; false at the end.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      line_ = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!line_.empty() && line_.front() != '#') return true;
    }
    return false;
  }

  void read_header() {
    if (!next_line()) fail("the table is empty", "a header line t,x,y,z is expected");
    column_ = {};
    std::array<bool, 7> has{};
    for (const std::string_view name : fields_of(line_)) {
      const auto* known = std::find(kColumns.begin(), kColumns.end(), name);
      if (known == kColumns.end()) {
        fail("unknown column '" + std::string(name.substr(0, 40)) + "'",
             "the header names t,x,y,z and optionally rx,ry,rz");
      }
      const std::size_t at = known - kColumns.begin();
      if (has[at]) fail("the column '" + std::string(name) + "' stands twice", "");
      has[at] = true;
      column_.push_back(at);
    }
    turns_ = has[4] || has[5] || has[6];
    for (std::size_t at = 0; at < kColumns.size(); ++at) {
      if (has[at] || (at >= kRotation && !turns_)) continue;
      fail("the column " + std::string(kColumns[at]) + " is missing",
           at < kTranslation ? "times in s" : "zeros where it does not move");
    }
  }

  std::array<double, 7> read_row() const {
    const std::vector<std::string_view> fields = fields_of(line_);
    if (fields.size() != column_.size()) {
      fail("found " + std::to_string(fields.size()) + " fields",
           "the header names " + std::to_string(column_.size()));
    }
    std::array<double, 7> row{};
    for (std::size_t k = 0; k < fields.size(); ++k) {
      double value = 0.0;
      const char* end = fields[k].data() + fields[k].size();
      const auto [stop, error] = std::from_chars(fields[k].data(), end, value);
      if (error != std::errc() || stop != end || !std::isfinite(value)) {
        fail("'" + std::string(fields[k].substr(0, 40)) + "' is not a finite number", "");
      }
      row[column_[k]] = value;
    }
    return row;
  }

  std::string_view rest_, line_;
  const std::string& source_;
  std::int64_t number_ = 0;
  std::vector<std::size_t> column_;  ///< place in kColumns of each field
  bool turns_ = false;
};

/// Rows of a case, of 4 or, with rotations, 7 columns.
MotionTable table_of(const std::vector<double>& rows, std::size_t columns) {
  MotionTable table;
  for (std::size_t i = 0; i + columns <= rows.size(); i += columns) {
    table.time.push_back(rows[i]);
    table.position.emplace_back(rows[i + 1], rows[i + 2], rows[i + 3]);
    if (columns > kRotation) table.rotation.emplace_back(rows[i + 4], rows[i + 5], rows[i + 6]);
  }
  return table;
}

}  // namespace

MotionTable parse_motion_table(std::string_view text, const std::string& source) {
  return Reader(text, source).read();
}

Motion motion_of(const MotionSettings& s, const std::string& place, const Communicator& comm) {
  Motion motion = s.parts;
  if (!s.rows.empty()) {
    motion.table = table_of(s.rows, s.columns);
    motion.table.interpolation = s.parts.table.interpolation;
    return motion;
  }
  if (s.file.empty()) return motion;
  const std::string where = place.empty() ? std::string() : place + ".motion.table";
  std::string text;
  all_or_none(comm, [&] {
    if (comm.rank() == 0) scenarios::with_place(where, [&] { text = read_bytes(s.file); });
  });
  comm.broadcast(0, text);
  all_or_none(comm, [&] {
    scenarios::with_place(where, [&] { motion.table = parse_motion_table(text, s.file); });
  });
  motion.table.interpolation = s.parts.table.interpolation;
  return motion;
}

}  // namespace catena::scenarios
