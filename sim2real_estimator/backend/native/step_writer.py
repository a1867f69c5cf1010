"""One step of a rollout in IR: forward, backward, and along a tangent."""

from dataclasses import dataclass

from llvmlite import ir

from .loops import Code, POINTER


@dataclass(frozen=True)
class Piece:
    """
    Where a piece of a step keeps what its derivatives need; a step that is never cut is one.

    x: state at its beginning; left: what is left of the step then; h: its duration; acc, w, z:
    every stage's acceleration, factors of the mass matrix, and state (the stages at x itself
    have none).
    """

    x: int
    left: int
    h: int
    acc: tuple
    w: tuple
    z: tuple


@dataclass(frozen=True)
class Record:
    """
    Where one step keeps what its derivatives need, in vectors from the start of its record.

    u, h: controls and duration; pieces: a `Piece` for each between two places where the step may
    be cut. The state is at the very beginning.
    """

    u: int
    h: int
    pieces: tuple
    size: int


def make_record(kernels):
    """Return the layout of a step's record."""
    s, place, pieces = kernels.sizes, 0, []

    def take(count):
        nonlocal place
        place += count
        return place - count

    x, u, h = take(s.state), take(s.controls), take(1)
    left = h
    for number in range(kernels.cuts + 1):
        if number:
            x, left = take(s.state), take(1)
        # The last piece is all that is left.
        own = left if number == kernels.cuts else take(1)
        acc = tuple(take(s.velocities) for _ in kernels.stages)
        w = tuple(take(s.factors) for _ in kernels.stages)
        z = tuple(take(s.state) if stage.inputs else x for stage in kernels.stages)
        pieces.append(Piece(x, left, own, acc, w, z))
    return Record(u, h, tuple(pieces), place)


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

    @property
    def work_size(self):
        """Vectors of scratch that `step_backward` and `step_push` need."""
        s = self.kernels.sizes
        return (s.stages + 1) * s.velocities + s.state + (2 if self.kernels.cuts else 0)

    def _pieces(self, code):
        """Return pointers to the controls and to the parts of every piece of the record."""
        base, found, u = code.arguments['record'], [], None
        for piece in self.record.pieces:
            at = {'x': code.vectors(base, piece.x)}
            u = u or code.vectors(base, self.record.u)
            at['left'] = code.vectors(base, piece.left)
            is_last = piece.h == piece.left
            at['h'] = at['left'] if is_last else code.vectors(base, piece.h)
            for name in ('acc', 'w', 'z'):
                at[name] = [code.vectors(base, place) for place in getattr(piece, name)]
            found.append(at)
        return u, found

    def _lengths(self, code):
        """Return scratch for two adjoints or tangents: of a piece's length, and of the rest."""
        s = self.kernels.sizes
        first = (s.stages + 1) * s.velocities + s.state
        return [code.vectors(code.arguments['work'], first + k) for k in (0, 1)]

    def call(self, code, kernel, *arguments):
        """Call a kernel."""
        code.call(self.functions[kernel.name], *arguments)

    def forward(self, helpers):
        """
        Write `step_forward`, which fills the record and writes the next state.

        Pieces of no length in all lanes are left out, here and in the derivatives.
        """
        c = Code(self.module, 'step_forward', ['record', 'next_x', 'phi'], self.width)
        (u, pieces), phi, k = self._pieces(c), c.arguments['phi'], self.kernels

        def write(place):
            at, later = pieces[place], pieces[place + 1 :]
            for number, stage in enumerate(k.stages):
                if stage.inputs:
                    self.call(c, stage.inputs, at['x'], at['h'], at['acc'][0], at['z'][number])
                self.call(
                    c, k.accelerate, at['z'][number], u, phi, at['acc'][number], at['w'][number]
                )
                if number == 0 and later:
                    beginning = at['x'], at['left'], at['acc'][0], phi
                    self.call(c, k.cut[0], *beginning, at['h'], later[0]['left'])
            target = later[0]['x'] if later else c.arguments['next_x']
            self.call(c, k.finish[0], at['x'], at['h'], at['acc'][0], target)
            if later:
                with c.builder.if_else(c.any_nonzero(later[0]['left'])) as (then, otherwise):
                    with then:
                        write(place + 1)
                    with otherwise:
                        size = k.sizes.state
                        c.call(helpers['zero'], c.arguments['next_x'], size)
                        c.call(helpers['accumulate'], c.arguments['next_x'], target, size)
                        for rest in later[1:]:
                            c.call(helpers['zero'], rest['left'], 1)

        write(0)
        return c.finish()

    def backward(self, helpers):
        """
        Write `step_backward`, the adjoint of `step_forward`.

        lx: adjoint of the state after the step, overwritten by that before it; lphi and lu are
        added to; lh is set; work: scratch of `work_size` vectors.
        """
        names = ['record', 'phi', 'lx', 'lphi', 'lu', 'lh', 'work']
        c = Code(self.module, 'step_backward', names, self.width)
        a, k, s = c.arguments, self.kernels, self.kernels.sizes
        u, pieces = self._pieces(c)
        lacc = [c.vectors(a['work'], i * s.velocities) for i in range(s.stages)]
        mu = c.vectors(a['work'], s.stages * s.velocities)
        lz = c.vectors(a['work'], (s.stages + 1) * s.velocities)
        lpiece, lrest = self._lengths(c) if k.cuts else (None, a['lh'])
        if k.cuts:
            c.call(helpers['zero'], lrest, 1)

        def write(place, at):
            glue = (at['x'], at['h'], at['acc'][0])
            is_last = place == k.cuts
            lh = lrest if is_last else lpiece
            self.call(c, k.finish[1], *glue, a['lx'], a['lx'], lh, lacc[0])
            for number in reversed(range(s.stages)):
                stage = k.stages[number]
                if number == 0 and not is_last:
                    before = at['x'], at['left'], at['acc'][0], a['phi'], lpiece, lrest
                    lleft = lrest if place else a['lh']
                    self.call(c, k.cut[1], *before, a['lx'], lleft, lacc[0], a['lphi'])
                self.call(c, k.solve, at['w'][number], lacc[number], mu)
                self.call(
                    c,
                    k.residual[0],
                    at['z'][number],
                    at['acc'][number],
                    u,
                    a['phi'],
                    mu,
                    lz,
                    a['lu'],
                    a['lphi'],
                )
                if stage.back:
                    self.call(c, stage.back, *glue, lz, a['lx'], lh, lacc[0])
                else:
                    c.call(helpers['accumulate'], a['lx'], lz, c.number(s.state))

        for place, at in reversed(list(enumerate(pieces))):
            if place:
                with c.when(c.any_nonzero(at['left'])):
                    write(place, at)
            else:
                write(place, at)
        return c.finish()

    def push(self):
        """
        Write `step_push`, the tangent of `step_forward`.

        dx: tangent of the state before the step, overwritten by that after it; work: scratch of
        `work_size` vectors.
        """
        names = ['record', 'phi', 'dx', 'dphi', 'du', 'dh', 'work']
        c = Code(self.module, 'step_push', names, self.width)
        a, k, s = c.arguments, self.kernels, self.kernels.sizes
        u, pieces = self._pieces(c)
        dacc = [c.vectors(a['work'], i * s.velocities) for i in range(s.stages)]
        right = c.vectors(a['work'], s.stages * s.velocities)
        work_z = c.vectors(a['work'], (s.stages + 1) * s.velocities)
        dpiece, drest = self._lengths(c) if k.cuts else (None, None)

        def write(place, at):
            dleft = drest if place else a['dh']
            is_last = place == k.cuts
            dh = dleft if is_last else dpiece
            glue = (at['x'], at['h'], at['acc'][0], a['dx'], dh, dacc[0])
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
                    u,
                    a['phi'],
                    dz,
                    a['du'],
                    a['dphi'],
                    right,
                )
                self.call(c, k.solve, at['w'][number], right, dacc[number])
                if number == 0 and not is_last:
                    before = at['x'], at['left'], at['acc'][0], a['phi']
                    moved = a['dx'], dleft, dacc[0], a['dphi']
                    self.call(c, k.cut[2], *before, *moved, dpiece, drest)
            self.call(c, k.finish[2], *glue, a['dx'])

        for place, at in enumerate(pieces):
            if place:
                with c.when(c.any_nonzero(at['left'])):
                    write(place, at)
            else:
                write(place, at)
        return c.finish()
