"""All kernels of one system: what the rollout drivers call."""

from dataclasses import dataclass

import casadi

from ...dynamics.contact import next_cut
from .trace import (
    column,
    Kernel,
    Leaves,
    make_kernel,
    pull_back,
    push_forward,
    symbols,
)


@dataclass(frozen=True)
class Stage:
    """
    One question of the integrator for an acceleration.

    inputs: kernel from (x, h, acc) to the state it is asked at, None where that is x itself;
    back, push: its reverse and forward derivative.
    """

    inputs: Kernel | None
    back: Kernel | None
    push: Kernel | None


@dataclass(frozen=True)
class Sizes:
    """
    Lengths of the vectors the kernels work on.

    varied: the part of phi that estimated parameters move; factors: what the mass-matrix solve
    keeps.
    """

    positions: int
    velocities: int
    controls: int
    parameters: int
    fixed: int
    phi: int
    varied: int
    factors: int
    stages: int
    outputs: int

    @property
    def state(self):
        """Length of x = (q, v)."""
        return self.positions + self.velocities


@dataclass(frozen=True)
class SystemKernels:
    """
    Every kernel of a system, and the sizes of what they work on.

    cut: from a state, the rest of its step and its acceleration to the length of the next piece
    and what then is left, with its derivatives; empty where steps are never cut. cuts: how often.
    """

    sizes: Sizes
    prepare: tuple
    accelerate: Kernel
    solve: Kernel
    residual: tuple
    stages: tuple
    finish: tuple
    observe: tuple
    loss: Kernel | None
    cut: tuple = ()
    cuts: int = 0

    def needed(self, has_backwards=True, has_forwards=True):
        """Return the kernels that exist, of drivers with derivatives of one direction or both."""
        found = [self.prepare[0], self.accelerate, self.solve, self.finish[0], *self.observe[:1]]
        found += [stage.inputs for stage in self.stages]
        found += self.cut[:1]
        if has_backwards:
            found += [self.prepare[1], self.residual[0], self.finish[1], *self.observe[1:2]]
            found += self.cut[1:2]
            found += [*(stage.back for stage in self.stages), self.loss]
        if has_forwards:
            found += [self.prepare[2], self.residual[1], self.finish[2], *self.observe[2:]]
            found += self.cut[2:]
            found += [stage.push for stage in self.stages]
        return [kernel for kernel in found if kernel is not None]


def trace_system(system, structure, loss=None):
    """
    Return the `SystemKernels` of a system.

    structure: a `Structure` (which values are inputs, which are zero); loss: None or a pair
    (kind, delta) of `LOSSES`.
    """
    tracer = _Tracer(system, structure)
    prepare = tracer.prepare()
    accelerate, solve, residual = tracer.acceleration()
    stages, finish = tracer.integrator()
    observe, output_size = tracer.observation()
    loss_kernel = _loss_kernel(output_size, *loss) if loss else None
    model = system.model
    sizes = Sizes(
        model.position_size,
        model.velocity_size,
        system.control_size,
        len(system.estimated),
        len(structure.fixed),
        tracer.phi.numel(),
        tracer.varied.numel(),
        solve.inputs[0][1],
        len(stages),
        output_size,
    )
    kernels = sizes, prepare, accelerate, solve, residual, stages, finish, observe, loss_kernel
    return SystemKernels(*kernels, tracer.cut() if system.cuts else (), system.cuts)


