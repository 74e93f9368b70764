#!/usr/bin/python3
"""Groups of source files that can be compiled as one: no name of an unnamed namespace stands in two of them.

    group_sources.py LINES FILES...

Prints one line a file, GROUP and path. A group has up to LINES lines; neighbours come into one group where names
allow it. A name that the patterns below miss shows as an error of redefinition in the build that uses the groups
(src/CMakeLists.txt).
"""
import os
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
# what stands at the start of a line of formatted code: functions, types, constants, aliases; macros anywhere
NAMES = re.compile(r"^(?:[A-Za-z_][^\n;={}()]*?[ &*>]|)(\w+)\(|^(?:template <.*> ?)?(?:struct|class|enum class|enum|using) (\w+)"
                   r"|^[A-Za-z][^\n(){}]*?\b(\w+)(?:\[[^\]]*\])?(?: = |\{|;)", re.MULTILINE)
MACROS = re.compile(r"^#define (\w+)", re.MULTILINE)


class Group:
    def __init__(self, number):
        self.number, self.lines, self.names, self.folders, self.directive = number, 0, set(), set(), False


def names_of(text):
    """Names of the file that another file may have, too."""
    found = set(MACROS.findall(text))
    for part in UNNAMED.findall(text):
        for match in NAMES.finditer(part):
            found.update(name for name in match.groups() if name)
    return found


def main():
    most = int(sys.argv[1])
    groups = []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines, names = text.count("\n"), names_of(text)
        # a directive makes the names of its namespace known to whatever follows: only neighbours may
        folder, directive = os.path.dirname(path), "\nusing namespace" in text
        for group in groups:
            if (group.lines + lines <= most and not group.names & names
                    and (not (directive or group.directive) or group.folders == {folder})):
                break
        else:
            group = Group(len(groups))
            groups.append(group)
        group.lines += lines
        group.names |= names
        group.folders.add(folder)
        group.directive |= directive
        print(group.number, path)


if __name__ == "__main__":
    main()
