"""Oedometer and triaxial compression: what servos hold, walls bear and regions see."""
import numpy as np

from probe_study import G, at_steps, column, lattice_of, load, named, plt, vectors

# --- oedometer ---------------------------------------------------------------------------------

WALLS = ("floor", "west", "south", "east", "north")
# ends of the times at which the servo rests at these stresses, s and Pa; virgin up to 40 kPa
HOLDS = ((2.4, 5e3), (2.7, 1e4), (3.0, 2e4), (3.3, 4e4), (3.6, 2e4), (3.9, 1e4), (4.2, 5e3), (5.0, 4e4))
LID = 0.2  # m, of its lower side at the start


def oedometer_case(study):
    case = load("oedometer")
    if study.quick:
        lattice_of(case)["count"] = [4, 4, 12]
        named(case, "controllers", "press")["max_velocity"] = 0.1
        width = 0.048
        case["generators"][0]["container"]["size"] = [width, width, ".inf"]
        named(case, "probes", "whole")["upper"] = [width, width, 0.25]
        table = named(case, "controllers", "press")["target"]["table"]
        table["rows"] = [[t, f * (width / 0.084)**2] for t, f in table["rows"]]
        case["solver"]["relative_tolerance"] = 1e-4
    return case


def oedometer(study):
    case = oedometer_case(study)
    result = study.run("oedometer", case)
    width = float(case["generators"][0]["container"]["size"][0])
    area = width**2
    probe = {name: result.probe(name) for name in result.probes}
    t, steps = column(probe["lid"], "time"), column(probe["lid"], "step")
    mass = np.asarray(result.bodies.mass)
    grains, lid_mass = mass[result.bodies.rows("grains")].sum(), mass[result.bodies.rows("lid")][0]
    height = LID + column(probe["guide"], "displacement")
    pressed = -vectors(probe["floor"], "force", "_mean")[:, 2] / area, \
        vectors(probe["lid"], "force", "_mean")[:, 2] / area
    sides = np.array([abs(vectors(probe[w], "force", "_mean")[:, k]) for w, k in
                      (("west", 0), ("east", 0), ("south", 1), ("north", 1))])
    side, vertical = sides.mean(axis=0) / (width * height), 0.5 * (pressed[0] + pressed[1])
    balance(study, result, probe, t, steps, grains, lid_mass)
    whole_stress(study, result, probe, height, width, grains)
    held = [pressed[1][(t > end - 0.05) & (t < end + 1e-6)].mean() / p - 1.0 for end, p in HOLDS]
    study.check("stress that the servo holds, largest deviation of 50 ms", max(map(abs, held)), 0, 0.01)
    ratio = {k: np.interp(end, t, side / vertical) for k, (end, _) in enumerate(HOLDS)}
    angle = np.radians(28.0)
    study.check("K0 of the first loading, 40 kPa, over 1 - sin(28 deg)", ratio[3] / (1 - np.sin(angle)), 0.8, 1.2)
    study.check("K0 at 20 kPa after 40, over K0 2^sin(28 deg)", ratio[4] / (ratio[3] * 2**np.sin(angle)), 0.8, 1.2)
    work_of_a_loop(study, result, probe, t, height, lid_mass)
    start = np.argmin(abs(t - HOLDS[0][0]))
    strain = (height[start] - height) / height[start]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    shown = t > 2.2
    axes[0].plot(1e-3 * pressed[1][shown], 100 * strain[shown], "C3")
    axes[0].set(xlabel="stress at the lid [kPa]", ylabel="strain [%]", xscale="log")
    axes[0].invert_yaxis()
    axes[1].plot(1e-3 * vertical[shown], (side / vertical)[shown], "C0")
    axes[1].axhline(1 - np.sin(angle), color="0.6", label="1 - sin(28 deg)")
    axes[1].set(xlabel="vertical stress [kPa]", ylabel="K = horizontal / vertical", xscale="log")
    axes[1].legend()
    return figure


