// Broken case files: each is refused with the place, the key and what was found.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "catena/base/error.hpp"
#include "catena/simulation/case.hpp"

namespace catena {
namespace {

constexpr const char* kFirstLines =
    "catena: 1\n"
    "name: broken\n"
    "materials: {glass: {density: 2500}}\n"
    "time: {step: 1 ms, end: 1 s}\n";

struct BrokenCase {
  int line = 0;  ///< of the table
  std::string text;
  std::string message;  ///< what the error's text holds
};

/// "\n", "\t" and "\xHH" as the characters they stand for.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[++i] == 'x') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return out;
}

/// Removes the mark @ and returns its place as "line:column", or "".
std::string take_mark(std::string& text) {
  const std::size_t mark = text.find('@');
  if (mark == std::string::npos) return "";
  text.erase(mark, 1);
  const std::string before = text.substr(0, mark);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string::npos ? mark + 1 : mark - start;
  return std::to_string(line) + ":" + std::to_string(column);
}

std::vector<BrokenCase> read_table() {
  std::ifstream stream(CATENA_TEST_DATA "/cases/broken.txt");
  std::vector<BrokenCase> cases;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::size_t arrow = line.find(" => ");
    if (line.empty() || line[0] == '#' || arrow == std::string::npos) continue;
    const bool whole = line[0] == '!';
    BrokenCase next;
    next.line = number;
    next.text = unescaped(line.substr(whole ? 1 : 0, arrow - (whole ? 1 : 0)));
    if (!whole) next.text = kFirstLines + next.text + "\n";
    const std::string place = take_mark(next.text);
    next.message = (place.empty() ? "" : "broken.yaml:" + place + ": ") + line.substr(arrow + 4);
    cases.push_back(next);
  }
  return cases;
}

/// Text of the error that a case gives; "" if it is accepted.
std::string error_of(const std::string& text) {
  try {
    parse_case(text, "broken.yaml", ".");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::bad_input);
    return e.what();
  }
  return "";
}

TEST(BrokenCases, TheirCommonFirstLinesAreFine) { EXPECT_EQ(error_of(kFirstLines), ""); }

TEST(BrokenCases, AreAtLeastTwoHundred) { EXPECT_GE(read_table().size(), 200U); }

TEST(BrokenCases, EachIsRefusedWithPlaceKeyAndFinding) {
  for (const BrokenCase& broken : read_table()) {
    const std::string error = error_of(broken.text);
    EXPECT_NE(error.find(broken.message), std::string::npos)
        << "broken.txt:" << broken.line << "\n  expected " << broken.message << "\n  found    "
        << error << "\n"
        << broken.text;
    EXPECT_EQ(error.rfind("broken.yaml:", 0), 0U) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(BrokenCases, GarbageNeverCrashesTheReader) {
  // every text with one byte changed or cut off is refused or accepted, nothing else
  const std::string text =
      std::string(kFirstLines) +
      "bodies: [{name: a, material: glass, shape: {box: {size: [1, 1, 1]}}}]\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    error_of(text.substr(0, i));
    for (const char c : {'\0', '\t', '"', '{', ']', ':', '&', '*', '\x80', '\n', '-', '!', '|'}) {
      std::string changed = text;
      changed[i] = c;
      error_of(changed);
    }
  }
}

}  // namespace
}  // namespace catena
