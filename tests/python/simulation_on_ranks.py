"""catena.Simulation on the ranks that started this: what simulation_mpi_test.py runs under mpirun.

    simulation_on_ranks.py CASE RESULT      the last state is that of the program's result, bit by bit
    simulation_on_ranks.py failures         what one rank does wrong is an error on every rank
    simulation_on_ranks.py pendulum         a controller in Python, on ranks of which most are empty
    simulation_on_ranks.py uncaught         ends by an exception of the last rank alone
    simulation_on_ranks.py additions        bodies and joints that come and go, the same bits as on one rank
    simulation_on_ranks.py exit STATUS      the last rank alone calls sys.exit with this status
    simulation_on_ranks.py exit-in-step     the same with 7 in a callback
    simulation_on_ranks.py exit-caught      the same, and goes on
    simulation_on_ranks.py exit-together    all ranks call sys.exit(0) in turn
"""
import math
import sys
import time

import catena
import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
LAST = WORLD.size - 1


def everywhere(truth, what):
    """Whether it holds on every rank: without a rank that leaves others behind."""
    if not WORLD.allreduce(bool(truth), MPI.LAND):
        print(f"[rank {WORLD.rank}] {what}: {truth}", flush=True)
        WORLD.barrier()
        sys.exit(1)


def error_of(call):
    try:
        call()
    except Exception as e:  # noqa: BLE001
        return e
    return None


def balls(n=40):
    return {"catena": 1, "name": "balls", "materials": {"m": {"density": 1000}},
            "generators": [{"lattice": {"name": "ball", "material": "m", "shape": {"sphere": {"radius": 0.1}},
                                        "count": [n, 1, 1], "spacing": 0.3, "origin": [0, 0, 0]}}],
            "time": {"step": "1 ms", "end": 1}}


def same_bits(case, directory):
    """All columns of all ranks' bodies against the result, and the report against its series."""
    expected = catena.Result(directory)
    last = expected[-1]
    with catena.Simulation(case) as sim:
        sim.run()
        names = ("ids", "positions", "orientations", "velocities", "angular_velocities")
        parts = WORLD.allgather([getattr(sim, name) for name in names])  # as arrays of their own
        report = sim.report
        contacts = WORLD.allreduce(len(sim.contacts()))
        forces = WORLD.allreduce(np.asarray(sim.contacts().force).sum(axis=0))
    ids, *columns = (np.concatenate([part[k] for part in parts]) for k in range(len(names)))
    order = np.argsort(ids)
    bodies = np.isin(last.id, ids)
    everywhere(all(len(part[0]) for part in parts), "every rank has bodies")
    everywhere(np.array_equal(ids[order], last.id[bodies]), "ids")
    everywhere(set(last.shape[~bodies]) == {"plane"}, "only planes have no rows")
    for name, own, other in zip(names[1:], columns, (last.position, last.orientation, last.velocity,
                                                     last.angular_velocity)):
        everywhere(np.array_equal(own[order], other[bodies]), name)
    everywhere(contacts == len(last.contacts) == report.contacts > 0, f"{contacts} contacts")
    everywhere(np.allclose(forces, np.asarray(last.contacts.force).sum(axis=0), rtol=1e-12, atol=1e-9), "forces")
    for name, value in report.items():
        if name != "step_wall_s" and not name.startswith("imbalance"):
            everywhere(value == expected.series[name][-1], name)


