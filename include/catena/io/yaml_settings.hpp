// Settings that describe themselves (base/settings.hpp), read from YAML, printed as YAML,
// and listed as a manual.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catena/base/settings.hpp"

namespace catena {

/// Calls describe(visitor, ...) of the settings that are to be read or printed.
using Description = std::function<void(SettingsVisitor&)>;

/// A YAML text with the places of everything in it, and with --set's changes.
///
/// Stricter than YAML: one document, UTF-8, a map at the top, every key a word that
/// stands once per map, no tags, no merge keys. Anchors and aliases are allowed.
class YamlDocument {
 public:
  /// Throws Error(bad_input) naming `source`:line:column.
  YamlDocument(std::string_view text, std::string source);
  ~YamlDocument();
  YamlDocument(YamlDocument&&) noexcept;
  YamlDocument& operator=(YamlDocument&&) noexcept;

  /// Applies one `path=value`. Keys are joined by dots; items of lists are named by index
  /// or by their unique name: `bodies.block.mass=2`, `generators.grains.count=[8,8,8]`.
  /// The value is YAML. Throws Error for malformed text and for items that do not exist;
  /// keys that do not exist are found by read().
  void set(const std::string& assignment);

  /// Lets `describe` overwrite the settings that the document sets. Throws the first Error
  /// in the order: unknown or bad values, missing keys, contradictions (reject); within
  /// each by place. Returns the hints: of the description (SettingsVisitor::hint), and of numbers
  /// that are hardly meant as they stand (number_hint).
  std::vector<std::string> read(const Description& describe) const;

  /// Where a key stands, "pile.yaml:3:5" or "--set": that of the longest part of the path (keys
  /// and names or indices of list items, joined by dots) that the document has; empty if none.
  std::string place_of(std::string_view path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The settings as YAML in block style, every key that has a value; numbers in SI with the
/// unit as a comment. YamlDocument reads it back to the same values.
std::string print_yaml(const Description& describe);

/// A key that two cases have different values of, by its path: items of lists go by their names, or
/// by their numbers.
struct ChangedKey {
  std::string key, before, after;
};

/// What differs between two texts of print_yaml.
std::vector<ChangedKey> changed_keys(const std::string& before, const std::string& after);

/// Settings as one line of JSON; numbers that are not finite are null.
std::string print_json(const Description& describe);

/// The keys as Markdown: for each its unit, range, default and help. Lists and maps of
/// settings are resized to one item, and every alternative is visited.
std::string settings_manual(const Description& describe);

}  // namespace catena
