#include "catena/base/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "catena/base/error.hpp"

namespace catena {
namespace {

class LogFile : public testing::Test {
 protected:
  LogFile() : path_(testing::TempDir() + "catena_log_" + std::to_string(::getpid()) + ".jsonl") {}
  ~LogFile() override { std::filesystem::remove(path_); }

  std::vector<std::string> lines() const {
    std::ifstream file(path_);
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);) result.push_back(line);
    return result;
  }

  std::string path_;
};

TEST_F(LogFile, HoldsOneJsonObjectPerMessage) {
  Log log(true, true);
  log.open_json(path_);

  log.info("step \"1\"", {{"time_step", "12"}, {"energy_J", json_number(0.1)}});
  log.warning("slow");

  // read before the log is closed: a killed run keeps its lines
  const std::vector<std::string> found = lines();
  ASSERT_EQ(found.size(), 2u);
  const std::string time = R"(\{"time": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", )";
  EXPECT_TRUE(std::regex_match(
      found[0],
      std::regex(time + R"re("level": "info", "text": "step \\"1\\"", "time_step": 12, )re" +
                 R"re("energy_J": 0\.10000000000000001\})re")))
      << found[0];
  EXPECT_TRUE(
      std::regex_match(found[1], std::regex(time + R"("level": "warning", "text": "slow"\})")))
      << found[1];
}

TEST_F(LogFile, IsAppendedToWhenOpenedAgain) {
  for (int run = 0; run < 2; ++run) {
    Log log(true, true);
    log.open_json(path_);
    log.info("started");
  }
  EXPECT_EQ(lines().size(), 2u);
}

TEST_F(LogFile, IsNotCreatedByRanksThatDoNotWrite) {
  Log log(false);
  log.open_json(path_);
  log.warning("unheard");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LogFile, ProgressIsForPeopleOnly) {
  Log log(true);
  log.open_json(path_);
  testing::internal::CaptureStderr();
  log.progress("50 %");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "50 %\n");
  EXPECT_TRUE(lines().empty());
}

TEST(Log, QuietKeepsWarningsAndErrors) {
  Log log(true, true);
  testing::internal::CaptureStderr();
  log.info("not shown");
  log.progress("nor this");
  log.warning("shown {} %s");
  log.message(LogLevel::error, "and this");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: shown {} %s\nerror: and this\n");
}

TEST(Log, FileThatCannotBeOpenedIsAnInputOutputError) {
  Log log(true);
  try {
    log.open_json("/proc/no/such/folder/log.jsonl");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::input_output);
    EXPECT_EQ(error.where(), "/proc/no/such/folder/log.jsonl");
  }
}

TEST(JsonString, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(json_string("a\"b\\c\n\t\r\x01"), R"("a\"b\\c\n\t\r\u0001")");
  EXPECT_EQ(json_string("m\u00b2"), "\"m\u00b2\"");
}

TEST(JsonNumber, KeepsEveryBitAndWritesNullForNonFinite) {
  for (const double value : {0.1, 1.0 / 3.0, -1e-300, 12345678.9})
    EXPECT_EQ(std::strtod(json_number(value).c_str(), nullptr), value);
  EXPECT_EQ(json_number(2.0), "2");
  EXPECT_EQ(json_number(std::nan("")), "null");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "null");
}

}  // namespace
}  // namespace catena
