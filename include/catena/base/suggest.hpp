// "Did you mean ...?": the known word nearest to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace catena {

/// The candidate most like `word` by edit distance, a shared beginning counting in its
/// favour; empty if none is near.
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

}  // namespace catena
