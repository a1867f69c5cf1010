"""Drivers whose lanes are the samples of the batch: values, and gradients backwards in time."""


def write_rollout(w):
    """Write `rollout`: states (and outputs) after every step, the first included."""
    c, table, scratch = w.begin('rollout')
    s, k = w.sizes, w.kernels
    fix = w.splat_fixed(c, table, scratch)
    par, phi = scratch.take(s.parameters), scratch.take(s.phi)
    record, x, y = (
        scratch.take(w.steps.record.size),
        scratch.take(s.state),
        scratch.take(s.outputs),
    )

    def put_state(lane, step):
        w.put(c, table, record, table['states'], s.state, lane, step)
        if k.observe:
            w.steps.call(c, k.observe[0], record, phi, y)
            w.put(c, table, y, table['outputs'], s.outputs, lane, step)

    with c.loop(table['batch'], step=w.width) as block:
        lane = w.first_lane(c, table, block)
        w.begin_block(c, table, fix, par, phi, record, lane)
        put_state(lane, 0)
        with c.loop(table['steps']) as step:
            w.run_step(c, table, record, x, phi, lane, step)
            with c.loop(s.state) as i:
                c.store(c.load(c.vectors(x, i)), c.vectors(record, i))
            put_state(lane, c.add(step, 1))
    w.end(c, 'rollout', scratch, 0)


def write_reverse(w, with_loss):
    """
    Write `reverse` (adjoints of states and outputs given) or `cost` (they come from the loss).

    Each block runs forward keeping its records, then backward through them.
    """
    name = 'cost' if with_loss else 'reverse'
    c, table, scratch = w.begin(name)
    s, k, size = w.sizes, w.kernels, w.steps.record.size
    fix = w.splat_fixed(c, table, scratch)
    sizes = {'par': s.parameters, 'phi': s.phi, 'lx0': s.state, 'lphi': s.varied}
    sizes |= {'lu': s.controls, 'lh': 1, 'lpar': s.parameters, 'weight': 1, 'value': 1}
    sizes |= dict.fromkeys(('y', 'ly', 'target'), s.outputs)
    sizes['work'] = w.steps.work_size
    at = {key: scratch.take(size) for key, size in sizes.items()}
    records = c.vectors(table['scratch'], scratch.used)
    seed = _loss_seed if with_loss else _given_seed

    with c.loop(table['batch'], step=w.width) as block:
        lane = w.first_lane(c, table, block)
        w.begin_block(c, table, fix, at['par'], at['phi'], records, lane)
        w.run_forward(c, table, records, at['phi'], lane)
        for vectors in ('lx0', 'lphi', 'value'):
            c.call(w.helpers['zero'], at[vectors], sizes[vectors])
        with c.loop(table['steps']) as done:
            step = c.sub(c.sub(table['steps'], done), 1)
            record = c.vectors(records, c.mul(step, size))
            seed(w, c, table, at, c.vectors(record, size), lane, c.add(step, 1))
            c.call(w.helpers['zero'], at['lu'], s.controls)
            adjoints = (at[name] for name in ('lx0', 'lphi', 'lu', 'lh', 'work'))
            c.call(w.backward, record, at['phi'], *adjoints)
            _put_if_asked(w, c, table, at, 'lu', s.controls, lane, step)
            _put_if_asked(w, c, table, at, 'lh', 1, lane, step)
        if not with_loss:
            seed(w, c, table, at, records, lane, 0)
        w.steps.call(c, k.prepare[1], at['par'], fix, at['lphi'], at['lpar'])
        _put_if_asked(w, c, table, at, 'lx0', s.state, lane)
        _put_if_asked(w, c, table, at, 'lpar', s.parameters, lane)
        if with_loss:
            w.put(c, table, at['value'], table['value'], 1, lane)
    w.end(c, name, scratch, size)


def _given_seed(w, c, table, at, x, lane, step):
    """Add the caller's adjoints of the state and the outputs at an instant."""
    s = w.sizes
    with c.when(c.is_set(table['lstates'])):
        source = c.doubles(table['lstates'], c.mul(step, c.mul(s.state, table['batch'])))
        c.call(
            w.helpers['fetch'],
            at['work'],
            source,
            s.state,
            table['batch'],
            1,
            lane,
        )
        c.call(w.helpers['accumulate'], at['lx0'], at['work'], s.state)
    if w.kernels.observe:
        with c.when(c.is_set(table['loutputs'])):
            source = c.doubles(table['loutputs'], c.mul(step, c.mul(s.outputs, table['batch'])))
            c.call(
                w.helpers['fetch'],
                at['ly'],
                source,
                s.outputs,
                table['batch'],
                1,
                lane,
            )
            w.steps.call(c, w.kernels.observe[1], x, at['phi'], at['ly'], at['lx0'], at['lphi'])


def _loss_seed(w, c, table, at, x, lane, step):
    """Add the loss of an instant and its adjoint; targets count from the first step's end."""
    s, k, row = w.sizes, w.kernels, c.sub(step, 1)
    w.fetch(c, table, 'target', at['target'], s.outputs, lane, row)
    w.fetch(c, table, 'weight', at['weight'], 1, lane, row)
    w.steps.call(c, k.observe[0], x, at['phi'], at['y'])
    w.steps.call(c, k.loss, at['y'], at['target'], at['weight'], at['value'], at['ly'])
    w.steps.call(c, k.observe[1], x, at['phi'], at['ly'], at['lx0'], at['lphi'])


def _put_if_asked(w, c, table, at, name, rows, lane, step=None):
    """Write vectors to a caller's array unless its address is null."""
    if rows:
        with c.when(c.is_set(table[name])):
            w.put(c, table, at[name], table[name], rows, lane, step)
