// Broken FCLIB files end in one clear error on every rank. The files are made by
// make_broken_fclib.py into the folder named by CATENA_BROKEN_FCLIB.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "catena/base/error.hpp"
#include "catena/constraints/constraint_problem.hpp"
#include "catena/io/fclib.hpp"

namespace catena {
namespace {

struct Outcome {
  int code = 0;
  std::string message;
};

Outcome read(const Communicator& comm, const std::string& path) {
  try {
    FclibInfo info;
    check_problem(read_fclib(comm, path, info));
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.what()};
  }
  return {};
}

class BrokenFclib : public testing::Test {
 protected:
  Communicator comm_ = Communicator::world();
  std::string folder_ =
      std::getenv("CATENA_BROKEN_FCLIB") != nullptr ? std::getenv("CATENA_BROKEN_FCLIB") : "";
};

TEST_F(BrokenFclib, EveryFileGivesItsErrorCodeAndNamesTheObjectOnEveryRank) {
  std::ifstream manifest(folder_ + "/manifest.txt");
  if (!manifest) GTEST_SKIP() << "no broken files: h5py is missing";
  std::string file, object;
  int code = 0;
  std::int64_t refused = 0;
  while (manifest >> file >> code >> object) {
    const Outcome outcome = read(comm_, folder_ + "/" + file);

    if (code != 0) {
      EXPECT_EQ(outcome.code, code) << file << ": " << outcome.message;
      EXPECT_NE(outcome.message.find(object), std::string::npos)
          << file << " should name " << object << ": " << outcome.message;
      EXPECT_NE(outcome.message.find(file), std::string::npos) << outcome.message;
      ++refused;
    }
    EXPECT_EQ(comm_.max(std::int64_t{outcome.code}), comm_.min(std::int64_t{outcome.code})) << file;
  }
  EXPECT_GE(refused, 50);
}

TEST_F(BrokenFclib, TheSoundFilesTheyWereMadeFromAreRead) {
  if (!std::ifstream(folder_ + "/manifest.txt")) GTEST_SKIP() << "no files: h5py is missing";

  EXPECT_EQ(read(comm_, folder_ + "/local.hdf5").message, "");
  EXPECT_EQ(read(comm_, folder_ + "/global.hdf5").message, "");
}

}  // namespace
}  // namespace catena
