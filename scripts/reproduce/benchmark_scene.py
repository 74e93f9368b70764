"""Scenes that Catena and peer programs run from one description, and are measured by one evaluation after every step."""
import dataclasses
import os
import subprocess
import tempfile
import time

import numpy as np

WORLD = -1


@dataclasses.dataclass
class Body:
    """A sphere (size: radius), a box (whole edges) or, without mass, a fixed one or the plane z = 0 (size empty).
    SI units; `friction` of a pair is the product of both bodies'."""
    size: tuple
    mass: float = 0.0
    position: tuple = (0.0, 0.0, 0.0)
    friction: float = 0.0
    velocity: tuple = (0.0, 0.0, 0.0)
    force: tuple = (0.0, 0.0, 0.0)
    orientation: tuple = (1.0, 0.0, 0.0, 0.0)
    spin: tuple = (0.0, 0.0, 0.0)  # angular velocity, rad/s, world frame

    @property
    def inertia(self):
        """kg m^2, of a uniform body."""
        if len(self.size) == 1:
            return (0.4 * self.mass * self.size[0] ** 2,) * 3
        a, b, c = (s * s * self.mass / 12.0 for s in self.size)
        return (b + c, a + c, a + b)


@dataclasses.dataclass
class Scene:
    """Bodies, fixed ones last, and spherical joints (body or WORLD, body, point of the world at the start)."""
    name: str
    bodies: list
    step: float
    steps: int
    restitution: float = 0.0
    gravity: float = 9.81
    joints: list = dataclasses.field(default_factory=list)
    collide: bool = True

    @property
    def moving(self):
        return [b for b in self.bodies if b.mass > 0.0]

    def array(self, name):
        return np.array([getattr(b, name) for b in self.moving])

    def case(self, **keys):
        """The case of Catena; `keys` are added to it or replace its own."""
        kinds = sorted({b.friction for b in self.bodies})
        material = {f: "m%d" % i for i, f in enumerate(kinds)}
        bodies, forces = [], []
        for i, b in enumerate(self.bodies):
            shape = {0: {"plane": {}}, 1: {"sphere": {"radius": b.size[0] if b.size else 0.0}},
                     3: {"box": {"size": list(b.size)}}}[len(b.size)]
            body = {"name": "b%d" % i, "material": material[b.friction], "shape": shape}
            if b.mass > 0.0:
                body.update(mass=b.mass, inertia=list(b.inertia), velocity=list(b.velocity),
                            angular_velocity=list(b.spin))
            elif b.size:
                body.update(fixed=True)
            if b.size:
                body.update(position=list(b.position), orientation={"quaternion": list(b.orientation)})
            bodies.append(body)
            if any(b.force):
                forces.append({"name": "f%d" % i, "type": "force", "body": "b%d" % i, "force": list(b.force)})
        pairs = [{"between": [material[f], material[g]], "friction": f * g}
                 for i, f in enumerate(kinds) for g in kinds[:i + 1]]
        case = {"catena": 1, "name": self.name, "gravity": [0.0, 0.0, -self.gravity], "bodies": bodies,
                "materials": {m: {"friction": 0.0, "restitution": self.restitution} for m in material.values()},
                "contact": {"pairs": pairs}, "time": {"step": self.step, "end": self.steps * self.step}}
        if forces:
            case["forces"] = forces
        if self.joints:
            name = ["b%d" % i for i in range(len(self.bodies))] + ["world"]  # WORLD is the last
            case["joints"] = [{"name": "j%d" % k, "type": "spherical", "between": [name[a], name[b]], "at": list(at)}
                              for k, (a, b, at) in enumerate(self.joints)]
        for key, value in keys.items():
            case[key] = {**case[key], **value} if isinstance(case.get(key), dict) else value
        return case

    def text(self):
        """The scene for scripts/reproduce/peers."""
        lines = ["scene %.17g %d %.17g %.17g %d" % (self.step, self.steps, self.gravity, self.restitution,
                                                     self.collide)]
        for b in self.bodies:
            kind = {0: "plane", 1: "sphere", 3: "box"}[len(b.size)]
            numbers = [*b.size, b.mass, b.friction, *b.position, *b.orientation, *b.velocity, *b.spin, *b.force]
            lines.append(" ".join([kind] + ["%.17g" % x for x in numbers]))
        lines += [" ".join(["joint %d %d" % (a, b)] + ["%.17g" % x for x in at]) for a, b, at in self.joints]
        return "\n".join(lines) + "\n"


