#!/usr/bin/python3
"""Writes errors_reference.txt: small random problems and their errors, from this file's own
implementation of docs/theory.md ("Errors"). Run in this folder; the output is kept.

Format, one record a line, words separated by blanks:
  case NAME LAW
  prescribed V(6) | rigid 1/m I^-1(9) V(6) | dense n M^-1(n*n) V(n)
  contact a b normal(3) tangent(3) arm_a(3) arm_b(3) bias friction
  block KIND rows bodies... : jacobians q compliance lower upper angular friction
  impulses x(rows)
  r x(rows)
  N x(rows*rows)
  error NAME VALUE
  end
"""
import numpy as np

LAWS = ("coulomb", "ccp", "box", "frictionless")


def num(values):
    return " ".join("%.17g" % v for v in np.ravel(values))


def project_cone(x, mu):
    """By cases on the cone and its polar."""
    n, t = x[0], np.linalg.norm(x[1:])
    if n >= 0.0 and t <= mu * n:
        return x.copy()
    if mu * t <= -n:
        return np.zeros(3)
    ray = np.concatenate(([1.0], mu * x[1:] / t)) / np.sqrt(1.0 + mu * mu)
    return max(ray @ x, 0.0) * ray


def jordan_root(s):
    """Square root in the second-order cone's algebra, by its spectral decomposition."""
    t = np.linalg.norm(s[1:])
    c = s[1:] / t if t > 0 else np.array([1.0, 0.0])
    lo, hi = np.sqrt(s[0] - t), np.sqrt(s[0] + t)
    return 0.5 * np.concatenate(([lo + hi], (hi - lo) * c))


def jordan_square(x):
    return np.concatenate(([x @ x], 2.0 * x[0] * x[1:]))


def phi(a, b):
    if np.isinf(a):
        return b
    return a + b - np.sqrt(a * a + b * b)


def scalar(x, w, lo, hi, a):
    """Of one row: [E]'s error (5) with its sign slips mended, in its own max/min form."""
    x0 = max(min(x, hi), lo)
    du, dl = max(x - hi, 0.0), max(lo - x, 0.0)
    wl, wu = max(w, 0.0), max(-w, 0.0)
    sl, su = (x0 + du) - lo, hi - (x0 - dl)
    energy = max(0.5 * a * (du**2 + dl**2), min(wl**2 / (2 * a), 0.5 * a * sl**2),
                 min(wu**2 / (2 * a), 0.5 * a * su**2))
    clamp = lambda y: max(min(y, hi), lo)
    work = 0.0
    if w > 0:
        work = w * (x if np.isinf(lo) else x - lo)
    if w < 0:
        work = w * (x if np.isinf(hi) else x - hi)
    root = np.sqrt(a)
    fischer = phi(root * (x - lo), -phi(root * (hi - x), -w / root))
    return dict(energy=energy, natural=abs(a * (x - clamp(x - w / a))), unscaled=(x - clamp(x - w))**2,
                scaled=(x - clamp(x - w / a))**2, fischer=fischer**2, work=work, slip=(w / a)**2, a=a,
                outside=du + dl)