class _Tracer:
    """Runs the generic source on symbols and turns it into kernels."""

    def __init__(self, system, structure):
        self.system = system
        model = system.model
        self.par, par = symbols('par', len(system.estimated))
        self.fix, fix = symbols('fix', len(structure.fixed))
        values = dict.fromkeys(structure.zeros, 0.0)
        values.update(zip(system.estimated, par))
        values.update(zip(structure.fixed, fix))
        leaves = Leaves('phi')
        self.robot = leaves.replace(system.robot(values))
        self.phi_expression, self.phi = column(leaves.expressions), column(leaves.symbols)
        self.varied_rows = _varied_rows(self.phi_expression, self.par, self.fix)
        self.varied = self.phi[self.varied_rows]
        self.x, x = symbols('x', model.state_size)
        self.q, self.v = x[: model.position_size], x[model.position_size :]
        self.u, self.u_list = symbols('u', system.control_size)

    def prepare(self):
        """Return kernels from parameters to phi, and back, and forward."""
        varied = self.phi_expression[self.varied_rows]
        adjoint, tangent = casadi.SX.sym('l', varied.numel()), casadi.SX.sym('d', self.par.numel())
        base = {'par': self.par, 'fix': self.fix}
        return (
            make_kernel('prepare', base, {'phi': self.phi_expression}),
            make_kernel(
                'prepare_back',
                {**base, 'lphi': adjoint},
                {'lpar': pull_back(varied, self.par, adjoint)},
            ),
            make_kernel(
                'prepare_push',
                {**base, 'dpar': tangent},
                {'dphi': push_forward(varied, self.par, tangent)},
            ),
        )

    def acceleration(self):
        """Return the acceleration, the mass-matrix solve, and the residual back and forward."""
        size = len(self.v)
        base = {'z': self.x, 'u': self.u, 'phi': self.phi}
        result, solver = self.system.acceleration(self.robot, self.q, self.v, self.u_list)
        factors = Leaves('w')
        solver = factors.replace(solver)
        right, right_list = symbols('r', size)
        solution = column(solver.solve(right_list))
        factors.keep(solution)
        accelerate = make_kernel(
            'accelerate', base, {'a': column(result), 'w': column(factors.expressions)}
        )
        solve = make_kernel('solve', {'w': column(factors.symbols), 'r': right}, {'s': solution})

        a, a_list = symbols('a', size)
        left = column(self.system.residual(self.robot, self.q, self.v, a_list, self.u_list))
        base = {'z': self.x, 'a': a, 'u': self.u, 'phi': self.phi}
        mu = casadi.SX.sym('mu', size)
        back = make_kernel(
            'residual_back',
            {**base, 'mu': mu},
            {
                'lz': pull_back(left, self.x, -mu),
                'lu': pull_back(left, self.u, -mu),
                'lphi': pull_back(left, self.varied, -mu),
            },
            added=('lu', 'lphi'),
        )
        seeds = {
            f'd{n}': casadi.SX.sym(f'd{n}', e.numel())
            for n, e in (('z', self.x), ('u', self.u), ('phi', self.varied))
        }
        moved = push_forward(
            left, casadi.vertcat(self.x, self.u, self.varied), casadi.vertcat(*seeds.values())
        )
        push = make_kernel('residual_push', {**base, **seeds}, {'r': -moved})
        return accelerate, solve, (back, push)

    def integrator(self):
        """Return the `Stage`s and the kernels of a step's end: value, back, forward."""
        asked = []
        h = casadi.SX.sym('h')
        size = len(self.v)

        def acceleration(q, v):
            asked.append((column([*q, *v]), casadi.SX.sym(f'a{len(asked)}', size)))
            return casadi.vertsplit(asked[-1][1]) if size else []

        q, v = self.system.integrate(self.robot, self.q, self.v, h, acceleration)
        acc = casadi.vertcat(*[a for _, a in asked])
        # One vector of all stages' accelerations, however many of them a stage has seen.
        base = {'x': self.x, 'h': h, 'acc': acc}
        stages = []
        for number, (z, _) in enumerate(asked):
            if casadi.is_equal(z, self.x, 1):
                stages.append(Stage(None, None, None))
            else:
                stages.append(Stage(*self._glue(f'stage{number}', base, z, 'z', added=True)))
        return tuple(stages), self._glue('finish', base, column([*q, *v]), 'y', added=False)

    def cut(self):
        """
        Return the kernels of where a step is cut: value, back, forward.

        The acceleration is that at the beginning of a piece, which is the first stage of any
        explicit integrator.
        """
        left, (a, a_list) = casadi.SX.sym('left'), symbols('a', len(self.v))
        piece = next_cut(self.robot, self.q, self.v, a_list, left)
        result = column([piece, left - piece])
        base = {'x': self.x, 'left': left, 'a': a, 'phi': self.phi}
        moving = {'x': self.x, 'left': left, 'a': a, 'phi': self.varied}
        adjoints = casadi.SX.sym('lh'), casadi.SX.sym('lrest')
        tangents = {f'd{n}': casadi.SX.sym(f'd{n}', e.numel()) for n, e in moving.items()}
        moved = push_forward(
            result, casadi.vertcat(*moving.values()), casadi.vertcat(*tangents.values())
        )
        return (
            make_kernel('cut', base, {'h': result[0], 'rest': result[1]}),
            make_kernel(
                'cut_back',
                {**base, 'lh': adjoints[0], 'lrest': adjoints[1]},
                {
                    f'l{n}': pull_back(result, e, casadi.vertcat(*adjoints))
                    for n, e in moving.items()
                },
                added=('lx', 'la', 'lphi'),
            ),
            make_kernel('cut_push', {**base, **tangents}, {'dh': moved[0], 'drest': moved[1]}),
        )

    def _glue(self, name, base, result, output, added):
        """Return kernels of a piece of the integrator: value, back, forward."""
        adjoint = casadi.SX.sym('l', result.numel())
        tangents = {f'd{n}': casadi.SX.sym(f'd{n}', e.numel()) for n, e in base.items()}
        backs = {f'l{n}': pull_back(result, e, adjoint) for n, e in base.items()}
        moved = push_forward(
            result, casadi.vertcat(*base.values()), casadi.vertcat(*tangents.values())
        )
        return (
            make_kernel(name, base, {output: result}),
            make_kernel(
                f'{name}_back', {**base, 'l': adjoint}, backs, added=tuple(backs) if added else ()
            ),
            make_kernel(f'{name}_push', {**base, **tangents}, {'d': moved}),
        )

    def observation(self):
        """Return the kernels of the observation: value, back and forward; and its length."""
        if self.system.observation is None:
            return (), 0
        seen = column(self.system.observation(self.robot, self.q, self.v))
        base = {'x': self.x, 'phi': self.phi}
        adjoint = casadi.SX.sym('l', seen.numel())
        dx, dphi = casadi.SX.sym('dx', self.x.numel()), casadi.SX.sym('dp', self.varied.numel())
        moved = push_forward(seen, casadi.vertcat(self.x, self.varied), casadi.vertcat(dx, dphi))
        return (
            make_kernel('observe', base, {'y': seen}),
            make_kernel(
                'observe_back',
                {**base, 'l': adjoint},
                {
                    'lx': pull_back(seen, self.x, adjoint),
                    'lphi': pull_back(seen, self.varied, adjoint),
                },
                added=('lx', 'lphi'),
            ),
            make_kernel('observe_push', {**base, 'dx': dx, 'dphi': dphi}, {'dy': moved}),
        ), seen.numel()


def _varied_rows(expression, par, fix):
    """Return the rows of phi that depend on an estimated parameter."""
    if expression.numel() == 0 or par.numel() == 0:
        return []
    function = casadi.Function('phi', [par, fix], [expression])
    rows = (
        function.sparsity_jac(0, 0).row()
        if hasattr(function, 'sparsity_jac')
        else function.jac_sparsity(0, 0).row()
    )
    return sorted(set(rows))


def _loss_kernel(size, kind, delta):
    """Return the kernel that adds the weighted loss of one step and gives its gradient."""
    y, target = casadi.SX.sym('y', size), casadi.SX.sym('t', size)
    weight = casadi.SX.sym('weight')
    error = y - target
    if kind == 'huber':
        # Quadratic within delta, linear beyond: clip(e) (e - clip(e) / 2).
        clipped = casadi.fmin(casadi.fmax(error, -delta), delta)
        value, slope = casadi.dot(clipped, error - 0.5 * clipped), clipped
    else:
        value, slope = casadi.dot(error, error), 2.0 * error
    return make_kernel(
        'loss',
        {'y': y, 't': target, 'weight': weight},
        {'value': weight * value, 'l': weight * slope},
        added=('value',),
    )
