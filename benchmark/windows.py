"""
Loss and gradient of many windows: this package beside the peers.

`factory` is our row: the public API of torch tensors only, `Simulator.loss_function` and
`backward`.
"""

from functools import partial

from peers.comparison import checked_rows, LIMIT, MUJOCO, peers_of, PINOCCHIO
from peers.timing import conditions, measure
from peers.workload import DELTA, make_workload, RADIUS, ROD_MASS, STEP, STEPS
from report import print_notes, print_table, Target
import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.dynamics.observations import headings
from sim2real_estimator.model.urdf.load import load_urdf

OURS = 'sim2real_estimator, torch gradient'
_NOMINAL_LENGTH = 0.4

# Kind, and the (parameter sets, windows) that are measured.
CASES = {
    'W3': ('S3', ((64, 32), (96, 1))),
    'W2': ('W2', ((64, 32), (96, 1))),
    'S7': ('S7', ((32, 8),)),
    'S12': ('S12', ((32, 8),)),
}
# (section, batch) to the bounds: at most x the limit, at least x faster than the others.
TARGETS = {
    ('W3', 2048): {LIMIT: 1.3, MUJOCO: 30.0, PINOCCHIO: 15.0},
    ('W3', 96): {LIMIT: 2.5, MUJOCO: 20.0, PINOCCHIO: 7.0},
}


def factory(work):
    """Return a function () -> (loss [B], gradient [D, B]) for a `Workload`."""
    simulator, named = _pendulum() if work.kind == 'W2' else _rods(work.chain.count)
    state, theta, targets = (torch.from_numpy(a) for a in (work.X, work.T, work.Y))
    durations = torch.full((STEPS,), STEP, dtype=torch.float64)
    each_once = torch.ones(work.batch, dtype=torch.float64)
    losses = simulator.loss_function(state, durations, targets, delta=DELTA)

    def run():
        leaf = theta.detach().requires_grad_()
        loss = losses(named(leaf))
        loss.backward(each_once)
        return loss.detach().numpy(), leaf.grad.numpy()

    return run


def _rods(count):
    """Return a simulator of rods on ball joints, and the identity: its lengths are named."""
    length, names = _NOMINAL_LENGTH, [f'rod{i}' for i in range(count)]
    across = ROD_MASS * (length**2 / 12 + RADIUS**2 / 4)
    moments = f'ixx="{across}" iyy="{across}" izz="{ROD_MASS * RADIUS**2 / 2}"'
    model = load_urdf(
        _chain_urdf(names, length, moments),
        joint_types={f'joint_of_{name}': 'spherical' for name in names},
        actuators={f'joint_of_{name}': 'passive' for name in names},
    )
    simulator = Simulator(
        model,
        [f'{name}.length' for name in names],
        observe=headings(names),
        integrator='semi_implicit_euler',
        backend='native',
    )
    return simulator, lambda theta: theta


def _pendulum():
    """Return a simulator of the double pendulum, and the map to its named parameters."""
    names = ['upper', 'lower']
    model = load_urdf(
        _chain_urdf(names, _NOMINAL_LENGTH, 'ixx="0.02" iyy="0.02" izz="0.02"'),
        actuators={f'joint_of_{name}': 'passive' for name in names},
    )
    whole = headings(names)

    def observe(robot, q, v):
        seen = whole(robot, q, v)
        return [seen[i] for i in (0, 2, 3, 5)]

    # By rows, what the parameters l1 l2 m1 m2 I1 I2 d1 d2 contribute to each named one.
    rows = {
        'joint_of_lower.origin.z': (0, -1.0),
        'upper.com.z': (0, -0.5),
        'lower.com.z': (1, -0.5),
        'upper.mass': (2, 1.0),
        'lower.mass': (3, 1.0),
        'upper.inertia.yy': (4, 1.0),
        'lower.inertia.yy': (5, 1.0),
        'joint_of_upper.damping': (6, 1.0),
        'joint_of_lower.damping': (7, 1.0),
    }
    mapping = torch.zeros(len(rows), 8, dtype=torch.float64)
    for row, (column, factor) in enumerate(rows.values()):
        mapping[row, column] = factor
    simulator = Simulator(
        model, list(rows), observe=observe, integrator='semi_implicit_euler', backend='native'
    )
    return simulator, lambda theta: mapping @ theta


def _chain_urdf(names, length, moments):
    """Return the URDF of equal links that hang from each other by hinges about y."""
    parts, parent = ['<link name="base"/>'], 'base'
    for name in names:
        hang = 0 if parent == 'base' else -length
        parts.append(
            f'<link name="{name}"><inertial><origin xyz="0 0 {-length / 2}"/>'
            f'<mass value="{ROD_MASS}"/><inertia {moments} ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="joint_of_{name}" type="continuous">'
            f'<origin xyz="0 0 {hang}"/><parent link="{parent}"/><child link="{name}"/>'
            '<axis xyz="0 1 0"/></joint>'
        )
        parent = name
    return f'<robot name="chain">{"".join(parts)}</robot>'


def run(name, arguments):
    """Print the tables of a section and return its targets."""
    kind, batches = CASES[name]
    targets = []
    for sets, windows in batches:
        work = make_workload(kind, sets, windows, arguments.threads)
        builders = {**peers_of(work), OURS: partial(factory, work)}
        rows, wrong, notes = checked_rows(work, builders)
        disturbed = measure(rows, work.threads, arguments.seconds, arguments.tries)
        _print(name, work, rows, notes + disturbed)
        targets += _targets(name, work, rows, wrong, bool(disturbed))
    return targets


def _print(name, work, rows, notes):
    """Print the table of one batch size, the fastest row first."""
    by_name = {row.name: row for row in rows}
    cells = []
    for row in sorted(rows, key=lambda row: row.median):
        by_limit, by_ours = (
            f'{row.ratio_to(by_name[n]):.2f}' if n in by_name else '-' for n in (LIMIT, OURS)
        )
        again = sorted(row.again)[len(row.again) // 2]
        times = (f'{t * 1e3:.3f}' for t in (row.median, min(row.times), again))
        cells.append([row.name, *times, by_limit, by_ours, f'{row.error:.0e}'])
    print(
        f'{name}: {work.chain.count} links, {len(work.theta)} parameters, B={work.batch}, '
        f'H={STEPS}, float64; {conditions(work.threads)}; {len(rows[0].times)} turns\n'
    )
    header = ['loss and gradient', 'ms', 'min ms', 'ms again', 'x limit', 'x ours', 'error']
    print_table(header, cells)
    print_notes(notes)


def _targets(name, work, rows, wrong, disturbed):
    """Return the targets of one batch size, the first that what they compare is right."""
    by_name, title = {row.name: row for row in rows}, f'{name} B={work.batch}'
    bounds = TARGETS.get((name, work.batch), {})
    count = sum(row in wrong for row in (OURS, *bounds))
    found = [Target(f'{title} wrong gradients', count, 0, '')]
    for peer, bound in bounds.items():
        value, is_limit = None, peer == LIMIT
        if OURS in by_name and peer in by_name:
            pair = (OURS, peer) if is_limit else (peer, OURS)
            value = by_name[pair[0]].ratio_to(by_name[pair[1]])
        what = f'{title} ' + ('time / limit' if is_limit else f'vs {peer}')
        found.append(Target(what, value, bound, 'x', not is_limit, disturbed))
    return found
