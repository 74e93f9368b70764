#include "describe.hpp"

#include <algorithm>

#include "catena/io/setting_keys.hpp"
#include "catena/simulation/case.hpp"
#include "script_commands.hpp"

namespace catena::cli {
namespace {

/// Tabs and line ends separate fields and lines.
std::string field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

std::string line(std::initializer_list<std::string> fields) {
  std::string text;
  for (const std::string& f : fields) text += (text.empty() ? "" : "\t") + field(f);
  return text + "\n";
}

/// Without the range that a check of the parser adds.
std::string type_of(const CLI::Option& option) {
  if (option.get_type_size_max() == 0) return "";
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string options_of(const CLI::App& command, const std::string& name) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      text += line({"argument", name, option->get_name(true), option->get_description()});
      continue;
    }
    std::string names;
    for (const std::string& word : option->get_snames())
      names += (names.empty() ? "-" : ",-") + word;
    for (const std::string& word : option->get_lnames())
      names += (names.empty() ? "--" : ",--") + word;
    text += line({"option", name, names, type_of(*option), option->get_description()});
  }
  return text;
}

bool is_script(const std::string& name) {
  return std::ranges::any_of(script_commands(),
                             [&](const ScriptCommand& script) { return script.name == name; });
}

}  // namespace

std::string description(const CLI::App& app) {
  std::string text = options_of(app, "-");
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string name = command->get_name();
    text += line({is_script(name) ? "script" : "command", name, command->get_description()});
    if (!is_script(name)) text += options_of(*command, name);
  }
  CaseSettings settings;
  for (const SettingKey& key :
       setting_keys([&](SettingsVisitor& visit) { describe(visit, settings); })) {
    std::string words;
    for (const std::string& word : key.words) words += (words.empty() ? "" : " ") + word;
    text += line({"key", key.path, words, key.help});
  }
  return text;
}

}  // namespace catena::cli
