#include "simulation/initial/added_names.hpp"

#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catena/base/error.hpp"

namespace catena {

namespace {

constexpr const char* kNames = "added-names";
constexpr std::string_view kBody = "body", kJoint = "joint";

/// "body 12 4 ball": what it is, its id, how long its name is, its name.
void append(std::string_view what, const NameTable& names, std::string& text) {
  for (const auto& [id, name] : names.late())
    text += std::string(what) + ' ' + std::to_string(id) + ' ' + std::to_string(name.size()) + ' ' +
            name;
}

/// Takes words and numbers, each followed by a space, from the front of a text.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty(); }
  std::string_view word() {
    const std::size_t space = rest_.find(' ');
    CATENA_CHECK(space != std::string_view::npos, "names end with their last letter");
    return take(space, 1);
  }
  std::int64_t number() {
    const std::string_view text = word();
    std::int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    CATENA_CHECK(value >= 0, "ids and lengths are numbers");
    return value;
  }
  std::string_view take(std::size_t length, std::size_t after = 0) {
    CATENA_CHECK(length + after <= rest_.size(), "names end with their last letter");
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length + after);
    return found;
  }

 private:
  std::string_view rest_;
};

}  // namespace

void keep_names(const Communicator& comm, const Model& model, CheckpointNotes& notes) {
  if (comm.rank() != 0) return;
  std::string text;
  append(kBody, model.names, text);
  append(kJoint, model.joint_names, text);
  if (text.empty()) return;
  const auto bytes = std::as_bytes(std::span(text));
  notes.kept.emplace_back(kNames, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

void take_names(const Communicator& comm, const CheckpointNotes& notes, Model& model) {
  std::vector<std::byte> own;
  for (const auto& [name, bytes] : notes.kept)
    if (name == kNames) own = bytes;
  const std::vector<std::byte> all = comm.all_gather_bytes(own);
  Words words({reinterpret_cast<const char*>(all.data()), all.size()});
  while (!words.at_end()) {
    NameTable& names = words.word() == kBody ? model.names : model.joint_names;
    const std::int64_t id = words.number();
    const std::int64_t length = words.number();
    names.add_late(id, std::string(words.take(static_cast<std::size_t>(length))));
  }
}

}  // namespace catena
