// The description of what makes contacts with what.
#include <algorithm>

#include "catena/base/suggest.hpp"
#include "scenarios/scene_parts.hpp"

namespace catena::scenarios {

void describe_collision(SettingsVisitor& visit, bool& collide, std::string& group) {
  visit.visit("collide", collide, {.help = "`false`: no contacts with anything"});
  visit.visit("group", group,
              {.help = "for contact.no_collisions; bodies without one are together"});
}

/// Groups that stand in no_collisions are those of some body; a body's group is held in a byte.
void check_groups(SettingsVisitor& visit, const SceneSettings& s) {
  const std::vector<std::string> known = scenarios::group_names(s);
  if (known.size() > 256) {
    visit.reject("bodies", "more than 256 groups", "groups are for kinds of bodies");
  }
  for (const NoCollisionSettings& pair : s.no_collisions) {
    for (const std::string& group : pair.between) {
      if (std::count(known.begin(), known.end(), group) > 0) continue;
      const std::string near = nearest_word(group, known);
      visit.reject(
          "contact", "no_collisions: no body is in the group '" + group + "'",
          near.empty() ? "give bodies or generators this group" : "did you mean " + near + "?");
    }
  }
}

}  // namespace catena::scenarios
