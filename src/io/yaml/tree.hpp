// A parsed YAML text: plain nodes that know their place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace catena::yaml {

/// Where something stands; line and column from 1. From --set: line 0.
struct Place {
  int line = 0;
  int column = 0;
  bool from_set() const { return line == 0; }
  auto operator<=>(const Place&) const = default;
};

struct Key {
  std::string text;
  Place place;
};

struct Node {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  Place place;
  std::string text;           ///< of a scalar
  std::vector<Key> keys;      ///< of a map
  std::vector<Node> items;    ///< of a sequence; values of a map
  bool made_by_path = false;  ///< a map that a --set path made on its way

  Node* find(std::string_view key);
  const Node* find(std::string_view key) const { return const_cast<Node*>(this)->find(key); }
};

/// "file:line:column", or "--set".
std::string place_text(const std::string& source, const Place& place);

/// Parses one document. `place_of_set` puts every node at --set instead of its own place.
/// Throws Error with `source`:line:column.
Node parse(std::string_view text, const std::string& source, bool place_of_set = false);

/// What a node is, for messages: "a list", "a map", "nothing", "'text'".
std::string kind_text(const Node& node);

/// Applies one `path=value` of --set to the tree.
void assign(Node& root, const std::string& assignment);

/// Index of the list item called `name` by its own key `name` or by that of its only value
/// (generators), or -1 if none or several are. `inner` receives the map that holds the name.
int find_item(Node& list, std::string_view name, Node*& inner);

/// Name of a list item for paths; empty if it has none.
std::string item_name(const Node& item);

}  // namespace catena::yaml
