"""What `mujoco.sysid` makes of a recording, used as its notebook recommends."""

from dataclasses import replace
from functools import partial
import io
import logging
import time

import mujoco
from mujoco import sysid
import numpy as np

from .cases import Outcome

# What is searched, since it asks for bounds: delays [s], and the first state [rad], [rad/s] about
# the true one.
_DELAYS = (-0.03, 0.03)
_TURN, _RATE = 0.5, 5.0
_LEVELS = (0.9, 0.95)


def estimate(case, recording, starts):
    """
    Return the `Outcome` of a `Case`.

    starts: of the first unknowns, or None. The true state at the beginning is given: where it is
    unknown, as the middle of where it is searched.
    """
    logging.getLogger('absl').setLevel(logging.ERROR)
    begin = time.process_time()
    parameters = _parameters(case, starts, len(recording.velocities))
    residual = sysid.build_residual_fn(
        models_sequences=[_sequence(case, recording)], **_choices(case, parameters)
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


def _parameters(case, starts, size):
    """Return what is free, each with a function that writes it into the model; size: nv."""
    found = sysid.ParameterDict()

    def add(name, *values, write=None):
        found.add(sysid.Parameter(name, *values, modifier=write))

    for unknown in case.unknowns(starts):
        bounds = unknown.low, unknown.high
        add(unknown.name, unknown.begin, *bounds, write=partial(_write, unknown))
    if case.frees_delay:
        add('delay', 0.0, *_DELAYS)
    if case.frees_state:
        for name, most in (('turns', _TURN), ('rates', _RATE)):
            add(name, np.zeros(size), np.full(size, -most), np.full(size, most))
    return found


def _write(unknown, spec, parameter):
    unknown.write(spec, parameter.value[0])


def _sequence(case, recording):
    """Return the recording as `ModelSequences`, with the state at its beginning."""
    spec = case.robot.spec(case.damping)
    model = spec.compile()
    state = sysid.create_initial_state(model, recording.positions, recording.velocities)
    times = recording.times
    control = sysid.TimeSeries(times, recording.efforts)
    # Its rollouts stamp what a sensor sees at the beginning of a step with the end of the step.
    stamps = times + case.robot.STEP
    measured = sysid.TimeSeries.from_names(stamps, recording.seen, model)
    return sysid.ModelSequences('robot', spec, 'motion', state, control, measured)


def _choices(case, parameters):
    """Return the settings of the residual where delays or the first state are searched."""
    found = {}
    if case.frees_delay:
        transform = sysid.SignalTransform()
        for sensor in case.late_sensors:
            for joint in case.joints[sensor]:
                transform.delay(joint, parameters['delay'])
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
