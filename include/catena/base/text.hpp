// Numbers as text, for messages and files.
#pragma once

#include <cstdint>
#include <string>

namespace catena {

/// With so many significant digits: "0.0123", "1.5e+06".
std::string short_text(double value, int digits = 6);

/// Without a fraction: "120".
std::string whole_text(double value);

/// 17 significant digits, which read back as the same double.
std::string exact_text(double value);
/// The same at the end of `text`, which alone is allocated.
void append_exact_text(std::string& text, double value);

/// A step's number as in names of files: "00000120".
std::string step_text(std::int64_t step);

}  // namespace catena
