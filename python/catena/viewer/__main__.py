"""Makes a page that shows a result in a browser, or follows a run.

    catena view DIR -o scene.html      one file with all snapshots, three.js within; no network
    catena view DIR --live             a page on 127.0.0.1 that follows the run in DIR
"""
import argparse
import os
import sys

from ..errors import CatenaError
from .page import View, server, write_page


def _arguments():
    parser = argparse.ArgumentParser(prog="catena view", description=__doc__.split("\n")[0])
    parser.add_argument("result", help="result directory")
    parser.add_argument("-o", "--output", help="page; default DIR/view.html")
    parser.add_argument("--no-velocity", action="store_true", help="leave velocities out: a third less")
    parser.add_argument("--no-force", action="store_true", help="leave forces of bodies out")
    parser.add_argument("--chains", type=int, default=3000, metavar="N",
                        help="keep the N strongest force chains of each snapshot (default 3000)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th snapshot only")
    parser.add_argument("--live", action="store_true", help="serve the page and follow the run")
    parser.add_argument("--port", type=int, default=0, help="of --live; default: any free one")
    arguments = parser.parse_args()
    if arguments.every < 1 or arguments.chains < 0:
        parser.error("--every must be at least 1, --chains at least 0")
    if arguments.live and arguments.output:
        parser.error("--live serves a page and writes none: leave -o out")
    return arguments


def main() -> int:
    arguments = _arguments()
    kept = [name for name, left_out in (("velocity", arguments.no_velocity), ("force", arguments.no_force))
            if not left_out]
    options = {"kept": kept, "chains": arguments.chains, "every": arguments.every}
    try:
        if arguments.live:
            with server(arguments.result, arguments.port, **options) as following:
                print(f"http://127.0.0.1:{following.server_address[1]}/ follows {arguments.result}; Ctrl-C ends it",
                      flush=True)
                try:
                    following.serve_forever()
                except KeyboardInterrupt:
                    pass
            return 0
        output = arguments.output or os.path.join(arguments.result, "view.html")
        view = View(arguments.result, **options)
        size = write_page(view, output)
        print(f"{output}: {len(view.rows)} snapshots of {len(view.result.bodies)} bodies, {size / 1e6:.1f} MB")
    except CatenaError as error:
        print(error, file=sys.stderr)
        return error.exit_code or 5
    except OSError as error:
        print(f"{error.filename or arguments.result}: {error.strerror or error}", file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main())
