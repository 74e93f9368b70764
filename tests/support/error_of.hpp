// What a piece of work is refused with.
#pragma once

#include <string>

#include "catena/base/error.hpp"

namespace catena::test {

/// Message of the Error that `work` throws; "no error" if it throws none.
template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace catena::test
