"""What bench_loops prints: times of the hot loops and the machine's limits of the same run."""
import csv
import subprocess


class Loops:
    """limits: name -> number. rows: dictionaries with scene, loop (texts), bodies, items, ns_least,
    ns_median, bytes and flops (numbers)."""

    def __init__(self, text):
        self.limits, lines = {}, []
        for line in text.splitlines():
            if line.startswith("#"):
                name, value = line[1:].split()
                self.limits[name] = float(value)
            else:
                lines.append(line)
        self.rows = [{key: value if key in ("scene", "loop") else float(value) for key, value in row.items()}
                     for row in csv.DictReader(lines)]

    def least(self, name):
        """Nanoseconds of an item of `scene/loop`, of the first size; None: it is not there."""
        return next((r["ns_least"] for r in self.rows if f"{r['scene']}/{r['loop']}" == name), None)


def run_loops(program, arguments):
    """Loops of a run of bench_loops."""
    output = subprocess.run([str(program), *map(str, arguments)], check=True, capture_output=True, text=True)
    return Loops(output.stdout)
