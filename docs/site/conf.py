"""How Sphinx makes the site of README.md, CONTRIBUTING.md, CHANGELOG.md and docs (scripts/dev/build_site runs it)."""
import functools
import pathlib
import posixpath
import re
import sys
import xml.etree.ElementTree

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "site-work"
sys.path.insert(0, str(ROOT / "python"))

project = "Catena"
release = version = re.search(r"project\(catena VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
html_title = f"Catena {version}"
html_theme = "furo"
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_additional_pages = {"index": "to_readme.html"}
templates_path = ["."]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**"]
# the man page needs the built program
exclude_patterns = ["build*", "docs/site/man.md"] if not (WORK / "man.html").exists() else ["build*"]
myst_heading_anchors = 6
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

INDEX = ROOT / "docs" / "README.md"
REFERENCES = ["docs/site/python", "docs/site/cpp", "docs/site/man"]


def pages_linked(text, folder):
    """Pages that a text links to, as Sphinx names them, in order and once each."""
    places = (posixpath.normpath(posixpath.join(folder, place)) for place in re.findall(r"\]\(([^)#]+)\.md\)", text))
    return list(dict.fromkeys(places))


def tree(pages, caption=""):
    """A table of contents that only the site's sidebar shows."""
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}" if caption else "", "", *pages, "```", ""])


def sections_of_index():
    """Heading and pages of each section of docs/README.md: the first columns of its tables."""
    for section in re.split(r"^## ", INDEX.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
        yield section.split("\n", 1)[0], pages_linked("\n".join(rows), "docs")


def add_contents(app, docname, source):
    """Puts below README what docs/README.md lists, by its sections, and below the index of a folder its pages."""
    text, folder = source[0], posixpath.dirname(docname)
    if docname == "README":
        known = {"docs/README"}
        source[0] += tree(["docs/README"])
        for caption, pages in sections_of_index():
            source[0] += tree(["/" + page for page in pages if page not in known], caption)
            known.update(pages)
        source[0] += tree(["/" + page for page in REFERENCES if page in app.env.found_docs], "Reference")
    elif docname.endswith("/README") and docname != "docs/README":
        inside = [page for page in pages_linked(text, folder) if page.startswith(folder + "/") and page != docname]
        source[0] += tree(["/" + page for page in inside])


@functools.cache
def pages_of_headers():
    """Doxygen's page for each public header, by its path below include."""
    headers = {}
    for file in xml.etree.ElementTree.parse(WORK / "cpp.tag").iterfind("compound[@kind='file']"):
        folder = file.findtext("path").rpartition("/include/")[2]
        headers[folder + file.findtext("name")] = file.findtext("filename")
    return headers


def link_headers(app, doctree):
    """Links to public headers lead to their pages in Doxygen's part of the site."""
    up = "../" * app.env.docname.count("/")
    for link in list(doctree.findall(addnodes.download_reference)):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(app.env.docname), link["reftarget"]))
        if path.startswith("include/"):
            page = pages_of_headers()[path.removeprefix("include/")]
            link.replace_self(nodes.reference("", "", *link.children, refuri=f"{up}cpp/{page}", internal=False))


def name_folder(app, env, node, words):
    """Folders of the sources are no part of the site: their names stand there without a link."""
    return words if (ROOT / posixpath.dirname(node["refdoc"]) / node["reftarget"]).is_dir() else None


def keep_columns(app, what, name, obj, options, lines):
    """Indented blocks of docstrings are columns: they stay as they stand."""
    for k in reversed(range(1, len(lines))):
        if lines[k].startswith("    ") and not lines[k - 1]:
            lines[k:k] = ["::", ""]


def setup(app):
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", link_headers)
    app.connect("missing-reference", name_folder)
    app.connect("autodoc-process-docstring", keep_columns)
