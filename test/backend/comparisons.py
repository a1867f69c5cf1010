"""Derivatives by central differences, and how far two sets of results are apart."""

import torch

# What two ways of computing the same may differ by.
CLOSE = {'rtol': 1e-10, 'atol': 1e-12}
_STEPS = (-2.0, -1.0, 1.0, 2.0)
# Central differences of steps h and 2 h, combined so that the error is of fourth order.
_COMBINATION = torch.tensor([1.0, -8.0, 8.0, -1.0], dtype=torch.float64) / 12.0
_RELATIVE_STEP = 1e-3


class Differences:
    """
    The rollouts next to given ones, all in one batch: every input moved by itself.

    Columns as in `backend.native.jacobians`: state, parameters, durations, controls.
    """

    def __init__(self, simulator, inputs):
        """Run a simulator (the eager one is meant) at four places along every column."""
        flat = inputs.flat()
        self.columns, self.batch = flat.shape
        self.steps = _RELATIVE_STEP * natural_scale(inputs)
        units = torch.eye(self.columns, dtype=torch.float64)
        moves = units[:, None, :, None] * torch.tensor(_STEPS, dtype=torch.float64)
        lanes = flat[:, :, None, None] + self.steps[:, :, None, None] * moves
        wide = inputs.unflat(lanes.reshape(self.columns, -1))
        with torch.no_grad():
            trajectory = simulator.rollout(*wide.arguments())
        self._states, self._outputs = trajectory.states, trajectory.outputs
        self._wide = wide

    def of(self, function):
        """
        Return derivatives [B, columns, *shape].

        function: of states [H + 1, nx, lanes], outputs and wide `Inputs` to [*shape, lanes].
        """
        values = function(self._states, self._outputs, self._wide)
        values = values.reshape(*values.shape[:-1], self.batch, self.columns, len(_STEPS))
        slopes = (values @ _COMBINATION) / self.steps.T
        return slopes.movedim((-2, -1), (0, 1))


def natural_scale(inputs):
    """Return by how much every column can be moved [columns, B]: its size, 1 for states."""
    size = inputs.flat().abs()
    nx = len(inputs.state)
    size[:nx] = 1.0
    size[nx + len(inputs.parameters) + len(inputs.durations) :] = 1.0
    return size


def error(found, expected, least=0.0):
    """
    Return the largest error, relative to the larger of the entry and 1e-3 of the largest entry.

    The largest entry counts as `least` at least. A NaN counts as infinite, and so does anything
    found where zero is expected everywhere.
    """
    assert found.shape == expected.shape
    if not expected.numel():
        return 0.0
    size = expected.abs()
    scale = torch.maximum(size, 1e-3 * size.max().clamp(min=least)).clamp(min=1e-300)
    return float(((found - expected).abs() / scale).nan_to_num(nan=torch.inf).max())


def errors(simulator, inputs, found, expected):
    """
    Return group of columns -> `error` of derivatives [B, columns, ...]; last columns may lack.

    In natural units, so that 1e-3 of the largest change of all serves as the largest entry of a
    group that does nothing here, such as the inertia of a body that cannot turn.
    """
    count = found.shape[1]
    scale = natural_scale(inputs)[:count].T.reshape(-1, count, *[1] * (found.dim() - 2))
    found, expected = found * scale, expected * scale
    least = 1e-3 * float(expected.abs().max())
    groups = column_groups(simulator, inputs)
    return {
        name: error(found[:, columns], expected[:, columns], least)
        for name, columns in groups.items()
        if columns and columns[-1] < count
    }


def column_groups(simulator, inputs):
    """Return group name -> numbers of the columns: parameters by kind, the others as a whole."""
    counts = [len(inputs.state), len(inputs.parameters), len(inputs.durations)]
    ends = torch.tensor(counts).cumsum(0).tolist()
    groups = {'state': list(range(ends[0]))}
    for column, name in enumerate(simulator.names, ends[0]):
        groups.setdefault(kind_of(name), []).append(column)
    groups['durations'] = list(range(ends[1], ends[2]))
    groups['controls'] = list(range(ends[2], len(inputs.flat())))
    return groups


def kind_of(name):
    """Return what a parameter is, without whose and along which axis: 'mass', 'com', ..."""
    if name == 'world.gravity':
        return name
    kind, _, entry = name.partition('.')[2].partition('.')
    return f'{kind} off the diagonal' if len(set(entry)) == 2 else kind


def everything(simulator, inputs):
    """Return what every call of a simulator gives, by name; the batch is last."""
    arguments = inputs.arguments()
    trajectory = simulator.rollout(*arguments)
    targets = torch.full((len(inputs.durations), trajectory.outputs.shape[1], 1), 0.3)
    jacobian = simulator.jacobian(*arguments)
    sensitivities = simulator.sensitivities(*arguments)
    return {
        'states': trajectory.states,
        'outputs': trajectory.outputs,
        'loss': simulator.loss(*arguments[:2], targets, *arguments[2:]),
        'last': jacobian.state,
        **{f'by_{n}': getattr(jacobian, f'by_{n}').movedim(0, -1) for n in ('state', 'controls')},
        'by_parameters': jacobian.by_parameters.movedim(0, -1),
        'by_durations': jacobian.by_durations.movedim(0, -1),
        'd_states': sensitivities.d_states.movedim(0, -1),
        'd_outputs': sensitivities.d_outputs.movedim(0, -1),
    }


def assert_close(found, expected):
    """Compare what `everything` returned."""
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, **CLOSE, msg=lambda m, n=name: f'{n}: {m}')
