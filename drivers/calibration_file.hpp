// What `catena calibrate -o` writes, read back.
#pragma once

#include <string>

#include "catena/partition/step_prediction.hpp"

namespace catena::cli {

/// The costs of a calibration file for a prediction on n_ranks ranks, and what is to be said of it.
struct CalibrationFile {
  StepCosts costs;
  std::string remark;  ///< that it is of another machine; empty: of this one
};

/// Not collective. Throws Error where the file is none of calibrate's, or lacks a constant: those
/// of messages where n_ranks are several and it was made on one.
CalibrationFile read_calibration(const std::string& path, int n_ranks);

/// The CPU's name, from Linux.
std::string cpu_name();

}  // namespace catena::cli
