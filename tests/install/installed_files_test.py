#!/usr/bin/python3
"""What `cmake --install` brings beside libraries and headers: completion in bash and zsh, the man page, examples.

    installed_files_test.py CMAKE BUILD SOURCE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])

BASH = r"""
source "$1"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
read -ra COMP_WORDS <<<"$COMP_LINE"
_catena
printf '%s\n' "${COMPREPLY[@]}"
"""

ZSH = r"""
zmodload zsh/zpty
zpty shell 'TERM=dumb zsh -f -i'
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; stty -echo cols 200; print rea''dy"
zpty -r shell text '*ready*'
zpty -w -n shell "$2"$'\t'
zpty -r shell text "*$3*"
print -r -- "$text"
"""


class InstalledFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.directory.name) / "prefix"
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--component", "program"], check=True,
                       stdout=subprocess.DEVNULL)
        cls.share = cls.prefix / "share"
        cls.catena = cls.prefix / "bin" / "catena"

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def run_catena(self, *arguments):
        return subprocess.run([self.catena, *arguments], check=True, capture_output=True, text=True).stdout

    def bash(self, line):
        script = self.share / "bash-completion" / "completions" / "catena"
        path = f"{self.prefix}/bin:/usr/bin:/bin"
        done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", script, line], capture_output=True, text=True,
                              env={"PATH": path}, cwd=self.share / "doc" / "catena")
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_every_command_and_every_option_that_help_names(self):
        commands = re.findall(r"^  (\w+) ", self.run_catena("--help").split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(commands), 10)
        self.assertEqual(sorted(self.bash("catena ")), sorted(commands))
        for command in ("run", "check", "plan", "solve", "info", "calibrate"):
            named = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", self.run_catena(command, "--help").split("Options:")[1]))
            offered = self.bash(f"catena {command} -")
            self.assertTrue(named >= set(offered) and {"-h", "--help"} <= set(offered), (command, named, offered))
            for line in self.run_catena(command, "--help").splitlines():
                option = re.match(r"  (--?[a-z-]+)", line)
                if option:
                    self.assertIn(option.group(1), offered)

    def test_bash_completes_keys_with_names_of_the_users_own_and_their_words(self):
        self.assertEqual(self.bash("catena run pile.yaml --set solver.met"), ["solver.method=", "solver.metric="])
        self.assertEqual(self.bash("catena run pile.yaml --set bodies.block.mas"), ["bodies.block.mass="])
        self.assertEqual(self.bash("catena check --set time.stepper=sp"), ["spook"])
        self.assertEqual(self.bash("catena solve p.hdf5 --set met"), ["method=", "metric="])
        self.assertEqual(self.bash("catena run --set nothing.like"), [])

    def test_all_keys_of_the_top_level_in_the_manual_are_completed(self):
        manual = (SOURCE / "docs" / "configuration.md").read_text().split("## Keys")[1].split("\n## ")[0]
        keys = re.findall(r"^\| `(\w+)` \|", manual, re.MULTILINE)
        self.assertGreater(len(keys), 15)
        self.assertEqual([word.rstrip(".=") for word in self.bash("catena check --set ")], keys)

    def test_values_are_completed_by_what_they_are(self):
        self.assertEqual(self.bash("catena solve p.hdf5 --solver gau"), ["gauss_seidel"])
        self.assertEqual(self.bash("catena solve p.hdf5 --law fr"), ["frictionless"])
        self.assertEqual(self.bash("catena run examples/settled"), ["examples/settled_spheres.yaml"])
        self.assertEqual(self.bash("catena run -o exam"), ["examples"])
        self.assertEqual(self.bash("catena plan a.yaml -n "), [])
        # no case, though it is in the folder
        self.assertEqual(self.bash("catena run examples/hopper.o"), [])

    def test_names_of_files_are_not_run(self):
        trap = self.share / "doc" / "catena" / "x$(touch caught).yaml"
        trap.touch()
        try:
            self.assertEqual(self.bash("catena run x"), [trap.name.split()[0], trap.name.split()[1]])
        finally:
            trap.unlink()
        self.assertFalse((trap.parent / "caught").exists())

    def test_zsh_completes_commands_options_and_keys(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh here")
        functions = next(self.share.glob("zsh/*/_catena")).parent
        for typed, whole in (("catena cal", "catena calibrate"), ("catena run --max", "catena run --max-wall"),
                             ("catena run a.yaml --set bodies.block.mat", "catena run a.yaml --set bodies.block.material="),
                             ("catena run a.yaml --set solver.method=ga",
                              "catena run a.yaml --set solver.method=gauss_seidel"),
                             ("catena solve p.hdf5 --solver ja", "catena solve p.hdf5 --solver jacobi")):
            done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", functions, typed, whole],
                                  capture_output=True, text=True, timeout=300, errors="replace")
            self.assertIn(whole, done.stdout, done.stdout + done.stderr)

    def test_the_man_page_renders_without_warnings_and_names_all_options(self):
        if not shutil.which("man"):
            self.skipTest("no man here")
        page = self.share / "man" / "man1" / "catena.1.gz"
        done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                              env={"MANWIDTH": "300", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        text = re.sub(".\x08", "", done.stdout)
        for line in self.run_catena("--describe").splitlines():
            fields = line.split("\t")
            if fields[0] == "option":
                self.assertIn(fields[2].replace(",", ", "), text)
            if fields[0] in ("command", "script"):
                self.assertRegex(text, r"(?m)^[A-Z, ]*\b%s\b" % fields[1].upper())

    def test_installed_pages_have_their_pictures_and_lead_to_each_other(self):
        pages = sorted((self.share / "doc" / "catena").rglob("*.md"))
        seen = set()
        for page in pages:
            for place in re.findall(r"\]\(([^)#:]+\.(?:md|png|svg))[^)]*\)", page.read_text()):
                self.assertTrue((page.parent / place).exists(), f"{page} leads to {place}")
                seen.add(place.rsplit(".", 1)[1])
        self.assertGreater(len(pages), 50)
        self.assertEqual(seen, {"md", "png", "svg"})
        tutorials = [page for page in pages if page.parent.name == "tutorials" and page.name != "README.md"]
        self.assertEqual(len(tutorials), 7)

    def test_an_example_and_the_scripts_work_from_where_they_are(self):
        self.assertIn("name: settled-spheres", self.run_catena("check", self.share / "doc/catena/examples/settled_spheres.yaml"))
        for script in ("sweep", "import"):
            self.assertIn("usage:", self.run_catena(script, "--help"))

    def test_studies_run_from_where_they_are(self):
        """With the installed package, cases and template: nothing of the sources but a problem to solve."""
        work = pathlib.Path(self.directory.name) / "work"
        work.mkdir()
        self.assertIn("scaling", self.run_catena("study", "--help"))
        for kind in ("scaling", "solvers"):
            self.assertIn("usage: catena study", self.run_catena("study", kind, "--help"))

        def study(*words):
            return subprocess.run([self.catena, "study", *map(str, words)], cwd=work, capture_output=True, text=True,
                                  env={k: v for k, v in os.environ.items() if k != "CATENA"})

        found = study(self.share / "doc/catena/studies/strong_chain.yaml", "--slurm",
                      self.prefix / "libexec/catena/templates/slurm.sh", "-o", "jobs")
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertIn(f"{self.catena} run", (work / "jobs/slurm/ranks-1.sh").read_text())
        problem = SOURCE / "tests/data/fclib/Capsules-i101-404.hdf5"
        (work / "own.yaml").write_text(
            f"name: own\nproblems: [{problem.name}]\nfolders: [{problem.parent}]\nsolvers: [{{name: auto}}]\n"
            "comparisons: [{name: coulomb, law: coulomb, metric: scaled, tolerances: [1e-4]}]\n")
        found = study("own.yaml")
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertIn("converged", (work / "own/results.csv").read_text())
        for words, said in (([], "catena study STUDY.yaml"), (["nowhere.yaml"], "nowhere.yaml: no such file"),
                            (["--force"], "a study file is missing")):
            found = study(*words)
            self.assertEqual(found.returncode, 3)
            self.assertIn(said, found.stdout + found.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
