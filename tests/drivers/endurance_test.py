#!/usr/bin/python3
"""What endurance.py makes of a log's warnings and of memory that grows, on made-up ones.

    endurance_test.py SCRIPT
"""
import importlib.util
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIPPED: no numpy")
    sys.exit(77)


def load(path):
    spec = importlib.util.spec_from_file_location("endurance", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrong_of_memory(verdict):
    """Memory that grows by 2.4 MB up to step 2,000 of 40,000, most of the looks at it before, is flat; what grows
    on is not, nor what nobody looked at."""
    steps = np.concatenate([np.linspace(0, 2000, 900), np.linspace(2000, 40000, 100)])
    flat = 55 + 2.4 * np.minimum(steps / 2000, 1)
    cases = [(True, steps, flat), (False, steps, flat + 1e-4 * np.maximum(steps - 2000, 0)), (False, steps[:950], flat[:950])]
    return [k for k, (right, at, mb) in enumerate(cases) if verdict(np.column_stack([at, mb]), 40000)[0] != right]


def step_in(step_of, text):
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "series.csv"), "w") as series:
            series.write(text)
        return step_of(series.name)


def main():
    script = load(sys.argv[1])
    verdict = script.warning_verdict

    def good(text, level="warning", **fields):
        return verdict([{"level": "info", "text": "begun"}, {"level": level, "text": text, **fields}])[0]

    expected = [
        (True, verdict([])[0]),
        (True, good("a / b overlap by 1.2 %", step=900, overlap=0.012)),
        (True, good("stopped at step 12 of 90 by --max-wall")),
        (True, good("a remark", level="info", overlap=0.5)),
        (False, good("a / b overlap by 30 %", step=900, overlap=0.3)),
        (False, good("a / b overlap by 0.9 %", step=900, overlap=0.009)),
        (False, good("a / b overlap by 2 % under a load", step=900, overlap=0.02, load=500.0)),
        (False, good("contacts had sunk in", steps=40, overlap=0.02)),
        (False, good("3 of 90 steps missed their tolerance")),
        (False, good("an error", level="error"))]
    wrong = [i for i, (right, found) in enumerate(expected) if right != found]
    told = verdict([{"level": "warning", "text": "deep", "overlap": 0.02}, {"level": "warning", "text": "other"}])
    if told != (False, "1; other, besides 1 of overlaps up to 2 % of a radius"):
        wrong.append(told)
    wrong += ["memory %d" % k for k in wrong_of_memory(script.memory_verdict)]
    # the last row that is whole, and none where there is the head alone
    head = "time [s],step,energy [J]\n"
    for right, text in ((20, head + "0.01,10,1\n0.02,20,1\n"), (20, head + "0.02,20,1\n0.03,3"), (0, head), (0, "")):
        if step_in(script.step_of, text) != right:
            wrong.append("step of %r" % text)
    if wrong:
        print("wrong:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
