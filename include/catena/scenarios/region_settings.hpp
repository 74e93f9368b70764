// What a case says of a part of space: where bodies are packed, or probes measure.
#pragma once

#include <string>
#include <string_view>

#include "catena/base/settings.hpp"
#include "catena/math/types.hpp"

namespace catena {

/// A box, or one of the others in its place; m, world frame.
struct RegionSettings {
  Vec3 lower = Vec3::Constant(kNone), upper = Vec3::Constant(kNone);  ///< corners of the box
  bool cylinder = false;
  Vec3 from = Vec3::Constant(kNone), to = Vec3::Constant(kNone);  ///< ends of its axis
  bool sphere = false;
  Vec3 centre = Vec3::Constant(kNone);
  double radius = kNone;  ///< of cylinder or sphere
};

/// The keys `lower`, `upper`, `cylinder` and `sphere`. `of_box` and `of_others` begin their lines
/// of help.
void describe_region(SettingsVisitor& visit, std::string_view of_box, std::string_view of_others,
                     RegionSettings& s);

/// Rejects what is not one region and a sound one. `another`: given in another form besides;
/// `forms`: what there is to give.
void check_region(SettingsVisitor& visit, const RegionSettings& s, bool another,
                  std::string_view forms);

/// Volume, m^3.
double volume_of(const RegionSettings& s);

}  // namespace catena
