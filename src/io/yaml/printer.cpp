// Settings as YAML.
#include <algorithm>
#include <cmath>

#include "catena/base/log.hpp"
#include "catena/io/yaml_settings.hpp"
#include "io/yaml/setting_text.hpp"

namespace catena {

namespace {

/// What is to be printed: a line (text), a map (keys) or a list.
struct Item {
  std::string key;
  std::string text;     ///< of a leaf
  std::string json;     ///< the same as JSON
  std::string comment;  ///< the unit
  bool is_list = false;
  bool is_leaf = false;
  std::vector<Item> items;
};

bool is_plain(std::string_view text) {
  static constexpr std::string_view kReserved[] = {"null", "true", "false", "yes", "no",
                                                   "on",   "off",  "y",     "n"};
  if (text.empty() || !(std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/')) {
    return false;
  }
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::count(std::begin(kReserved), std::end(kReserved), lower) > 0) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.' ||
           c == '/';
  });
}

/// A word as YAML: plain where nothing else could be meant, else in double quotes.
std::string in_quotes(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

template <class T, class Text>
std::string bracketed(const T& values, const Text& text) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + text(values[i]);
  return out + "]";
}

class Printer : public SettingsVisitor {
 public:
  Printer() { open_.push_back(&root_); }

  std::string text() const {
    std::string out;
    for (const Item& item : root_.items) print(item, 0, out);
    return out;
  }

  std::string json() const { return json_of(root_); }

  void visit(std::string_view key, bool& value, const SettingInfo& info) override {
    const std::string text = value ? "true" : "false";
    leaf(key, text, text, info);
  }
  void visit(std::string_view key, int& value, const SettingInfo& info) override {
    whole(key, value, info);
  }
  void visit(std::string_view key, std::int64_t& value, const SettingInfo& info) override {
    whole(key, value, info);
  }
  void visit(std::string_view key, double& value, const SettingInfo& info) override {
    if (const std::string_view word = word_of(value, info); !word.empty()) {
      leaf(key, std::string(word), json_string(word), {});
    } else if (!std::isnan(value)) {
      leaf(key, number_text(value), json_number(value), info);
    }
  }
  void visit(std::string_view key, std::string& value, const SettingInfo& info) override {
    if (!value.empty()) leaf(key, in_quotes(value), json_string(value), info);
  }
  void visit(std::string_view key, std::span<double> value, const SettingInfo& info) override {
    if (std::any_of(value.begin(), value.end(), [](double x) { return std::isnan(x); })) return;
    leaf(key, bracketed(value, number_text), bracketed(value, json_number), info);
  }
  void visit(std::string_view key, std::span<int> value, const SettingInfo& info) override {
    const std::string text = bracketed(value, [](int i) { return std::to_string(i); });
    leaf(key, text, text, info);
  }
  void visit(std::string_view key, std::vector<std::string>& value,
             const SettingInfo& info) override {
    leaf(key, bracketed(value, in_quotes), bracketed(value, json_string), info);
  }
  void words(std::string_view key, std::vector<std::pair<std::string, std::string>>& values,
             const SettingInfo&) override {
    within(key, false, [&] {
      for (const auto& [name, word] : values)
        leaf(in_quotes(name), in_quotes(word), json_string(word), {});
    });
  }
  void rows(std::string_view key, std::vector<double>& values, std::size_t& width,
            const SettingInfo& info) override {
    if (values.empty() || width == 0) return;
    std::vector<std::span<const double>> lines;
    for (std::size_t i = 0; i + width <= values.size(); i += width)
      lines.push_back(std::span(values).subspan(i, width));
    const auto row = [](const auto& text) {
      return [&text](std::span<const double> line) { return bracketed(line, text); };
    };
    leaf(key, bracketed(lines, row(number_text)), bracketed(lines, row(json_number)), info);
  }
  void choice(std::string_view key, int& value, std::span<const std::string_view> names,
              const SettingInfo& info) override {
    const std::string_view name = names[value];
    leaf(key, std::string(name), json_string(name), info);
  }
  void section(std::string_view key, const SettingInfo&,
               const std::function<void()>& body) override {
    within(key, false, body);
  }
  void optional_section(std::string_view key, bool& present, const SettingInfo&,
                        const std::function<void()>& body) override {
    if (present) within(key, false, body);
  }
  void list(std::string_view key, std::size_t size, const SettingInfo&,
            const std::function<void(std::size_t)>&,
            const std::function<void(std::size_t)>& item) override {
    within(key, true, [&] {
      for (std::size_t i = 0; i < size; ++i) within("", false, [&] { item(i); });
    });
  }
  void named(std::string_view key, std::span<const std::string> names, const SettingInfo&,
             const std::function<void(std::span<const std::string>)>&,
             const std::function<void(std::size_t)>& item) override {
    within(key, false, [&] {
      for (std::size_t i = 0; i < names.size(); ++i) {
        within(in_quotes(names[i]), false, [&] { item(i); });
      }
    });
  }
  void one_of(std::string_view key, int& value, std::span<const std::string_view> names,
              const SettingInfo&, const std::function<void(int)>& body) override {
    const auto inner = [&] { within(names[value], false, [&] { body(value); }); };
    if (key.empty()) {
      inner();
    } else {
      within(key, false, inner);
    }
  }
  void reject(std::string_view, const std::string&, const std::string&) override {}

