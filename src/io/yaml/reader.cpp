#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/base/suggest.hpp"
#include "catena/base/units.hpp"
#include "catena/io/yaml_settings.hpp"
#include "io/yaml/number_hint.hpp"
#include "io/yaml/setting_text.hpp"
#include "io/yaml/tree.hpp"

namespace catena {

using yaml::Node;
using yaml::Place;

namespace {

/// Which of several errors is reported: a misspelt key also leaves a required one missing, and
/// both lead to contradictions.
enum class Rank { value, missing, contradiction };

/// Overwrites what the document sets. Goes on after an error, so that unknown keys, which
/// show only at the end of a section, come before their consequences.
class Reader : public SettingsVisitor {
 public:
  Reader(const Node& root, const std::string& source) : source_(source) {
    push(root, "", root.place);
  }

  std::vector<std::string> finish() {
    pop();
    if (first_) throw Error(first_->error);
    return std::move(hints_);
  }

  void visit(std::string_view key, bool& value, const SettingInfo& info) override {
    const Node* node = find(key, info, "true or false");
    if (node == nullptr) return;
    if (node->kind == Node::Kind::scalar && (node->text == "true" || node->text == "false")) {
      value = node->text == "true";
    } else {
      wrong(*node, key, "true or false");
    }
  }
  void visit(std::string_view key, int& value, const SettingInfo& info) override {
    std::int64_t wide = value;
    SettingInfo limits = info;
    limits.min = std::max(info.min, static_cast<double>(std::numeric_limits<int>::min()));
    limits.max = std::min(info.max, static_cast<double>(std::numeric_limits<int>::max()));
    visit(key, wide, limits);
    value = narrow<int>(wide);
  }
  void visit(std::string_view key, std::int64_t& value, const SettingInfo& info) override {
    const Node* node = find(key, info, "a whole number");
    if (node != nullptr) whole_number(*node, key, info, value);
  }
  void visit(std::string_view key, double& value, const SettingInfo& info) override {
    const Node* node = find(key, info, number_words(info));
    if (node != nullptr) quantity(*node, key, info, value);
  }
  void visit(std::string_view key, std::string& value, const SettingInfo& info) override {
    const Node* node = find(key, info, "a text");
    if (node == nullptr) return;
    if (node->kind != Node::Kind::scalar) {
      wrong(*node, key, "a text");
    } else if (node->text.empty() && info.required) {
      report(Rank::value, node->place, path_of(key), "empty", "");
    } else {
      value = node->text;
    }
  }
  void visit(std::string_view key, std::span<double> value, const SettingInfo& info) override {
    const std::string words = std::to_string(value.size()) + " numbers" +
                              (info.unit.empty() ? "" : " in " + std::string(info.unit));
    const Node* node = find(key, info, words);
    if (node == nullptr) return;
    if (info.scalar_fills && node->kind == Node::Kind::scalar) {
      double all = value[0];
      quantity(*node, key, info, all);
      std::fill(value.begin(), value.end(), all);
      return;
    }
    if (!is_list_of(*node, value.size(), key, words)) return;
    for (std::size_t i = 0; i < value.size(); ++i) quantity(node->items[i], key, info, value[i]);
  }
  void visit(std::string_view key, std::span<int> value, const SettingInfo& info) override {
    const std::string words = std::to_string(value.size()) + " whole numbers";
    const Node* node = find(key, info, words);
    if (node == nullptr || !is_list_of(*node, value.size(), key, words)) return;
    SettingInfo limits = info;
    limits.max = std::min(info.max, static_cast<double>(std::numeric_limits<int>::max()));
    limits.min = std::max(info.min, static_cast<double>(std::numeric_limits<int>::min()));
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::int64_t wide = value[i];
      whole_number(node->items[i], key, limits, wide);
      value[i] = narrow<int>(wide);
    }
  }
  void visit(std::string_view key, std::vector<std::string>& value,
             const SettingInfo& info) override {
    const Node* node = find(key, info, "a list of words");
    if (node == nullptr) return;
    if (info.row_alone && node->kind == Node::Kind::scalar) {
      value = {node->text};
      return;
    }
    if (node->kind != Node::Kind::sequence) return wrong(*node, key, "a list of words");
    value.clear();
    for (const Node& item : node->items) {
      if (item.kind != Node::Kind::scalar) return wrong(item, key, "a word");
      value.push_back(item.text);
    }
  }
  void words(std::string_view key, std::vector<std::pair<std::string, std::string>>& values,
             const SettingInfo& info) override {
    const Node* node = find(key, info, "a map");
    if (node == nullptr || !is_map(*node, key)) return;
    values.clear();
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      const Node& item = node->items[i];
      const std::string path = path_of(key) + "." + node->keys[i].text;
      if (item.kind != Node::Kind::scalar && item.kind != Node::Kind::null)
        return report(Rank::value, item.place, path, "expected a word, found " + kind_text(item),
                      "");
      values.emplace_back(node->keys[i].text, item.text);
    }
  }
  void rows(std::string_view key, std::vector<double>& values, std::size_t& width,
            const SettingInfo& info) override;
  void choice(std::string_view key, int& value, std::span<const std::string_view> names,
              const SettingInfo& info) override {
    const Node* node = find(key, info, words_text(names));
    if (node == nullptr) return;
    if (node->kind != Node::Kind::scalar) return wrong(*node, key, words_text(names));
    const int index = index_in(names, node->text);
    if (index >= 0) {
      value = index;
    } else {
      unknown_word(node->text, node->place, path_of(key), names, "unknown value ", info.synonyms);
    }
  }
  void section(std::string_view key, const SettingInfo& info,
               const std::function<void()>& body) override {
    const Node* node = find(key, info, "a map");
    if (node != nullptr && !is_map(*node, key)) return;
    enter(node, key, body);
  }
  void optional_section(std::string_view key, bool& present, const SettingInfo& info,
                        const std::function<void()>& body) override {
    const Node* node = find(key, info, "a map");
    present = node != nullptr && is_map(*node, key);
    if (present) enter(node, key, body);
  }
  void list(std::string_view key, std::size_t, const SettingInfo& info,
            const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t)>& item) override;
  void named(std::string_view key, std::span<const std::string>, const SettingInfo& info,
             const std::function<void(std::span<const std::string>)>& resize,
             const std::function<void(std::size_t)>& item) override;
  void one_of(std::string_view key, int& value, std::span<const std::string_view> names,
              const SettingInfo& info, const std::function<void(int)>& body) override;

  void reject(std::string_view key, const std::string& found, const std::string& fix) override {
    const std::string path = key.empty() ? frames_.back().path : path_of(key);
    report(Rank::contradiction, key_place(key), path, found, fix);
  }
  void hint(std::string_view key, const std::string& text) override {
    hints_.push_back(where(key) + ": " + text);
  }
  std::string where(std::string_view key) const override {
    return yaml::place_text(source_, key_place(key)) + ": " +
           (key.empty() ? frames_.back().path : path_of(key));
  }
  bool gives(std::string_view key) const override {
    return frames_.back().node->find(key) != nullptr;
  }
  bool gives_map(std::string_view key) const override {
    const Node* node = frames_.back().node->find(key);
    return node != nullptr && node->kind == Node::Kind::map;
  }
  void renamed(std::string_view key, std::string_view now) override {
    frames_.back().renamed.emplace(key, now);
  }

 private:
  struct Frame {
    const Node* node;
    std::string path;
    Place place;              ///< of the section's key
    bool skip_inner = false;  ///< a list item called by its name: one_of adds nothing
    std::vector<std::string> known;
    std::vector<char> used;  ///< per key of the node
    std::map<std::string, std::string> renamed;
  };
  struct Found {
    Rank rank;
    Place place;
    Error error;
  };

  void push(const Node& node, std::string path, Place place) {
    frames_.push_back({&node, std::move(path), place, false, {}, {}, {}});
    frames_.back().used.assign(node.keys.size(), 0);
  }
  /// Ends a section: keys that nobody asked for are unknown.
  void pop() {
    const Frame& frame = frames_.back();
    for (std::size_t i = 0; i < frame.node->keys.size(); ++i) {
      if (!frame.used[i]) unknown_key(frame, frame.node->keys[i]);
    }
    frames_.pop_back();
  }
  void enter(const Node* node, std::string_view key, const std::function<void()>& body) {
    const Place place = node != nullptr ? key_place(key) : frames_.back().place;
    push(node != nullptr ? *node : kNothing, path_of(key), place);
    body();
    pop();
  }

  std::string path_of(std::string_view key) const {
    const std::string& path = frames_.back().path;
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }
  Place key_place(std::string_view key) const {
    const Frame& frame = frames_.back();
    for (const yaml::Key& k : frame.node->keys) {
      if (k.text == key) return k.place;
    }
    return frame.place;
  }

  void report(Rank rank, Place place, const std::string& path, const std::string& found,
              const std::string& fix) {
    if (first_ && std::tie(first_->rank, first_->place) <= std::tie(rank, place)) return;
    const std::string where = yaml::place_text(source_, place);
    first_ = Found{rank, place, Error(found, path.empty() ? where : where + ": " + path, fix)};
  }
  void unknown_key(const Frame& frame, const yaml::Key& key) {
    const std::string path = frame.path.empty() ? key.text : frame.path + "." + key.text;
    const std::string prefix = frame.path.empty() ? "" : frame.path + ".";
    if (const auto now = frame.renamed.find(key.text); now != frame.renamed.end())
      return report(Rank::value, key.place, path, "renamed", "write " + prefix + now->second);
    const std::string near = nearest_word(key.text, frame.known);
    std::vector<std::string_view> known(frame.known.begin(), frame.known.end());
    report(Rank::value, key.place, path, "unknown key",
           !near.empty()   ? "did you mean " + prefix + near + "?"
           : known.empty() ? "no keys belong here"
                           : "known here: " + words_text(known));
  }
  void unknown_word(const std::string& word, Place place, const std::string& path,
                    std::span<const std::string_view> names, const std::string& what,
                    std::span<const Synonym> synonyms = {}) {
    if (const std::string remedy = remedy_of(word, names, synonyms); !remedy.empty())
      return report(Rank::value, place, path, what + "'" + word + "'", remedy);
    const std::vector<std::string> candidates(names.begin(), names.end());
    const std::string near = nearest_word(word, candidates);
    report(Rank::value, place, path, what + "'" + word + "'",
           near.empty() ? "known: " + words_text(names) : "did you mean " + near + "?");
  }

  /// What to write in place of a synonym; empty if the word is none.
  static std::string remedy_of(const std::string& word, std::span<const std::string_view> names,
                               std::span<const Synonym> synonyms) {
    for (const Synonym& synonym : synonyms) {
      if (synonym.word != word) continue;
      const bool remedy = synonym.meant.find(' ') != std::string_view::npos;
      if (remedy) return std::string(synonym.meant);
      if (index_in(names, synonym.meant) >= 0)
        return "did you mean " + std::string(synonym.meant) + "?";
    }
    return {};
  }

  /// The value of a key of the present section, nullptr if it is absent.
  const Node* find(std::string_view key, const SettingInfo& info, const std::string& expected) {
    Frame& frame = frames_.back();
    frame.known.emplace_back(key);
    for (std::size_t i = 0; i < frame.node->keys.size(); ++i) {
      if (frame.node->keys[i].text != key) continue;
      frame.used[i] = 1;
      return &frame.node->items[i];
    }
    if (info.required) {
      report(Rank::missing, frame.place, path_of(key), "missing", "give " + expected);
    }
    return nullptr;
  }
  void wrong(const Node& node, std::string_view key, const std::string& expected) {
    const Place place = node.kind == Node::Kind::null ? key_place(key) : node.place;
    report(Rank::value, place, path_of(key), "expected " + expected + ", found " + kind_text(node),
           "");
  }
  bool is_map(const Node& node, std::string_view key) {
    if (node.kind == Node::Kind::map || node.kind == Node::Kind::null) return true;
    wrong(node, key, "a map");
    return false;
  }
  bool is_list_of(const Node& node, std::size_t n, std::string_view key,
                  const std::string& expected) {
    if (node.kind != Node::Kind::sequence) {
      wrong(node, key, expected);
    } else if (node.items.size() != n) {
      report(Rank::value, node.place, path_of(key),
             "expected " + expected + ", found " + std::to_string(node.items.size()), "");
    } else {
      return true;
    }
    return false;
  }
  static int index_in(std::span<const std::string_view> names, std::string_view word) {
    const auto at = std::find(names.begin(), names.end(), word);
    return at == names.end() ? -1 : narrow<int>(at - names.begin());
  }
  static std::string number_words(const SettingInfo& info) {
    const std::string number =
        info.unit.empty() ? "a number" : "a number in " + std::string(info.unit);
    return with_words(number, info);
  }
  /// The text and the words that stand for numbers: "text, auto, rigid or material".
  static std::string with_words(std::string text, const SettingInfo& info) {
    const std::vector<NumberWord> words = words_of(info);
    for (const NumberWord& w : words)
      text += (&w == &words.back() ? " or " : ", ") + std::string(w.word);
    return text;
  }
  /// What to write in place of a text that is no number.
  static std::string number_remedy(const std::string& text, const SettingInfo& info,
                                   const std::string& example) {
    if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return example;
    std::vector<std::string> words;
    for (const NumberWord& w : words_of(info)) words.emplace_back(w.word);
    const std::string near = nearest_word(text, words);
    return near.empty() ? with_words(example, info) : "did you mean " + near + "?";
  }

  /// Reads a number with its unit; false (and reported) if it is none or out of range.
  bool quantity(const Node& node, std::string_view key, const SettingInfo& info, double& value) {
    if (node.kind != Node::Kind::scalar) {
      wrong(node, key, number_words(info));
      return false;
    }
    for (const NumberWord& w : words_of(info)) {
      if (node.text != w.word) continue;
      value = w.value;
      return true;
    }
    double number = 0.0;
    try {
      number = parse_quantity(node.text, info.unit);
    } catch (const Error& e) {
      report(Rank::value, node.place, path_of(key), e.found(),
             number_remedy(node.text, info, e.fix()));
      return false;
    }
    const bool below = info.min_open ? !(number > info.min) : !(number >= info.min);
    if (std::isnan(number) || (info.finite && std::isinf(number))) {
      report(Rank::value, node.place, path_of(key), kind_text(node) + " is not a finite number",
             "");
    } else if (below || number > info.max) {
      report(Rank::value, node.place, path_of(key), kind_text(node) + " is out of range",
             "must be " + range_text(info));
    } else {
      value = number;
      if (const std::string text = number_hint(node.text, number, info.unit); !text.empty())
        doubt(node, path_of(key), text);
      return true;
    }
    return false;
  }
  /// Keeps a hint; of several at one key the first.
  void doubt(const Node& node, const std::string& path, const std::string& text) {
    if (path == doubted_) return;
    doubted_ = path;
    hints_.push_back(yaml::place_text(source_, node.place) + ": " + path + ": " + text);
  }
  void whole_number(const Node& node, std::string_view key, const SettingInfo& info,
                    std::int64_t& value) {
    constexpr double kExact = 0x1.0p53;  // every whole number up to here is a double
    double number = 0.0;
    if (!quantity(node, key, info, number)) return;
    if (number != std::floor(number) || std::abs(number) > kExact) {
      report(Rank::value, node.place, path_of(key), kind_text(node) + " is not a whole number", "");
      return;
    }
    value = static_cast<std::int64_t>(number);
  }

  inline static const Node kNothing{};  // a section that is absent
  const std::string& source_;
  std::vector<Frame> frames_;
  std::optional<Found> first_;
  std::vector<std::string> hints_;
  std::string doubted_;  ///< path of the last number with a hint
};

