#include "io/yaml/setting_text.hpp"

#include <cmath>

#include "catena/base/units.hpp"

namespace catena {

std::string number_text(double value) {
  char buffer[40];
  return std::string(format_number(value, buffer, sizeof buffer));
}

std::string range_text(const SettingInfo& info) {
  const std::string unit = info.unit.empty() ? "" : " " + std::string(info.unit);
  std::string text;
  if (std::isfinite(info.min)) {
    text = (info.min_open ? "> " : ">= ") + number_text(info.min) + unit;
  }
  if (std::isfinite(info.max)) {
    text += (text.empty() ? "<= " : " and <= ") + number_text(info.max) + unit;
  }
  return text;
}

std::string words_text(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

bool is_word_value(double value, const SettingInfo& info) {
  if (info.word.empty()) return false;
  return std::isnan(value) ? std::isnan(info.word_value) : value == info.word_value;
}

}  // namespace catena
