// Words for a setting's range and values, shared by errors, printer and manual.
#pragma once

#include <string>
#include <vector>

#include "catena/base/settings.hpp"

namespace catena {

/// "> 0 s", ">= 0 and <= 1", or empty if anything goes.
std::string range_text(const SettingInfo& info);

/// Shortest text that reads back as the same number.
std::string number_text(double value);

/// "a, b or c".
std::string words_text(std::span<const std::string_view> words);

/// True if `value` is what the word stands for (both NaN, or equal).
bool is_word_value(double value, const SettingInfo& info);

}  // namespace catena