def balance(study, result, probe, t, steps, grains, lid_mass):
    """d(momentum of the grains)/dt = weight - forces on walls and lid, over each interval, by the snapshots' series."""
    momentum = np.array([at_steps(result, f"momentum_{c}", steps) for c in "xyz"]).T
    momentum[:, 2] -= lid_mass * column(probe["guide"], "displacement_rate")
    forces = [vectors(probe[name], "force", "_mean") for name in WALLS + ("lid",)]
    asked = np.diff(momentum, axis=0) / np.diff(t)[:, None] + np.array([0, 0, grains * G])
    missing = np.linalg.norm(asked + sum(forces)[1:], axis=1)
    scale = grains * G + sum(np.linalg.norm(f[1:], axis=1) for f in forces)
    study.check("floor + walls + lid + weight against the change of momentum, worst interval", np.max(missing / scale),
                0, 1e-9)


def whole_stress(study, result, probe, height, width, grains):
    """Love-Weber over all grains is what walls bear: xx V = F W, and zz V = F_lid h + M g z of the centre of mass."""
    volume = width**2 * 0.25
    t, rows = column(probe["whole"], "time"), []
    for snapshot in result:
        k = int(np.argmin(abs(t - snapshot.time)))
        if snapshot.time < 2.3 or abs(t[k] - snapshot.time) > 1e-9:
            continue
        own = snapshot.rows("grains")
        z = np.average(np.asarray(snapshot.position)[own, 2], weights=np.asarray(snapshot.mass)[own])
        lid = column(probe["lid"], "force_z")[k]
        east, north = column(probe["east"], "force_x")[k], column(probe["north"], "force_y")[k]
        exact = np.array([east * width, north * width, lid * height[k] + grains * G * z]) / volume
        seen = [column(probe["whole"], f"stress_{c}")[k] for c in ("xx", "yy", "zz")]
        rows.append(np.max(abs(seen / exact - 1)))
    study.check(f"stress of the region against walls, lid and weight, worst of {len(rows)} states", max(rows), 0,
                1e-2 if study.quick else 2e-3)


def work_of_a_loop(study, result, probe, t, height, lid_mass):
    """Force times way of the lid from 5 kPa up to 40 and down again, against what the energy audit says."""
    first, last = (int(np.argmin(abs(t - end))) for end in (HOLDS[0][0], HOLDS[6][0]))
    force = vectors(probe["lid"], "force", "_mean")[first + 1:last + 1, 2]
    work = -np.sum(force * np.diff(height[first:last + 1]))

    def change(name):
        ends = at_steps(result, name, column(probe["lid"], "step")[[first, last]])
        return ends[1] - ends[0]

    stored = sum(change(n) for n in ("kinetic_energy", "potential_energy", "elastic_energy"))
    lost = change("dissipation_friction") + change("dissipation_impact")
    lid_weight = lid_mass * G * (height[last] - height[first])
    found = stored - lid_weight + lost - change("recovery_work") - change("elastic_jump")
    study.check("work of the lid over a loop of loads, over what the audit finds stored and lost", work / found, 0.98,
                1.02)


# --- triaxial ----------------------------------------------------------------------------------

CELL = np.array([0.101, 0.101, 0.180])  # m, at displacements 0


def triaxial_run(study, pressure):
    """(t, edges, stresses on the upper plates, those of the region, result) of a sample at this confining stress."""
    sample, case = load("triaxial_sample"), load("triaxial")
    for one in (sample, case):
        if study.quick:
            lattice_of(one)["count"] = [6, 6, 9]
        for controller in one["controllers"]:
            controller["parameters"]["p"] = pressure
    if study.quick:
        case["time"]["end"] = 0.6
    name = f"triaxial-{pressure / 1e3:g}"
    study.run(name + "-sample", sample)
    case["initial"] = {"from": study.path(name + "-sample")}
    result = study.run(name, case)
    probe = {n: result.probe(n) for n in result.probes}
    edges = CELL + np.array([column(probe[n], "displacement") for n in "xyz"]).T
    faces = np.prod(edges, axis=1)[:, None] / edges
    plates = ("east", "north", "lid")
    stress = np.array([column(probe[n], f"force_{c}_mean") for n, c in zip(plates, "xyz")]).T / faces
    size = np.array(named(case, "probes", "whole")["upper"], float)
    seen = np.array([column(probe["whole"], f"stress_{c}_mean") for c in ("xx", "yy", "zz")]).T
    return column(probe["lid"], "time"), edges, stress, seen * size.prod() / np.prod(edges, axis=1)[:, None], result



