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

std::vector<NumberWord> words_of(const SettingInfo& info) {
  std::vector<NumberWord> words;
  if (!info.word.empty()) words.push_back({info.word, info.word_value});
  words.insert(words.end(), info.words.begin(), info.words.end());
  return words;
}

std::string_view word_of(double value, const SettingInfo& info) {
  for (const NumberWord& w : words_of(info))
    if (std::isnan(value) ? std::isnan(w.value) : value == w.value) return w.word;
  return {};
}

}  // namespace catena
