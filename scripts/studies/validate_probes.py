#!/usr/bin/python3
"""Runs granular tests of the laboratory and a robot's arm, steered by controllers and measured by probes, and
compares what probes say with balances, with other calculations out of the snapshots and with published laws.

    scripts/studies/validate_probes.py --catena build/release/drivers/catena -o probes
    scripts/studies/validate_probes.py --cases oedometer,drum ...    some cases only
    scripts/studies/validate_probes.py --quick ...                   smaller and shorter, in seconds each

Cases are configs/validation/NAME.yaml with the changes that stand in the functions named after them. Writes
DIR/probes.md, DIR/probes.csv and DIR/probes_CASE.png, and ends with 1 if a number misses its bounds. Runs stay in
DIR/runs; --keep does not make again those that are there. Needs python3-h5py, python3-numpy, python3-matplotlib and
python3-yaml.
"""
import argparse
import os
import sys

from probe_study import ROOT, Study

import probe_compression
import probe_flows
import probe_machines

CASES = {"oedometer": probe_compression.oedometer, "triaxial": probe_compression.triaxial, "drum": probe_flows.drum,
         "shear": probe_flows.shear, "outflow": probe_flows.outflow, "arm": probe_machines.arm}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catena", default=os.path.join(ROOT, "build", "release", "drivers", "catena"))
    parser.add_argument("-o", "--output", default="probes", help="directory")
    parser.add_argument("--cases", help=f"comma-separated, of {', '.join(CASES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="smaller and shorter")
    parser.add_argument("--keep", action="store_true", help="measure runs that are there, make the others")
    parser.add_argument("--images", help="directory for the documentation's pictures, too")
    args = parser.parse_args()
    wanted = args.cases.split(",") if args.cases else list(CASES)
    unknown = [name for name in wanted if name not in CASES]
    if unknown:
        sys.exit(f"no case {unknown[0]}; there are {', '.join(CASES)}")
    os.environ["CATENA"] = os.path.abspath(args.catena)
    study = Study(os.path.abspath(args.output), args.quick, args.keep)
    for name in wanted:
        study.case = name
        study.save(CASES[name](study), args.images)
    sys.exit(0 if study.write() else 1)


if __name__ == "__main__":
    main()
