// Other engines' benchmark programs, run beside ours on the same scene.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace catena {

/// What a program said of a scene: contacts, millions of contact updates (three rows each once) per
/// second, and ms of a whole step of 50 sweeps.
struct PeerResult {
  double contacts = 0.0;
  double updates = 0.0;
  double step_ms = 0.0;
};

inline constexpr std::array<const char*, 3> kPeers = {"ODE", "Bullet float64", "Bullet float32"};

/// Runs the program of kPeers[peer] in `directory` on directory/scenes/<scene>.txt: `ode_bench`,
/// `bullet64` or `bullet32`. Nothing where program or scene is not there, or what it prints is not
/// understood.
std::optional<PeerResult> run_peer(const std::string& directory, std::size_t peer,
                                   const std::string& scene);

/// From a line that such a program prints.
std::optional<PeerResult> parse_peer(std::size_t peer, const std::string& line);

}  // namespace catena
