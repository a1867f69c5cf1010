"""
Whether the payload bridge ever asks for what its rules forbid, in hours of disturbed work.

Arms with hidden bodies and friction move from point to point in MuJoCo, pick up boxes and put them
down again, some of them in motion, and people push them now and then: efforts that no sensor
tells. Our estimator reads encoders and torques, and the bridge follows it with the limits that it
comes with. A call is wrong if it follows an estimate that takes the payload of the driver away
from what the hand holds, or beyond it; that a lost estimate restores what was before is a rule.
How well a controller with that payload holds the arm against gravity is shown beside.
"""

from dataclasses import dataclass, field, replace
import json
from multiprocessing import get_context
from pathlib import Path
import time

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table
import torch
from workday.ours import config_of, joint_state
from workday.plant import Arm, Event, GRAVITY, ROBOTS
from workday.recordings import PointToPoint

from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.ros.payload_bridge.bridge_rules import Body, BridgeRules, Goal, Limits

RESULTS = Path(__file__).resolve().parents[1] / 'results'
# How long each arm works [s]; without a box it begins to, then boxes come and go.
SECONDS, FIRST, HELD, FREE = 300.0, 25.0, (12.0, 25.0), (8.0, 20.0)
# Boxes: mass [kg], edges by their density, centre at most so far from the frame [m].
MASSES, DENSITY, AWAY = (0.3, 3.0), 1000.0, 0.08
# Of boxes this share is picked up, or put down, while the arm moves.
IN_MOTION = 0.5
# People push so often [s], for so long [s], with these parts of the joints' largest efforts.
PUSHES, PUSH, FORCE = 20.0, (0.2, 1.0), 0.15
# Noise of torques, of their limits, and of encoders [rad]; the rate of messages [1/s].
NOISE, ENCODERS, RATE = 0.01, 2e-5, 250
# The bridge looks at its rules so often [s].
STEP = 0.05
# A mass is wrong from here on: four of the largest standard deviations that the rules allow [kg].
WRONG = 4 * Limits().mass_sd
# After a box has come or gone, a payload for what was held before is late but not yet wrong [s].
GRACE = 1.0
# The controller is to hold the load by then [s]; with this part of its torque left over.
SOON, LEFT = 1.5, 0.10


@dataclass
class Hour:
    """
    What came of one recording.

    wrong: (time, set mass, held mass) of calls that the truth forbids; calls: how many were made;
    delays: time from each pick-up to the first call after it [s], infinite without one; left:
    rms of what gravity asks of the joints and the driver does not know, over that without any
    payload, from `SOON` after each pick-up until the box goes; right: share of time in which
    the driver's mass is within `WRONG` of what is held; said: (time, text) of all decisions.
    """

    name: str
    calls: int = 0
    wrong: list = field(default_factory=list)
    delays: list = field(default_factory=list)
    left: list = field(default_factory=list)
    right: float = 0.0
    said: list = field(default_factory=list, repr=False)


def _boxes(arm, motion, generator):
    """Return the `Event`s of boxes that come and go."""
    uniform, events, t = generator.uniform, [], FIRST
    while t < SECONDS - HELD[1]:
        mass, direction = float(uniform(*MASSES)), generator.normal(size=3)
        com = tuple((direction / np.linalg.norm(direction) * uniform(0, AWAY)).tolist())
        about = float(mass / 6 * (mass / DENSITY) ** (2 / 3))
        inertia = (about, 0.0, 0.0, about, 0.0, about)
        for kind, away in (('grasp', uniform(*HELD)), ('release', uniform(*FREE))):
            at, is_at_rest = _moment(motion, t, uniform() >= IN_MOTION)
            events.append(Event(at, kind, arm.links[-1], mass, com, inertia, is_at_rest))
            t = at + away
    return tuple(events)


def _moment(motion, after, is_at_rest):
    """Return (time, whether the arm rests then) of the middle of a rest, or of a move."""
    k = min(int(np.argmax(motion.rests[:, 0] > after)), len(motion.rests) - 2)
    begin, end = motion.rests[k]
    t = 0.5 * (begin + end) if is_at_rest else 0.5 * (end + motion.rests[k + 1, 0])
    return float(t), is_at_rest


