#!/usr/bin/python3
"""What the hot loops achieve of the machine's limits: runs bench_loops and prints a table in Markdown.

    scripts/studies/roofline.py [--bench PATH] [--bodies N ...] [--rounds R] [--picture FILE]

A line is a loop at a size: nanoseconds of an item (the least of the rounds), the bytes and flops of an
item (drivers/loop_costs.hpp says what is counted), GB/s and GFLOP/s achieved, and the share of the
bound, which is the larger of bytes over the triad of the same run and flops over its peak of
multiply-adds in registers. Loops whose work is not arithmetic have a bound of bytes alone. Scenes that
lie in a cache may beat the triad, which is that of memory. The picture (docs/images/roofline.svg) has
the loops with flops.

Exit code: 0 done, 3 wrong usage.
"""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts/dev"))
from loop_times import run_loops  # noqa: E402

COLORS = {"lattice": "tab:blue", "packing": "tab:green", "chain": "tab:orange"}


def rated(row, limits):
    """Adds rates and share of the bound, in units of the table."""
    gb, gflop = row["bytes"] / row["ns_least"], row["flops"] / row["ns_least"]
    share = max(gb / limits["triad_GB_s"], gflop / limits["peak_GFLOP_s"])
    return {**row, "gb": gb, "gflop": gflop, "share": share}


def table(rows, limits):
    lines = [f"Triad {limits['triad_GB_s']:.1f} GB/s, multiply-adds {limits['peak_GFLOP_s']:.0f} GFLOP/s.", "",
             "| loop | bodies | ns per item | bytes | flops | GB/s | GFLOP/s | share of the bound |",
             "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        flops = [f"{r['flops']:.0f}", f"{r['gflop']:.1f}"] if r["flops"] > 0 else ["", ""]
        lines.append(f"| {r['loop']} | {r['bodies']:,.0f} | {r['ns_least']:.3g} | {r['bytes']:.0f} | {flops[0]} | "
                     f"{r['gb']:.1f} | {flops[1]} | {100 * r['share']:.0f} % |")
    return "\n".join(lines)


def draw(rows, limits, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams["svg.hashsalt"] = "catena"  # the same picture from the same numbers
    triad, peak = limits["triad_GB_s"], limits["peak_GFLOP_s"]
    figure, axis = plt.subplots(figsize=(7.2, 4.6))
    ends = [0.1, peak / triad, 20.0]
    axis.plot(ends, [min(peak, triad * x) for x in ends], "k-", linewidth=1.2)
    axis.text(0.11, triad * 0.11 * 1.25, f"triad {triad:.1f} GB/s", rotation=33, fontsize=8)
    axis.text(19.0, peak * 1.08, f"multiply-adds {peak:.0f} GFLOP/s", ha="right", fontsize=8)
    smallest = min(r["bodies"] for r in rows)
    for r in rows:
        if r["flops"] == 0.0:
            continue
        full = r["bodies"] == smallest or r["scene"] == "chain"
        intensity = r["flops"] / r["bytes"]
        axis.plot(intensity, r["gflop"], "o", color=COLORS[r["scene"]], fillstyle="full" if full else "none")
        if full:
            axis.annotate(r["loop"], (intensity, r["gflop"]), xytext=(6, 2), textcoords="offset points", fontsize=8)
    axis.plot([], [], "ko", label=f"{smallest:,.0f} bodies, and a chain in cache")
    axis.plot([], [], "ko", fillstyle="none", label="larger")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(0.1, 20.0)
    axis.set_xlabel("flops per byte")
    axis.set_ylabel("GFLOP/s")
    axis.grid(alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/release/drivers/bench_loops")
    parser.add_argument("--bodies", type=int, nargs="+", default=[4000, 200000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--picture", type=pathlib.Path, help="draw it, too")
    args = parser.parse_args()
    loops = run_loops(args.bench, ["--bodies", *args.bodies, "--rounds", args.rounds])
    rows = [rated(row, loops.limits) for row in loops.rows if row["bytes"] > 0.0]
    print(table(rows, loops.limits))
    if args.picture:
        draw(rows, loops.limits, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
