// --set path=value on a parsed tree.
#include <charconv>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/base/suggest.hpp"
#include "io/yaml/tree.hpp"

namespace catena::yaml {

namespace {

/// Index written in `text`, or -1.
int index_of(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

/// The map inside that holds the item's name: the item itself, or its only value.
const Node* named_part(const Node& item) {
  const auto has_name = [](const Node& n) {
    const Node* name = n.kind == Node::Kind::map ? n.find("name") : nullptr;
    return name != nullptr && name->kind == Node::Kind::scalar;
  };
  if (has_name(item)) return &item;
  if (item.kind == Node::Kind::map && item.items.size() == 1 && has_name(item.items[0])) {
    return &item.items[0];
  }
  return nullptr;
}

Node& step_into_list(Node& list, const std::string& word, const std::string& where) {
  const int index = index_of(word);
  if (index >= 0) {
    if (static_cast<std::size_t>(index) >= list.items.size()) {
      throw Error("there is no item " + word, where,
                  "the list has " + std::to_string(list.items.size()) + " items, counted from 0");
    }
    return list.items[index];
  }
  Node* inner = nullptr;
  if (find_item(list, word, inner) >= 0) return *inner;
  std::vector<std::string> names;
  int matches = 0;
  for (const Node& item : list.items) {
    names.push_back(item_name(item));
    if (names.back() == word) ++matches;
  }
  if (matches > 1) {
    throw Error("several items are called '" + word + "'", where, "give the item's index");
  }
  const std::string near = nearest_word(word, names);
  throw Error("there is no item '" + word + "'", where,
              near.empty() ? "give an item's name or index" : "did you mean " + near + "?");
}

}  // namespace

std::string item_name(const Node& item) {
  const Node* part = named_part(item);
  return part != nullptr ? part->find("name")->text : std::string();
}

int find_item(Node& list, std::string_view name, Node*& inner) {
  int found = -1;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Node* part = named_part(list.items[i]);
    if (part == nullptr || part->find("name")->text != name) continue;
    if (found >= 0) return -1;
    found = narrow<int>(i);
    inner = const_cast<Node*>(part);
  }
  return found;
}

void assign(Node& root, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("'" + assignment + "' is not path=value", "--set",
                "for example --set solver.max_iterations=50");
  }
  const std::string path = assignment.substr(0, equals);
  const std::string where = "--set: " + path;
  Node value;
  try {
    value = parse(std::string_view(assignment).substr(equals + 1), "--set", true);
  } catch (const Error& e) {
    throw Error(e.found(), where, e.fix());
  }
  Node* node = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string word = path.substr(begin, end - begin);
    if (word.empty()) throw Error("the path has an empty part", where);
    if (node->kind == Node::Kind::sequence) {
      node = &step_into_list(*node, word, where);
    } else if (node->kind == Node::Kind::scalar) {
      throw Error("'" + word + "' is looked for in " + kind_text(*node) + ", which holds no keys",
                  where);
    } else {
      if (node->kind == Node::Kind::null) node->kind = Node::Kind::map;
      std::size_t i = 0;
      while (i < node->keys.size() && node->keys[i].text != word) ++i;
      if (i == node->keys.size()) {
        node->keys.push_back({word, {}});
        node->items.emplace_back().made_by_path = true;
      }
      if (end == path.size()) node->keys[i].place = {};  // errors name --set from now on
      node = &node->items[i];
    }
    begin = end + 1;
  }
  const bool made = node->made_by_path;
  *node = std::move(value);
  node->made_by_path = made;
}

}  // namespace catena::yaml
