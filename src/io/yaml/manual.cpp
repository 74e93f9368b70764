// The settings' manual as Markdown.
#include <cctype>
#include <cmath>
#include <map>
#include <memory>

#include "catena/base/index.hpp"
#include "catena/io/yaml_settings.hpp"
#include "io/yaml/setting_text.hpp"

namespace catena {

namespace {

/// A heading with its table of keys, then its subsections.
struct Chapter {
  std::string path;
  std::string help;
  std::string rows;
  std::vector<std::unique_ptr<Chapter>> parts;
};

class Manual : public SettingsVisitor {
 public:
  Manual() { open_.push_back(&root_); }

  std::string text() const {
    std::string out;
    Told told;
    write(root_, told, out);
    return out;
  }

  void visit(std::string_view key, bool& value, const SettingInfo& info) override {
    row(key, "true or false", value ? "true" : "false", info);
  }
  void visit(std::string_view key, int& value, const SettingInfo& info) override {
    whole(key, value, info);
  }
  void visit(std::string_view key, std::int64_t& value, const SettingInfo& info) override {
    whole(key, value, info);
  }
  void visit(std::string_view key, double& value, const SettingInfo& info) override {
    const std::string_view word = word_of(value, info);
    row(key, "number", word.empty() ? default_text(value) : std::string(word), info);
  }
  void visit(std::string_view key, std::string& value, const SettingInfo& info) override {
    row(key, "text", value, info);
  }
  void visit(std::string_view key, std::span<double> value, const SettingInfo& info) override {
    std::string type = std::to_string(value.size()) + " numbers";
    if (info.scalar_fills) type += ", or one for all";
    std::string text;
    for (const double x : value) text += (text.empty() ? "" : ", ") + default_text(x);
    row(key, type, std::isnan(value[0]) ? "" : "[" + text + "]", info);
  }
  void visit(std::string_view key, std::span<int> value, const SettingInfo& info) override {
    std::string text;
    for (const int x : value) text += (text.empty() ? "" : ", ") + std::to_string(x);
    row(key, std::to_string(value.size()) + " whole numbers", "[" + text + "]", info);
  }
  void visit(std::string_view key, std::vector<std::string>&, const SettingInfo& info) override {
    row(key, info.row_alone ? "word or list of words" : "list of words", "", info);
  }
  void words(std::string_view key, std::vector<std::pair<std::string, std::string>>&,
             const SettingInfo& info) override {
    row(key, "map of names to words", "", info);
  }
  void rows(std::string_view key, std::vector<double>&, std::size_t& width,
            const SettingInfo& info) override {
    const std::string count = width > 0 ? std::to_string(width) + " " : "";
    row(key, (info.row_alone ? "row or list of rows of " : "list of rows of ") + count + "numbers",
        "", info);
  }
  void choice(std::string_view key, int& value, std::span<const std::string_view> names,
              const SettingInfo& info) override {
    row(key, words_text(names), std::string(names[value]), info);
  }
  void section(std::string_view key, const SettingInfo& info,
               const std::function<void()>& body) override {
    chapter(key, "map", info, body);
  }
  void optional_section(std::string_view key, bool&, const SettingInfo& info,
                        const std::function<void()>& body) override {
    chapter(key, "map, may be left out", info, body);
  }
  void list(std::string_view key, std::size_t, const SettingInfo& info,
            const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t)>& item) override {
    resize(1);
    chapter(key, "list of maps", info, [&] { item(0); });
  }
  void named(std::string_view key, std::span<const std::string>, const SettingInfo& info,
             const std::function<void(std::span<const std::string>)>& resize,
             const std::function<void(std::size_t)>& item) override {
    const std::string name = "NAME";
    resize({&name, 1});
    chapter(key, "map from your names to maps", info, [&] { item(0); });
  }
  void one_of(std::string_view key, int&, std::span<const std::string_view> names,
              const SettingInfo& info, const std::function<void(int)>& body) override {
    const auto alternatives = [&] {
      for (std::size_t i = 0; i < names.size(); ++i) {
        alternative(names[i], [&] { body(narrow<int>(i)); });
      }
    };
    if (key.empty()) {
      alternatives();
    } else {
      chapter(key, "one of " + words_text(names), info, alternatives);
    }
  }
  void reject(std::string_view, const std::string&, const std::string&) override {}

