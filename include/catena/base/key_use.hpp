// Keys that only some types of an entry use, as those of forces, probes and controllers.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "catena/base/index.hpp"
#include "catena/base/settings.hpp"

namespace catena {

/// A key of a case, whether it is given, and the types that it is for.
template <class Type>
struct KeyUse {
  std::string_view key;
  bool given;
  std::initializer_list<Type> types;  ///< which use it
  bool needed;                        ///< by these
};

/// Rejects a key that is given to a type without use for it, or is missing where it is needed.
/// `names` are those of the types, in their order.
template <class Type>
void check_use(SettingsVisitor& visit, std::span<const std::string_view> names, Type type,
               const KeyUse<Type>& use) {
  const std::string own(names[ordinal(type)]);
  bool used = false;
  std::string words;
  for (const Type t : use.types) {
    used = used || t == type;
    words += (words.empty() ? "" : ", ") + std::string(names[ordinal(t)]);
  }
  if (use.given && !used)
    visit.reject(use.key, "the type " + own + " has no use for it", "it is for " + words);
  else if (!use.given && used && use.needed)
    visit.reject(use.key, "missing", "the type " + own + " needs " + std::string(use.key));
}

}  // namespace catena
