#include "catena/probes/condition.hpp"

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/base/text.hpp"
#include "catena/base/units.hpp"

namespace catena {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") + 1 - first);
}

/// Pieces between whole words.
std::vector<std::string> split(const std::string& text, const std::string& word) {
  const std::string between = " " + word + " ";
  std::vector<std::string> pieces;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(between, from)) != std::string::npos;
       from = at + between.size())
    pieces.push_back(trimmed(text.substr(from, at - from)));
  pieces.push_back(trimmed(text.substr(from)));
  return pieces;
}

}  // namespace

bool ProbeCondition::Comparison::holds(double x) const {
  return less ? x < value || (equal && x == value) : x > value || (equal && x == value);
}

ProbeCondition::ProbeCondition(const std::string& text, const ProbeSet& probes,
                               const std::string& where) {
  if (text.empty()) return;
  for (const std::string& alternative : split(text, "or")) {
    std::vector<Comparison>& all = any_of_all_.emplace_back();
    for (const std::string& piece : split(alternative, "and")) {
      const std::size_t at = piece.find_first_of("<>");
      if (at == std::string::npos || at == 0)
        throw Error("'" + piece + "' is no comparison", where,
                    "write PROBE.COLUMN > QUANTITY, with <, <=, > or >=, joined by `and` or `or`");
      Comparison c;
      c.text = piece;
      c.less = piece[at] == '<';
      c.equal = at + 1 < piece.size() && piece[at + 1] == '=';
      c.column = probes.find(trimmed(piece.substr(0, at)), where);
      c.unit = c.column.unit == "1" ? "" : c.column.unit;
      try {
        c.value = parse_quantity(trimmed(piece.substr(at + (c.equal ? 2 : 1))), c.unit);
      } catch (const Error& error) {
        throw Error("'" + piece + "': " + error.found(), where, error.fix());
      }
      all.push_back(std::move(c));
    }
  }
}

std::string ProbeCondition::met(const State& state) const {
  for (const std::vector<Comparison>& all : any_of_all_) {
    std::string text;
    const bool every = std::ranges::all_of(all, [&](const Comparison& c) {
      const double x = ProbeSet::value(c.column, state);
      text += (text.empty() ? "" : " and ") + c.text + " (" + short_text(x) +
              (c.unit.empty() ? "" : " " + c.unit) + ")";
      return c.holds(x);
    });
    if (every) return text;
  }
  return {};
}

}  // namespace catena
