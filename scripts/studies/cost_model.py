"""The cost model of a time step (docs/scaling.md): what a step on P ranks takes and why, from one measured
base point, counts of work and messages, the constants of `catena calibrate` and, for machines that are not
here, given constants of a network. Used by scaling_study.py.

A load is a dictionary of what a step is on some number of ranks: of the mean rank `bodies` and `contacts`;
`imbalance`, the largest rank's counted work over the mean; `iterations`; of the rank that sends most
`messages` and `bytes` to neighbours; `collectives`, operations in which all ranks wait for each other;
`box_exchanges`, how often ranks tell each other where their bodies are. Times are in s, of one step.
"""
import copy
import math

ITEM_BYTES = 48.0  # a body's six velocities
ROUNDS = 2  # exchanges a sweep: changes to owners, new velocities back
SEARCH_ROUNDS = 3  # with neighbours, of the contact search
COLLECTIVES = 26  # a step, besides one in each iteration, where none was counted
BORDER_FACTOR = 7.2  # bodies of a compact part of n that it shares with others, or needs of them: 7.2 n^(2/3)
NEIGHBOURS = 13  # of a compact part
# exchanges of boxes: all ranks of a group tell each other theirs; first ranks of groups tell each other one box, and
# send on those of ranks that reach another group (docs/design/0017-boxes-in-two-levels.md)
GROUP = 64  # ranks
BOXES = 8  # of a rank whose bodies may have come near to others
BOX_BYTES = 48.0  # two corners
RANK_BYTES = BOXES * BOX_BYTES
NEAR_GROUPS = 26  # of a compact group, 4 x 4 x 4 ranks
NEAR_RANKS = 6 ** 3 - GROUP  # around it
NEAR_BYTES = NEAR_RANKS * (RANK_BYTES + 8.0)  # with their numbers
# what each phase grows with
WORK_OF = {"contacts": "bodies", "rows": "contacts", "solver_setup": "contacts", "sweeps": "updates",
           "motion": "bodies", "checks": "bodies", "flow": "bodies", "balance": "bodies"}
PHASES = list(WORK_OF)
# of a step's time: that of the base point's work with this share of it; what memory that other cores use, too, adds;
# more iterations; the fullest rank; the slowest of cores whose speeds scatter; messages to neighbours and their bytes;
# waiting of all for all; what ranks hear of each other's boxes
CAUSES = ["work", "memory", "iterations", "imbalance", "noise", "messages", "bytes", "reductions", "gathers"]


class Machine:
    """Constants that prices need: of this machine from a calibration, or of another one with a
    network. `box_test`: s for each box of another rank that a rank looks at."""

    def __init__(self, constants, network=None, box_test=0.0):
        def of(name, default):
            return constants.get(name, {}).get("value", default)
        self.pack = of("pack", 5e9)
        self.update = of("update_spheres", None)
        self.node = {"latency": of("latency_node", None), "overhead": of("overhead_node", 0.0),
                     "bandwidth": of("bandwidth_node", None)}
        self.network = network
        self.box_test = box_test

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

    def waits(self, ranks, rounds, messages):
        """Messages sent in so many rounds one after the other, and as many received: L a round and 2 o a message."""
        latency, overhead, _ = self.path(ranks)
        return rounds * latency + 2.0 * overhead * messages

    def transfer(self, ranks, size):
        """Bytes sent, and as many received: gathered from bodies, scattered to them, and on their way."""
        return size * (2.0 / self.pack + self.path(ranks)[2])

    def collective(self, ranks):
        latency, overhead, _ = self.path(ranks)
        return math.ceil(math.log2(max(1, ranks))) * (latency + overhead)

    def gather(self, ranks, size):
        """`size` bytes of each rank to every other one: those of a node's ranks all pass its network card."""
        if self.network is None or ranks <= self.network["ranks_per_node"]:
            return size * ranks * self.path(ranks)[2]
        return size * ranks * self.network["ranks_per_node"] / self.network["bandwidth"]

    def box_exchange(self, ranks):
        """Of a group's first rank, which does most: the gather in its group; where there are other groups, too, the box
        of its own one, the boxes of all groups and a look at them, rows sent and received until all agree that there
        are no more, and a broadcast of them; a look at all boxes that it has then."""
        group, groups = min(ranks, GROUP), group_count(ranks)
        seconds = self.gather(group, RANK_BYTES) + BOXES * group * self.box_test
        if groups == 1:
            return seconds
        latency, overhead, per_byte = self.path(ranks)
        if self.network:
            per_byte = max(1.0, self.network["ranks_per_node"] / GROUP) / self.network["bandwidth"]
        seconds += 2.0 * math.ceil(math.log2(groups)) * (latency + overhead) + self.waits(ranks, 1, NEAR_GROUPS)
        seconds += (BOX_BYTES * groups + NEAR_BYTES) * per_byte + groups * self.box_test
        return seconds + 3.0 * self.collective(group) + NEAR_BYTES * self.path(group)[2] + BOXES * NEAR_RANKS * self.box_test

    def noise(self, ranks):
        """The slowest of P ranks whose speeds scatter."""
        sigma = self.network["noise"] if self.network else 0.0
        return 1.0 + sigma * math.sqrt(2.0 * math.log(ranks)) if ranks > 1 else 1.0


