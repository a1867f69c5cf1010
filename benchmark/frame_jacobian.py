"""
The derivatives of one RK4 step of a real arm: this package beside Pinocchio in C++.

Ours are by the state, 98 parameters, the duration and the controls, of the whole step.
"""

from arm import draw, load_arm, make_simulator, STEP
import numpy as np
from peers.pinocchio_arm import PinocchioArm
from peers.timing import conditions, measure, Row
import pinocchio as pin
import pinocchio_model
from report import print_notes, print_table, Target
import torch

from sim2real_estimator.backend.native.calls import Call, empty
from sim2real_estimator.model.parameters import FRICTION_VELOCITY

COUNTS = (1, 4, 16)
JACOBIAN = 'ours, jacobian'
# Name of a row: what one call of it gives, for every sample.
CONTENTS = {
    JACOBIAN: 'J of the whole step, through torch',
    'ours, jacobian, bare call': 'the same J in memory, without torch',
    'ours, step alone': 'next state, `rollout` through torch',
    'ours, step alone, bare call': 'next state in memory, without torch',
    'Pinocchio, step alone': 'next state, 4 x aba',
    'Pinocchio, derivatives of stages': 'next state, 4 x (computeABADerivatives + torque '
    'regressor): by q, v, effort and the inertias; no friction, armature, offset, duration; '
    'no chain rule over the stages',
    'Pinocchio, differences': 'J as ours, by forward differences of 4 x aba, 121 steps',
}
# Errors are relative to the largest entry of a column of J; columns below this count as this.
_SMALLEST = 1e-3
_TOLERANCE = 1e-6
_LOOSE = 1e-3
# Calls that are timed together.
_REPEAT = 10


def run(name, arguments):
    """Print the table, and return targets that fail if a row is wrong."""
    simulator, columns, notes, targets = make_simulator(), [], [], []
    for count in COUNTS:
        rows, wrong, about = _checked_rows(simulator, count)
        disturbed = measure(rows, 1, arguments.seconds, arguments.tries, _REPEAT)
        columns.append({row.name: row for row in rows})
        notes += [f'K={count}: {note}' for note in about + disturbed]
        targets.append(Target(f'{name} K={count} wrong rows', wrong, 0, ''))
    _print(columns, notes)
    return targets


def _print(columns, notes):
    """Print the median times of all rows [us] and what the rows contain."""
    cells = []
    for name in CONTENTS:
        rows = [column.get(name) for column in columns]
        errors = [row.error for row in rows if row]
        times = [f'{row.median * 1e6:.1f}' if row else '-' for row in rows]
        cells.append([name, *times, f'{max(errors):.0e}' if errors else '-'])
    print(f'7 joints, RK4, float64; median us per call for K samples; {conditions(1)}\n')
    print_table(['one step', *(f'K={count}' for count in COUNTS), 'error'], cells)
    for name, contents in CONTENTS.items():
        print(f'- {name}: {contents}')
    print()
    print_notes(notes)


def _checked_rows(simulator, count):
    """Return (rows that may be timed, number of others, notes); J against differences."""
    state, parameters, controls = draw(simulator, count)
    functions = _our_functions(simulator, state, parameters, controls)
    try:
        theirs, step, jacobian = _their_functions(state, parameters, controls)
        functions |= theirs
        notes = []
    except RuntimeError as error:
        notes = [f'Pinocchio: not run, {error}; our J is checked by differences of our own step']
        step = functions['ours, step alone']()
        jacobian = _own_differences(simulator, state, parameters, controls)
    rows = []
    for name, function in functions.items():
        found = function()
        wanted = step if found.ndim == 2 else jacobian
        scale = np.abs(wanted).max((0, 1) if wanted.ndim == 3 else None)
        error = (np.abs(found - wanted) / np.maximum(scale, _SMALLEST)).max()
        if error < (_LOOSE if 'differences' in name else _TOLERANCE):
            rows.append(Row(name, function, error))
        else:
            notes.append(f'{name}: WRONG by {error:.0e}, not timed')
    return rows, len(functions) - len(rows), notes


def _our_functions(simulator, state, parameters, controls):
    """Return name -> function () -> states [K, 14] or J [K, 14, columns]."""
    durations = torch.full((1, 1), STEP, dtype=torch.float64)
    given = state, durations, parameters, controls
    inputs, _ = simulator._prepare(*given, None)
    backend = simulator._backend
    program, call = backend.any_program(), Call(backend, inputs)
    states = empty(2, len(state), call.batch)
    height = -(-len(state) // program.width) * program.width
    columns = len(state) + len(parameters) + 1 + controls.shape[1]
    matrix = empty(inputs.batch, columns, height)

    def jacobian():
        found = simulator.jacobian(*given)
        parts = found.by_state, found.by_parameters, found.by_durations, found.by_controls[:, :, 0]
        return torch.cat(parts, -1).numpy()

    def bare_jacobian():
        program.call('jacobian', **call.table, states=states, jacobian=matrix)
        return matrix.numpy().transpose(0, 2, 1)[:, : len(state)]

    def bare_step():
        program.call('rollout', **call.table, states=states, outputs=None)
        return states[1, :, : inputs.batch].T.numpy()

    return dict(
        zip(
            CONTENTS,
            (
                jacobian,
                bare_jacobian,
                lambda: simulator.rollout(*given).states[1].T.numpy(),
                bare_step,
            ),
        )
    )


def _their_functions(state, parameters, controls):
    """Return (name -> function as above, the step [K, 14], J by central differences)."""
    arm = pinocchio_arm(load_arm())
    arm.set(parameters[:, 0].reshape(arm.count, -1).numpy())
    state, controls = (np.ascontiguousarray(a.numpy().T) for a in (state, controls[0]))
    given = state, controls, STEP
    functions = arm.step(*given), arm.derivatives(*given), arm.differences(*given)
    jacobian = arm.differences(*given, central=True)()
    return dict(zip(list(CONTENTS)[4:], functions)), functions[0]().copy(), jacobian


def pinocchio_arm(model):
    """Return the `PinocchioArm` of a serial arm on hinges."""
    whole = pinocchio_model.convert(model)
    joints = [moving.joint for moving in model.moving_joints]
    placements = [
        [*place.rotation.ravel(), *place.translation] for place in list(whole.jointPlacements)[1:]
    ]
    rest = []
    for joint, inertia in zip(joints, list(whole.inertias)[1:]):
        own = model.link(joint.child).inertial
        xx, yy, zz, xy, xz, yz = own.inertia
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        link = pin.Inertia(own.mass, np.array(own.centre), moments)
        rest.append(inertia.toDynamicParameters() - link.toDynamicParameters())
    return PinocchioArm(placements, [tuple(j.kind.axis) for j in joints], rest, FRICTION_VELOCITY)


def _own_differences(simulator, state, parameters, controls, width=1e-6):
    """Return J [K, 14, columns] by central differences of our own rollout."""
    duration = torch.full((1, state.shape[1]), STEP, dtype=torch.float64)
    inputs, columns = [state, parameters, duration, controls[0]], []
    for number, tensor in enumerate(inputs):
        for row in range(len(tensor)):
            ends = []
            for by in (width, -width):
                moved = [t.clone() for t in inputs]
                moved[number][row] += by
                x, p, h, u = moved
                ends.append(simulator.rollout(x, h, p, u[None]).states[1])
            columns.append((ends[0] - ends[1]) / (2 * width))
    return torch.stack(columns, -1).transpose(0, 1).numpy()
