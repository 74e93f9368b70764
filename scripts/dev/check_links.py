#!/usr/bin/python3
"""Checks where links lead, without a network: files, headings and other anchors must be there. Of links to other
sites the form is checked.

    scripts/dev/check_links.py [ROOT]          pages of the repository: README, CONTRIBUTING, CHANGELOG, docs
    scripts/dev/check_links.py --site FOLDER   a built site

In pages a link may be followed by the name of a section, `[theory](theory.md), "Patches"`, which is then there: a
heading, its words before a colon or parenthesis, or a paragraph's title, `*Patches.*`. Prints a line for each link to nothing, and ends with 1 if there is one.
"""
import argparse
import functools
import html.parser
import pathlib
import re
import sys
import urllib.parse

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
FENCED = re.compile(r"^(```|~~~).*?^\1[`~]*$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n)\n(?: {4}.*\n|\n)+")  # code, after an empty line
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
# the target may have a pair of parentheses in it; what follows may name a section
LINK = re.compile(r'(?<!\\)\]\(([^\s()]*(?:\([^\s()]*\)[^\s()]*)?)\)(?:, "([^"\n]+)")?')
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +#+)?$", re.MULTILINE)
TITLE = re.compile(r"^(?:- )?\*{1,2}([^*\n]+?)[.:]?\*{1,2}", re.MULTILINE)
EXTERNAL = re.compile(r"(https?://[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?|mailto:[^@\s]+@[^@\s]+)$")


def blanked(match):
    """As many lines, with nothing in them."""
    return "\n" * match.group().count("\n")


def heading_text(text):
    """What a reader sees of a heading: code and links are their words."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"(?<!\w)[*_]+|[*_]+(?!\w)|`", "", text).strip()


def slug(text):
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


@functools.cache
def sections(path):
    """Names of all sections of a page, and the headings' anchors: of equal ones the later are numbered."""
    page = FENCED.sub("", path.read_text(encoding="utf-8"))
    texts = [heading_text(text) for text in HEADING.findall(page)]
    anchors, seen = set(), {}
    for name in map(slug, texts):
        anchors.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return {*texts, *(re.split(r":| \(", text)[0] for text in texts), *TITLE.findall(page)}, anchors


class Html(html.parser.HTMLParser):
    """Of a page of HTML the names that a link may lead to, and the links with their lines."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        place = attrs.get("src" if tag in ("img", "script", "iframe", "embed") else "href")
        if place:
            self.links.append((self.getpos()[0], place))


@functools.cache
def html_of(path):
    return Html(path.read_text(encoding="utf-8"))


def fault_in_page(page, place, section):
    """What is wrong with a link of a page of Markdown, or None."""
    parts = urllib.parse.urlsplit(place)
    if parts.scheme:
        return None if EXTERNAL.match(place) else "not an address"
    target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
    if not target.exists():
        return "no such file"
    names, anchors = sections(target) if target.suffix == ".md" else (set(), set())
    if parts.fragment and parts.fragment not in anchors:
        return "no heading with this anchor"
    if section and target.suffix == ".md" and section not in names:
        return f'no section "{section}"'
    return None


def fault_in_site(page, place, root):
    """What is wrong with a link of a page of the site, or None."""
    parts = urllib.parse.urlsplit(place)
    if parts.scheme in ("javascript", "data"):
        return None
    if parts.scheme:
        return None if EXTERNAL.match(place) else "not an address"
    target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(root):
        return "leads out of the site"
    if not target.is_file():
        return "no such file"
    if parts.fragment and target.suffix == ".html" and urllib.parse.unquote(parts.fragment) not in html_of(target).names:
        return "no such anchor"
    return None


def check_pages(root):
    """Lines on the faults of all pages of the repository, and how many links there are."""
    faults, count = [], 0
    for page in [root / name for name in PAGES if (root / name).exists()] + sorted((root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for code in (FENCED, INDENTED, CODE):
            text = code.sub(blanked, text)
        for found in LINK.finditer(text):
            count += 1
            fault = fault_in_page(page, *found.groups())
            if fault:
                line = text.count("\n", 0, found.start()) + 1
                faults.append(f"{page.relative_to(root)}:{line}: {found.group(1)}: {fault}")
    return faults, count


def check_site(root):
    """Lines on the faults of all pages of a built site, and how many links there are."""
    faults, count = [], 0
    for page in sorted(root.rglob("*.html")):
        for line, place in html_of(page).links:
            count += 1
            fault = fault_in_site(page, place, root)
            if fault:
                faults.append(f"{page.relative_to(root)}:{line}: {place}: {fault}")
    return faults, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--site", action="store_true", help="ROOT is a built site")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    faults, count = (check_site if arguments.site else check_pages)(root)
    if count == 0:
        sys.exit(f"check_links: no links below {root}")
    for fault in faults:
        print(fault)
    print(f"check_links: {count} links, {len(faults)} to nothing")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
