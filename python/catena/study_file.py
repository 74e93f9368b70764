"""Reading of study files: YAML whose mistakes are reported as `file:line:column: key: what; remedy`.

Used by the scripts that take a study. Needs python3-yaml.
"""
import difflib
import math
import os
import re
import shutil

import yaml

REQUIRED = object()
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}


class StudyError(Exception):
    """What was found, where, and what to do."""


def default_catena():
    """The program that CATENA names, else this checkout's release build, else the one on the path, else None."""
    if os.environ.get("CATENA"):
        return os.environ["CATENA"]
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    built = os.path.join(root, "build", "release", "drivers", "catena")
    return built if os.path.exists(built) else shutil.which("catena")


def make_folder(path):
    """Makes the folder of the results, -o, with those above it."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as e:
        raise StudyError(f"-o: {path}: {e.strerror}; choose another folder") from e


class Map:
    """A mapping: each key is asked for once, by the kind of value that it must hold; `finish`
    refuses the keys that nobody asked for."""

    def __init__(self, file, node, path=""):
        self.file, self.node, self.path = file, node, path
        if not isinstance(node, yaml.MappingNode):
            self.fail(node, path, "must be a map of keys")
        self.values, self.asked = {}, []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fail(key, path, "a key must be a word")
            if key.value in self.values:
                self.fail(key, self.at(key.value), "duplicate key")
            self.values[key.value] = (key, value)

    def at(self, key):
        return f"{self.path}.{key}" if self.path else key

    def fail(self, node, path, what):
        mark = node.start_mark
        place = f"{self.file}:{mark.line + 1}:{mark.column + 1}"
        raise StudyError(f"{place}: {path}: {what}" if path else f"{place}: {what}")

    def _node(self, key, default):
        self.asked.append(key)
        if key in self.values:
            return self.values[key][1]
        if default is REQUIRED:
            near = difflib.get_close_matches(key, [k for k in self.values if k not in self.asked], 1, 0.7)
            if near:
                self.fail(self.values[near[0]][0], self.at(near[0]), f"unknown key; did you mean {key}?")
            self.fail(self.node, self.at(key), "is missing")
        return None

    def _word(self, node, path):
        if not isinstance(node, yaml.ScalarNode) or node.value == "":
            self.fail(node, path, "must be a single value")
        return node.value

    def _items(self, node, path):
        if not isinstance(node, yaml.SequenceNode):
            self.fail(node, path, "must be a list")
        return [(item, f"{path}[{i}]") for i, item in enumerate(node.value)]

    def _number(self, node, path, least):
        word = self._word(node, path)
        try:
            value = float(word)
        except ValueError:
            self.fail(node, path, f"'{word}' is not a number")
        if not math.isfinite(value) or value < least:
            self.fail(node, path, f"'{word}' is out of range; must be finite, and at least {least:g}")
        return value

    def _choice(self, node, path, choices):
        word = self._word(node, path)
        if choices is not None and word not in choices:
            near = difflib.get_close_matches(word, choices, 1)
            self.fail(node, path, f"unknown value '{word}'; " + (
                f"did you mean {near[0]}?" if near else "known: " + ", ".join(choices)))
        return word

    def word(self, key, default=REQUIRED, choices=None):
        node = self._node(key, default)
        return default if node is None else self._choice(node, self.at(key), choices)

    def number(self, key, default=REQUIRED, least=0.0):
        node = self._node(key, default)
        return default if node is None else self._number(node, self.at(key), least)

    def whole(self, key, default=REQUIRED, least=1):
        node = self._node(key, default)
        if node is None:
            return default
        value = self._number(node, self.at(key), least)
        if value != int(value):
            self.fail(node, self.at(key), f"'{node.value}' is not a whole number")
        return int(value)

    def seconds(self, key, default=REQUIRED):
        """A number, or one with s, ms, min or h."""
        node = self._node(key, default)
        if node is None:
            return default
        word = self._word(node, self.at(key))
        match = re.fullmatch(r"([-+0-9.eE]+) ?([a-z]*)", word)
        try:
            value = float(match[1]) * SECONDS[match[2]]
        except (TypeError, ValueError, KeyError):
            self.fail(node, self.at(key), f"'{word}' is no duration; write 30 s or 2 min")
        if not value > 0.0 or not math.isfinite(value):
            self.fail(node, self.at(key), f"'{word}' is out of range; must be finite, and above 0")
        return value

    def words(self, key, default=REQUIRED, choices=None):
        node = self._node(key, default)
        if node is None:
            return default
        return [self._choice(item, path, choices) for item, path in self._items(node, self.at(key))]

    def numbers(self, key, default=REQUIRED, least=0.0):
        node = self._node(key, default)
        if node is None:
            return default
        return [self._number(item, path, least) for item, path in self._items(node, self.at(key))]

    def map(self, key, default=REQUIRED):
        node = self._node(key, default)
        return default if node is None else Map(self.file, node, self.at(key))

    def maps(self, key, default=REQUIRED):
        node = self._node(key, default)
        if node is None:
            return default
        return [Map(self.file, item, path) for item, path in self._items(node, self.at(key))]

    def refuse(self, key, what):
        """An error about the value of a key that is there."""
        self.fail(self.values[key][1], self.at(key), what)

    def finish(self):
        for key, (node, _) in self.values.items():
            if key not in self.asked:
                near = difflib.get_close_matches(key, self.asked, 1)
                self.fail(node, self.at(key), "unknown key; " + (
                    f"did you mean {near[0]}?" if near else "known: " + ", ".join(self.asked)))


def read(path):
    """The file's outermost map."""
    try:
        with open(path) as f:
            node = yaml.compose(f, Loader=yaml.SafeLoader)
    except FileNotFoundError as e:
        raise StudyError(f"{path}: no such file; check the path") from e
    except OSError as e:
        raise StudyError(f"{path}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise StudyError(f"{path}: is no text file") from e
    except yaml.MarkedYAMLError as e:
        place = f":{e.problem_mark.line + 1}:{e.problem_mark.column + 1}" if e.problem_mark else ""
        raise StudyError(f"{path}{place}: {e.problem or e.context}") from e
    except yaml.YAMLError as e:
        raise StudyError(f"{path}: {e}") from e
    if node is None:
        raise StudyError(f"{path}: is empty")
    return Map(path, node)
