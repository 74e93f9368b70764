"""What the scripts of docs/benchmarks.md share: options, the conditions of a run, tables, and their section of the page."""
import argparse
import csv
import hashlib
import os
import platform
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "benchmarks.md")
# a section between its markers
MARKED = r"<!-- begin of (?P<name>%s)(?: (?P<sum>[0-9a-f]{16}))? -->\n(?P<section>.*?)<!-- end of (?P=name) -->"
# one core a rank, and as many ranks as are asked for, whoever starts them
SETTINGS = {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none"}


def options(description, name, peers=False):
    """The parser of a script whose section of the page is called `name`; peers: it runs other programs, too."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="build tree of Catena")
    if peers:
        parser.add_argument("--peers", metavar="DIR", help="programs that scripts/reproduce/peers/build has made")
    else:
        parser.set_defaults(peers=None)
    parser.add_argument("--short", action="store_true", help="a few steps of each scene, in seconds; no figures to quote")
    parser.add_argument("--work", default=name, help="directory for results and %s.csv" % name)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    return parser


def begin(parser):
    """The options given; the package `catena` and the program are those of the build from here on."""
    args = parser.parse_args()
    if args.write and args.short:
        parser.error("--write wants the whole run: leave --short out")
    if args.peers and not os.path.isdir(args.peers):
        parser.error("--peers %s: no such directory; scripts/reproduce/peers/build %s makes it" % ((args.peers,) * 2))
    program = os.path.join(args.build, "drivers", "catena")
    if not os.access(program, os.X_OK):
        parser.error("--build %s: it has no drivers/catena; build it, or name the build tree" % args.build)
    os.environ["CATENA"] = os.path.abspath(program)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    sys.path.insert(0, os.path.join(os.path.abspath(args.build), "python"))
    args.started = time.strftime("%d %B %Y")
    args.load = os.getloadavg()[0]
    args.versions = []  # of further programs, by the script
    args.work = os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    return args


def peer(args, name):
    """Path of a peer's program, or None where it is not there."""
    path = os.path.join(args.peers, name) if args.peers else ""
    return path if path and os.access(path, os.X_OK) else None


def processor():
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())
    return "%s, %d cores" % (model, os.cpu_count())


def said_by(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:  # dpkg-query is Debian's
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def conditions(args):
    """Machine, load, versions and the command, in a sentence each."""
    versions = [said_by([os.environ["CATENA"], "--version"]).split("\n")[0]]
    packages = [("libode8", "ODE"), ("libbullet3.24", "Bullet"), ("libsimbody3.7", "Simbody")]
    for package, title in packages if args.peers else []:
        version = said_by(["dpkg-query", "-W", "-f", "${Version}", package])
        versions += ["%s %s" % (title, version.split(":")[-1].split("-")[0].split("+")[0])] if version else []
    versions += args.versions
    command = " ".join([os.path.relpath(sys.argv[0], ROOT)] + sys.argv[1:])
    return ("%s; %s; load of the machine %.1f at the start and %.1f at the end. Times are CPU times of the processes "
            "(user and system), one core, unless said.\n\n    %s" % (
                "; ".join(versions), "%s, %s" % (processor(), args.started), args.load, os.getloadavg()[0],
                re.sub(r"(--(?:peers|work|build))[= ]\S+", r"\1 DIR", command)))


class Table:
    """A table of the page: rows of text or numbers under a header."""

    def __init__(self, title, header):
        self.title, self.header, self.rows = title, header, []

    def add(self, *cells):
        assert len(cells) == len(self.header), (cells, self.header)
        self.rows.append(cells)
        print("%s: %s" % (self.title, " | ".join(text(c) for c in cells)), flush=True)

    def markdown(self):
        lines = ["**%s**" % self.title, "", "| " + " | ".join(self.header) + " |", "|" + len(self.header) * "---|"]
        return "\n".join(lines + ["| " + " | ".join(text(c) for c in row) + " |" for row in self.rows])


def text(cell):
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return str(cell)
    if cell != cell:
        return "not finite"
    return "%.1e" % cell if cell and not 0.01 <= abs(cell) < 1e4 else "%.3g" % cell if abs(cell) < 1e3 else "%.0f" % cell


def keep(args, name, title, parts, more=()):
    """The section, written with NAME.csv as NAME.md into --work. `parts`: tables, and paragraphs of text between them;
    `more`: tables that only the CSV file has."""
    with open(os.path.join(args.work, name + ".csv"), "w", newline="") as f:
        rows = csv.writer(f)
        for table in [*(p for p in parts if isinstance(p, Table)), *more]:
            rows.writerow(["# " + table.title])
            rows.writerow(table.header)
            rows.writerows(["%.6e" % c if isinstance(c, float) else c for c in row] for row in table.rows)
    body = "\n\n".join(p.markdown() if isinstance(p, Table) else p for p in parts)
    section = "## %s\n\n%s\n\n%s\n" % (title, body, conditions(args))
    with open(os.path.join(args.work, name + ".md"), "w") as f:
        f.write(section)
    return section


def finish(args, name, title, parts, more=()):
    """Keeps the section, and writes it into the page with --write."""
    section = keep(args, name, title, parts, more)
    if args.write:
        write_section(PAGE, name, section)


def write_section(page, name, section):
    """Replaces what stands between the section's markers; the first one holds the checksum by which changes are seen."""
    with open(page) as f:
        whole = f.read()
    found = re.search(MARKED % re.escape(name), whole, re.DOTALL)
    if not found:
        sys.exit("%s: no lines <!-- begin of %s --> and <!-- end of %s -->" % (page, name, name))
    marked = "<!-- begin of %s %s -->\n%s<!-- end of %s -->" % (name, checksum(section), section, name)
    with open(page, "w") as f:
        f.write(whole[:found.start()] + marked + whole[found.end():])


def checksum(section):
    return hashlib.sha256(section.encode()).hexdigest()[:16]


def changed_sections(page):
    """Names of the sections that are not as their script wrote them; those without a checksum were not written by one."""
    with open(page) as f:
        whole = f.read()
    return [found["name"] for found in re.finditer(MARKED % "[a-z_]+", whole, re.DOTALL)
            if found["sum"] and found["sum"] != checksum(found["section"])]
