// What makes a body unfit for a scene.
#pragma once

#include <string>

#include "catena/base/index.hpp"

namespace catena::search {

struct BodyFault {
  GlobalId body = kNoBody;  ///< kNoBody: there is no fault
  std::string text;
};

}  // namespace catena::search