void Reader::rows(std::string_view key, std::vector<double>& values, std::size_t& width,
                  const SettingInfo& info) {
  const std::string count = width > 0 ? std::to_string(width) + " " : "";
  const std::string words = "a list of rows of " + count + "numbers" +
                            (info.unit.empty() ? "" : " in " + std::string(info.unit));
  const Node* node = find(key, info, words);
  if (node == nullptr) return;
  if (node->kind != Node::Kind::sequence || node->items.empty()) return wrong(*node, key, words);
  values.clear();
  const bool alone = info.row_alone && node->items[0].kind == Node::Kind::scalar;
  for (const Node& row : alone ? std::span(node, 1) : std::span<const Node>(node->items)) {
    if (row.kind != Node::Kind::sequence) return wrong(row, key, words);
    if (width == 0) width = row.items.size();
    if (!is_list_of(row, width, key, std::to_string(width) + " numbers")) return;
    SettingInfo column = info;
    if (!info.first_unit.empty()) column.unit = info.first_unit;
    for (const Node& item : row.items) {
      double value = 0.0;
      if (!quantity(item, key, column, value)) return;
      values.push_back(value);
      column.unit = info.unit;
    }
  }
}

void Reader::list(std::string_view key, std::size_t, const SettingInfo& info,
                  const std::function<void(std::size_t)>& resize,
                  const std::function<void(std::size_t)>& item) {
  const Node* node = find(key, info, "a list of maps");
  if (node == nullptr) return;
  if (node->kind != Node::Kind::sequence) return wrong(*node, key, "a list of maps");
  const std::string path = path_of(key);
  resize(node->items.size());
  std::vector<std::string> names;
  for (const Node& n : node->items) names.push_back(item_name(n));
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const Node& n = node->items[i];
    const bool called = !names[i].empty() && std::count(names.begin(), names.end(), names[i]) == 1;
    const std::string item_path = path + "." + (called ? names[i] : std::to_string(i));
    if (n.kind != Node::Kind::map) {
      const Place place = n.kind == Node::Kind::null ? key_place(key) : n.place;
      report(Rank::value, place, item_path, "expected a map, found " + kind_text(n), "");
      continue;
    }
    push(n, item_path, n.place);
    frames_.back().skip_inner = called && n.find("name") == nullptr;
    item(i);
    pop();
  }
}