@dataclasses.dataclass
class State:
    """After a step: rows are the moving bodies. `contacts()` gives numbers of the bodies in the scene (those behind the
    rows are fixed), point, normal from the first to the second, gap and impulse on the second."""
    step: int
    position: np.ndarray
    velocity: np.ndarray
    orientation: np.ndarray
    angular_velocity: np.ndarray
    contacts: object


@dataclasses.dataclass
class Outcome:
    """CPU time of the steps in s; steps done; of Catena: iterations and steps that missed their tolerance."""
    seconds: float
    steps: int
    iterations: int = 0
    missed: int = 0

    @property
    def ms_per_step(self):
        return 1e3 * self.seconds / max(self.steps, 1)


def run_catena(scene, watch, every=1, **keys):
    """Takes the scene through Catena; watch(state) after every `every`-th step may end it by returning True. The CPU
    time of the steps alone is counted, without what is watched."""
    import catena
    done = Outcome(0.0, 0)
    with catena.Simulation(scene.case(**keys)) as sim:
        # ids are numbers of bodies, the moving ones first; planes have ids but no rows, and the order of rows is Catena's own
        n = len(scene.moving)
        for i in range(len(scene.bodies)):
            assert list(sim.ids_of("b%d" % i)) == [i], i

        def states():
            rows = np.argsort(np.asarray(sim.ids))[:n]
            return (np.asarray(getattr(sim, name))[rows] for name in (
                "positions", "velocities", "orientations", "angular_velocities"))

        def contacts():
            c = sim.contacts()
            return np.asarray(c.bodies), np.asarray(c.point), np.asarray(c.normal), np.asarray(c.gap), np.asarray(c.impulse)

        for k in range(scene.steps):
            start = time.process_time()
            sim.step()
            done.seconds += time.process_time() - start
            done.steps += 1
            report = sim.report
            done.iterations += int(report.iterations)
            done.missed += report.status != "converged"
            if (k + 1) % every == 0 and watch(State(k + 1, *states(), contacts)):
                break
    return done


def run_peer(program, scene, watch, every=1, arguments=()):
    """The same in a peer's program, which reads the scene, writes every `every`-th state, and tells its CPU time."""
    n = len(scene.moving)
    # what it says goes into a file: a pipe that nobody reads would fill up, and both sides wait
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen([program, str(every), *map(str, arguments)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=said, env=dict(os.environ))
        running.stdin.write(scene.text().encode())
        running.stdin.close()
        done, ended = Outcome(0.0, 0), False
        while True:
            head = running.stdout.read(16)
            if len(head) < 16:
                break
            seconds, found = np.frombuffer(head, float)
            state = np.frombuffer(running.stdout.read(104 * n), float).reshape(n, 13)
            c = np.frombuffer(running.stdout.read(96 * int(found)), float).reshape(int(found), 12)
            if found and c[:, :2].min() < 0:
                running.kill()
                raise RuntimeError("%s does not tell fixed bodies apart: build it anew with scripts/reproduce/peers/build"
                                   % program)
            done = Outcome(seconds, done.steps + every)
            if watch(State(done.steps, state[:, :3], state[:, 7:10], state[:, 3:7], state[:, 10:13],
                           lambda: (c[:, :2].astype(int), c[:, 2:5], c[:, 5:8], c[:, 8], c[:, 9:12]))):
                running.kill()
                ended = True
                break
        running.stdout.close()
        code = running.wait()
        if not ended and (code != 0 or done.steps != scene.steps // every * every):
            said.seek(max(0, said.seek(0, os.SEEK_END) - 2000))
            raise RuntimeError("%s: exit code %d after %d steps: %s" % (
                program, code, done.steps, said.read().decode(errors="replace")))
    return done
