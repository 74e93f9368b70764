#include "catena/base/error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace catena {
namespace {

TEST(Error, SaysWhereWhatAndTheRemedy) {
  const Error error("unknown key", "pile.yaml:3:5: solver.max_sweep",
                    "did you mean solver.max_iterations?");
  EXPECT_STREQ(error.what(),
               "pile.yaml:3:5: solver.max_sweep: unknown key; did you mean solver.max_iterations?");
  EXPECT_EQ(error.code(), ExitCode::bad_input);
}

TEST(Error, LeavesOutWhatIsEmpty) {
  EXPECT_STREQ(Error("found").what(), "found");
  EXPECT_STREQ(Error("found", "where").what(), "where: found");
  EXPECT_STREQ(Error("found", "", "fix").what(), "found; fix");
}

TEST(Check, BrokenPromiseNamesConditionAndPlace) {
  EXPECT_NO_THROW(CATENA_CHECK(1 + 1 == 2, "arithmetic"));
  try {
    CATENA_CHECK(1 + 1 == 3, "arithmetic");
    FAIL() << "no exception";
  } catch (const std::logic_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("error_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("1 + 1 == 3 (arithmetic)"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace catena
