#include "catena/base/error.hpp"

#include <utility>

namespace catena {
namespace {

std::string joined(const std::string& found, const std::string& where, const std::string& fix) {
  std::string text;
  if (!where.empty()) text += where + ": ";
  text += found;
  if (!fix.empty()) text += "; " + fix;
  return text;
}

}  // namespace

Error::Error(std::string found, std::string where, std::string fix, ExitCode code)
    : std::runtime_error(joined(found, where, fix)),
      found_(std::move(found)),
      where_(std::move(where)),
      fix_(std::move(fix)),
      code_(code) {}

void check_failed(const char* condition, const char* file, int line, std::string_view message) {
  std::string text = std::string(file) + ":" + std::to_string(line) +
                     ": broken promise inside Catena: " + condition;
  if (!message.empty()) text += " (" + std::string(message) + ")";
  throw std::logic_error(text);
}

}  // namespace catena
