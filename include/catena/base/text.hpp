// Numbers as people read them.
#pragma once

#include <string>

namespace catena {

/// `value` to so many significant digits, without trailing zeros: "0.0125", "3e+07", "nan".
std::string short_text(double value, int digits = 6);

}  // namespace catena