def smooth(values, n=8):
    """Means over n rows."""
    return np.array([values[k:k + n].mean(axis=0) for k in range(0, len(values) - n + 1, n)])


def triaxial(study):
    pressures = (10e3, 40e3) if study.quick else (10e3, 20e3, 40e3)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    angles, peaks, worst_held, worst_seen = [], [], 0.0, 0.0
    for pressure in pressures:
        t, edges, stress, seen, result = triaxial_run(study, pressure)
        strain = -np.log(edges[:, 2] / edges[0, 2])
        moving = strain > 0.015
        held = smooth(stress[moving][:, :2]) / pressure - 1
        worst_held = max(worst_held, np.max(abs(held)))
        worst_seen = max(worst_seen, np.max(abs(smooth(seen[moving]) / smooth(stress[moving]) - 1)))
        course = smooth(stress)
        lateral, axial = course[:, :2].mean(axis=1), course[:, 2]
        sine = (axial - lateral) / (axial + lateral)
        k = int(np.argmax(sine))
        angles.append(np.degrees(np.arcsin(sine[k])))
        peaks.append((0.5 * (axial[k] + lateral[k]), 0.5 * (axial[k] - lateral[k])))
        solid = np.asarray(result.bodies.mass)[result.bodies.rows("grains")].sum() / 2500 / np.prod(edges, axis=1)
        late = course[-len(course) // 4:]
        critical = np.degrees(np.arcsin((late[:, 2] - late[:, :2].mean(axis=1)).mean() /
                                        (late[:, 2] + late[:, :2].mean(axis=1)).mean()))
        print(f"     {pressure / 1e3:g} kPa: peak {angles[-1]:.2f} deg, at the end {critical:.2f} deg, solid fraction "
              f"{solid[0]:.4f} to {solid[-1]:.4f}")
        axes[0].plot(100 * smooth(strain), (axial - lateral) / lateral, label=f"{pressure / 1e3:g} kPa")
    study.check("confining stress, largest deviation of 40 ms", worst_held, 0, 0.02 if study.quick else 0.01)
    study.check("stress of the region against the plates, worst of 40 ms", worst_seen, 0, 5e-3)
    mean = float(np.mean(angles))
    study.check("angle of the peak strength: " + ", ".join(f"{a:.1f}" for a in angles) + "; mean", mean, 22, 33, "deg")
    study.check("its range over the pressures", max(angles) - min(angles), 0, 5.0 if study.quick else 2.0, "deg")
    centre, radius = np.array(peaks).T
    slope, cut = np.polyfit(centre, radius, 1)
    study.check("cohesion of a free line over the least pressure", cut / np.sqrt(1 - slope**2) / pressures[0],
                -0.2, 0.2)
    axes[0].set(xlabel="axial strain [%]", ylabel="(axial - lateral) / lateral stress")
    axes[0].legend()
    turn = np.linspace(0, np.pi, 100)
    for c, r in zip(centre, radius):
        axes[1].plot(1e-3 * (c + r * np.cos(turn)), 1e-3 * r * np.sin(turn), "C0")
    x = np.array([0, centre[-1] + radius[-1]])
    axes[1].plot(1e-3 * x, 1e-3 * x * np.tan(np.radians(mean)), "C3", label=f"{mean:.1f} degrees")
    axes[1].set(xlabel="normal stress [kPa]", ylabel="shear stress [kPa]", aspect="equal")
    axes[1].legend()
    return figure
