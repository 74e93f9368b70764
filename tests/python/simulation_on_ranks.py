"""catena.Simulation on the ranks that started this: what simulation_mpi_test.py runs under mpirun.

    simulation_on_ranks.py CASE RESULT      the last state is that of the program's result, bit by bit
    simulation_on_ranks.py failures         what one rank does wrong is an error on every rank
    simulation_on_ranks.py pendulum         a controller in Python, on ranks of which most are empty
    simulation_on_ranks.py uncaught         ends by an exception of the last rank alone
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
        if name not in ("step_wall_s", "imbalance"):
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


if __name__ == "__main__":
    if len(sys.argv) == 3:
        same_bits(*sys.argv[1:])
    else:
        {"failures": failures, "pendulum": pendulum, "uncaught": uncaught}[sys.argv[1]]()
    print(f"rank {WORLD.rank} done", flush=True)