def _pushes(arm, generator):
    """Return (begin, duration [s], efforts [n]) of pushes, half sine waves over time."""
    found, t = [], FIRST / 2
    while (t := t + generator.exponential(PUSHES)) < SECONDS:
        size = FORCE * arm.limit * generator.uniform(-1, 1, len(arm.joints))
        found.append((t, generator.uniform(*PUSH), size))
    return found


class _Servo:
    """Computed torque with the robot description; hands push, and no sensor tells."""

    def __init__(self, arm, pushes):
        self._arm, self._pushes = arm, pushes
        self._data = mujoco.MjData(arm.model)
        inertia = np.maximum(arm.inertia, arm.lightest)
        self._stiffness, self._damping = 40.0**2 * inertia, 56.0 * inertia
        self.efforts = []

    def __call__(self, t, q, v, wanted):
        """Return the torques [n] that act for the next step; `efforts` are the motors'."""
        data = self._data
        data.qpos[:], data.qvel[:], data.qacc[:] = wanted
        mujoco.mj_inverse(self._arm.model, data)
        away = self._stiffness * (wanted[0] - q) + self._damping * (wanted[1] - v)
        tau = np.clip(data.qfrc_inverse + away, -self._arm.limit, self._arm.limit)
        self.efforts.append(tau)
        pushed = sum(
            (
                size * np.sin(np.pi * (t - begin) / lasts)
                for begin, lasts, size in self._pushes
                if begin <= t < begin + lasts
            ),
            np.zeros(len(q)),
        )
        return tau + pushed


def _load_torque(arm, data, link, body):
    """Return what a `Body` on a link asks of the joints against gravity [n], at data's posture."""
    if not body.mass:
        return np.zeros(len(arm.joints))
    number = arm.model.body(link).id
    place = data.xpos[number] + data.xmat[number].reshape(3, 3) @ np.array(body.com)
    slope = np.zeros((3, arm.model.nv))
    mujoco.mj_jac(arm.model, data, slope, None, place, number)
    return body.mass * GRAVITY * slope[2]


def work(task):
    """Return the `Hour` of (name of a robot, seed), or an error as text."""
    try:
        return _work(*task)
    except Exception as error:  # one that fails must not end the others
        return repr(error)


