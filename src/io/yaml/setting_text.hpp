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

/// All words of a number's key.
std::vector<NumberWord> words_of(const SettingInfo& info);

/// The word that stands for `value` (both NaN, or equal); empty: none.
std::string_view word_of(double value, const SettingInfo& info);

}  // namespace catena