def failures():
    # a callback that raises on one rank, while the others go on to a collective call, or to the end
    for collective in (False, True):
        sim = catena.Simulation(balls())
        ball = sim.body("ball-0")
        seen = []

        def callback(s):
            if WORLD.rank == LAST and not seen:
                seen.append(1)
                raise ValueError("on one rank")
            if collective:
                ball.position

        sim.before_each_step(callback)
        e = error_of(sim.step)
        if WORLD.rank == LAST:
            everywhere(isinstance(e, ValueError), repr(e))
        else:
            everywhere(isinstance(e, catena.CatenaError) and f"(rank {LAST})" in str(e) and "on one rank" in str(e),
                       repr(e))
        everywhere(sim.step_count == 0, "no step")
        sim.step()
        everywhere(sim.step_count == 1, "the step is made again")
        # one who swallows the error is told again, and waits for nobody
        sim.remove_callback(callback)

        def swallows(s):
            if WORLD.rank == LAST:
                raise ValueError("again")
            for _ in range(3):
                everyone = error_of(lambda: ball.position)
                assert isinstance(everyone, catena.CatenaError) or WORLD.size == 1

        sim.after_each_step(swallows)
        everywhere(error_of(sim.step) is not None, "the step raises")
        everywhere(sim.step_count == 2, "that was done")
        sim.remove_callback(swallows)
        sim.step()
        sim.close()

    with catena.Simulation(balls()) as sim:
        ball = sim.body("ball-3")
        sim.step()
        if WORLD.size > 1:
            # another function, the same with other arguments, and another number of callbacks
            e = error_of((lambda: ball.velocity) if WORLD.rank == 0 else sim.step)
            everywhere("different functions" in str(e) and "rank 0: Body.velocity" in str(e)
                       and "rank 1: Simulation.step" in str(e), repr(e))
            e = error_of(lambda: ball.set_load([0, 0, 1.0 + 1e-16 * (WORLD.rank == 0) + (WORLD.rank == LAST)]))
            everywhere("arguments" in str(e) and "last bit" in e.remedy, repr(e))
            e = error_of(lambda: catena.Simulation(balls(40 + WORLD.rank)))
            everywhere("different functions" in str(e), repr(e))
            e = error_of(lambda: catena.Simulation(balls() if WORLD.rank else 7))
            everywhere(isinstance(e, TypeError if WORLD.rank == 0 else catena.CatenaError), repr(e))
        everywhere(sim.step_count == 1, "no further step")
        ball.set_load([0, 0, 9.81 * ball.mass])
        sim.step()
        everywhere(abs(ball.velocity[2] + 9.81e-3) < 1e-12, "its load carries the ball")
        e = error_of(lambda: catena.Simulation(dict(balls(), tim=1)))
        everywhere(isinstance(e, catena.CatenaError) and e.path == "tim", repr(e))

    # a simulation per rank, and one of a part of them, beside each other
    with catena.Simulation(balls(3 + WORLD.rank), MPI.COMM_SELF) as own:
        half = WORLD.Split(WORLD.rank % 2)
        with catena.Simulation(balls(9), half) as shared:
            for k in range(2 + WORLD.rank):
                own.step()
            shared.step()
            everywhere(len(own.ids) == 3 + WORLD.rank and own.step_count == 2 + WORLD.rank, "a simulation per rank")
            everywhere(half.allreduce(len(shared.ids)) == 9 and shared.size == half.size, "one of a part")


def pendulum():
    case = {"catena": 1, "name": "pendulum",
            "bodies": [{"name": "rod", "mass": 1, "inertia": [0.01, 0.01, 0.01], "position": [0.05, 0, 1]}],
            "joints": [{"name": "hinge", "type": "revolute", "between": ["world", "rod"], "at": [0, 0, 0],
                        "axis": [0, 1, 0], "motor": {"force": 0}}],
            "time": {"step": "1 ms", "end": 3}}
    with catena.Simulation(case) as sim:
        rod, hinge = sim.body("rod"), sim.joint("hinge")
        start = math.atan2(0.05, 1.0)

        @sim.before_each_step
        def control(s):
            p = rod.position
            hinge.set_motor_target(-30.0 * math.atan2(p[0], p[2]) - 6.0 * rod.angular_velocity[1])

        sim.run(until=0.5)
        # I x'' = (m g L - kp) x - kd x' with I = m L^2 + I_c about the hinge: small angles
        length2 = 1 + 0.05 ** 2
        i, k, d = length2 + 0.01, 30 - 9.81 * math.sqrt(length2), 6.0
        decay, omega = d / (2 * i), math.sqrt(k / i - (d / (2 * i)) ** 2)
        t = 0.5
        expected = start * math.exp(-decay * t) * (math.cos(omega * t) + decay / omega * math.sin(omega * t))
        tilt = hinge.coordinate[0] + start
        everywhere(abs(tilt - expected) < 2e-3 * start, f"tilt {tilt}, expected {expected}")
        sim.run()
        everywhere(abs(hinge.coordinate[0] + start) < 1e-3, "it stands")
        everywhere(abs(hinge.force[2] - 9.81) < 0.01, f"force {hinge.force}")
        everywhere(len(sim.ids) == (1 if WORLD.allreduce(len(sim.ids)) == len(sim.ids) else 0), "one rank has the rod")


def uncaught():
    sim = catena.Simulation(balls())
    if WORLD.rank == LAST:
        raise RuntimeError("outside of callbacks")
    for _ in range(10):
        sim.step()
        time.sleep(0.01)


# to which bodies and joints come, and from which they go
PILE = {"catena": 1, "name": "pile", "materials": {"m": {"density": 1000, "friction": 0.3}},
        "bodies": [{"name": "floor", "material": "m", "shape": {"plane": {}}}],
        "generators": [{"lattice": {"name": "ball", "material": "m", "shape": {"sphere": {"radius": 0.1}},
                                    "count": [3, 3, 3], "spacing": 0.205, "origin": [0, 0, 0.11],
                                    "position_jitter": "2 mm"}}],
        "time": {"step": "4 ms", "end": 1}, "solver": {"max_iterations": 30},
        "parallel": {"deterministic": True, "tile_bodies": 8, "rebalance_steps": 5}}


