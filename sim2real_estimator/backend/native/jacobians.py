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
    c, table, scratch = w.begin('jacobian')
    s, k, size = w.sizes, w.kernels, w.steps.record.size
    fix = w.splat_fixed(c, table, scratch)
    take = scratch.take
    par, phi, par_one, phi_one = (take(s.parameters), take(s.phi), take(s.parameters), take(s.phi))
    at = {
        'lx': take(s.state),
        'lphi': take(s.varied),
        'lpar': take(s.parameters),
        'lu': take(s.controls),
        'lh': take(1),
        'work': take((s.stages + 1) * s.velocities + s.state),
        'y': take(s.outputs),
    }
    records = c.vectors(table['scratch'], scratch.used)
    one = c.vectors(records, c.mul(c.add(table['steps'], 1), size))
    groups = -(-s.state // w.width)
    rows = groups * w.width
    columns = c.add(s.state + s.parameters, c.mul(table['steps'], 1 + s.controls))

    with _samples(w, c, table, fix, par, phi, at['y'], records) as (sample, lane):
        _spread(w, c, table, (par, par_one), (phi, phi_one), (records, one), lane)
        matrix = c.doubles(table['jacobian'], c.mul(sample, c.mul(columns, rows)))
        with c.loop(groups) as group:
            target = c.doubles(matrix, c.mul(group, w.width))

            def put(vectors, count, first, target=target):
                c.call(
                    w.helpers['put'],
                    vectors,
                    c.doubles(target, c.mul(first, rows)),
                    c.number(count),
                    c.number(rows),
                    c.number(0),
                )

            _seed_rows(w, c, at['lx'], group)
            c.call(w.helpers['zero'], at['lphi'], c.number(s.varied))
            with c.loop(table['steps']) as done:
                step = c.sub(c.sub(table['steps'], done), 1)
                c.call(w.helpers['zero'], at['lu'], c.number(s.controls))
                c.call(
                    w.backward,
                    c.vectors(one, c.mul(step, size)),
                    phi_one,
                    at['lx'],
                    at['lphi'],
                    at['lu'],
                    at['lh'],
                    at['work'],
                )
                put(at['lh'], 1, c.add(s.state + s.parameters, step))
                put(
                    at['lu'],
                    s.controls,
                    c.add(c.add(s.state + s.parameters, table['steps']), c.mul(step, s.controls)),
                )
            w.steps.call(c, k.prepare[1], par_one, fix, at['lphi'], at['lpar'])
            put(at['lx'], s.state, c.number(0))
            put(at['lpar'], s.parameters, c.number(s.state))
    w.end(c, 'jacobian', scratch, 2 * size)


def write_tangent(w):
    """
    Write `tangent`: derivatives of every state and output along chosen columns.

    dstates, doutputs: [sample][instant][entry][column, padded to whole vectors].
    """
    c, table, scratch = w.begin('tangent')
    s, k, size = w.sizes, w.kernels, w.steps.record.size
    fix = w.splat_fixed(c, table, scratch)
    take = scratch.take
    par, phi, par_one, phi_one = (take(s.parameters), take(s.phi), take(s.parameters), take(s.phi))
    at = {
        'dx': take(s.state),
        'dphi': take(s.varied),
        'dpar': take(s.parameters),
        'du': take(s.controls),
        'dh': take(1),
        'dy': take(s.outputs),
        'work': take((s.stages + 1) * s.velocities + s.state),
        'y': take(s.outputs),
    }
    records = c.vectors(table['scratch'], scratch.used)
    one = c.vectors(records, c.mul(c.add(table['steps'], 1), size))
    width = table['n_columns']

    with _samples(w, c, table, fix, par, phi, at['y'], records) as (sample, lane):
        _spread(w, c, table, (par, par_one), (phi, phi_one), (records, one), lane)
        with c.loop(width, step=w.width) as first:
            numbers = c.builder.load(
                c.doubles(table['columns'], first), align=8, typ=ir.VectorType(INT, w.width)
            )

            def seed(vectors, count, start, numbers=numbers):
                _seed_columns(w, c, vectors, count, start, numbers)

            def put(vectors, name, entries, instant, first=first):
                place = c.add(c.mul(sample, c.add(table['steps'], 1)), instant)
                target = c.doubles(table[name], c.mul(c.mul(place, entries), width))
                c.call(w.helpers['put'], vectors, target, c.number(entries), width, first)

            def put_instant(instant):
                put(at['dx'], 'dstates', s.state, instant)
                if k.observe:
                    x = c.vectors(one, c.mul(instant, size))
                    w.steps.call(c, k.observe[2], x, phi_one, at['dx'], at['dphi'], at['dy'])
                    put(at['dy'], 'doutputs', s.outputs, instant)

            seed(at['dx'], s.state, c.number(0))
            seed(at['dpar'], s.parameters, c.number(s.state))
            w.steps.call(c, k.prepare[2], par_one, fix, at['dpar'], at['dphi'])
            put_instant(c.number(0))
            with c.loop(table['steps']) as step:
                seed(at['dh'], 1, c.add(s.state + s.parameters, step))
                seed(
                    at['du'],
                    s.controls,
                    c.add(c.add(s.state + s.parameters, table['steps']), c.mul(step, s.controls)),
                )
                c.call(
                    w.push,
                    c.vectors(one, c.mul(step, size)),
                    phi_one,
                    at['dx'],
                    at['dphi'],
                    at['du'],
                    at['dh'],
                    at['work'],
                )
                put_instant(c.add(step, 1))
    w.end(c, 'tangent', scratch, 2 * size)


@contextmanager
def _samples(w, c, table, fix, par, phi, y, records):
    """Run the rollout block by block, then the body once for every sample of the block."""
    with c.loop(table['batch'], step=w.width) as block:
        first = w.first_lane(c, table, block)
        w.begin_block(c, table, fix, par, phi, records, first)
        w.run_forward(c, table, records, phi, first)
        _put_states(w, c, table, records, phi, y, first)
        # Lanes that an earlier block has done, or that are padding, need no Jacobian.
        end = c.minimum(w.width, c.sub(table['samples'], first))
        with c.loop(end, start=c.sub(block, first)) as lane:
            yield c.add(first, lane), lane


def _put_states(w, c, table, records, phi, y, lane):
    """Write the states, and the outputs if the driver has any, of all instants."""
    s, size = w.sizes, w.steps.record.size
    with c.loop(c.add(table['steps'], 1)) as instant:
        x = c.vectors(records, c.mul(instant, size))
        w.put(c, table, x, table['states'], s.state, lane, instant)
        if w.kernels.observe and 'outputs' in table:
            w.steps.call(c, w.kernels.observe[0], x, phi, y)
            w.put(c, table, y, table['outputs'], s.outputs, lane, instant)


def _spread(w, c, table, par, phi, records, lane):
    """Spread one lane of parameters, phi and records over all lanes."""
    s = w.sizes
    rows = c.mul(c.add(table['steps'], 1), w.steps.record.size)
    for (source, target), count in (
        (par, c.number(s.parameters)),
        (phi, c.number(s.phi)),
        (records, rows),
    ):
        c.call(w.helpers['splat_lane'], target, source, count, lane)


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


def _seed_columns(w, c, vectors, count, start, numbers):
    """Give every lane the unit tangent of its column, where that lies in these vectors."""
    with c.loop(count) as row:
        _seed_where(w, c, vectors, row, start, numbers)
