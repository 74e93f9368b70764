// What differs between two resolved cases.
#include <map>

#include "catena/io/yaml_settings.hpp"
#include "io/yaml/tree.hpp"

namespace catena {

namespace {

using yaml::Node;

/// Every value by its path: keys and names or numbers of list items joined by dots.
void flatten(const Node& node, const std::string& path, std::map<std::string, std::string>& out) {
  const std::string prefix = path.empty() ? "" : path + ".";
  if (node.kind == Node::Kind::map) {
    for (std::size_t i = 0; i < node.keys.size(); ++i)
      flatten(node.items[i], prefix + node.keys[i].text, out);
    if (node.keys.empty()) out[path] = "{}";
    return;
  }
  if (node.kind == Node::Kind::sequence) {
    bool plain = true;
    std::string text;
    for (const Node& item : node.items) {
      plain = plain && item.kind == Node::Kind::scalar;
      text += (text.empty() ? "" : ", ") + item.text;
    }
    if (plain) {
      out[path] = "[" + text + "]";
      return;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string name = yaml::item_name(node.items[i]);
      flatten(node.items[i], prefix + (name.empty() ? std::to_string(i) : name), out);
    }
    return;
  }
  out[path] = node.kind == Node::Kind::null ? "nothing" : node.text;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 80;
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

}  // namespace

std::vector<ChangedKey> changed_keys(const std::string& before, const std::string& after) {
  std::map<std::string, std::string> old_values, new_values;
  flatten(yaml::parse(before, "case before"), "", old_values);
  flatten(yaml::parse(after, "case"), "", new_values);
  constexpr const char* kAbsent = "absent";
  std::vector<ChangedKey> changes;
  for (const auto& [key, value] : old_values) {
    const auto now = new_values.find(key);
    if (now == new_values.end()) {
      changes.push_back({key, shortened(value), kAbsent});
    } else if (now->second != value) {
      changes.push_back({key, shortened(value), shortened(now->second)});
    }
  }
  for (const auto& [key, value] : new_values)
    if (!old_values.contains(key)) changes.push_back({key, kAbsent, shortened(value)});
  return changes;
}

}  // namespace catena
