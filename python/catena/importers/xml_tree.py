"""XML with the place of every element, which also remembers what of it was read."""
import difflib
import math
import re
import xml.parsers.expat

from .errors import ImportProblem


class Element:
    """One element. Attributes that nobody has asked for when the import ends are reported as left out."""

    def __init__(self, tag, attributes, where):
        self.tag, self.attributes, self.where = tag, attributes, where
        self.children = []
        self.read = set()

    def fail(self, found, fix=""):
        name = self.attributes.get("name")
        raise ImportProblem(self.where, f"<{self.tag}{f' name={name!r}' if name else ''}>: {found}", fix)

    def text(self, key, default=None):
        self.read.add(key)
        return self.attributes.get(key, default)

    def required(self, key):
        value = self.text(key)
        if value is None or not value.strip():
            self.fail(f"has no {key}", f"give {key}=\"...\"")
        return value

    def numbers(self, key, count=None, default=None):
        """A tuple of finite numbers; `count` is how many there must be."""
        text = self.text(key)
        if text is None:
            return default
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            self.fail(f"{key}={text!r} is not a list of numbers", "separate numbers by spaces")
        if not all(math.isfinite(v) for v in values):
            self.fail(f"{key}={text!r} is not finite", "give finite numbers")
        if count is not None and len(values) != count:
            self.fail(f"{key}={text!r} has {len(values)} numbers", f"give {count}")
        return values

    def number(self, key, default=None):
        values = self.numbers(key, 1)
        return default if values is None else values[0]

    def all(self, tag):
        return [child for child in self.children if child.tag == tag]

    def one(self, tag):
        """The only child of this tag, or None."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"stands twice in <{self.tag}>", "keep one of them")
        return found[0] if found else None

    def check_children(self, used, left_out, report):
        """Refuses tags that are neither used nor known; reports those that are left out."""
        for child in self.children:
            if child.tag in used:
                continue
            if ":" in child.tag:
                report.add("left out", f"<{child.tag}>: an extension", child.where)
                continue
            if child.tag not in left_out:
                near = difflib.get_close_matches(child.tag, [*used, *left_out], 1)
                child.fail(f"unknown tag in <{self.tag}>",
                           f"did you mean <{near[0]}>?" if near else "remove it, or correct its name")
            report.add("left out", f"<{child.tag}>" + (f": {left_out[child.tag]}" if left_out[child.tag] else ""),
                       child.where)

    def report_unread(self, report):
        for key in self.attributes:
            if key not in self.read:
                report.add("left out", f"{key} of <{self.tag}>", self.where)


def read_xml(path):
    """The root element of a file; ImportProblem for what is not well-formed."""
    name = str(path)
    parser = xml.parsers.expat.ParserCreate()
    stack, roots = [], []

    def start(tag, attributes):
        where = f"{name}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"
        if tag.startswith("xacro:") or any(k.startswith("xmlns:xacro") and not stack for k in attributes):
            if tag.startswith("xacro:"):
                raise ImportProblem(where, f"<{tag}>: xacro is not expanded", "run xacro first: xacro in > out")
            attributes = {k: v for k, v in attributes.items() if not k.startswith("xmlns:")}
        element = Element(tag, attributes, where)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    try:
        with open(path, "rb") as file:
            data = file.read()
        # old versions of xacro write comments before the declaration, which readers pass over
        late = re.match(rb"\s*(?:<!--.*?-->\s*)*(<\?xml[^>]*\?>)", data, re.DOTALL)
        if late and late.start(1):
            data = data[:late.start(1)] + b" " * len(late[1]) + data[late.end(1):]
        parser.Parse(data, True)
    except OSError as error:
        raise ImportProblem(name, f"cannot be read ({error.strerror})", "check the path") from None
    except xml.parsers.expat.ExpatError as error:
        place = f"{name}:{error.lineno}:{error.offset + 1}"
        opened = f"; <{stack[-1].tag}> of line {stack[-1].where.split(':')[-2]} is open" if stack else ""
        raise ImportProblem(place, f"not well-formed XML: {xml.parsers.expat.errors.messages[error.code]}{opened}",
                            "is the file complete?") from None
    return roots[0]
