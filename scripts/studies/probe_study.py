"""What the cases of validate_probes.py share: runs through the package `catena`, verdicts, tables and figures."""
import csv
import os
import sys
import time

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
import catena  # noqa: E402

CONFIGS = os.path.join(ROOT, "configs", "validation")
G = 9.81


def column(columns, name):
    """A column as a plain array."""
    return np.asarray(columns[name])


def vectors(columns, name, suffix=""):
    """n x 3 of the columns NAME_x, NAME_y, NAME_z."""
    return np.array([column(columns, f"{name}_{c}{suffix}") for c in "xyz"]).T


def at_steps(result, name, steps):
    """Values of a column of the series, a row per step, after the given steps."""
    return np.asarray(result.series[name])[np.asarray(steps, int) - 1]


def load(name):
    return catena.Case.load(os.path.join(CONFIGS, name + ".yaml"))


def lattice_of(case, k=-1):
    return case["generators"][k]["lattice"]


def named(case, kind, name):
    """The probe, joint, body or controller of this name."""
    return next(item for item in case[kind] if item["name"] == name)


class Study:
    """Where runs go, and what was found."""

    def __init__(self, output, quick, keep):
        self.output, self.quick, self._keep = output, quick, keep
        self.rows, self.case = [], ""
        os.makedirs(os.path.join(output, "runs"), exist_ok=True)

    def path(self, name):
        return os.path.join(self.output, "runs", name)

    def run(self, name, case):
        """The result of the case, run now or, with --keep, before; a run that ended has a profile."""
        if self._keep and os.path.exists(os.path.join(self.path(name), "profile.json")):
            return catena.Result(self.path(name))
        case.folder = self.output  # no case names files; the folder of the sources may be read-only
        start = time.time()
        result = catena.run(case, out=self.path(name), force=True, progress=False)
        print(f"     {name}: {len(result.series.step)} steps in {time.time() - start:.1f} s", flush=True)
        return result

    def check(self, what, value, low, high, unit=""):
        """A number with its bounds."""
        ok = bool(low <= value <= high)
        self.rows.append((self.case, what, f"{value:.4g}", unit, low, high, ok))
        print(f"{'ok  ' if ok else 'MISS'} {self.case}: {what}: {value:.4g} {unit}, bounds {low:.4g} .. {high:.4g}",
              flush=True)

    def save(self, figure, images):
        figure.tight_layout()
        for folder in [self.output] + ([images] if images else []):
            figure.savefig(os.path.join(folder, f"probes_{self.case}.png"), dpi=72, pil_kwargs={"optimize": True})
        plt.close(figure)

    def write(self):
        """probes.csv and probes.md; whether all is within its bounds."""
        with open(os.path.join(self.output, "probes.csv"), "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["case", "quantity", "value", "unit", "low", "high", "ok"])
            rows.writerows(self.rows)
        with open(os.path.join(self.output, "probes.md"), "w") as file:
            file.write("| case | measured | value | bounds |\n|---|---|---|---|\n")
            for case, what, value, unit, low, high, _ in self.rows:
                file.write(f"| {case} | {what} | {value} {unit} | {low:.4g} to {high:.4g} |\n")
        return all(row[-1] for row in self.rows)
