"""The command line: robot.urdf or model.xml, -o case.yaml."""
import argparse
import os
import sys

from . import ImportProblem, Options, import_model

BAD_INPUT = 3


def parser():
    p = argparse.ArgumentParser(description="A robot model, URDF or MJCF, as a case. What of "
                                "it is kept, changed and left out is printed line by line (docs/import.md).")
    p.add_argument("model", help="robot.urdf or model.xml")
    p.add_argument("-o", "--output", required=True, metavar="CASE.yaml")
    p.add_argument("--base", choices=("fixed", "free"), help="of the root; else fixed where a URDF's root has no "
                   "inertia, and as an MJCF file says")
    p.add_argument("--package", action="append", default=[], metavar="NAME=DIR", help="where package://NAME/ lies")
    p.add_argument("--joint", action="append", default=[], metavar="NAME=VALUE",
                   help="coordinate at the start, rad or m; else 0, or the nearest limit")
    p.add_argument("--keyframe", metavar="NAME", help="MJCF: start at this key; --joint goes beyond it")
    p.add_argument("--hold", action="store_true", help="a servo at every hinge and slide that holds its start, with "
                   "the effort of the model as bound")
    p.add_argument("--torque", action="store_true", help="a motor at every hinge and slide that has none, whose force "
                   "a controller sets, 0 at first")
    p.add_argument("--floor", action="store_true", help="a plane under the lowest shape")
    p.add_argument("--self-collisions", choices=("yes", "no"), help="contacts between links that no joint connects; "
                   "else no for URDF, yes for MJCF")
    p.add_argument("--friction", type=float, default=0.5, help="coefficient where the model has none (0.5)")
    p.add_argument("--balance-inertia", action="store_true", help="take the mean of moments that no body has")
    p.add_argument("--hull-vertices", type=int, default=100, metavar="N", help="most corners of a mesh's hull (100)")
    p.add_argument("--decompose", type=int, metavar="N", help="cut meshes of moving links that are not convex into N "
                   "convex pieces at most, in place of taking their hulls")
    p.add_argument("--tolerance", type=float, metavar="L", help="with --decompose: how far pieces may reach beyond "
                   "their mesh, m; else 1 %% of its size")
    p.add_argument("--skip-meshes", action="store_true", help="leave out meshes that are missing or cannot be read, in "
                   "place of an error")
    p.add_argument("--end", type=float, default=1.0, help="time.end of the case, s (1)")
    p.add_argument("--force", action="store_true", help="overwrite the case")
    p.add_argument("--quiet", action="store_true", help="print no report")
    return p


def main(arguments=None):
    p = parser()
    try:
        a = p.parse_args(arguments)
    except SystemExit as leave:
        return BAD_INPUT if leave.code else 0
    try:
        if os.path.exists(a.output) and not a.force:
            raise ImportProblem(a.output, "is there already", "give another name, or --force")
        for text in a.package:
            if "=" not in text:
                raise ImportProblem("--package", f"{text!r} has no '='", "write NAME=DIR")
        if a.hull_vertices < 4 or not a.friction >= 0 or not a.end >= 0:
            raise ImportProblem("--hull-vertices, --friction or --end", "out of range",
                                "at least 4 corners, no negative numbers")
        if a.decompose is not None and not 1 <= a.decompose <= 256 or a.tolerance is not None and not a.tolerance > 0:
            raise ImportProblem("--decompose or --tolerance", "out of range", "from 1 to 256 pieces, a positive length")
        if a.tolerance is not None and a.decompose is None:
            raise ImportProblem("--tolerance", "nothing is cut", "add --decompose N")
        if a.hold and a.torque:
            raise ImportProblem("--torque", "--hold is given, too", "a joint has one motor: leave one of them out")
        own = {"yes": True, "no": False, None: None}[a.self_collisions]
        options = Options(a.base, a.package, a.joint, a.keyframe, a.hold, a.torque, a.floor, own, a.friction, a.balance_inertia,
                          a.hull_vertices, a.end, a.decompose, a.tolerance, a.skip_meshes)
        report = import_model(a.model, a.output, options)
    except ImportProblem as problem:
        print(problem, file=sys.stderr)
        return BAD_INPUT
    if not a.quiet:
        print("\n".join(report.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