void Reader::named(std::string_view key, std::span<const std::string>, const SettingInfo& info,
                   const std::function<void(std::span<const std::string>)>& resize,
                   const std::function<void(std::size_t)>& item) {
  const Node* node = find(key, info, "a map of names");
  if (node == nullptr || !is_map(*node, key)) return;
  std::vector<std::string> names;
  for (const yaml::Key& k : node->keys) names.push_back(k.text);
  resize(names);
  push(*node, path_of(key), key_place(key));
  frames_.back().used.assign(names.size(), 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Node& n = node->items[i];
    if (n.made_by_path) {
      std::vector<std::string> others = names;
      others.erase(others.begin() + i);
      const std::string near = nearest_word(names[i], others);
      report(Rank::value, {}, path_of(names[i]), "unknown path",
             near.empty() ? "" : "did you mean " + path_of(near) + "?");
    } else if (is_map(n, names[i])) {
      push(n, path_of(names[i]), node->keys[i].place);
      item(i);
      pop();
    }
  }
  pop();
}

void Reader::one_of(std::string_view key, int& value, std::span<const std::string_view> names,
                    const SettingInfo& info, const std::function<void(int)>& body) {
  const Node* node = frames_.back().node;
  std::string path = frames_.back().path;
  if (key.empty()) {
    std::fill(frames_.back().used.begin(), frames_.back().used.end(), 1);
  } else {
    node = find(key, info, words_text(names));
    path = path_of(key);
    if (node == nullptr) return;
  }
  std::string word;
  const Node* inner = &kNothing;
  Place place = node->place;
  if (node->kind == Node::Kind::scalar) {
    word = node->text;
  } else if (node->kind == Node::Kind::map && node->keys.size() == 1) {
    word = node->keys[0].text;
    place = node->keys[0].place;
    inner = &node->items[0];
  } else if (node->kind == Node::Kind::map) {
    const bool several = node->keys.size() > 1;
    report(Rank::value, several ? node->keys[1].place : node->place, path,
           several ? "only one key may stand here, found '" + node->keys[0].text + "' and '" +
                         node->keys[1].text + "'"
                   : "empty",
           "give one of " + words_text(names));
    return;
  } else {
    return wrong(*node, key, "a map with one of " + words_text(names));
  }
  const int index = index_in(names, word);
  const bool skip = key.empty() && frames_.back().skip_inner;
  const std::string inner_path = skip ? path : path + "." + word;
  if (index < 0) return unknown_word(word, place, path, names, "unknown kind ");
  value = index;
  if (inner->kind != Node::Kind::map && inner->kind != Node::Kind::null) {
    report(Rank::value, inner->place, inner_path, "expected a map, found " + kind_text(*inner), "");
    return;
  }
  push(*inner, inner_path, place);
  body(index);
  pop();
}

}  // namespace

