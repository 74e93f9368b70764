// Inputs changed at random.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace catena::fuzz {

/// A part of an input: where it begins, and its length.
using Piece = std::pair<std::size_t, std::size_t>;

/// One to four changes of `input`, the same for the same seed everywhere: bits, bytes and whole
/// numbers set to what is seldom right, pieces left out, doubled and cut off; of a text besides
/// numbers, words and lines, which may come from `others`, inputs of the same kind.
std::string mutated(std::string input, const std::vector<std::string>& others, bool text,
                    std::uint64_t seed);
/// The same in the given pieces alone, each of which keeps its length; now and then cut off.
std::string mutated_pieces(std::string input, const std::vector<Piece>& pieces, std::uint64_t seed);

}  // namespace catena::fuzz
