#!/usr/bin/python3
"""The man page, from the page of the command line and from what the program says of itself.

    man_page.py CLI.md DESCRIBE.tsv VERSION OUTPUT.gz

CLI.md is read as docs/cli.md is written: headings of two levels, paragraphs, indented code, tables of two columns,
and in the text `code`, *emphasis* and links, of which the words are kept."""
import gzip
import re
import sys

HEAD = '''.TH CATENA 1 "" "Catena %s" "Catena"
.SH NAME
catena \\- %s
'''
TAIL = '''.SH SEE ALSO
.BR mpirun (1)
.PP
The pages that are named in parentheses lie in share/doc/catena/docs, examples of cases in
.IR share/doc/catena/examples .
'''
SUMMARY = "rigid bodies in frictional contact, on any number of ranks"


def escaped(text):
    """Text that roff prints as it stands."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\\&" + text if text.startswith((".", "'")) else text


def inline(text):
    """Code in bold, emphasis in italics, a link as its words."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`|(?<![\w*])\*[^*\s][^*]*\*(?![\w*]))", text)
    out = ""
    for part in parts:
        if part.startswith("`"):
            out += "\\fB" + escaped(part[1:-1]).removeprefix("\\&") + "\\fR"
        elif part.startswith("*") and len(part) > 2:
            out += "\\fI" + escaped(part[1:-1]).removeprefix("\\&") + "\\fR"
        else:
            out += escaped(part) if out == "" else escaped(part).removeprefix("\\&")
    return out


def block(lines):
    """One block of Markdown: lines without an empty one between them."""
    if lines[0].startswith("    "):
        return ".nf\n" + "\n".join(escaped(line[4:]) for line in lines) + "\n.fi\n"
    if lines[0].startswith("|"):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        rows = [row for row in rows if any(re.search(r"[^-\s]", cell) for cell in row)]
        return "".join(".TP\n%s\n%s\n" % (inline(row[0]), inline(" ".join(row[1:]))) for row in rows
                       if row[0] not in ("", "code"))
    return inline(" ".join(lines)) + "\n"


def blocks(text):
    """Runs of lines that belong together."""
    found = []
    for line in text.splitlines() + [""]:
        if not line.strip():
            found.append([])
        else:
            if not found:
                found.append([])
            kind = lambda entry: entry[:1] if entry.startswith("|") else entry[:4] == "    "  # noqa: E731
            if found[-1] and kind(found[-1][-1]) != kind(line):
                found.append([])
            found[-1].append(line)
    return [lines for lines in found if lines]


def options(table, command):
    """Arguments and options of a command as a tagged list."""
    out = ""
    for fields in table:
        if fields[0] == "argument" and fields[1] == command:
            out += ".TP\n\\fI%s\\fR\n%s\n" % (escaped(fields[2]), escaped(fields[3]))
        if fields[0] == "option" and fields[1] == command:
            names = ", ".join("\\fB%s\\fR" % escaped(name) for name in fields[2].split(","))
            words = fields[3].replace("|", ", ") if fields[3].islower() else fields[3]
            value = " \\fI%s\\fR" % escaped(fields[3]) if fields[3] and words == fields[3] else ""
            choice = ": " + escaped(words) if words != fields[3] else ""
            out += ".TP\n%s%s\n%s%s\n" % (names, value, escaped(fields[4]), choice)
    return out


def page(text, table, version):
    kinds = {fields[1]: fields[0] for fields in table if fields[0] in ("command", "script")}
    out = HEAD % (version, SUMMARY)
    told = set()
    synopsis, *sections = re.split(r"^## ", text.split("\n", 1)[1], flags=re.MULTILINE)
    first, *rest = blocks(synopsis)
    out += ".SH SYNOPSIS\n" + block(first) + ".SH DESCRIPTION\n" + "\n.PP\n".join(block(b).rstrip() for b in rest)
    out += "\n" + options(table, "-")
    for section in sections:
        heading, body = section.split("\n", 1)
        out += ".SH %s\n" % escaped(heading.upper())
        for number, lines in enumerate(blocks(body)):
            out += (".PP\n" if number and not lines[0].startswith("|") else "") + block(lines)
        for name in heading.split(", "):
            if kinds.get(name) == "command":
                out += options(table, name)
            told.add(name)
    missing = sorted(set(kinds) - told)
    if missing:
        sys.exit("man_page.py: docs/cli.md has no section on %s; add one" % ", ".join(missing))
    return out + TAIL


def main():
    source, described, version, output = sys.argv[1:5]
    with open(source) as f:
        text = f.read()
    with open(described) as f:
        table = [line.rstrip("\n").split("\t") for line in f]
    # without a name and a time in it: the same page, the same bytes
    with open(output, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as f:
        f.write(page(text, table, version).encode())


if __name__ == "__main__":
    main()
