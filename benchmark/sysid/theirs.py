"""What `mujoco.sysid` makes of a recording, used as its notebook recommends."""

from dataclasses import replace
from functools import partial
import io
import logging
import time

import mujoco
from mujoco import sysid
import numpy as np

from . import pendulum
from .cases import Outcome

# What is searched, since it asks for bounds: [m], [N m s], [s], and of the first state [rad],
# [rad/s] about the true one.
_LENGTHS, _DAMPINGS, _DELAYS = (0.08, 0.55), (5e-4, 8e-3), (-0.03, 0.03)
_TURN, _RATE = 0.5, 5.0
_LEVELS = (0.9, 0.95)


def estimate(case, recording, starts):
    """
    Return the `Outcome` of a `Case`.

    starts [3]: of the lengths [m]. The true state at the beginning is given, as it has to be.
    """
    logging.getLogger('absl').setLevel(logging.ERROR)
    begin = time.process_time()
    spec = mujoco.MjSpec.from_string(pendulum.mjcf(starts, damping=case.damping))
    parameters = _parameters(case, starts)
    residual = sysid.build_residual_fn(
        models_sequences=[_sequence(spec, recording)], **_choices(case, parameters)
    )
    found, result = sysid.optimize(
        initial_params=parameters,
        residual_fn=residual,
        optimizer='mujoco',
        verbose=False,
        output=io.StringIO(),
    )
    left = residual(result.x, found)[0]
    widths = [sysid.calculate_intervals(left, result.jac, alpha=1 - at)[1] for at in _LEVELS]
    used = time.process_time() - begin
    count = len(case.truth)
    error = result.x[:count] - case.truth
    inside = [np.abs(error) <= width[:count] for width in widths]
    return Outcome(error, widths[1][:count], *inside, used)


def _parameters(case, starts):
    """Return what is free, each with a function that writes it into the model."""
    found = sysid.ParameterDict()

    def add(name, *values, write=None):
        found.add(sysid.Parameter(name, *values, modifier=write))

    for k, start in enumerate(starts):
        add(f'length{k}', start, *_LENGTHS, write=partial(_write_length, k))
    for k in range(3 * case.frees_damping):
        add(f'damping{k}', case.damping, *_DAMPINGS, write=partial(_write_damping, k))
    if case.frees_delay:
        add('delay', 0.0, *_DELAYS)
    if case.frees_state:
        add('turns', np.zeros(9), np.full(9, -_TURN), np.full(9, _TURN))
        add('rates', np.zeros(9), np.full(9, -_RATE), np.full(9, _RATE))
    return found


def _write_length(k, spec, parameter):
    spec.body(pendulum.RODS[k]).ipos = [0, 0, -parameter.value[0]]
    if k + 1 < len(pendulum.RODS):
        spec.body(pendulum.RODS[k + 1]).pos = [0, 0, -parameter.value[0]]


def _write_damping(k, spec, parameter):
    # A polynomial in MuJoCo 4; its first coefficient is the viscous one.
    spec.joint(pendulum.JOINTS[k]).damping[0] = parameter.value[0]


def _sequence(spec, recording):
    """Return the recording as `ModelSequences`, with the state at its beginning."""
    model = spec.compile()
    state = sysid.create_initial_state(model, recording.positions, recording.velocities)
    times = recording.times
    control = sysid.TimeSeries(times, np.zeros((len(times), 0)))
    # Its rollouts stamp what a sensor sees at the beginning of a step with the end of the step.
    stamps = times + pendulum.STEP
    measured = sysid.TimeSeries.from_names(stamps, recording.quaternions, model)
    return sysid.ModelSequences('pendulum', spec, 'swing', state, control, measured)


def _choices(case, parameters):
    """Return the settings of the residual where delays or the first state are searched."""
    found = {}
    if case.frees_delay:
        transform = sysid.SignalTransform()
        for camera in case.late:
            for k in case.clocks[camera]:
                transform.delay(pendulum.JOINTS[k], parameters['delay'])
        found['modify_residual'] = partial(_transformed, transform)
    if case.frees_state:
        found['custom_rollout'] = _roll_from_parameters
    return found


def _transformed(transform, *given, **others):
    """Apply a transform; of sensors wider than one number it would not see that they match."""
    left, predicted, measured = transform.apply(*given, **others)
    return left, replace(predicted, signal_mapping=measured.signal_mapping), measured


def _roll_from_parameters(models, initial_states, param_dicts, **others):
    """Roll out from states that are parameters; the tool has nothing for that itself."""
    moved = [_moved(*given) for given in zip(models, initial_states, param_dicts)]
    return sysid.sysid_rollout(models=models, initial_states=moved, **others)


def _moved(model, state, parameters):
    state = state.copy()
    # Time, positions, velocities.
    positions, velocities = state[1 : 1 + model.nq], state[1 + model.nq :]
    mujoco.mj_integratePos(model, positions, parameters['turns'].value, 1.0)
    velocities += parameters['rates'].value
    return state
