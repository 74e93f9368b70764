// Small text files that appear whole or not at all.
#pragma once

#include <string>

namespace catena {

/// Not collective. Writes `text` under a temporary name, syncs and renames it. Throws
/// Error(input_output).
void write_text_file(const std::string& path, const std::string& text);

}  // namespace catena
