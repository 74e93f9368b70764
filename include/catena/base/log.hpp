// Messages to people (stderr and progress) and to programs (log.jsonl).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catena {

/// How much a message matters.
enum class LogLevel { debug, info, warning, error };

/// Where messages go. Every rank has one; only rank 0's writes unless said
/// otherwise. Not global: two simulations in one program keep theirs apart.
class Log {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;  ///< values as JSON text

  /// `writes` is true on the rank whose messages are shown.
  explicit Log(bool writes, bool quiet = false);
  ~Log();
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;

  /// Also appends each message as a line of JSON to `path`. Throws Error(input_output).
  void open_json(const std::string& path);

  void message(LogLevel level, std::string_view text, const Fields& fields = {});
  void info(std::string_view text, const Fields& fields = {}) {
    message(LogLevel::info, text, fields);
  }
  void warning(std::string_view text, const Fields& fields = {}) {
    message(LogLevel::warning, text, fields);
  }

  /// A line to people only, flushed at once; not in log.jsonl. Silent when quiet.
  void progress(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// `text` as a JSON string with quotes.
std::string json_string(std::string_view text);
/// `value` as a JSON number with 17 digits; null if not finite.
std::string json_number(double value);

}  // namespace catena
