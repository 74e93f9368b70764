#include "catena/base/text.hpp"

#include <array>
#include <cstdio>

namespace catena {

std::string short_text(double value, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

}  // namespace catena
