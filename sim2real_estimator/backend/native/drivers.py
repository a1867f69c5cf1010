"""
Rollouts over a batch in IR: the loops around the steps.

A block of SIMD lanes runs a whole rollout before the next block begins, so that everything it
keeps stays in the cache. The last block is moved back to end with the batch: lanes that were
done before are computed again and written again with the same values.

Every driver takes one table of integers, addresses and sizes, in the order of `TABLES`. `batch`
is the length of a row of the caller's arrays, at least one block; `samples` is how many of its
lanes are meant, fewer only where a small batch was padded.
"""

from llvmlite import ir

from .calls import SEEDS, TABLES
from .loops import Code, INT, make_helpers, POINTER
from .step_writer import StepWriter


class _Scratch:
    """Hands out consecutive vectors of the scratch memory."""

    def __init__(self, code, base):
        self.code, self.base, self.used = code, base, 0

    def take(self, count):
        pointer = self.code.vectors(self.base, self.used)
        self.used += count
        return pointer


class DriverWriter:
    """Writes the drivers of a system into a module; `scratch` says how many vectors each needs."""

    def __init__(self, kernels, width, has_backwards=True, has_forwards=True):
        """
        Begin the module with the step functions.

        has_backwards, has_forwards: which derivatives drivers are to give; values in any case.
        """
        self.module = ir.Module(name='drivers')
        self.kernels, self.sizes, self.width = kernels, kernels.sizes, width
        self.steps = StepWriter(self.module, kernels, width)
        self.helpers = make_helpers(self.module, width)
        self.forward = self.steps.forward(self.helpers)
        self.backward = self.steps.backward(self.helpers) if has_backwards else None
        self.push = self.steps.push() if has_forwards else None
        self.scratch = {}

    def write(self):
        """Write every driver the system's kernels allow and return the module's text."""
        from . import jacobians, rollouts  # they use this class

        rollouts.write_rollout(self)
        if self.backward:
            rollouts.write_reverse(self, with_loss=False)
            if self.kernels.loss:
                rollouts.write_reverse(self, with_loss=True)
            jacobians.write_jacobian(self)
        if self.push:
            jacobians.write_tangent(self)
            jacobians.write_directions(self)
        return str(self.module)

    def begin(self, name):
        """Return (code, table, scratch): a new driver with its table read."""
        c = Code(self.module, name, ['table'], self.width, exported=True)
        table = {}
        for place, entry in enumerate(TABLES[name]):
            address = c.builder.gep(c.arguments['table'], [c.number(place)], source_etype=INT)
            value = c.builder.load(address, typ=INT)
            is_address = f'{entry}_row' in TABLES[name] or entry in _ADDRESSES
            table[entry] = c.builder.inttoptr(value, POINTER) if is_address else value
        return c, table, _Scratch(c, table['scratch'])

    def end(self, code, name, scratch, per_step):
        """Close a driver and note the scratch it needs: a fixed part and one per step."""
        code.finish()
        self.scratch[name] = (scratch.used, per_step)

    def splat_fixed(self, c, table, scratch):
        """Return vectors of the fixed values, the same in every lane."""
        vectors = scratch.take(self.sizes.fixed)
        c.call(
            self.helpers['fetch'],
            vectors,
            table['fix'],
            c.number(self.sizes.fixed),
            c.number(1),
            c.number(0),
            c.number(0),
        )
        return vectors

    def fetch(self, c, table, name, target, rows, lane, step=None):
        """Read `rows` rows of a caller's array, of one step if given, into vectors."""
        source = table[name]
        if step is not None:
            source = c.doubles(source, c.mul(step, c.mul(rows, table[f'{name}_row'])))
        c.call(
            self.helpers['fetch'],
            target,
            source,
            c.number(rows),
            table[f'{name}_row'],
            table[f'{name}_lane'],
            lane,
        )

    def put(self, c, table, source, target, rows, lane, step=None):
        """Write vectors as `rows` rows of a caller's array `[steps, rows, batch]`."""
        if step is not None:
            target = c.doubles(target, c.mul(step, c.mul(rows, table['batch'])))
        c.call(self.helpers['put'], source, target, c.number(rows), table['batch'], lane)

    def first_lane(self, c, table, block):
        """Return where a block of lanes begins, moved back if it would pass the end."""
        return c.minimum(block, c.sub(table['batch'], self.width))

    def begin_block(self, c, table, fix, par, phi, x, lane):
        """Read parameters and initial state of a block and prepare phi."""
        self.fetch(c, table, 'par', par, self.sizes.parameters, lane)
        self.fetch(c, table, 'x0', x, self.sizes.state, lane)
        self.steps.call(c, self.kernels.prepare[0], par, fix, phi)

    def run_step(self, c, table, record, next_x, phi, lane, step):
        """Read the controls and the duration of a step into its record and run it."""
        layout = self.steps.record
        u, h = c.vectors(record, layout.u), c.vectors(record, layout.h)
        self.fetch(c, table, 'u', u, self.sizes.controls, lane, step)
        self.fetch(c, table, 'h', h, 1, lane, step)
        c.call(self.forward, record, next_x, phi)

    def run_forward(self, c, table, records, phi, lane):
        """Run all steps, keeping one record each; the last state starts record number steps."""
        size = self.steps.record.size
        with c.loop(table['steps']) as step:
            record = c.vectors(records, c.mul(step, size))
            next_x = c.vectors(records, c.mul(c.add(step, 1), size))
            self.run_step(c, table, record, next_x, phi, lane, step)


_ADDRESSES = {
    'scratch',
    'fix',
    'states',
    'outputs',
    'lstates',
    'loutputs',
    'lx0',
    'lpar',
    'lu',
    'lh',
    'value',
    'jacobian',
    'columns',
    'dstates',
    'doutputs',
    *SEEDS,
}