def errors(law, blocks, N, r, x):
    w = N @ x + r
    out = {k: 0.0 for k in ("joint", "normal", "friction", "limit", "linear", "angular")}
    squares = count = unscaled = scaled = fischer = work = slip = free = outside = 0.0
    for kind, rows, mu, lo, hi, angular in blocks:
        i0, rows = rows.start, list(rows)
        if kind == "contact" and law in ("coulomb", "ccp"):
            l, wk, D = x[rows], w[rows].copy(), np.diag(N)[rows]
            raw = wk.copy()
            if law == "coulomb":
                wk[0] += mu * np.linalg.norm(wk[1:])
            outside = max(outside, np.linalg.norm(l - project_cone(l, mu)))
            a = D.mean()
            natural = a * (l - project_cone(l - wk / a, mu))
            out["linear"] = max(out["linear"], np.linalg.norm(natural))
            squares += natural @ natural
            count += 1
            unscaled += np.sum((l - project_cone(l - wk, mu))**2)
            scaled += natural @ natural / a**2
            slip += raw @ raw / a**2
            free += r[rows] @ r[rows] / a**2
            work += l @ raw
            at = 0.5 * (D[1] + D[2])
            half = np.sqrt(np.array([D[0], at, at]))
            y, z = half * l, wk / half
            mus = mu * np.sqrt(at / D[0])
            e = y - project_cone(y - z, mus)
            out["normal"] += 0.5 * e[0]**2
            out["friction"] += 0.5 * (e[1]**2 + e[2]**2)
            if mu > 0:
                p = np.array([mus * y[0], y[1], y[2]])
                q = np.array([z[0] / mus, z[1], z[2]])
                f = p + q - jordan_root(jordan_square(p) + jordan_square(q))
                fischer += f @ f
            else:
                fischer += phi(y[0], z[0])**2 + y[1]**2 + y[2]**2
            continue
        for j, i in enumerate(rows):
            lower, upper = -np.inf, np.inf
            slot = {"bilateral": "joint", "contact": "friction" if j else "normal"}.get(kind, "limit")
            if kind == "unilateral":
                lower = 0.0
            if kind == "boxed":
                lower, upper = lo[j], hi[j]
            if kind == "contact":
                bound = mu * max(x[i0], 0.0) if law == "box" else 0.0
                lower, upper = (0.0, np.inf) if j == 0 else (-bound, bound)
            s = scalar(x[i], w[i], lower, upper, N[i, i])
            out[slot] += s["energy"]
            outside = max(outside, s["outside"])
            counted = not (kind == "contact" and law == "frictionless" and j > 0)
            if angular[j]:
                out["angular"] = max(out["angular"], s["natural"])
            else:
                out["linear"] = max(out["linear"], s["natural"])
                squares += s["natural"]**2
                count += counted
            if counted:
                slip += s["slip"]
                free += (r[i] / s["a"])**2
            unscaled += s["unscaled"]
            scaled += s["scaled"]
            fischer += s["fischer"]
            work += s["work"]
        if kind == "contact" and law == "frictionless":
            l = x[list(rows)]
            outside = max(outside, np.linalg.norm(l - project_cone(l, 0.0)))
    norm = np.linalg.norm
    quadratic = x @ N @ x
    return {
        "energy": out["joint"] + out["normal"] + out["friction"] + out["limit"],
        "energy_joint": out["joint"], "energy_normal": out["normal"],
        "energy_friction": out["friction"], "energy_limit": out["limit"],
        "natural_map": out["linear"], "natural_map_angular": out["angular"],
        "natural_map_rms": np.sqrt(squares / count),
        "siconos": np.sqrt(unscaled) / max(norm(r), norm(x), norm(w)),
        "fclib_merit": np.sqrt(unscaled) / (1 + np.sqrt(norm(r))),
        "scaled": np.sqrt(scaled) / max(norm(x), np.sqrt(free), np.sqrt(slip)),
        "gap": abs(work) / max(abs(quadratic), abs(r @ x)),
        "fischer_burmeister": np.sqrt(fischer),
        "objective": 0.5 * quadratic + r @ x,
        "cone_violation": outside,
    }


