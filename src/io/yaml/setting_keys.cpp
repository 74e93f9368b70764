#include "catena/io/setting_keys.hpp"

#include <algorithm>
#include <map>

#include "catena/base/index.hpp"
#include "io/yaml/setting_text.hpp"

namespace catena {

namespace {

class KeyCollector : public SettingsVisitor {
 public:
  std::vector<SettingKey> take() { return std::move(keys_); }

  void visit(std::string_view key, bool&, const SettingInfo& info) override {
    add(key, {"true", "false"}, info);
  }
  void visit(std::string_view key, int&, const SettingInfo& info) override { number(key, info); }
  void visit(std::string_view key, std::int64_t&, const SettingInfo& info) override {
    number(key, info);
  }
  void visit(std::string_view key, double&, const SettingInfo& info) override { number(key, info); }
  void visit(std::string_view key, std::string&, const SettingInfo& info) override {
    number(key, info);
  }
  void visit(std::string_view key, std::span<double>, const SettingInfo& info) override {
    number(key, info);
  }
  void visit(std::string_view key, std::span<int>, const SettingInfo& info) override {
    number(key, info);
  }
  void visit(std::string_view key, std::vector<std::string>&, const SettingInfo& info) override {
    number(key, info);
  }
  void words(std::string_view key, std::vector<std::pair<std::string, std::string>>&,
             const SettingInfo& info) override {
    inside(key, [&] { add("*", {}, info); });
  }
  void rows(std::string_view key, std::vector<double>&, std::size_t&,
            const SettingInfo& info) override {
    number(key, info);
  }
  void choice(std::string_view key, int&, std::span<const std::string_view> names,
              const SettingInfo& info) override {
    add(key, {names.begin(), names.end()}, info);
  }
  void section(std::string_view key, const SettingInfo&,
               const std::function<void()>& body) override {
    inside(key, body);
  }
  void optional_section(std::string_view key, bool&, const SettingInfo&,
                        const std::function<void()>& body) override {
    inside(key, body);
  }
  void list(std::string_view key, std::size_t, const SettingInfo&,
            const std::function<void(std::size_t)>& resize,
            const std::function<void(std::size_t)>& item) override {
    resize(1);
    inside(key, [&] { inside("*", [&] { item(0); }); });
  }
  void named(std::string_view key, std::span<const std::string>, const SettingInfo&,
             const std::function<void(std::span<const std::string>)>& resize,
             const std::function<void(std::size_t)>& item) override {
    const std::string name = "*";
    resize({&name, 1});
    inside(key, [&] { inside("*", [&] { item(0); }); });
  }
  /// Under an empty key the alternative is the kind of a list's item, which `--set` leaves out.
  void one_of(std::string_view key, int&, std::span<const std::string_view> names,
              const SettingInfo&, const std::function<void(int)>& body) override {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (key.empty()) {
        body(narrow<int>(i));
      } else {
        inside(key, [&] { inside(names[i], [&] { body(narrow<int>(i)); }); });
      }
    }
  }
  void reject(std::string_view, const std::string&, const std::string&) override {}

 private:
  void number(std::string_view key, const SettingInfo& info) {
    std::vector<std::string> words;
    for (const NumberWord& w : words_of(info)) words.emplace_back(w.word);
    add(key, words, info);
  }
  std::string path_of(std::string_view key) const {
    return path_.empty() || key.empty() ? path_ + std::string(key) : path_ + "." + std::string(key);
  }
  void inside(std::string_view key, const std::function<void()>& body) {
    const std::string outer = path_;
    path_ = path_of(key);
    body();
    path_ = outer;
  }
  void add(std::string_view key, const std::vector<std::string>& words, const SettingInfo& info) {
    const std::string path = path_of(key);
    const auto [at, is_new] = place_.try_emplace(path, keys_.size());
    if (is_new) keys_.push_back({path, {}, std::string(info.help)});
    std::vector<std::string>& known = keys_[at->second].words;
    for (const std::string& word : words)
      if (std::ranges::find(known, word) == known.end()) known.push_back(word);
  }

  std::string path_;
  std::vector<SettingKey> keys_;
  std::map<std::string, std::size_t> place_;  ///< of a path in keys_
};

}  // namespace

std::vector<SettingKey> setting_keys(const Description& describe) {
  KeyCollector collector;
  describe(collector);
  return collector.take();
}

}  // namespace catena
