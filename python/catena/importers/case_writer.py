"""A case as YAML, one body or joint per line, as the examples are written."""
import re

import numpy as np

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*$")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number(value):
    """13 digits: round-off of the poses is hidden, joints still fit to 1e-12 m."""
    if np.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = f"{value:.13g}"
    if text in ("-0", "0"):
        return "0"
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    return scalar(value)


def case_text(case, comments):
    """The YAML of a case: lists of maps item by item, the rest in a line."""
    lines = [f"# {comment}" for comment in comments]
    for key, value in case.items():
        if value in ([], {}):
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{key}:")
            lines += [f"  - {flow(item)}" for item in value]
        elif key == "materials":
            lines.append(f"{key}:")
            lines += [f"  {scalar(k)}: {flow(v)}" for k, v in value.items()]
        else:
            lines.append(f"{key}: {flow(value)}")
    return "\n".join(lines) + "\n"
