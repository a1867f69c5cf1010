"""
Held-out torques, predicted from held-out motion.

Where a servo fixes the motion, a robot's model shows in the torques that the motion takes. So
motion is smoothed from the encoders of what was held out, and inverse dynamics says what torques
it takes: by the description, by the estimate and by draws of the posterior. Torques are compared
as means over the short blocks that they were learned from; joints at rest are left out, as any
torque up to static friction holds them there.
"""

import numpy as np

from ...estimation.torque.delay import late_torques, torques_at
from ...estimation.torque.joint_motion import learn_motion_noise, smoothed_motion
from ...estimation.torque.regression import block_rows
from ...estimation.torque.rows import are_moving, BLOCK_NS, motion_at
from ...observability.null_space import mending, physical_draws
from .open_loop import described
from .result import TorqueTrace

_DRAWS, _NANO = 100, 1e9
# Parts between gaps that are shorter are left out [samples], as are blocks with fewer samples.
_FEWEST, _SHARE = 20, 0.5


def torque_frames(feed, make_stream):
    """Return all frames of what a `Feed` holds out; make_stream: returns a new `Stream`."""
    stream = make_stream()
    for sample in feed.held_out(feed.split_ns, (feed.end_ns - feed.split_ns) / _NANO):
        stream.push(sample)
    return tuple(stream.flush())


def predict_torques(problem, mixture, noise, parts, seed, delay=0.0):
    """
    Return a `TorqueTrace` for each joint whose torque is measured.

    mixture: the posterior; noise: `TorqueNoise` that was learned; parts: the frames that each
    recording holds out; seed: of the draws; delay: by which torques are late [s].
    """
    model, parametrization = problem.torque, problem.parametrization
    generator = np.random.default_rng(seed)
    draws = mixture.draw(_DRAWS, generator)
    draws = physical_draws(parametrization, draws, generator, mend=mending(problem, mixture))
    points = np.column_stack([described(problem), mixture.moments()[0], draws])
    known = [(model.standard(x)[0], model.scales(x)[0]) for x in points.T]
    geometry = model.geometry(points[:, 1])
    rows = []
    for bag, frames in enumerate(parts):
        for stamps, positions, effort_stamps, efforts in _stretches(model, frames):
            efforts, wrenches = np.split(efforts, [len(model.joints)], 1)
            if delay:
                late = late_torques(effort_stamps, efforts, effort_stamps)
                efforts = torques_at(late, delay)
            given = effort_stamps, efforts, wrenches
            found = _rows(model, stamps, positions, given, (*known[1], geometry))
            rows += [] if found is None else [(*found, bag)]
    return tuple(
        trace
        for joint, name in enumerate(model.joints)
        if (trace := _trace(joint, name, rows, known, noise)) is not None
    )


def _stretches(model, frames):
    """
    Yield stamps [N], positions [N, n], stamps of torques [M], torques [M, J + W] without gaps.

    Known wrenches stand after the torques.
    """
    part = []
    for frame in (*frames, None):
        if frame is None or frame.after_gap:
            readings = [model.read(each) for each in part]
            positions = [entry for r in readings for entry in r.positions]
            torques = [entry for r in readings for entry in r.torques]
            if len(positions) >= _FEWEST and torques:
                yield tuple(
                    np.array(column) for pairs in (positions, torques) for column in zip(*pairs)
                )
            part = []
        if frame is not None:
            part.append(frame)


def _rows(model, stamps, positions, given, known):
    """
    Return (`Rows`, their stamps [K]) of a stretch, None where nothing moves.

    given: stamps of torques [M], torques [M, J], known wrenches [M, W], by which torques are less
    than the motion takes; known: standard parameters, scales of torques and geometry.
    """
    (effort_stamps, efforts, wrenches), (standard, scales, geometry) = given, known
    seconds = (stamps - stamps[0]) / _NANO
    noise = learn_motion_noise(seconds, positions)
    motion = smoothed_motion(seconds, positions, noise)
    at = (effort_stamps - stamps[0]) / _NANO
    is_moving = are_moving(seconds, motion[1][:, model.velocities], model.slowest)
    nearest = np.searchsorted(seconds, at).clip(0, len(seconds) - 1)
    states = motion_at(at, seconds, motion)
    if wrenches.shape[1]:
        efforts = efforts + scales * model.pushes(states[0], wrenches)
    usable = np.isfinite(efforts) & is_moving[nearest]
    usable[(at < 0) | (at > seconds[-1])] = False
    if not usable.any():
        return None
    columns = model.columns(*states, standard, geometry)
    edges = np.arange(effort_stamps[0], effort_stamps[-1] + BLOCK_NS, BLOCK_NS)
    bounds = np.unique(np.append(np.searchsorted(effort_stamps, edges), len(effort_stamps)))
    return block_rows(columns, efforts, usable, bounds), effort_stamps[bounds[:-1]]


def _trace(joint, name, rows, known, noise):
    """Return the `TorqueTrace` of a joint, None where it never moves."""
    stamps, bags, measured, predicted = [], [], [], []
    for found, begins, bag in rows:
        # Rows are weighted by the root of the share of their samples that could be used.
        shares = found.shares[:, joint]
        kept = np.flatnonzero(shares >= _SHARE)
        root = np.sqrt(shares[kept])
        columns = found.columns[kept, joint] / root[:, None]
        stamps.append(begins[kept])
        bags.append(np.full(len(kept), bag))
        measured.append(found.torques[kept, joint] / root)
        predicted.append(
            np.stack([scales[joint] * (columns @ standard) for standard, scales in known], 1)
        )
    if not sum(map(len, measured)):
        return None
    values = np.concatenate(predicted)
    return TorqueTrace(
        name,
        float(np.sqrt(noise.variance[joint])),
        bool(noise.explained[joint]),
        np.concatenate(stamps),
        np.concatenate(bags),
        np.concatenate(measured),
        {'nominal': values[:, 0], 'mean': values[:, 1], 'draws': values[:, 2:]},
    )
