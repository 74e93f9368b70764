#include "io/yaml/tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "catena/base/error.hpp"

namespace catena::yaml {

namespace {

/// Nodes that aliases may expand to: enough for any scene, too few to fill memory.
constexpr std::size_t kMaxNodes = 20'000'000;

std::size_t count_nodes(const Node& node) {
  std::size_t n = 1;
  for (const Node& item : node.items) n += count_nodes(item);
  return n;
}

/// Builds nodes from yaml-cpp's events, which keep what its Node class loses: raw scalars,
/// duplicate keys and every place.
class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& source, bool place_of_set)
      : source_(source), place_of_set_(place_of_set) {}

  Node root;
  int documents = 0;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents > 1) {
      fail("a second document starts here", mark, "keep one document per file");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.place = place_of(mark);
    add(std::move(node), anchor, mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail("the alias stands inside its own anchor", mark, "");
    nodes_ += count_nodes(found->second);
    Node copy = found->second;
    copy.place = place_of(mark);
    add(std::move(copy), 0, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node node;
    node.kind = Node::Kind::scalar;
    node.place = place_of(mark);
    node.text = value;
    add(std::move(node), anchor, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    bool have_key = false;  ///< of a map: the value comes next
  };

  [[noreturn]] void fail(const std::string& found, const YAML::Mark& mark,
                         const std::string& fix) const {
    throw Error(found, place_text(source_, place_of(mark)), fix);
  }
  Place place_of(const YAML::Mark& mark) const {
    if (place_of_set_) return {};
    return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail("the tag '" + tag + "' is not understood", mark, "remove it");
    }
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            Node::Kind kind) {
    refuse_tag(mark, tag);
    Open next;
    next.node.kind = kind;
    next.node.place = place_of(mark);
    next.anchor = anchor;
    next.mark = mark;
    open_.push_back(std::move(next));
  }
  void close() {
    Open last = std::move(open_.back());
    open_.pop_back();
    add(std::move(last.node), last.anchor, last.mark);
  }
  void add(Node node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (++nodes_ > kMaxNodes) fail("aliases expand to too much", mark, "");
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::map && !parent.have_key) {
      add_key(parent, node, mark);
      return;
    }
    parent.have_key = false;
    parent.node.items.push_back(std::move(node));
  }
  void add_key(Open& parent, Node& node, const YAML::Mark& mark) {
    if (node.kind != Node::Kind::scalar) fail("a key must be a word", mark, "");
    if (node.text == "<<") fail("merge keys (<<) are not understood", mark, "write the keys out");
    // maps of thousands of keys (materials) do not occur, so a linear search does
    for (const Key& key : parent.node.keys) {
      if (key.text != node.text) continue;
      fail("duplicate key '" + node.text + "'", mark,
           "it stands in line " + std::to_string(key.place.line) + " already");
    }
    parent.node.keys.push_back({std::move(node.text), node.place});
    parent.have_key = true;
  }

  const std::string& source_;
  bool place_of_set_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
};

/// Length of the UTF-8 sequence that starts at text[i], 0 if it is not one or is a control
/// character that text does not hold.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char c = byte(i);
  if (c < 0x80) return c >= 0x20 || c == '\n' || c == '\r' || c == '\t' ? 1 : 0;
  const std::size_t length = c >= 0xc2 && c < 0xe0   ? 2
                             : c >= 0xe0 && c < 0xf0 ? 3
                             : c >= 0xf0 && c < 0xf5 ? 4
                                                     : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void check_text(std::string_view text, const std::string& source, bool place_of_set) {
  Place place{1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      throw Error("not text in UTF-8", place_text(source, place_of_set ? Place{} : place),
                  "a YAML file is expected");
    }
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
    i += length;
  }
}

}  // namespace

Node* Node::find(std::string_view key) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return &items[i];
  }
  return nullptr;
}

std::string place_text(const std::string& source, const Place& place) {
  if (place.from_set()) return "--set";
  return source + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

Node parse(std::string_view text, const std::string& source, bool place_of_set) {
  check_text(text, source, place_of_set);
  Builder builder(source, place_of_set);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    const bool marked = !e.mark.is_null();
    const Place place = place_of_set ? Place{}
                        : marked     ? Place{e.mark.line + 1, e.mark.column + 1}
                                     : Place{1, 1};
    throw Error("not YAML: " + e.msg, place_text(source, place));
  }
  return std::move(builder.root);
}

std::string kind_text(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a map";
    case Node::Kind::scalar:
      break;
  }
  constexpr std::size_t kMost = 60;
  return "'" + (node.text.size() > kMost ? node.text.substr(0, kMost) + "..." : node.text) + "'";
}

}  // namespace catena::yaml