 private:
  void leaf(std::string_view key, std::string text, std::string json, const SettingInfo& info) {
    Item item;
    item.key = key;
    item.text = std::move(text);
    item.json = std::move(json);
    item.comment = info.unit;
    item.is_leaf = true;
    open_.back()->items.push_back(std::move(item));
  }
  void whole(std::string_view key, std::int64_t value, const SettingInfo& info) {
    const std::string_view word = word_of(static_cast<double>(value), info);
    leaf(key, word.empty() ? std::to_string(value) : std::string(word),
         word.empty() ? std::to_string(value) : json_string(word), info);
  }
  void within(std::string_view key, bool is_list, const std::function<void()>& body) {
    Item item;
    item.key = key;
    item.is_list = is_list;
    open_.push_back(&item);
    body();
    open_.pop_back();
    open_.back()->items.push_back(std::move(item));
  }

  static std::string json_of(const Item& item) {
    if (item.is_leaf) return item.json;
    std::string out;
    for (const Item& inner : item.items) {
      out += out.empty() ? "" : ", ";
      out += (item.is_list ? "" : json_string(inner.key) + ": ") + json_of(inner);
    }
    return item.is_list ? "[" + out + "]" : "{" + out + "}";
  }
  static void print(const Item& item, int depth, std::string& out) {
    out += std::string(2 * depth, ' ') + item.key + ":";
    print_value(item, depth, out);
  }
  static void print_value(const Item& item, int depth, std::string& out) {
    if (item.is_leaf) {
      out += " " + item.text + (item.comment.empty() ? "" : "  # " + item.comment) + "\n";
    } else if (item.items.empty()) {
      out += item.is_list ? " []\n" : " {}\n";
    } else if (!item.is_list) {
      out += "\n";
      for (const Item& inner : item.items) print(inner, depth + 1, out);
    } else {
      out += "\n";
      for (const Item& entry : item.items) print_entry(entry, depth + 1, out);
    }
  }
  /// One map of a list: its first line starts with "- ".
  static void print_entry(const Item& entry, int depth, std::string& out) {
    const std::size_t begin = out.size();
    for (const Item& inner : entry.items) print(inner, depth + 1, out);
    if (entry.items.empty()) out += std::string(2 * depth + 2, ' ') + "{}\n";
    out[begin + (2 * depth)] = '-';
  }

  Item root_;
  std::vector<Item*> open_;
};

}  // namespace

std::string print_yaml(const Description& describe) {
  Printer printer;
  describe(printer);
  return printer.text();
}

std::string print_json(const Description& describe) {
  Printer printer;
  describe(printer);
  return printer.json();
}

}  // namespace catena
