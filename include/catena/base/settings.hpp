// One description per settings struct, from which it is read, range-checked,
// printed, stored in the output and listed in the manual.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catena/base/index.hpp"

namespace catena {

/// Marks a number that is not set.
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A word of other programs, and what stands for it here: one of the words that are known, or, if
/// it is none of these, a remedy.
struct Synonym {
  std::string_view word, meant;
};

/// A word that stands for a number.
struct NumberWord {
  std::string_view word;
  double value;
};

/// What is known of one key besides its value.
struct SettingInfo {
  std::string_view unit = {};  ///< SI unit in which the value is held ("s", "m/s", "kg/m^3",
                               ///< "rad"); empty: a pure number
  double min = -std::numeric_limits<double>::infinity();  ///< smallest value allowed
  double max = std::numeric_limits<double>::infinity();   ///< largest value allowed
  bool min_open = false;                                  ///< `min` itself is not allowed
  bool required = false;                                  ///< an error if absent
  bool finite = true;                                     ///< .inf is refused
  bool scalar_fills = false;   ///< one number may stand for all entries of a span
  bool row_alone = false;      ///< of rows and words: a single one may stand without brackets
  std::string_view word = {};  ///< a word that stands for `word_value` ("none", "per_rank")
  double word_value = kNone;
  std::span<const NumberWord> words = {};  ///< further ones
  /// Words of a choice that are refused, and the answer to each; of several with one word the first
  /// that is known.
  std::span<const Synonym> synonyms = {};
  std::string_view first_unit = {};  ///< of rows: unit of the first column, where it is another
  std::string_view help = {};
};

/// Walks the description of a settings struct. Readers overwrite the values that
/// the source sets and report bad ones with their place; printers and the manual
/// only look. A `describe(SettingsVisitor&, T&)` function per struct names every
/// key once.
///
/// Values not set by the source keep what they held: the default.
class SettingsVisitor {
 public:
  virtual ~SettingsVisitor() = default;

  virtual void visit(std::string_view key, bool& value, const SettingInfo& info) = 0;
  virtual void visit(std::string_view key, int& value, const SettingInfo& info) = 0;
  virtual void visit(std::string_view key, std::int64_t& value, const SettingInfo& info) = 0;
  /// Numbers may carry a unit; NaN (kNone) stands for "not set".
  virtual void visit(std::string_view key, double& value, const SettingInfo& info) = 0;
  virtual void visit(std::string_view key, std::string& value, const SettingInfo& info) = 0;
  /// A fixed number of quantities, such as a position: [x, y, z].
  virtual void visit(std::string_view key, std::span<double> value, const SettingInfo& info) = 0;
  /// A fixed number of whole numbers, such as a count per direction.
  virtual void visit(std::string_view key, std::span<int> value, const SettingInfo& info) = 0;
  /// A list of words of any length.
  virtual void visit(std::string_view key, std::vector<std::string>& value,
                     const SettingInfo& info) = 0;

  /// A map of any number of keys of the user's own to words, in the source's order.
  virtual void words(std::string_view key, std::vector<std::pair<std::string, std::string>>& values,
                     const SettingInfo& info) = 0;

  /// A list of rows of `width` quantities each, one row after the other in `values`, such as
  /// vertices: [[0, 0, 0], [1, 0, 0]]. With width 0 the source's first row sets it.
  virtual void rows(std::string_view key, std::vector<double>& values, std::size_t& width,
                    const SettingInfo& info) = 0;

  /// One word out of `names`; `value` is its index.
  virtual void choice(std::string_view key, int& value, std::span<const std::string_view> names,
                      const SettingInfo& info) = 0;

  /// A map of further keys. `body` describes them; readers call it also if the
  /// section is absent, so that defaults and required keys are checked, unless
  /// the section is optional (see optional_section).
  virtual void section(std::string_view key, const SettingInfo& info,
                       const std::function<void()>& body) = 0;

  /// As section, but `present` says whether it is there; `body` runs only if so.
  virtual void optional_section(std::string_view key, bool& present, const SettingInfo& info,
                                const std::function<void()>& body) = 0;

  /// A sequence of maps. `resize(n)` is called by readers with the number of
  /// items; `item(i)` describes item i. `size` is the present number (printers).
  virtual void list(std::string_view key, std::size_t size, const SettingInfo& info,
                    const std::function<void(std::size_t)>& resize,
                    const std::function<void(std::size_t)>& item) = 0;

  /// A map from the user's own names to maps of keys. `resize(names)` is called by
  /// readers with the names in the source's order.
  virtual void named(std::string_view key, std::span<const std::string> names,
                     const SettingInfo& info,
                     const std::function<void(std::span<const std::string>)>& resize,
                     const std::function<void(std::size_t)>& item) = 0;

  /// A map that holds exactly one of the keys `names`, which selects what follows:
  /// `shape: {sphere: {...}}`. `value` is the index of that key; `body(value)`
  /// describes what stands under it. An empty key reads the present map itself.
  virtual void one_of(std::string_view key, int& value, std::span<const std::string_view> names,
                      const SettingInfo& info, const std::function<void(int)>& body) = 0;

  /// Reports a problem with the value of `key` in the section being visited, at its
  /// place in the source. Readers throw or collect; others ignore it.
  virtual void reject(std::string_view key, const std::string& found, const std::string& fix) = 0;

  /// Tells of a value of `key` that is allowed but likely not meant. Readers keep it with its
  /// place; others ignore it.
  virtual void hint(std::string_view, const std::string&) {}

  /// Where `key` of the section being visited stands in the source, or the section itself if the
  /// key is absent or empty: "pile.yaml:3:5: joints.hinge.at", for errors that show only when the
  /// scene is made. Empty where there is no source.
  virtual std::string where(std::string_view) const { return {}; }

  /// Whether the source gives `key` in the section being visited.
  virtual bool gives(std::string_view) const { return false; }

  /// Whether the source gives a map under `key` of the section being visited, where a value may
  /// stand as well.
  virtual bool gives_map(std::string_view) const { return false; }

  /// Names a key of earlier versions and the one that stands for it now, both as seen from the
  /// section being visited. Readers refuse the former by naming the latter; others ignore it.
  virtual void renamed(std::string_view /*key*/, std::string_view /*now*/) {}

  /// Convenience for enums: `names` in the order of the enumerators from 0.
  template <class E>
  void choose(std::string_view key, E& value, std::span<const std::string_view> names,
              const SettingInfo& info) {
    int index = static_cast<int>(value);
    choice(key, index, names, info);
    value = static_cast<E>(index);
  }
};

}  // namespace catena
