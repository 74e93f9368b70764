// The entry for libFuzzer and programs like it, which call these two functions:
//
//   fuzz_libfuzzer --kind=case [options of libFuzzer] FOLDER...
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "fuzz/inputs.hpp"

namespace {

using catena::fuzz::Inputs;
using catena::fuzz::Kind;

struct Chosen {
  std::unique_ptr<Inputs> inputs;
  const Kind* kind = nullptr;
};

Chosen& chosen() {
  static Chosen c;
  return c;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--kind=";
  MPI_Init(argc, argv);
  chosen().inputs = std::make_unique<Inputs>(CATENA_SOURCES, CATENA_FUZZ_CORPUS);
  for (const Kind& kind : chosen().inputs->kinds()) {
    for (int i = 1; i < *argc; ++i) {
      const std::string_view word = (*argv)[i];
      if (word.starts_with(kOption) && word.substr(kOption.size()) == kind.name)
        chosen().kind = &kind;
    }
  }
  if (chosen().kind == nullptr) {
    std::fprintf(stderr, "give --kind=, one of");
    for (const Kind& kind : chosen().inputs->kinds())
      std::fprintf(stderr, " %s", kind.name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(3);
  }
  // files go with the program, and MPI has no other end
  std::atexit([] {
    chosen().inputs.reset();
    MPI_Finalize();
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  catena::fuzz::try_input(*chosen().kind, {reinterpret_cast<const char*>(data), size});
  return 0;
}