class Problem:
    """Bodies and blocks; G column by column of the definition."""

    def __init__(self, rng):
        self.rng, self.lines, self.minv, self.v, self.first = rng, [], [], [], []
        self.rows, self.blocks, self.offset, self.sigma = [], [], [], []

    def spd(self, n):
        a = self.rng.uniform(-1, 1, (n, n))
        return a @ a.T + 0.5 * np.eye(n)

    def body(self, kind, dofs=6):
        v = self.rng.uniform(-1, 1, dofs)
        self.first.append(sum(len(x) for x in self.v))
        self.v.append(v)
        if kind == "prescribed":
            self.minv.append(np.zeros((6, 6)))
            self.lines.append("prescribed " + num(v))
        elif kind == "rigid":
            m, inertia = self.rng.uniform(0.5, 2), self.spd(3)
            block = np.zeros((6, 6))
            block[:3, :3], block[3:, 3:] = m * np.eye(3), inertia
            self.minv.append(block)
            self.lines.append("rigid " + num([m]) + " " + num(inertia) + " " + num(v))
        else:
            self.minv.append(self.spd(dofs))
            self.lines.append("dense %d " % dofs + num(self.minv[-1]) + " " + num(v))

    def contact(self, a, b, mu):
        u = lambda s: self.rng.uniform(-s, s, 3)
        n = u(1)
        n /= np.linalg.norm(n)
        t = np.cross(n, u(1))
        t /= np.linalg.norm(t)
        ra, rb, bias = u(0.5), u(0.5), self.rng.uniform(-1, 1)
        cross = lambda r: np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
        frame = np.array([n, t, np.cross(n, t)])
        ja = -frame @ np.hstack([np.eye(3), -cross(ra)])
        jb = frame @ np.hstack([np.eye(3), -cross(rb)])
        start = len(self.offset)
        self.rows.append({a: ja, b: jb})
        self.offset += [bias, 0, 0]
        self.sigma += [0, 0, 0]
        self.blocks.append(("contact", range(start, start + 3), mu, None, None, [0, 0, 0]))
        self.lines.append("contact %d %d " % (a, b) + num(n) + " " + num(t) + " " + num(ra) + " " +
                          num(rb) + " " + num([bias, mu]))

    def block(self, kind, rows, bodies, angular, mu=0.0):
        jac = {b: self.rng.uniform(-1, 1, (rows, len(self.v[b]))) for b in bodies}
        q, sigma = self.rng.uniform(-1, 1, rows), self.rng.uniform(0, 0.5, rows)
        lo, hi = self.rng.uniform(-0.5, 0, rows), self.rng.uniform(0, 0.5, rows)
        start = len(self.offset)
        self.rows.append(jac)
        self.offset += list(-q)
        self.sigma += list(sigma)
        self.blocks.append((kind, range(start, start + rows), mu, lo, hi, angular))
        self.lines.append("block %s %d " % (kind, rows) + " ".join(map(str, bodies)) + " : " +
                          " ".join(num(jac[b]) for b in bodies) + " " + num(q) + " " + num(sigma) + " " +
                          num(lo) + " " + num(hi) + " " + " ".join(map(str, angular)) + " " + num([mu]))

    def write(self, name, law, out):
        n_dofs, n_rows = sum(len(v) for v in self.v), len(self.offset)
        G, minv = np.zeros((n_rows, n_dofs)), np.zeros((n_dofs, n_dofs))
        for (_, rows, *_), jac in zip(self.blocks, self.rows):
            for b, j in jac.items():
                G[rows.start:rows.stop, self.first[b]:self.first[b] + j.shape[1]] = j
        for first, m in zip(self.first, self.minv):
            minv[first:first + len(m), first:first + len(m)] = m
        N = G @ minv @ G.T + np.diag(self.sigma)
        r = G @ np.concatenate(self.v) + np.array(self.offset)
        x = self.rng.uniform(-1, 1, n_rows)
        for kind, rows, mu, *_ in self.blocks:
            if kind == "contact":
                x[rows.start] = abs(x[rows.start])          # most impulses press
                if mu > 0 and self.rng.uniform() < 0.5:     # half of them lie inside the cone
                    x[rows.start + 1:rows.stop] *= 0.4 * mu * x[rows.start]
        out.append("case %s %s" % (name, law))
        out += self.lines + ["impulses " + num(x), "r " + num(r), "N " + num(N)]
        for key, value in errors(law, self.blocks, N, r, x).items():
            out.append("error %s %.17g" % (key, value))
        out.append("end")


def main():
    out = []
    for number, law in enumerate(LAWS):
        p = Problem(np.random.default_rng(100 + number))
        for kind in ("prescribed", "rigid", "rigid", "rigid"):
            p.body(kind)
        for a, b, mu in ((0, 1, 0.5), (0, 2, 0.3), (1, 2, 0.8), (1, 3, 0.0), (2, 3, 1.5)):
            p.contact(a, b, mu)
        p.write("contacts", law, out)
        p = Problem(np.random.default_rng(200 + number))
        for kind, dofs in (("prescribed", 6), ("rigid", 6), ("dense", 3), ("rigid", 6), ("dense", 9)):
            p.body(kind, dofs)
        p.contact(0, 1, 0.6)
        p.contact(1, 3, 0.2)
        p.block("bilateral", 3, (1, 2), [0, 0, 1])
        p.block("unilateral", 2, (3,), [0, 1])
        p.block("boxed", 2, (2, 4), [0, 1])
        p.block("contact", 3, (0, 4), [0, 0, 0], 0.7)
        p.block("bilateral", 2, (1, 3, 4), [0, 1])
        p.block("unilateral", 1, (4, 0), [0])
        p.write("mixed", law, out)
    with open("errors_reference.txt", "w") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
