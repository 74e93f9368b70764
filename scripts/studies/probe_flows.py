"""Drum, simple shear and outflow: torque, stress and flux of flowing grains."""
import numpy as np

from probe_study import G, at_steps, column, lattice_of, load, named, plt

# --- drum --------------------------------------------------------------------------------------

FRICTIONS = (0.1, 0.3, 0.5)


def drum_run(study, friction):
    case = load("drum_torque")
    case["materials"]["grain"]["friction"] = friction
    if study.quick:
        case["time"].update(step="2 ms", end=2.4)
    return study.run(f"drum-{friction:g}", case), 1.0 if study.quick else 2.0


def surface_angle(places, radius):
    """Degrees, of the highest grains in columns a diameter wide over the middle of the heap."""
    x, z = places[:, 0], places[:, 2]
    middle = np.mean(x)
    columns = np.arange(-4, 5) * 2.0 * radius + middle
    top = [z[abs(x - c) < radius].max() if np.any(abs(x - c) < radius) else np.nan for c in columns]
    good = np.isfinite(top)
    return np.degrees(np.arctan(abs(np.polyfit(columns[good], np.array(top)[good], 1)[0])))


def drum(study):
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    found = []
    for friction in ((0.5,) if study.quick else FRICTIONS):
        result, start = drum_run(study, friction)
        load_, shaft = result.probe("load"), result.probe("shaft")
        t = column(load_, "time")
        later = t > start + 1e-6
        rows = result.bodies.rows("grains")
        mass = np.asarray(result.bodies.mass)[rows]
        shots = [s for s in result if s.time >= start - 1e-9]
        places = [np.asarray(s.position)[s.rows("grains")] for s in shots]
        centre = np.array([np.average(p, axis=0, weights=mass) for p in places])
        times = np.array([s.time for s in shots])
        mean = np.trapezoid(centre, times, axis=0) if hasattr(np, "trapezoid") else np.trapz(centre, times, axis=0)
        mean /= times[-1] - times[0]
        by_weight = mass.sum() * G * abs(mean[0])
        torque = abs(column(load_, "torque_y_mean")[later].mean())
        power = column(shaft, "power_mean")[later].mean()
        work = power_of_audit(result, column(load_, "step")[~later][-1], column(load_, "step")[-1])
        study.check(f"friction {friction:g}: torque on the drum over M g x of the centre of mass, less 1",
                    torque / by_weight - 1, -0.02, 0.02)
        study.check(f"friction {friction:g}: power of the drive over torque times 1 rad/s, less 1", power / torque - 1,
                    -1e-6, 1e-6)
        study.check(f"friction {friction:g}: work of the drive over what the audit finds lost and stored, less 1",
                    work - 1, -0.01, 0.01)
        lean = np.degrees(np.arctan2(abs(mean[0]), -mean[2]))
        surface = np.mean([surface_angle(p, 4e-3) for p in places[::10]])
        from_torque = np.degrees(np.arcsin(torque / (mass.sum() * G * np.hypot(mean[0], mean[2]))))
        print(f"     friction {friction:g}: slope {from_torque:.1f} deg by the torque, {lean:.1f} by the centre of "
              f"mass, {surface:.1f} of the surface")
        study.check(f"friction {friction:g}: slope of the surface less that from the torque",
                    surface - from_torque, -3, 3, "deg")
        found.append((friction, from_torque, lean, surface))
        axes[0].plot(t, 1e3 * abs(column(load_, "torque_y_mean")), "C%d" % len(found), lw=1,
                     label=f"friction {friction:g}: probe")
        axes[0].plot(times, 1e3 * mass.sum() * G * abs(centre[:, 0]), "C%d--" % len(found), lw=1)
    if len(found) > 1:
        study.check("slopes from the torques at friction 0.1, 0.3, 0.5: " + ", ".join(f"{f[1]:.1f}" for f in found) +
                    "; least step", np.diff([f[1] for f in found]).min(), 1, 20, "deg")
    axes[0].set(xlabel="time [s]", ylabel="torque; dashed: M g x [mN m]")
    axes[0].legend(fontsize="small")
    for k, label in ((1, "torque"), (3, "surface")):
        axes[1].plot([f[0] for f in found], [f[k] for f in found], "o-", label=label)
    axes[1].set(xlabel="friction", ylabel="slope [degrees]")
    axes[1].legend()
    return figure


