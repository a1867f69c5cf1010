"""One step of a rollout in IR: forward, backward, and along a tangent."""

from dataclasses import dataclass

from llvmlite import ir

from .loops import Code, POINTER


@dataclass(frozen=True)
class Record:
    """
    Where one step keeps what its derivatives need, in vectors from the start of its record.

    x, u, h: state, controls and duration; acc, w, z: every stage's acceleration, factors of the
    mass matrix, and state (the stages at x itself have none).
    """

    x: int
    u: int
    h: int
    acc: tuple
    w: tuple
    z: tuple
    size: int


def make_record(kernels):
    """Return the layout of a step's record."""
    s, place = kernels.sizes, 0

    def take(count):
        nonlocal place
        place += count
        return place - count

    x, u, h = take(s.state), take(s.controls), take(1)
    acc = tuple(take(s.velocities) for _ in kernels.stages)
    w = tuple(take(s.factors) for _ in kernels.stages)
    z = tuple(take(s.state) if stage.inputs else x for stage in kernels.stages)
    return Record(x, u, h, acc, w, z, place)


class StepWriter:
    """Writes the step functions of a system into a module."""

    def __init__(self, module, kernels, width):
        """Declare the kernels in the module."""
        self.module, self.kernels, self.width = module, kernels, width
        self.record = make_record(kernels)
        self.functions = {}
        for kernel in kernels.needed():
            count = len(kernel.inputs) + len(kernel.outputs)
            kind = ir.FunctionType(ir.VoidType(), [POINTER] * count)
            self.functions[kernel.name] = ir.Function(module, kind, kernel.name)

    def _parts(self, code):
        """Return pointers to the parts of the record argument."""
        r, base = self.record, code.arguments['record']
        at = {name: code.vectors(base, getattr(r, name)) for name in 'xuh'}
        for name in ('acc', 'w', 'z'):
            at[name] = [code.vectors(base, place) for place in getattr(r, name)]
        return at

    def call(self, code, kernel, *arguments):
        """Call a kernel."""
        code.call(self.functions[kernel.name], *arguments)

    def forward(self):
        """Write `step_forward`, which fills the record and writes the next state."""
        c = Code(self.module, 'step_forward', ['record', 'next_x', 'phi'], self.width)
        at, phi, k = self._parts(c), c.arguments['phi'], self.kernels
        for number, stage in enumerate(k.stages):
            if stage.inputs:
                self.call(c, stage.inputs, at['x'], at['h'], at['acc'][0], at['z'][number])
            self.call(
                c, k.accelerate, at['z'][number], at['u'], phi, at['acc'][number], at['w'][number]
            )
        self.call(c, k.finish[0], at['x'], at['h'], at['acc'][0], c.arguments['next_x'])
        return c.finish()

    def backward(self, helpers):
        """
        Write `step_backward`, the adjoint of `step_forward`.

        lx: adjoint of the state after the step, overwritten by that before it; lphi and lu are
        added to; lh is set; work: scratch for velocities * (stages + 1) + state vectors.
        """
        names = ['record', 'phi', 'lx', 'lphi', 'lu', 'lh', 'work']
        c = Code(self.module, 'step_backward', names, self.width)
        a, at, k, s = c.arguments, self._parts(c), self.kernels, self.kernels.sizes
        lacc = [c.vectors(a['work'], i * s.velocities) for i in range(s.stages)]
        mu = c.vectors(a['work'], s.stages * s.velocities)
        lz = c.vectors(a['work'], (s.stages + 1) * s.velocities)
        glue = (at['x'], at['h'], at['acc'][0])
        self.call(c, k.finish[1], *glue, a['lx'], a['lx'], a['lh'], lacc[0])
        for number in reversed(range(s.stages)):
            stage = k.stages[number]
            self.call(c, k.solve, at['w'][number], lacc[number], mu)
            self.call(
                c,
                k.residual[0],
                at['z'][number],
                at['acc'][number],
                at['u'],
                a['phi'],
                mu,
                lz,
                a['lu'],
                a['lphi'],
            )
            if stage.back:
                self.call(c, stage.back, *glue, lz, a['lx'], a['lh'], lacc[0])
            else:
                c.call(helpers['accumulate'], a['lx'], lz, c.number(s.state))
        return c.finish()

    def push(self):
        """
        Write `step_push`, the tangent of `step_forward`.

        dx: tangent of the state before the step, overwritten by that after it; work: scratch
        for velocities * (stages + 1) + state vectors.
        """
        names = ['record', 'phi', 'dx', 'dphi', 'du', 'dh', 'work']
        c = Code(self.module, 'step_push', names, self.width)
        a, at, k, s = c.arguments, self._parts(c), self.kernels, self.kernels.sizes
        dacc = [c.vectors(a['work'], i * s.velocities) for i in range(s.stages)]
        right = c.vectors(a['work'], s.stages * s.velocities)
        work_z = c.vectors(a['work'], (s.stages + 1) * s.velocities)
        glue = (at['x'], at['h'], at['acc'][0], a['dx'], a['dh'], dacc[0])
        for number, stage in enumerate(k.stages):
            dz = a['dx']
            if stage.push:
                dz = work_z
                self.call(c, stage.push, *glue, dz)
            self.call(
                c,
                k.residual[1],
                at['z'][number],
                at['acc'][number],
                at['u'],
                a['phi'],
                dz,
                a['du'],
                a['dphi'],
                right,
            )
            self.call(c, k.solve, at['w'][number], right, dacc[number])
        self.call(c, k.finish[2], *glue, a['dx'])
        return c.finish()
