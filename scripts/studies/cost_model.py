"""The cost model of a time step (docs/scaling.md): what a step on P ranks takes, from one measured
base point, the constants of `catena calibrate` and, for machines that are not here, given constants of
a network. Used by scaling_study.py.

A load is a dictionary of what the slowest rank carries: bodies, ghosts, contacts, updates (contact
updates a step), neighbours, messages (a step, of joints; else 0), iterations (a step). Times are in s,
of one step.
"""
import math

ITEM_BYTES = 48.0  # a body's six velocities
ROUNDS = 2  # exchanges a sweep: changes to owners, new velocities back
COLLECTIVES = 25  # a step, besides the sweeps: searches, sums, agreements
GHOSTS_FACTOR = 7.2  # ghosts of a compact part of n bodies: 7.2 n^(2/3)
# what each phase grows with
WORK_OF = {"contacts": "bodies", "rows": "contacts", "solver_setup": "contacts", "sweeps": "updates",
           "motion": "bodies", "checks": "bodies", "flow": "bodies", "balance": "bodies"}
PHASES = list(WORK_OF)


class Machine:
    """Constants that prices need: of this machine from a calibration, or of another one with a
    network."""

    def __init__(self, constants, network=None):
        def of(name, default):
            return constants.get(name, {}).get("value", default)
        self.pack = of("pack", 5e9)
        self.update = of("update_spheres", None)
        self.node = {"latency": of("latency_node", None), "overhead": of("overhead_node", 0.0),
                     "bandwidth": of("bandwidth_node", None)}
        self.network = network

    def can_price_messages(self):
        return self.node["latency"] is not None or self.network is not None

    def path(self, ranks):
        """Latency, overhead and s per byte of a rank's halo; within a node unless there is a network
        and more ranks than a node holds."""
        node, net = self.node, self.network
        if net is None or ranks <= net["ranks_per_node"]:
            source = node if node["latency"] is not None else net
            return source["latency"], source["overhead"], 1.0 / source["bandwidth"]
        # part of the halo that leaves the node: that of a cube of the node's ranks
        leaves = net["ranks_per_node"] ** (-1.0 / 3.0)
        inside = (1.0 - leaves) / node["bandwidth"] if node["bandwidth"] else 0.0
        return net["latency"], net["overhead"], inside + leaves * net["ranks_per_node"] / net["bandwidth"]

    def halo(self, ranks, ghosts, neighbours):
        """One exchange: L + 2 o m + 2 g B / pack + g B / bandwidth."""
        latency, overhead, per_byte = self.path(ranks)
        size = ghosts * ITEM_BYTES
        return latency + 2.0 * overhead * neighbours + 2.0 * size / self.pack + size * per_byte

    def collective(self, ranks):
        latency, overhead, _ = self.path(ranks)
        return math.ceil(math.log2(max(1, ranks))) * (latency + overhead)

    def noise(self, ranks):
        """The slowest of P ranks whose speeds scatter."""
        sigma = self.network["noise"] if self.network else 0.0
        return 1.0 + sigma * math.sqrt(2.0 * math.log(ranks)) if ranks > 1 else 1.0


def predict(base_load, base_phases, load, ranks, machine, slowdown):
    """Times by phase. `base_phases` are those measured with base_load, in which messages count for
    nothing or little; `slowdown`: of computing, with so many ranks at the node's memory."""
    times = {}
    for phase in PHASES:
        work = WORK_OF[phase]
        if not base_load.get(work):  # chains alone have no contacts
            work = "bodies"
        share = load[work] / base_load[work] if base_load[work] else 0.0
        times[phase] = base_phases[phase] * share * slowdown * machine.noise(ranks)
    if ranks > 1 and machine.can_price_messages():
        if load["updates"]:
            times["sweeps"] += load["iterations"] * ROUNDS * machine.halo(ranks, load["ghosts"], load["neighbours"])
        latency, overhead, _ = machine.path(ranks)
        times["sweeps"] += load.get("messages", 0.0) * (latency + overhead)
        times["checks"] += COLLECTIVES * machine.collective(ranks)
    return times


def ghosts_of(bodies):
    """Ghosts of a compact part, where no plan is at hand."""
    return GHOSTS_FACTOR * bodies ** (2.0 / 3.0)


def iterations_of(base_iterations, boundary_share):
    """To the same tolerance: 1 + 1.4 times the share of contacts between ranks."""
    return base_iterations * (1.0 + 1.4 * boundary_share)
