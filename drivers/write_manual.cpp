// Prints docs/configuration.md.
#include <cstdio>

#include "catena/simulation/manual.hpp"

int main() {
  std::fputs(catena::configuration_manual().c_str(), stdout);
  return 0;
}
