#include <exception>
#include <optional>

#include "catena/base/error.hpp"
#include "catena/base/index.hpp"
#include "catena/comm/communicator.hpp"

namespace catena {
namespace {

std::optional<Error> failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(error.what(), {}, {}, ExitCode::runtime_error);
  } catch (...) {
    return Error("unknown exception", {}, {}, ExitCode::runtime_error);
  }
  return std::nullopt;
}

}  // namespace

void all_or_none(const Communicator& comm, const std::function<void()>& work) {
  const std::optional<Error> failure = failure_of(work);
  const std::int64_t first = comm.min(std::int64_t{failure ? comm.rank() : comm.size()});
  if (first == comm.size()) return;

  const int root = narrow<int>(first);
  std::string found, where, fix, code;
  if (comm.rank() == root) {
    found = failure->found();
    where = failure->where();
    fix = failure->fix();
    code = std::to_string(static_cast<int>(failure->code()));
  }
  for (std::string* text : {&found, &where, &fix, &code}) comm.broadcast(root, *text);
  throw Error(found, where, fix, static_cast<ExitCode>(std::stoi(code)));
}

}  // namespace catena
