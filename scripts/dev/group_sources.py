#!/usr/bin/python3
"""Groups of source files that can be compiled as one: no name of an unnamed namespace stands in two of them, or in
a header of the project that another one includes.

    group_sources.py LINES FILES...

Prints one line a file, GROUP and path. A group has up to LINES lines; neighbours come into one group where names
allow it. A name that the patterns below miss shows as an error of redefinition in the build that uses the groups
(src/CMakeLists.txt).
"""
import functools
import os
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
# what stands at the start of a line of formatted code: functions, types, constants, aliases; macros anywhere
NAMES = re.compile(r"^(?:[A-Za-z_][^\n;={}()]*?[ &*>]|)(\w+)\(|^(?:template <.*> ?)?(?:struct|class|enum class|enum|using(?= \w+ =| enum)) (\w+)"
                   r"|^(?!using |namespace )[A-Za-z][^\n(){}]*?\b(\w+)(?:\[[^\]]*\])?(?: = |\{|;)", re.MULTILINE)
# constants, of which one declaration may have several, and what their values have in brackets
CONSTANTS = re.compile(r"^(?:inline |static )*(?:constexpr|const) [^;]*;", re.MULTILINE)
BRACKETS = re.compile(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|<[^<>]*>")
INCLUDES = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# of GoogleTest: what two tests must not share is both of their names
TESTS = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s+(\w+)\)|^\w*TEST_SUITE\w*\([^)]*\)", re.MULTILINE)
MACROS = re.compile(r"^#define (\w+)", re.MULTILINE)


class Group:
    def __init__(self, number):
        self.number, self.lines, self.directive = number, 0, False
        self.own, self.others, self.folders = set(), set(), set()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def further_names(declaration):
    """Names of a declaration but the first one."""
    found = 1
    while found:
        declaration, found = BRACKETS.subn("", declaration)
    if "{" in declaration:  # a function, cut off within its body
        return set()
    return {name[1] for part in declaration.split(",")[1:] if (name := re.match(r"\s*[*&]?(\w+)\s*(?:=|;)", part))}


def names_in(text):
    text = TESTS.sub(lambda test: f"void {test[1]}_{test[2]}()" if test[1] else "", text)
    names = {name for match in NAMES.finditer(text) for name in match.groups() if name}
    return names.union(*(further_names(match[0]) for match in CONSTANTS.finditer(text)))


def names_of(text):
    """Names of the file that another file may have, too."""
    return set(MACROS.findall(text)).union(*(names_in(part) for part in UNNAMED.findall(text)))


@functools.lru_cache(maxsize=None)
def headers_of(path, root):
    """Headers of the project that the file includes itself."""
    folders = [os.path.dirname(path), *(os.path.join(root, folder) for folder in ("src", "include", "tests"))]
    found = (os.path.join(folder, name) for name in INCLUDES.findall(read(path)) for folder in folders)
    return tuple(header for header in found if os.path.exists(header))


@functools.lru_cache(maxsize=None)
def names_of_header(path):
    return frozenset(names_in(read(path)))


def names_of_headers(path, root):
    """Names of all headers of the project that the file includes, by others, too."""
    seen, todo = set(), [path]
    while todo:
        new = set(headers_of(todo.pop(), root)) - seen
        seen |= new
        todo += new
    return set().union(*(names_of_header(header) for header in seen))


def main():
    most = int(sys.argv[1])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    groups = []
    for path in sys.argv[2:]:
        text = read(path)
        lines, own, others = text.count("\n"), names_of(text), names_of_headers(path, root)
        # a directive makes the names of its namespace known to whatever follows: only neighbours may
        folder, directive = os.path.dirname(path), "\nusing namespace" in text
        for group in groups:
            if (group.lines + lines <= most and not own & (group.own | group.others) and not others & group.own
                    and (not (directive or group.directive) or group.folders == {folder})):
                break
        else:
            group = Group(len(groups))
            groups.append(group)
        group.lines += lines
        group.own |= own
        group.others |= others
        group.folders.add(folder)
        group.directive |= directive
        print(group.number, path)


if __name__ == "__main__":
    main()
