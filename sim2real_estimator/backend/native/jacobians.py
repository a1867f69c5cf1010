"""
Drivers whose lanes are directions: whole Jacobians.

The rollout itself runs once with the samples as lanes. Then, sample by sample, what its steps
kept is spread over all lanes, and each lane carries another direction: a row of the Jacobian
backwards in time (few rows), or a column forwards (few columns, every instant).

Columns are numbered: initial state, estimated parameters, durations of the steps, controls.
"""

from contextlib import contextmanager

from llvmlite import ir

from .loops import DOUBLE, INT


def write_jacobian(w):
    """Write `jacobian`: last state and its derivatives, as [sample][column][row, padded]."""
    s, k = w.sizes, w.kernels
    sizes = {'lx': s.state, 'lphi': s.varied, 'lpar': s.parameters, 'lu': s.controls, 'lh': 1}
    d = _Directions(w, 'jacobian', sizes)
    c, table, at = d.code, d.table, d.vectors
    groups = -(-s.state // w.width)
    rows = groups * w.width
    columns = c.add(s.state + s.parameters, c.mul(table['steps'], 1 + s.controls))
    with d.samples() as sample, c.loop(groups) as group:
        matrix = c.doubles(table['jacobian'], c.mul(sample, c.mul(columns, rows)))
        target = c.doubles(matrix, c.mul(group, w.width))

        def put(name, first):
            place = c.doubles(target, c.mul(first, rows))
            c.call(w.helpers['put'], at[name], place, sizes[name], rows, 0)

        _seed_rows(w, c, at['lx'], group)
        c.call(w.helpers['zero'], at['lphi'], s.varied)
        with c.loop(table['steps']) as done:
            step = c.sub(c.sub(table['steps'], done), 1)
            c.call(w.helpers['zero'], at['lu'], s.controls)
            adjoints = (at[name] for name in ('lx', 'lphi', 'lu', 'lh', 'work'))
            c.call(w.backward, d.record(step), d.phi, *adjoints)
            put('lh', d.duration_column(step))
            put('lu', d.control_column(step))
        w.steps.call(c, k.prepare[1], d.par, d.fix, at['lphi'], at['lpar'])
        put('lx', c.number(0))
        put('lpar', c.number(s.state))
    d.end()


def write_tangent(w):
    """
    Write `tangent`: derivatives of every state and output along chosen columns.

    dstates, doutputs: [sample][instant][entry][column, padded to whole vectors].
    """
    _write_forwards(w, 'tangent', _Numbered)


def write_directions(w):
    """
    Write `directions`: the same along any directions, whose seeds are given.

    seed_x0, seed_par: [sample][entry][column]; seed_h, seed_u: [step][entry][column], the same
    for all samples.
    """
    _write_forwards(w, 'directions', _Given)


def _write_forwards(w, name, seeds):
    """Write a driver whose lanes are columns that go forwards in time."""
    s, k = w.sizes, w.kernels
    sizes = {'dx': s.state, 'dphi': s.varied, 'dpar': s.parameters, 'du': s.controls, 'dh': 1}
    sizes['dy'] = s.outputs
    d = _Directions(w, name, sizes)
    c, table, at = d.code, d.table, d.vectors
    width = table['n_columns']
    with d.samples() as sample, c.loop(width, step=w.width) as first:
        seed = seeds(d, sizes, sample, first)

        def put(name, entries, instant, source):
            place = c.add(c.mul(sample, c.add(table['steps'], 1)), instant)
            target = c.doubles(table[name], c.mul(c.mul(place, entries), width))
            c.call(w.helpers['put'], source, target, entries, width, first)

        def put_instant(instant):
            put('dstates', s.state, instant, at['dx'])
            if k.observe:
                tangents = (at[name] for name in ('dx', 'dphi', 'dy'))
                w.steps.call(c, k.observe[2], d.record(instant), d.phi, *tangents)
                put('doutputs', s.outputs, instant, at['dy'])

        seed.begin()
        w.steps.call(c, k.prepare[2], d.par, d.fix, at['dpar'], at['dphi'])
        put_instant(c.number(0))
        with c.loop(table['steps']) as step:
            seed.go_on(step)
            tangents = (at[name] for name in ('dx', 'dphi', 'du', 'dh', 'work'))
            c.call(w.push, d.record(step), d.phi, *tangents)
            put_instant(c.add(step, 1))
    d.end()


class _Numbered:
    """Seeds of columns by their numbers, each of them one entry of the inputs."""

    def __init__(self, directions, sizes, sample, first):
        """Read the numbers of the columns of a vector, from the first on."""
        self._d, self._sizes, c = directions, sizes, directions.code
        place = c.doubles(directions.table['columns'], first)
        vector = ir.VectorType(INT, directions.writer.width)
        self._numbers = c.builder.load(place, align=8, typ=vector)

    def begin(self):
        """Seed initial state and parameters."""
        self._seed('dx', self._d.code.number(0))
        self._seed('dpar', self._d.code.number(self._d.writer.sizes.state))

    def go_on(self, step):
        """Seed the duration and the controls of a step."""
        self._seed('dh', self._d.duration_column(step))
        self._seed('du', self._d.control_column(step))

    def _seed(self, name, start):
        d = self._d
        with d.code.loop(self._sizes[name]) as row:
            _seed_where(d.writer, d.code, d.vectors[name], row, start, self._numbers)


class _Given:
    """Seeds that the caller has written."""

    def __init__(self, directions, sizes, sample, first):
        """Take the `_Directions`, and which columns of which sample are asked for."""
        self._d, self._sizes = directions, sizes
        self._sample, self._first = sample, first

    def begin(self):
        """Read those of initial state and parameters."""
        self._read('dx', 'seed_x0', self._sample)
        self._read('dpar', 'seed_par', self._sample)

    def go_on(self, step):
        """Read those of the duration and the controls of a step."""
        self._read('dh', 'seed_h', step)
        self._read('du', 'seed_u', step)

    def _read(self, name, source, number):
        """Read the block of that number."""
        d, rows = self._d, self._sizes[name]
        c, width = d.code, d.table['n_columns']
        block = c.doubles(d.table[source], c.mul(c.mul(number, rows), width))
        fetch = d.writer.helpers['fetch']
        c.call(fetch, d.vectors[name], block, rows, width, 1, self._first)


class _Directions:
    """
    What both drivers share: rollouts of the samples, then one sample in all lanes at a time.

    par, phi, fix: parameters, phi and fixed values of that sample; vectors: the driver's own
    scratch by name, and `work` for the steps.
    """

    def __init__(self, w, name, sizes):
        """Begin a driver with scratch of the given sizes, in vectors."""
        self.writer, self.name, s = w, name, w.sizes
        self.code, self.table, self._scratch = w.begin(name)
        take = self._scratch.take
        self.fix = w.splat_fixed(self.code, self.table, self._scratch)
        self._batch_par, self._batch_phi = take(s.parameters), take(s.phi)
        self.par, self.phi = take(s.parameters), take(s.phi)
        self._outputs = take(s.outputs)
        self.vectors = {key: take(size) for key, size in sizes.items()}
        self.vectors['work'] = take(w.steps.work_size)
        c, size = self.code, w.steps.record.size
        self._batch_records = c.vectors(self.table['scratch'], self._scratch.used)
        self._count = c.mul(c.add(self.table['steps'], 1), size)
        self._records = c.vectors(self._batch_records, self._count)

    def record(self, step):
        """Return the record of a step of the sample in all lanes."""
        return self.code.vectors(self._records, self.code.mul(step, self.writer.steps.record.size))

    def duration_column(self, step):
        """Return the number of the column of a step's duration."""
        s = self.writer.sizes
        return self.code.add(s.state + s.parameters, step)

    def control_column(self, step):
        """Return the number of the first column of a step's controls."""
        c, s = self.code, self.writer.sizes
        return c.add(self.duration_column(self.table['steps']), c.mul(step, s.controls))

    @contextmanager
    def samples(self):
        """Run the rollouts block by block, then the body once for every sample of a block."""
        w, c, table = self.writer, self.code, self.table
        with c.loop(table['batch'], step=w.width) as block:
            first = w.first_lane(c, table, block)
            records, phi = self._batch_records, self._batch_phi
            w.begin_block(c, table, self.fix, self._batch_par, phi, records, first)
            w.run_forward(c, table, records, phi, first)
            _put_states(w, c, table, records, phi, self._outputs, first)
            # Lanes that an earlier block has done, or that are padding, need no Jacobian.
            end = c.minimum(w.width, c.sub(table['samples'], first))
            with c.loop(end, start=c.sub(block, first)) as lane:
                self._spread(lane)
                yield c.add(first, lane)

    def _spread(self, lane):
        """Spread one lane of parameters, phi and records over all lanes."""
        s, c = self.writer.sizes, self.code
        for source, target, count in (
            (self._batch_par, self.par, s.parameters),
            (self._batch_phi, self.phi, s.phi),
            (self._batch_records, self._records, self._count),
        ):
            c.call(self.writer.helpers['splat_lane'], target, source, count, lane)

    def end(self):
        """Close the driver."""
        self.writer.end(self.code, self.name, self._scratch, 2 * self.writer.steps.record.size)


def _put_states(w, c, table, records, phi, y, lane):
    """Write the states, and the outputs if the driver has any, of all instants."""
    s, size = w.sizes, w.steps.record.size
    with c.loop(c.add(table['steps'], 1)) as instant:
        x = c.vectors(records, c.mul(instant, size))
        w.put(c, table, x, table['states'], s.state, lane, instant)
        if w.kernels.observe and 'outputs' in table:
            w.steps.call(c, w.kernels.observe[0], x, phi, y)
            w.put(c, table, y, table['outputs'], s.outputs, lane, instant)


def _lane_numbers(w):
    return ir.Constant(ir.VectorType(INT, w.width), list(range(w.width)))


def _splat_int(w, c, value):
    empty = ir.Constant(ir.VectorType(INT, w.width), ir.Undefined)
    first = c.builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), w.width), [0] * w.width)
    return c.builder.shuffle_vector(first, empty, mask)


def _seed_where(w, c, vectors, row, start, numbers):
    """Store 1 in the lanes whose number equals start + row, 0 in the others."""
    wanted = _splat_int(w, c, c.add(start, row))
    mask = c.builder.icmp_signed('==', numbers, wanted)
    vector = ir.VectorType(DOUBLE, w.width)
    ones, zeros = (ir.Constant(vector, [v] * w.width) for v in (1.0, 0.0))
    c.store(c.builder.select(mask, ones, zeros), c.vectors(vectors, row))


def _seed_rows(w, c, lx, group):
    """Give lane j of a group the unit adjoint of state entry group * width + j."""
    first = c.mul(group, w.width)
    numbers = c.builder.add(_splat_int(w, c, first), _lane_numbers(w))
    with c.loop(w.sizes.state) as row:
        _seed_where(w, c, lx, row, c.number(0), numbers)
