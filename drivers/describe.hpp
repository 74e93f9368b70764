// What the program takes, for other programs: completion in shells, the man page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace catena::cli {

/// Lines of fields with tabs between them, in the order of the help and of the manual:
///
///   command   NAME  HELP
///   argument  COMMAND  NAME  HELP
///   option    COMMAND  NAMES  TYPE  HELP    names with a comma between them; no type: a flag
///   script    NAME  HELP                    a command of Python, whose options its --help tells
///   key       PATH  WORDS  HELP             of a case, words with a space between them
///
/// COMMAND is "-" for options of the program itself. A TYPE is in capitals (DIR, FILE), or words
/// with a bar between them.
std::string description(const CLI::App& app);

}  // namespace catena::cli
