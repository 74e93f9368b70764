#!/usr/bin/python3
"""The scenes of a page, which say what their probes measure at the end. A block that begins
with ```csv NAME is a file that lies beside them.

    documented_probes_test.py CATENA PAGE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CLAIM = re.compile(r"# (\w+)\.(\w+) = (\S+)(?: within (\S+) %)?$", re.MULTILINE)


def last_row(path):
    header, *rows = path.read_text().splitlines()
    names = [field.split(" [")[0] for field in header.split(",")]
    return dict(zip(names, map(float, rows[-1].split(","))))


def main():
    catena, text = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
    scenes = re.findall(r"```yaml\n(catena: 1\n.*?)```", text, re.DOTALL)
    files = re.findall(r"```csv (\S+)\n(.*?)```", text, re.DOTALL)
    titles = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    wrong, claims = [], 0
    for scene in scenes:
        name = re.search(r"^name: (\w+)$", scene, re.MULTILINE).group(1)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory)
            (path / "case.yaml").write_text(scene)
            for file, content in files:
                (path / file).write_text(content)
            done = subprocess.run([catena, "run", "case.yaml", "-o", "out", "--quiet"], cwd=path,
                                  capture_output=True, text=True, timeout=100, check=False)
            if done.returncode != 0:
                wrong.append(f"{name}: exit {done.returncode}\n{done.stderr}")
                continue
            for probe, column, value, percent in CLAIM.findall(scene):
                claims += 1
                found = last_row(path / "out" / "probes" / (probe + ".csv"))[column]
                if abs(found - float(value)) > 0.01 * float(percent or 0) * abs(float(value)):
                    wrong.append(f"{name}: {probe}.{column} is {found}, not {value}")
    print(f"{len(scenes)} scenes, {claims} claims")
    print("\n".join(wrong))
    return 1 if wrong or claims < len(scenes) or len(scenes) < len(titles) else 0


if __name__ == "__main__":
    sys.exit(main())