def group_count(ranks):
    return math.ceil(ranks / GROUP)


def gathered_bytes(ranks):
    """What a group's first rank hears of all ranks of its group and of all groups in an exchange of boxes."""
    return RANK_BYTES * min(ranks, GROUP) + (BOX_BYTES * group_count(ranks) if ranks > GROUP else 0.0)


def updates(load):
    """Contact updates of the mean rank in a step; bodies where chains alone have no contacts."""
    return load["contacts"] * load["iterations"] if load["contacts"] else load["bodies"]


def share(base, load, work):
    """Work of the mean rank over that at the base, at the base's iterations."""
    if work == "updates" or not base.get(work):
        work = "contacts" if base["contacts"] and work != "bodies" else "bodies"
    return load[work] / base[work] if base[work] else 0.0


def compute(base, base_phases, load, ranks, machine, slowdown):
    """Times by phase, each by cause, of what ranks do without each other. `slowdown`: with so many ranks at the node's
    memory."""
    times = {}
    for phase in PHASES:
        part = {"work": base_phases[phase] * share(base, load, WORK_OF[phase])}
        so_far = part["work"]
        more = load["iterations"] / base["iterations"] if phase == "sweeps" and base["contacts"] and base["iterations"] else 1.0
        for cause, factor in (("iterations", more), ("imbalance", load["imbalance"] / base["imbalance"]),
                              ("memory", slowdown), ("noise", machine.noise(ranks))):
            part[cause] = so_far * (factor - 1.0)
            so_far += part[cause]
        times[phase] = part
    return times


def predict(base, base_phases, load, ranks, machine, slowdown):
    """Times by phase, and by cause; their sums are the same."""
    parts = compute(base, base_phases, load, ranks, machine, slowdown)
    if ranks > 1 and machine.can_price_messages():
        # sweeps wait in both rounds of each iteration; joints alone send one message after the other
        rounds = load["iterations"] * ROUNDS + SEARCH_ROUNDS if load["contacts"] else load["messages"]
        sweeps, checks = parts["sweeps"], parts["checks"]
        sweeps["messages"] = machine.waits(ranks, rounds, load["messages"])
        sweeps["bytes"] = machine.transfer(ranks, load["bytes"])
        checks["reductions"] = load["collectives"] * machine.collective(ranks)
        parts["contacts"]["gathers"] = load["box_exchanges"] * machine.box_exchange(ranks)
    causes = {cause: sum(part.get(cause, 0.0) for part in parts.values()) for cause in CAUSES}
    return {phase: sum(part.values()) for phase, part in parts.items()}, causes


def border_of(bodies):
    """Bodies that a compact part shares or needs, where no count is at hand."""
    return BORDER_FACTOR * bodies ** (2.0 / 3.0)


def messages_to(neighbours, iterations):
    """At most: in each round of an iteration and of the search one to every neighbour."""
    return neighbours * (ROUNDS * iterations + SEARCH_ROUNDS)


def growth_of(points):
    """Iterations a + b log2(P) by least squares of the last three of (ranks, iterations); (a, b), or None of fewer than
    three on two ranks and more. The first ones are left out: what splitting itself costs, and sides on which parts have
    no neighbour yet, say nothing of many ranks."""
    some = [(math.log2(p), i) for p, i in points if p > 1][-3:]
    if len(some) < 3:
        return None
    mean_x, mean_y = (sum(v) / len(some) for v in zip(*some))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in some) / sum((x - mean_x) ** 2 for x, _ in some)
    return mean_y - slope * mean_x, slope


def with_factor(machine, load, name, factor):
    """Copies of both in which one constant, or one of the load's numbers, is `factor` times as much."""
    machine, load = copy.deepcopy(machine), dict(load)
    if name in load:
        load[name] *= factor
    elif machine.network and name in machine.network:
        machine.network[name] *= factor
    else:
        setattr(machine, name, getattr(machine, name) * factor)
    return machine, load