struct YamlDocument::Impl {
  Node root;
  std::string source;
};

YamlDocument::YamlDocument(std::string_view text, std::string source)
    : impl_(std::make_unique<Impl>()) {
  impl_->source = std::move(source);
  impl_->root = yaml::parse(text, impl_->source);
  Node& root = impl_->root;
  if (root.kind == Node::Kind::null) {
    throw Error("empty", yaml::place_text(impl_->source, {1, 1}), "a map of settings is expected");
  }
  if (root.kind != Node::Kind::map) {
    throw Error("expected a map of settings, found " + kind_text(root),
                yaml::place_text(impl_->source, root.place));
  }
}

YamlDocument::~YamlDocument() = default;
YamlDocument::YamlDocument(YamlDocument&&) noexcept = default;
YamlDocument& YamlDocument::operator=(YamlDocument&&) noexcept = default;

void YamlDocument::set(const std::string& assignment) { yaml::assign(impl_->root, assignment); }

std::vector<std::string> YamlDocument::read(const Description& describe) const {
  Reader reader(impl_->root, impl_->source);
  describe(reader);
  return reader.finish();
}

std::string YamlDocument::place_of(std::string_view path) const {
  const Node* node = &impl_->root;
  std::string place;
  while (node != nullptr && node->kind == Node::Kind::map) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    const Node* next = nullptr;
    for (std::size_t i = 0; i < node->keys.size(); ++i) {
      if (node->keys[i].text != key) continue;
      place = yaml::place_text(impl_->source, node->keys[i].place);
      next = &node->items[i];
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
    node = next;
  }
  return place;
}

}  // namespace catena
