"""A six-axis arm that controllers move along a path: torques against statics, work against the audit."""
import numpy as np

from probe_study import G, column, load, plt

JOINTS = ("q1", "q2", "q3", "q4", "q5", "q6")
OUTBOARD = ("base", "upper", "fore", "wrist", "tilt", "hand")  # the second bodies of the joints
HELD = 4.4  # s, at rest with the box lifted


def turned(q, v):
    """v by the rotation q = (w, x, y, z)."""
    return v + 2 * np.cross(q[1:], np.cross(q[1:], v) + q[0] * v)


def moments_of_weight(case, snapshot):
    """N m about each joint's axis, of all that hangs on it, by the places of a snapshot."""
    names, start = [str(n) for n in snapshot.name], {b["name"]: b.get("position", [0, 0, 0]) for b in case["bodies"]}
    place, turn, mass = (np.asarray(getattr(snapshot, n)) for n in ("position", "orientation", "mass"))
    found = []
    for k, name in enumerate(JOINTS):
        joint = next(j for j in case["joints"] if j["name"] == name)
        b = names.index(OUTBOARD[k])
        point = place[b] + turned(turn[b], np.array(joint["at"], float) - np.array(start[OUTBOARD[k]], float))
        axis = turned(turn[b], np.array(joint["axis"], float))
        hang = [names.index(n) for n in OUTBOARD[k:] + ("left", "right", "box")]
        moment = sum(np.cross(place[i] - point, [0, 0, -mass[i] * G]) for i in hang)
        found.append(moment @ axis)
    return np.array(found)


def arm(study):
    case = load("arm")
    result = study.run("arm", case)
    probe = {name: result.probe(name) for name in result.probes}
    t = column(probe["q1"], "time")
    k = int(np.argmin(abs(t - HELD)))
    moments = moments_of_weight(case, result.snapshot(HELD))
    torques = np.array([column(probe[n], "motor")[k] for n in JOINTS])
    study.check("torques of the six motors at rest against the moments of the weights, of the largest",
                np.max(abs(torques + moments)) / np.max(abs(moments)), 0, 5e-3)
    targets = [target_at(case, n, HELD) for n in JOINTS]
    angles = np.array([column(probe[n], "angle") for n in JOINTS])
    study.check("angles there less their targets, largest", np.max(abs(angles[:, k] - targets)), 0, 1e-3, "rad")
    power = np.array([column(probe[n], "power_mean") for n in JOINTS + ("grip_left", "grip_right")])
    lengths = np.diff(t, prepend=0)
    missing = np.sum(power @ lengths) - np.asarray(result.series.motor_work)[-1]
    study.check("work of all motors by their probes less that of the audit, over what goes in and out",
                abs(missing) / np.sum(abs(power) @ lengths), 0, 5e-3)
    box = np.array([column(probe["box"], f"position_{c}") for c in "xyz"]).T
    study.check("rise of the box at rest", box[k, 2] - 0.03, 0.207, 0.213, "m")
    study.check("distance of the box at the end from where it is to stand", np.linalg.norm(box[-1] - [0, 0.6, 0.03]), 0,
                0.01, "m")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    for n, angle in zip(JOINTS[:3], angles):
        axes[0].plot(t, np.degrees(angle), label=n)
        axes[0].plot(t, np.degrees([target_at(case, n, x) for x in t]), "k:", lw=1)
        axes[1].plot(t, column(probe[n], "motor_mean"), label=n)
    axes[0].set(xlabel="time [s]", ylabel="angle; dotted: target [degrees]")
    axes[1].set(xlabel="time [s]", ylabel="torque [N m]")
    axes[0].legend(fontsize="small")
    return figure


def target_at(case, name, t):
    """rad, of the joint's controller."""
    target = next(c for c in case["controllers"] if c["drive"] == name)["target"]
    if not isinstance(target, dict):
        return 0.0
    rows = np.array(target["table"]["rows"], float)
    return float(np.interp(t, rows[:, 0], rows[:, 1]))
