#include "catena/solvers/linear_settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "catena/base/error.hpp"
#include "solvers/linear/petsc_runtime.hpp"

namespace catena {
namespace {

constexpr std::array<std::string_view, 3> kMethods = {"auto", "direct", "cg"};
constexpr std::array<std::string_view, 3> kPreconditioners = {"gamg", "block_jacobi", "icc"};

/// An option by PETSc's name, and as the user wrote it.
struct Option {
  std::string name, value, given;
};

/// "-name" and not a negative number, as PETSc distinguishes them.
bool is_name(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (std::isalpha(word[1]) != 0 || word[1] == '-');
}

std::vector<Option> list_of(const PetscOptions& options) {
  std::vector<Option> list;
  for (const auto& [name, value] : options.options)
    list.push_back({"-catena_" + name, value, "solver.petsc." + name});
  for (const std::string& word : options.verbatim) {
    if (is_name(word)) {
      list.push_back({word, "", word});
    } else if (!list.empty() && list.size() > options.options.size() && list.back().value.empty()) {
      list.back().value = word;
    } else {
      throw Error("'" + word + "' is not an option of PETSc's", "--",
                  "options stand as -name or -name value");
    }
  }
  return list;
}

}  // namespace

void describe(SettingsVisitor& visit, LinearSettings& s) {
  visit.choose("linear_system", s.method, kMethods,
               {.help = "how linear systems are solved: `direct` by a factor (MUMPS), `cg` by "
                        "conjugate gradients; `auto`: direct as long as the factor fits"});
  visit.choose("linear_preconditioner", s.preconditioner, kPreconditioners,
               {.help = "of `cg`: algebraic multigrid, the bodies' own blocks, or incomplete "
                        "Cholesky factors of the ranks' parts"});
}

void describe(SettingsVisitor& visit, PetscOptions& s) {
  visit.words("petsc", s.options,
              {.help = "PETSc's options without the dash: `contact_...` of linear systems of "
                       "contacts, `joint_...` of factors of joints, which are PETSc's then"});
  for (const auto& option : s.options) {
    const std::string& name = option.first;
    if (name.rfind("contact_", 0) != 0 && name.rfind("joint_", 0) != 0)
      visit.reject("petsc", "'" + name + "' belongs to no solver",
                   "begin it with contact_ or joint_, or give it after --");
  }
}

std::string to_string(const PetscOptions& options) {
  std::string text;
  for (const Option& o : list_of(options)) {
    text += (text.empty() ? "" : " ") + o.name;
    if (!o.value.empty()) text += " " + o.value;
  }
  return text;
}

void set_petsc_options(const Communicator& comm, const PetscOptions& options) {
  const std::vector<Option> list = list_of(options);
  if (list.empty()) return;
  const petsc::Place place = {"solver.petsc", "see PETSc's manual"};
  // before PETSc starts: some are read only then
  for (const Option& o : list) {
    petsc::check(
        PetscOptionsSetValue(nullptr, o.name.c_str(), o.value.empty() ? nullptr : o.value.c_str()),
        "PetscOptionsSetValue", place);
  }
  petsc::initialize(comm);
}

std::vector<std::string> unused_petsc_options(const Communicator& comm,
                                              const PetscOptions& options) {
  const std::vector<Option> list = list_of(options);
  std::vector<std::int64_t> used;
  for (const Option& o : list) {
    PetscBool asked = PETSC_FALSE;
    if (petsc::is_running()) {
      petsc::check(PetscOptionsUsed(nullptr, o.name.c_str() + 1, &asked), "PetscOptionsUsed", {});
    }
    used.push_back(asked == PETSC_TRUE ? 1 : 0);
  }
  comm.sum(used);
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (used[i] == 0) unused.push_back(list[i].given);
  return unused;
}

std::string petsc_version() {
  return std::to_string(PETSC_VERSION_MAJOR) + "." + std::to_string(PETSC_VERSION_MINOR) + "." +
         std::to_string(PETSC_VERSION_SUBMINOR);
}

void end_linear_algebra() { petsc::end(); }

}  // namespace catena
