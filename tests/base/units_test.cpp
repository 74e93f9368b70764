#include "catena/base/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "catena/base/error.hpp"

namespace catena {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = std::numbers::pi;

struct Quantity {
  const char* text;
  const char* unit;
  double value;
};

TEST(ParseQuantity, ConvertsToTheUnitExpected) {
  // the values are literals: one rounding only
  const Quantity quantities[] = {
      {"2 ms", "s", 0.002},
      {"2.3ms", "s", 0.0023},
      {"7.8 g/cm^3", "kg/m^3", 7800.0},
      {"1 cm/s", "m/s", 0.01},
      {"1 J", "J", 1.0},
      {"1e-12 J", "J", 1e-12},
      {"3 kN", "N", 3000.0},
      {"2.5 MPa", "Pa", 2.5e6},
      {"0.1 mm", "m", 0.0001},
      {"5 um", "m", 5e-6},
      {"5 \u00b5m", "m", 5e-6},
      {"1.5 min", "s", 90.0},
      {"2 h", "s", 7200.0},
      {"1 d", "s", 86400.0},
      {"3 t", "kg", 3000.0},
      {"250 g", "kg", 0.25},
      {"4 kg m^2", "kg m^2", 4.0},
      {"4 g cm^2", "kg m^2", 4e-7},
      {"4 kg*m^2", "kg m^2", 4.0},
      {"9.81 m/s^2", "m/s^2", 9.81},
      {"9.81 m s^-2", "m/s^2", 9.81},
      {"1 N m", "J", 1.0},
      {"2 kg/(m s)", "Pa s", 2.0},
      {"36 m/h", "m/s", 0.01},
      {"5 1/s", "Hz", 5.0},
      {"1500 mm", "mm", 1500.0},
      {"1.5 m", "mm", 1500.0},
  };
  for (const Quantity& q : quantities)
    EXPECT_EQ(parse_quantity(q.text, q.unit), q.value) << q.text << " in " << q.unit;
}

TEST(ParseQuantity, AnglesAreConvertedThroughPi) {
  EXPECT_NEAR(parse_quantity("30 deg", "rad"), kPi / 6.0, 1e-16);
  EXPECT_NEAR(parse_quantity("90 deg/s", "rad/s"), kPi / 2.0, 1e-15);
  EXPECT_NEAR(parse_quantity("60 rpm", "rad/s"), 2.0 * kPi, 1e-15);
  EXPECT_NEAR(parse_quantity("0.5 rev", "rad"), kPi, 1e-15);
}

TEST(ParseQuantity, BareNumbersAreTakenInTheUnitExpected) {
  const Quantity numbers[] = {{"0", "m", 0.0},      {"-3", "m", -3.0},   {"+3", "m", 3.0},
                              {"0.5", "", 0.5},     {".5", "s", 0.5},    {"5.", "s", 5.0},
                              {"1e-3", "s", 1e-3},  {"1E5", "", 1e5},    {" 7 ", "kg", 7.0},
                              {"-0.25", "", -0.25}, {"0e0", "rad", 0.0}, {"100", "", 100.0}};
  for (const Quantity& q : numbers) EXPECT_EQ(parse_quantity(q.text, q.unit), q.value) << q.text;
}

TEST(ParseQuantity, InfinityIsWrittenAsInYaml) {
  EXPECT_EQ(parse_quantity(".inf", "s"), kInfinity);
  EXPECT_EQ(parse_quantity("+.Inf", ""), kInfinity);
  EXPECT_EQ(parse_quantity("-.INF", "m"), -kInfinity);
}

TEST(ParseQuantity, DurationsMayBeClockTimes) {
  EXPECT_EQ(parse_quantity("01:30:00", "s"), 5400.0);
  EXPECT_EQ(parse_quantity("00:00:08", "s"), 8.0);
  EXPECT_EQ(parse_quantity("100:00:00", "s"), 360000.0);
  EXPECT_EQ(parse_quantity("90:00", "s"), 5400.0);
  EXPECT_EQ(parse_quantity("1:02.5", "s"), 62.5);
}

TEST(ParseQuantity, WrongDimensionNamesBothUnits) {
  try {
    parse_quantity("3 kg", "m/s");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.found(), "found kg, needs m/s");
    EXPECT_EQ(error.fix(), "give it in m/s");
    EXPECT_EQ(error.code(), ExitCode::bad_input);
  }
}

TEST(ParseQuantity, LeadingZerosAreAmbiguous) {
  for (const char* text : {"010", "-010", "00", "007.5", "01 m", "010e2"}) {
    try {
      parse_quantity(text, "m");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.found().find("ambiguous"), std::string::npos) << error.what();
    }
  }
}

TEST(ParseQuantity, AnythingElseIsRefused) {
  const Quantity wrong[] = {{"", "m", 0},
                            {"   ", "m", 0},
                            {"m", "m", 0},
                            {"nan", "", 0},
                            {".nan", "m", 0},
                            {"inf", "", 0},
                            {"1e999", "", 0},
                            {"1e", "", 0},
                            {"1,5", "", 0},
                            {"1_000", "", 0},
                            {"0x10", "", 0},
                            {"--1", "", 0},
                            {"+-1", "", 0},
                            {"1 2", "", 0},
                            {"5 m", "", 0},
                            {"5 rad", "", 0},
                            {"5 parsec", "m", 0},
                            {"5 m/", "m", 0},
                            {"5 m^", "m", 0},
                            {"5 m^99", "m", 0},
                            {"5 (m", "m", 0},
                            {"5 m)", "m", 0},
                            {"5 /s", "Hz", 0},
                            {"1e307 km", "m", 0},
                            {"5 kmin", "s", 0},
                            {"30 deg", "m", 0},
                            {"1:60:00", "s", 0},
                            {"1:00:60", "s", 0},
                            {"1:2:3:4", "s", 0},
                            {"1:2", "s", 0},
                            {":30", "s", 0},
                            {"30:", "s", 0},
                            {"-1:00:00", "s", 0},
                            {"01:30:00", "m", 0},
                            {"1.5:00", "s", 0},
                            {"true", "", 0},
                            {"((((((((((m", "m", 0},
                            {"5 ((((((((((m))))))))))", "m", 0},
                            {"5 m m m", "m", 0},
                            {"1\n", "", 0}};
  for (const Quantity& q : wrong) EXPECT_THROW(parse_quantity(q.text, q.unit), Error) << q.text;
}

TEST(FormatNumber, IsTheShortestTextThatReadsBack) {
  char buffer[32];
  const auto text = [&](double value) {
    return std::string(format_number(value, buffer, sizeof buffer));
  };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-3.0), "-3");
  EXPECT_EQ(text(kInfinity), ".inf");
  EXPECT_EQ(text(-kInfinity), "-.inf");
  for (const double value : {1.0 / 3.0, 1e-300, 1.7976931348623157e308, 6.02214076e23})
    EXPECT_EQ(parse_quantity(text(value), ""), value);
}

TEST(FormatNumber, TooSmallABufferIsABrokenPromise) {
  char buffer[3];
  EXPECT_THROW(format_number(0.123, buffer, sizeof buffer), std::logic_error);
}

}  // namespace
}  // namespace catena
