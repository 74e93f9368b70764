// Numbers of a case that are hardly meant as they stand.
#pragma once

#include <string>
#include <string_view>

namespace catena {

/// What is doubtful about a number that was written as `text` and is `value` in `unit`, with the
/// unit that is likely meant; empty if nothing is. Angles are checked where they have no unit,
/// the rest where double precision or common sense end.
std::string number_hint(std::string_view text, double value, std::string_view unit);

}  // namespace catena