def _work(name, seed):
    torch.set_num_threads(1)
    arm = Arm(ROBOTS[name])
    chance = [np.random.default_rng((seed, k)) for k in range(5)]
    hidden = arm.hidden(chance[0])
    motion = PointToPoint(arm, SECONDS, chance[1])
    events, servo = _boxes(arm, motion, chance[2]), _Servo(arm, _pushes(arm, chance[3]))
    every = int(round(1 / (RATE * arm.model.opt.timestep)))
    trace = arm.simulate(hidden, motion, events, every, servo=servo)
    tau = np.array(servo.efforts)[:: every // 2][: len(trace.t)]

    # What a user has: the description as it is, the link that holds payloads, and messages.
    config = config_of(arm.urdf)
    link, normal = arm.links[-1], chance[4].normal
    config = replace(config, payload=replace(config.payload, link=link))
    pipeline = Pipeline.from_config(config)
    rules = BridgeRules(Limits(frame=link, rest_speed=None), is_dry_run=False)
    rules.hear_driver(0.0, True)
    q = trace.q + ENCODERS * normal(size=trace.q.shape)
    tau = tau + NOISE * arm.limit * normal(size=tau.shape)
    found, driver, next_step = Hour(f'{name} {seed}'), np.zeros((len(trace.t), 10)), 0.0
    for k, t in enumerate(trace.t):
        message = joint_state(t, list(arm.joints), q[k], tau[k])
        for source in pipeline.sources:
            pipeline.receive(source, message)
        for _ in pipeline.step():
            rules.hear_alive(t)
            if (payload := pipeline.latest_findings().payload) is not None:
                rules.hear_payload(t, payload)
        if t >= next_step:
            next_step += STEP
            before = rules.value
            if call := rules.step(t):
                found.calls += 1
                if call.goal is Goal.FOLLOW:
                    _judge(found, events, t, before, call.body)
                rules.hear_answer(t, True)
        driver[k] = rules.value.numbers
        found.said += [(float(t), d.text) for d in rules.taken_decisions()]
    _measure(found, arm, trace, events, driver)
    return found


def _held(events, t):
    """Return the mass that the hand holds at a time [kg]."""
    return sum((e.mass if e.kind == 'grasp' else -e.mass) for e in events if e.t <= t)


def _judge(found, events, t, before, body):
    """Count a call, and whether the truth forbids it."""
    held, late = _held(events, t), _held(events, t - GRACE)
    low, high = min(held, late, before.mass) - WRONG, max(held, late, before.mass) + WRONG
    # Steps lead from one payload to another one; a step away from what is held is none of them.
    is_away = abs(body.mass - held) > max(WRONG, abs(before.mass - held)) and held == late
    if is_away or not low <= body.mass <= high:
        found.wrong.append((float(t), body.mass, held))


def _measure(found, arm, trace, events, driver):
    """Fill in what the driver's payload [N, 10] was good for."""
    data, held = mujoco.MjData(arm.model), np.array([_held(events, t) for t in trace.t])
    is_begun = trace.t >= FIRST
    found.right = float(np.mean(np.abs(driver[is_begun, 0] - held[is_begun]) <= WRONG))
    changed = np.append(False, (np.diff(driver, axis=0) != 0).any(1))
    for grasp, release in zip(events[::2], events[1::2]):
        during = (trace.t >= grasp.t) & (trace.t < release.t)
        called = trace.t[changed & during]
        found.delays.append(float(called[0] - grasp.t) if called.size else np.inf)
        box, with_it, without = Body((grasp.mass, *grasp.com, *grasp.inertia)), [], []
        for k in np.flatnonzero(during & (trace.t >= grasp.t + SOON))[::25]:
            data.qpos[:] = trace.q[k]
            mujoco.mj_kinematics(arm.model, data)
            mujoco.mj_comPos(arm.model, data)
            asked = _load_torque(arm, data, grasp.link, box)
            known = _load_torque(arm, data, grasp.link, Body(tuple(driver[k].tolist())))
            with_it.append(asked - known)
            without.append(asked)
        if with_it:
            found.left.append(float(np.linalg.norm(with_it) / np.linalg.norm(without)))


def run(arguments):
    """Run all, print the table, and tell whether nothing misses."""
    robots = [name for name in ROBOTS if name != 'tiago_pro']
    count = min(arguments.problems, 12)
    tasks = [(robots[k % len(robots)], arguments.seed + k // len(robots)) for k in range(count)]
    began, hours = time.perf_counter(), []
    with get_context('spawn').Pool(arguments.processes) as pool:
        for k, found in enumerate(pool.imap(work, tasks)):
            if isinstance(found, str):
                print(f'[{k + 1}/{count}] {tasks[k]}: {found}', flush=True)
                continue
            hours.append(found)
            print(f'[{k + 1}/{count}] {found}', flush=True)
    table = Table(title=f'{count * SECONDS / 60:g} minutes of disturbed work')
    for word in ('arm', 'calls', 'wrong', 'set after', 'gravity left', 'mass right'):
        table.add_column(word)
    for found in hours:
        table.add_row(
            found.name,
            str(found.calls),
            str(len(found.wrong)),
            ' '.join(f'{each:.1f}' for each in found.delays) + ' s',
            ' '.join(f'{100 * each:.0f}' for each in found.left) + ' %',
            f'{100 * found.right:.0f} % of time',
        )
    Console().print(table)
    wrong = sum(len(found.wrong) for found in hours)
    left = [each for found in hours for each in found.left]
    print(
        f'{wrong} wrong calls of {sum(h.calls for h in hours)}: {"MISSES" if wrong else "holds"}'
    )
    holds = len(hours) == count and not wrong
    if left:
        middle = float(np.median(left))
        holds &= middle <= LEFT
        print(
            f'torque of gravity left over from {SOON:g} s after the pick-up on: '
            f'{100 * middle:.1f} % of that of the load (median of {len(left)}, at most '
            f'{100 * LEFT:g} % wanted): {"holds" if middle <= LEFT else "MISSES"}; '
            f'{sum(each <= LEFT for each in left)} of them'
        )
    print(f'{time.perf_counter() - began:.0f} s')
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps([vars(found) for found in hours], indent=1)
    (RESULTS / 'bridge.json').write_text(text, encoding='utf-8')
    return holds
