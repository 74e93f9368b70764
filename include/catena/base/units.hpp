// Quantities as people write them: "2 ms", "30 deg", "7.8 g/cm^3", "01:30:00".
#pragma once

#include <string_view>

namespace catena {

/// Value of `text` in SI. `unit` is the SI unit expected ("s", "m/s", "kg/m^3",
/// "rad", "J", "m", "kg m^2", "rad/s", or "" for a pure number): a bare number is
/// taken in it, a number with a unit is converted and must have the same
/// dimension. Durations ("s") may also be HH:MM:SS or MM:SS.
/// Throws Error (found and fix only; the caller knows the place) for anything else,
/// for leading-zero integers such as 010, and for non-numbers.
double parse_quantity(std::string_view text, std::string_view unit);

/// Shortest decimal text that reads back as the same double ("0.1", ".inf").
std::string_view format_number(double value, char* buffer, std::size_t size);

}  // namespace catena