def power_of_audit(result, first, last):
    """Work of the motor between two steps over what the audit says became of it."""
    def change(name):
        ends = at_steps(result, name, [first, last])
        return ends[1] - ends[0]

    kept = sum(change(n) for n in ("kinetic_energy", "potential_energy", "elastic_energy"))
    lost = change("dissipation_friction") + change("dissipation_impact")
    return change("motor_work") / (kept + lost - change("recovery_work") - change("elastic_jump"))


# --- simple shear ------------------------------------------------------------------------------

DIAMETER = 0.01  # m
# solid fraction, rate, 1/s, step, s, strain in all and from which on
SHEARED = ((0.600, 0.2, 1e-3, 4.0, 1.0), (0.600, 4.0, 1.25e-4, 4.0, 1.0), (0.570, 2.0, 5e-4, 6.0, 2.0),
           (0.550, 2.0, 5e-4, 8.0, 2.0), (0.525, 2.0, 5e-4, 8.0, 2.0))


def shear_case(solid, rate, step, strain):
    """The box that 432 spheres fill to this fraction; sizes are drawn by the case's seed whatever the box."""
    case = load("shear_flow")
    volume = 432 * np.pi / 6 * DIAMETER**3 * (1 + 0.2**2)  # of diameters uniform within 20 %
    edge = (volume / solid)**(1 / 3)
    for k in (0, 1):
        lattice_of(case, k)["spacing"] = edge / 6
        lattice_of(case, k)["origin"] = [edge / 6 * (0.25 + 0.5 * k)] * 3
    case["periodic"].update({c: [0, edge] for c in "xyz"})
    case["periodic"]["shear"]["rate"] = rate
    for probe in case["probes"]:
        probe.update(lower=[0, 0, 0], upper=[edge] * 3, interval=round(0.1 / rate / step) * step)
    case["time"].update(step=step, end=round(strain / rate / step) * step)
    return case, edge


def mu_of(i, least, most, scale):
    """Jop, Forterre and Pouliquen's law of friction."""
    return least + (most - least) / (1 + scale / i)


# of spheres of friction 0.5, in experiments and simulations; Jop et al. have 0.38, 0.64 and 0.279 for glass beads
LOW, HIGH, BEADS = (0.35, 0.60, 0.30), (0.40, 0.70, 0.279), (0.38, 0.64, 0.279)


def shear(study):
    points = []
    runs = ((0.550, 2.0, 1e-3, 4.0, 1.5),) if study.quick else SHEARED
    for solid, rate, step, strain, start in runs:
        case, edge = shear_case(solid, rate, step, strain)
        result = study.run(f"shear-{solid:g}-{rate:g}", case)
        cell = result.probe("cell")
        t = column(cell, "time")
        later = t * rate > start - 1e-6
        pressure = column(cell, "stress_zz_mean")[later].mean()
        shear_stress = abs(column(cell, "stress_zx_mean")[later].mean())
        parts = np.array_split(column(cell, "stress_zx_mean")[later] / pressure, 4)
        error = np.std([abs(p.mean()) for p in parts]) / 2
        inertial = rate * DIAMETER * np.sqrt(2500 / pressure)
        steps = column(cell, "step")
        ends = at_steps(result, "external_work", [steps[~later][-1], steps[-1]])
        work = (ends[1] - ends[0]) / (t[-1] - t[~later][-1]) / edge**3 / rate
        ratio = shear_stress / work
        mass = np.asarray(result.bodies.mass).sum()
        speeds = [np.average(column(result.probe("flow"), f"velocity_x_{k}_mean")[later]) for k in range(4)]
        slope = np.polyfit((np.arange(4) + 0.5) / 4 * edge, speeds, 1)[0] / rate
        overlap = np.asarray(result.series.overlap_mean)[-1]
        print(f"     fraction {mass / 2500 / edge**3:.4f}, {rate:g}/s: I {inertial:.2e}, "
              f"mu {shear_stress / pressure:.3f} +- {error:.3f}, p {pressure:.4g} Pa, stress times rate over work "
              f"{ratio:.3f}, profile {slope:.3f}, overlap {overlap:.1e}")
        points.append((inertial, shear_stress / pressure, error, ratio, slope))
    inertial, mu, error, ratio, slope = np.array(points).T
    study.check("stress times rate times volume over the work that shears the box, worst",
                1 + max(ratio - 1, key=abs), 0.9, 1.1)
    slack = 0.25 if study.quick else 0.1
    study.check("gradient of velocity over the rate, worst", 1 + max(slope - 1, key=abs), 1 - slack, 1 + slack)
    if not study.quick:
        study.check("decades of I", np.log10(max(inertial) / min(inertial)), 2.5, 5)
    for i, m, e in zip(inertial, mu, error):
        study.check(f"mu at I = {i:.2g} (+- {e:.3f})", m, mu_of(i, *LOW) - 2 * e, mu_of(i, *HIGH) + 2 * e)
    figure, axes = plt.subplots(figsize=(6, 4))
    i = np.logspace(-4, 0.5, 100)
    axes.fill_between(i, mu_of(i, *LOW), mu_of(i, *HIGH), color="0.85", label="band")
    axes.semilogx(i, mu_of(i, *BEADS), "0.5", label="Jop et al., glass beads")
    axes.errorbar(inertial, mu, error, fmt="C3o", label="measured")
    axes.set(xlabel="I", ylabel="shear stress over normal stress")
    axes.legend()
    return figure