def work(sim):
    box = {"name": "box", "material": "m", "shape": {"box": {"size": [0.2, 0.2, 0.2]}}, "position": [0.2, 0.2, 0.9],
           "velocity": [0, 0, -2]}
    if sim.step_count == 3:
        sim.add_body(box)
        sim.remove_body("ball-9")
    if sim.step_count == 5:
        ends = [list(sim.body(name).position) for name in ("ball-14", "box")]
        sim.add_joint({"name": "rod", "type": "distance", "between": ["ball-14", "box"], "at": ends})
    if sim.step_count == 12:
        sim.remove_joint("rod")
        sim.add_body(dict(box, name="second", position=[0.6, 0.6, 0.9]))


def additions():
    alone, all_ranks = catena.Simulation(PILE, MPI.COMM_SELF), catena.Simulation(PILE, WORLD)
    for sim in (alone, all_ranks):
        sim.before_each_step(work)
        for _ in range(20):
            sim.step()
    names = ("ids", "positions", "orientations", "velocities", "angular_velocities")
    parts = WORLD.allgather([np.asarray(getattr(all_ranks, name)) for name in names])
    columns = [np.concatenate([part[k] for part in parts]) for k in range(len(names))]
    order, other = np.argsort(columns[0]), np.argsort(np.asarray(alone.ids))
    for name, column in zip(names, columns):
        everywhere(np.array_equal(column[order], np.asarray(getattr(alone, name))[other]), name)
    everywhere(len(order) == 28, "27 balls, two boxes, one ball less")
    # mistakes are errors on every rank, which go on afterwards
    sim = all_ranks
    at = list(sim.body("second").position)
    for mistake, text in ((lambda: sim.add_body({"name": "box", "mass": 1, "inertia": [1, 1, 1]}), "the name 'box' is taken"),
                          (lambda: sim.add_body({"name": "c", "shape": {"cube": {"size": 1}}}), "cube"),
                          (lambda: sim.add_body({"name": "c", "material": "m", "shape": {"sphere": {"radius": 0.1}},
                                                 "position": at}), "overlaps second by"),
                          (lambda: sim.add_body(WORLD.rank), "give a dict"),
                          (lambda: sim.remove_body("ball-9"), "is not there"),
                          (lambda: sim.add_joint({"name": "j", "type": "spherical", "between": ["world", "ball-9"],
                                                  "at": at}), "is not there")):
        e = error_of(mistake)
        everywhere(isinstance(e, catena.CatenaError) and text in str(e), repr(e))
    if WORLD.size > 1:
        e = error_of(lambda: sim.add_body({"name": f"r{WORLD.rank}", "mass": 1, "inertia": [1, 1, 1]}))
        everywhere("different functions" in str(e) and "arguments" in str(e), repr(e))
    sim.add_joint({"name": "hook", "type": "spherical", "between": ["world", "second"], "at": at})
    e = error_of(lambda: sim.remove_body("second"))
    everywhere("held by joint hook" in str(e), repr(e))
    sim.step()
    # and after a resume on all ranks, and on one
    path = WORLD.bcast(f"additions-{WORLD.size}.h5")
    sim.checkpoint(path)
    sim.step()
    here = sim.body("second").position
    for comm in (WORLD, MPI.COMM_SELF):
        with catena.Simulation(PILE, comm, checkpoint=path) as again:
            again.step()
            everywhere(np.array_equal(again.body("second").position, here), f"{again.size} ranks go on")


def exits(status):
    first, second = catena.Simulation(balls()), catena.Simulation(balls(9))
    for _ in range(3):
        first.step()
    if WORLD.rank == LAST:
        sys.exit(status)
    second.step()


def exits_in_step():
    sim = catena.Simulation(balls())
    sim.before_each_step(lambda s: sys.exit(7) if WORLD.rank == LAST and s.step_count == 2 else None)
    sim.run(until=0.01)


def exit_caught():
    sim = catena.Simulation(balls())
    if WORLD.rank == LAST:
        everyone = error_of_exit(lambda: sys.exit(5))
        assert isinstance(everyone, SystemExit) and everyone.code == 5
    sim.step()
    # also after the last call
    error_of_exit(lambda: sys.exit(5))


def error_of_exit(call):
    try:
        call()
    except SystemExit as e:
        return e
    return None


def exit_together():
    sim = catena.Simulation(balls())
    sim.step()
    time.sleep(0.05 * WORLD.rank)
    print(f"rank {WORLD.rank} done", flush=True)
    sys.exit(0)


ALONE = {"failures": failures, "pendulum": pendulum, "uncaught": uncaught, "additions": additions, "exit-in-step": exits_in_step,
         "exit-caught": exit_caught, "exit-together": exit_together}

if __name__ == "__main__":
    if len(sys.argv) == 2:
        ALONE[sys.argv[1]]()
    elif sys.argv[1] == "exit":
        exits(int(sys.argv[2]))
    else:
        same_bits(*sys.argv[1:])
    print(f"rank {WORLD.rank} done", flush=True)
