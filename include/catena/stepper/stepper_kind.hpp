// Names of the steppers.
#pragma once

namespace catena {

enum class StepperKind { spook, dvi };

}  // namespace catena
