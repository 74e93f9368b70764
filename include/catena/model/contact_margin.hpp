// The margin of contacts where no pair has one of its own.
#pragma once

#include <cmath>

#include "catena/model/model.hpp"

namespace catena {

/// Margin of limits of joints and of overlaps of a start, m: the contacts', or 1 mm if each pair
/// has its own.
inline double margin_of_no_pair(const ContactParameters& contact) {
  return std::isnan(contact.margin) ? 1e-3 : contact.margin;
}

}  // namespace catena
