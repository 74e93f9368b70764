#include "catena/base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"

namespace catena {
namespace {

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      break;
  }
  return "error";
}

/// The present time, UTC, as ISO 8601 with milliseconds.
std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(now));
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32];
  const std::size_t length = std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  char fraction[8];
  std::snprintf(fraction, sizeof fraction, ".%03dZ", narrow<int>(since_epoch.count() % 1000));
  return std::string(date, length) + fraction;
}

}  // namespace

struct Log::Impl {
  bool writes = false;
  bool quiet = false;
  spdlog::logger people{"people", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::unique_ptr<spdlog::logger> json;
};

Log::Log(bool writes, bool quiet) : impl_(std::make_unique<Impl>()) {
  impl_->writes = writes;
  impl_->quiet = quiet;
  impl_->people.set_pattern("%v");
  impl_->people.flush_on(spdlog::level::trace);
}

Log::~Log() = default;
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;

void Log::open_json(const std::string& path) {
  if (!impl_->writes) return;
  try {
    // appended to, so that a resumed run keeps the history of the first
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, false);
    impl_->json = std::make_unique<spdlog::logger>("json", std::move(sink));
  } catch (const spdlog::spdlog_ex& failure) {
    throw Error("cannot open the log: " + std::string(failure.what()), path,
                "check that the folder exists and may be written", ExitCode::input_output);
  }
  impl_->json->set_pattern("%v");
  impl_->json->set_level(spdlog::level::trace);
  // each line must survive a killed run
  impl_->json->flush_on(spdlog::level::trace);
}

void Log::message(LogLevel level, std::string_view text, const Fields& fields) {
  if (!impl_->writes) return;
  const bool to_people = level >= LogLevel::warning || (level == LogLevel::info && !impl_->quiet);
  if (to_people) {
    std::string line;
    if (level >= LogLevel::warning) line = std::string(name_of(level)) + ": ";
    line += text;
    impl_->people.info(spdlog::string_view_t(line.data(), line.size()));
  }
  if (!impl_->json) return;
  std::string line = "{\"time\": " + json_string(utc_now()) +
                     ", \"level\": " + json_string(name_of(level)) +
                     ", \"text\": " + json_string(text);
  for (const auto& [key, value] : fields) line += ", " + json_string(key) + ": " + value;
  line += "}";
  impl_->json->info(spdlog::string_view_t(line.data(), line.size()));
}

void Log::progress(std::string_view text) {
  if (!impl_->writes || impl_->quiet) return;
  impl_->people.info(spdlog::string_view_t(text.data(), text.size()));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          char escaped[8];
          std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
          out += escaped;
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 17);
  return std::string(text, end.ptr);
}

}  // namespace catena