# --- outflow -----------------------------------------------------------------------------------

RATIOS = (4.5, 5.25, 6.0, 7.0, 8.0)  # of the hole to the grains


def exponent_of(hole, rates, k):
    """n of rates ~ (D - k d)^n."""
    return np.polyfit(np.log(hole - k * DIAMETER), np.log(rates), 1)[0]


def outflow(study):
    rates, bulk = [], []
    ratios = (7.0,) if study.quick else RATIOS
    for ratio in ratios:
        case = load("beverloo_3d")
        named(case, "bodies", "floor")["shape"]["hollow_cylinder"]["inner_radius"] = 0.5 * ratio * DIAMETER
        if study.quick:
            case["time"].update(step="1 ms", end=0.4)
        result = study.run(f"outflow-{ratio:g}", case)
        hole = result.probe("hole")
        t = column(hole, "time")
        z = np.array([np.asarray(s.position)[s.rows("grains"), 2] for s in result])
        near = (abs(z[:-1] + 0.015) < 0.06) & (abs(z[1:] + 0.015) < 0.06)
        # between two snapshots grains go by some millimetres; those that come in again above are not near
        below = z < -0.015
        seen = np.sum(near & ~below[:-1] & below[1:]) - np.sum(near & below[:-1] & ~below[1:])
        study.check(f"D/d = {ratio:g}: grains through the hole by the probe less those by snapshots",
                    column(hole, "number")[-1] - seen, 0, 0)
        later = t > 0.5 + 1e-6 if not study.quick else t > 0.2
        rates.append(column(hole, "mass_rate_mean")[later].mean())
        bulk.append(2500 * column(result.probe("bed"), "solid_fraction_mean")[later].mean())
        halves = [h.mean() for h in np.array_split(column(hole, "mass_rate_mean")[later], 2)]
        print(f"     D/d = {ratio:g}: {rates[-1]:.4g} kg/s (halves {halves[0]:.4g}, {halves[1]:.4g}), "
              f"bulk {bulk[-1]:.4g} kg/m^3")
    hole, rates = np.array(ratios) * DIAMETER, np.array(rates)
    figure, axes = plt.subplots(figsize=(6, 4))
    if not study.quick:
        slope, cut = np.polyfit(hole, rates**0.4, 1)
        k, c = -cut / slope / DIAMETER, slope**2.5 / (np.mean(bulk) * np.sqrt(G))
        study.check("k of a fit with the exponent 5/2", k, 1.0, 2.0)
        study.check("C of it", c, 0.5, 0.68)
        study.check("rates over that fit less 1, worst", np.max(abs(rates / (slope * hole + cut)**2.5 - 1)), 0, 0.05)
        study.check("exponent with that k", exponent_of(hole, rates, k), 2.4, 2.6)
        print(f"     exponent with k = 1.4: {exponent_of(hole, rates, 1.4):.2f}")
        axes.plot(hole / DIAMETER, slope * hole + cut, "0.5", label=f"C = {c:.2f}, k = {k:.2f}")
    else:
        expected = 0.58 * bulk[0] * np.sqrt(G) * (hole[0] - 1.4 * DIAMETER)**2.5
        study.check("rate over Beverloo's with C = 0.58, k = 1.4", rates[0] / expected, 0.75, 1.25)
    axes.plot(hole / DIAMETER, rates**0.4, "C3o", label="flux probe")
    axes.set(xlabel="D/d", ylabel="(mass rate)^(2/5) [(kg/s)^0.4]")
    axes.legend()
    return figure