 private:
  static std::string default_text(double value) {
    return std::isnan(value) ? "" : number_text(value);
  }
  void whole(std::string_view key, std::int64_t value, const SettingInfo& info) {
    const std::string_view word = word_of(static_cast<double>(value), info);
    row(key, "whole number", word.empty() ? std::to_string(value) : std::string(word), info);
  }
  void row(std::string_view key, std::string type, const std::string& value,
           const SettingInfo& info) {
    const std::vector<NumberWord> words = words_of(info);
    for (const NumberWord& w : words)
      type += (&w == &words.back() ? " or `" : ", `") + std::string(w.word) + "`";
    if (!info.unit.empty()) type += ", " + std::string(info.unit);
    const std::string range =
        range_text({.min = info.min, .max = info.max, .min_open = info.min_open});
    if (!range.empty()) type += ", " + range;
    const std::string shown = info.required ? "required" : value.empty() ? "-" : "`" + value + "`";
    open_.back()->rows += "| `" + std::string(key) + "` | " + type + " | " + shown + " | " +
                          std::string(info.help) + " |\n";
  }
  void alternative(std::string_view name, const std::function<void()>& body) {
    auto next = std::make_unique<Chapter>();
    next->path = open_.back()->path + "." + std::string(name);
    open_.push_back(next.get());
    body();
    open_.pop_back();
    if (!next->rows.empty() || !next->parts.empty()) open_.back()->parts.push_back(std::move(next));
  }
  void chapter(std::string_view key, const std::string& type, const SettingInfo& info,
               const std::function<void()>& body) {
    const std::string shown = info.required ? "required" : "-";
    open_.back()->rows += "| `" + std::string(key) + "` | " + type + " | " + shown + " | " +
                          std::string(info.help) + " |\n";
    auto next = std::make_unique<Chapter>();
    const std::string& path = open_.back()->path;
    next->path = (path.empty() ? "" : path + ".") + std::string(key);
    next->help = info.help;
    if (!next->help.empty()) {
      next->help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(next->help[0])));
    }
    open_.push_back(next.get());
    body();
    open_.pop_back();
    open_.back()->parts.push_back(std::move(next));
  }
  /// Chapters by what they say, to be printed once.
  using Told = std::map<std::string, std::string>;

  /// Keys of a chapter and its subsections, without where it stands.
  static std::string content(const Chapter& part) {
    std::string text = part.rows;
    for (const auto& inner : part.parts)
      text += inner->path.substr(part.path.size()) + "\n" + content(*inner);
    return text;
  }
  static void write(const Chapter& part, Told& told, std::string& out) {
    constexpr std::size_t kLong = 300;  // shorter tables are quicker read than looked up
    if (!part.path.empty()) out += "\n## " + part.path + "\n\n";
    if (!part.help.empty()) out += part.help + ".\n";
    const std::string text = content(part);
    const auto [first, is_new] = told.try_emplace(text, part.path);
    if (!is_new && text.size() > kLong) {
      out += (part.help.empty() ? "" : "\n") + ("The keys are those of `" + first->second + "`.\n");
      return;
    }
    if (!part.rows.empty()) {
      if (!part.help.empty()) out += "\n";
      out += "| key | value | default | meaning |\n|---|---|---|---|\n" + part.rows;
    }
    for (const auto& inner : part.parts) write(*inner, told, out);
  }

  Chapter root_;
  std::vector<Chapter*> open_;
};

}  // namespace

std::string settings_manual(const Description& describe) {
  Manual manual;
  describe(manual);
  return manual.text();
}

}  // namespace catena
