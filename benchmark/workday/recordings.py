"""
What an arm at work records: moves from point to point with rests, boxes, and noisy sensors.

Everything of a recording follows from its row of the table and its seed. Simulating takes as long
as a fifth of what is simulated, so recordings are kept in results/workday.
"""

from dataclasses import asdict, dataclass, replace
import hashlib
import json
from pathlib import Path

import numpy as np

from .plant import Arm, Event, ROBOTS, STEP, with_smooth_friction

RESULTS = Path(__file__).resolve().parents[2] / 'results'
_CACHE = RESULTS / 'workday'
_CODE = ('plant.py', 'recordings.py')
# A recording begins at rest [s]; moves are as fast as that [rad/s], and rests as long [s].
_FIRST_REST, _SPEEDS, _RESTS = 0.5, (0.5, 1.5), (0.3, 1.5)
# Joints go so far from home [rad], within this part of their range, and one in so many stays.
_SWING, _SHARE_OF_RANGE, _STAYING = 1.2, 0.9, 0.2
# Of the largest speed that a joint has, this part is used.
_SHARE_OF_SPEED = 0.9
# Of moves this share speeds up and down evenly, the others are quintic.
_TRAPEZOIDS, _RAMP = 0.5, 0.25
_HARMONICS, _BASE_FREQUENCY = 5, 0.1
# Step of encoders [rad]; deviation of gains; largest offset, of limit.
_ENCODERS = 2e-5, 1e-4
_GAIN_SD, _OFFSET = 0.015, 0.02
# Boxes [kg, m], their density [kg/m^3], and how much longer and shorter than cubes edges are.
_MASSES, _AWAY, _DENSITY, _EDGES = (0.6, 3.0), 0.08, 1000.0, (0.7, 1.3)
# A box is put down so long after it was picked up [s].
HELD = 18.0
# Motion of which torques are predicted: how long, and at which rate.
_UNSEEN_SECONDS, _UNSEEN_EVERY = 20.0, 16
# Streams of random numbers: what one draws does not move another.
# Friction of tests changes its sign over this speed [rad/s].
SMOOTHING = 0.1
_OF_ROBOT, _OF_MOTION, _OF_UNSEEN, _OF_NOISE, _OF_BOX = range(5)


@dataclass(frozen=True)
class Scenario:
    """
    A row of the table.

    seconds: of a recording; noise: white, of torques, as a part of the limit; payload: '', 'at
    rest' or 'in motion'; grasp: when about it is picked up [s]; has_springs: whether joints are
    elastic; warms: whether friction falls; is_harmonic: moves without rests, as for
    identification; robots: names of those it takes in turn; rates: of messages, one of which is
    drawn [1/s]; is_smooth: friction as in our columns, for tests of the plant; step: of the
    integrator [s]; jitter: standard deviation of stamps [s].
    """

    name: str
    title: str
    seconds: float = 90.0
    noise: float = 0.01
    payload: str = ''
    grasp: float = 25.0
    has_springs: bool = False
    warms: bool = False
    is_harmonic: bool = False
    robots: tuple = tuple(ROBOTS)
    rates: tuple = (125, 250, 500)
    is_smooth: bool = False
    step: float = STEP
    jitter: float = 5e-5


@dataclass(frozen=True)
class Recording:
    """
    What a user has, and the truth.

    urdf: text as the user has it; joints, links: names, in the same order; t [N]: stamps [s];
    q [N, n]: encoders [rad]; tau [N, n]: measured torques of the motors [N m]; limit [n]: of
    effort [N m]; truth: named parameter -> value, of welded bodies without a box, at the
    beginning; events: `Event`s; rests [r, 2]: when all joints stood still [s]; unseen: arrays
    q, v, a, tau [M, n] of another motion of the same robot (after the recording, as warm as it
    is then), without noise; begin: when motion begins [s]; warming: see `Hidden`.
    """

    name: str
    urdf: str
    joints: tuple
    links: tuple
    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    limit: np.ndarray
    truth: dict
    events: tuple
    rests: np.ndarray
    unseen: dict
    begin: float
    warming: tuple

    def truth_at(self, t):
        """Return the truth after so many seconds, without boxes."""
        share, time = self.warming
        left = 1 - share * (1 - np.exp(-t / time))
        warm = ('.damping', '.friction', '.stribeck')
        return {n: v * left if n.endswith(warm) else v for n, v in self.truth.items()}

    def motion_after(self, t):
        """Return when the arm moves again after a time [s]: at once, where it does not rest."""
        for begin, end in self.rests:
            if begin <= t < end:
                return float(end)
        return float(t)

    def moved_for(self, seconds):
        """Return when the arm has moved for so many seconds, rests not counted [s]."""
        for (_, begin), end in zip(self.rests, [*self.rests[1:, 0], np.inf]):
            if seconds <= end - begin:
                return float(begin + seconds)
            seconds -= end - begin
        return np.inf


class PointToPoint:
    """Moves between random points, in which all joints begin and end together, and rests."""

    def __init__(self, arm, seconds, generator):
        """Draw the moves of an `Arm`."""
        uniform, n = generator.uniform, len(arm.joints)
        half = 0.5 * _SHARE_OF_RANGE * (arm.range[:, 1] - arm.range[:, 0])
        middle = arm.range.mean(1)
        low = np.maximum(arm.home - _SWING, middle - half)
        high = np.minimum(arm.home + _SWING, middle + half)
        self.seconds, at, t = seconds, uniform(low, high), _FIRST_REST
        self.moves, rests = [], [(0.0, t)]
        while t < seconds:
            goal = np.where(uniform(size=n) < _STAYING, at, uniform(low, high))
            speed = np.minimum(uniform(*_SPEEDS), _SHARE_OF_SPEED * arm.speed)
            is_trapezoid = uniform() < _TRAPEZOIDS
            peak = 1 / (1 - _RAMP) if is_trapezoid else 1.875
            time = max(0.3, float((peak * np.abs(goal - at) / speed).max()))
            self.moves.append((t, time, at, goal - at, is_trapezoid))
            t, at = t + time, goal
            rests.append((t, t + uniform(*_RESTS)))
            t = rests[-1][1]
        self.rests, self.last = np.array(rests), at

    def __call__(self, t):
        """Return q, v, a [N, n] wanted at times [N]."""
        q = np.repeat(self.moves[0][2][None], len(t), 0)
        v, a = np.zeros_like(q), np.zeros_like(q)
        for begin, time, at, way, is_trapezoid in self.moves:
            q[t >= begin + time] = at + way
            during = (t >= begin) & (t < begin + time)
            profile = _trapezoid if is_trapezoid else _quintic
            s, ds, dds = profile((t[during] - begin) / time)
            q[during], v[during] = at + np.outer(s, way), np.outer(ds, way) / time
            a[during] = np.outer(dds, way) / time**2
        return q, v, a


class Harmonic:
    """Sums of sines that never rest, as robots are moved to be identified."""

    def __init__(self, arm, seconds, generator):
        """Draw the amplitudes of an `Arm`."""
        n, self.seconds = len(arm.joints), seconds
        self.rests, self._home = np.array([(0.0, _FIRST_REST)]), arm.home
        orders = np.arange(1, _HARMONICS + 1)
        self._rates = 2 * np.pi * _BASE_FREQUENCY * orders
        amplitudes = generator.normal(size=(2, _HARMONICS, n)) / orders[:, None]
        wave = np.abs(self._wave(np.arange(0, 10, 0.05), amplitudes)[:2]).max(1)
        room = np.minimum(arm.home - arm.range[:, 0], arm.range[:, 1] - arm.home)
        swing = np.minimum(_SWING, _SHARE_OF_RANGE * room)
        speed = np.minimum(_SPEEDS[1], _SHARE_OF_SPEED * arm.speed)
        self._amplitudes = amplitudes * np.minimum(swing / wave[0], speed / wave[1])

    def _wave(self, t, amplitudes):
        phase = np.outer(t, self._rates)
        cosine, sine, w = np.cos(phase), np.sin(phase), self._rates[:, None]
        s, c = amplitudes
        return np.array(
            [sine @ s + cosine @ c, cosine @ (w * s) - sine @ (w * c)]
            + [-(sine @ (w**2 * s) + cosine @ (w**2 * c))]
        )

    def __call__(self, t):
        """Return q, v, a [N, n] wanted at times [N]; they begin smoothly."""
        q, v, a = self._wave(t, self._amplitudes)
        s, ds, dds = _quintic(np.clip((t - _FIRST_REST) / 2.0, 0, 1))
        s, ds, dds = s[:, None], ds[:, None] / 2.0, dds[:, None] / 4.0
        return self._home + s * q, s * v + ds * q, s * a + 2 * ds * v + dds * q


def _quintic(x):
    """Return place, rate and acceleration of a move of one second and one radian."""
    place = x**3 * (10 - 15 * x + 6 * x**2)
    return place, 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)


def _trapezoid(x):
    """Return the same of one that speeds up evenly, then slows down."""
    top = 1 / (1 - _RAMP)
    rise, fall = x < _RAMP, x > 1 - _RAMP
    place = np.where(rise, 0.5 * top / _RAMP * x**2, top * (x - 0.5 * _RAMP))
    place = np.where(fall, 1 - 0.5 * top / _RAMP * (1 - x) ** 2, place)
    rate = np.where(rise, top / _RAMP * x, np.where(fall, top / _RAMP * (1 - x), top))
    return place, rate, np.where(rise, top / _RAMP, np.where(fall, -top / _RAMP, 0.0))


def record(scenario, seed, index):
    """Return the `Recording` of a row, from the cache or by simulating it."""
    path = _CACHE / f'{_digest(scenario)}_{scenario.name}_{seed}_{index}.npz'
    if not path.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        recording = simulate(scenario, seed, index)
        temporary = path.with_suffix('.part.npz')
        np.savez(temporary, **_as_arrays(recording))
        temporary.replace(path)
    return _from_arrays(np.load(path))


def simulate(scenario, seed, index):
    """Return the `Recording` of a row."""

    def stream(number):
        return np.random.default_rng((seed, index, number))

    name = scenario.robots[index % len(scenario.robots)]
    arm, chance = Arm(ROBOTS[name]), stream(_OF_ROBOT)
    hidden = arm.hidden(chance, scenario.has_springs, scenario.warms)
    if scenario.is_smooth:
        hidden = with_smooth_friction(hidden, SMOOTHING)
    kind = Harmonic if scenario.is_harmonic else PointToPoint
    motion = kind(arm, scenario.seconds, stream(_OF_MOTION))
    events = _box(scenario, arm, motion, stream(_OF_BOX))
    rate = int(chance.choice(scenario.rates))
    every = int(round(1 / (rate * scenario.step)))
    trace = arm.simulate(hidden, motion, events, every, scenario.step)
    other = kind(arm, _UNSEEN_SECONDS, stream(_OF_UNSEEN))
    # Springs are no part of what is predicted: motors are what is seen.
    unseen = arm.simulate(
        _as_warm(hidden, scenario.seconds), other, (), _UNSEEN_EVERY, min(STEP, scenario.step)
    )
    truth = arm.truth(hidden)
    tau, q, t = _measured(trace, arm, scenario, stream(_OF_NOISE), truth)
    return Recording(
        name=f'{scenario.name} {seed}/{index} ({name}, {rate} Hz)',
        urdf=arm.urdf,
        joints=tuple(arm.joints),
        links=tuple(arm.links),
        t=t,
        q=q,
        tau=tau,
        limit=arm.limit,
        truth=truth,
        events=events,
        rests=motion.rests,
        unseen={key: getattr(unseen, key) for key in ('q', 'v', 'a', 'tau')},
        begin=_FIRST_REST,
        warming=hidden.warming,
    )


def _as_warm(hidden, seconds):
    """Return a hidden robot whose friction stays as it is after so many seconds."""
    left = hidden.warmth(seconds)
    return replace(
        hidden,
        damping=left * hidden.damping,
        friction=left * hidden.friction,
        stribeck=left * hidden.stribeck,
        warming=(0.0, 1.0),
    )


def _measured(trace, arm, scenario, generator, truth):
    """Return torques, positions and stamps as they are measured; gains go into the truth."""
    n, normal = len(arm.joints), generator.normal
    gain = 1 + normal(0, _GAIN_SD, n)
    offset = generator.uniform(-_OFFSET, _OFFSET, n) * arm.limit
    truth |= {f'{j}.gain': float(g) for j, g in zip(arm.joints, gain)}
    truth |= {f'{j}.torque_offset': float(o) for j, o in zip(arm.joints, offset)}
    tau = (trace.tau + offset) / gain + normal(size=trace.tau.shape) * scenario.noise * arm.limit
    grain = np.exp(generator.uniform(*np.log(_ENCODERS)))
    q = grain * np.round((trace.q + normal(0, 0.5 * grain, trace.q.shape)) / grain)
    # A message that would come before the one before it comes just after it.
    t = np.maximum.accumulate(trace.t + normal(0, scenario.jitter, len(trace.t)))
    return tau, q, t + 1e-6 * np.cumsum(np.append(False, np.diff(t) == 0))


def _box(scenario, arm, motion, generator):
    """Return the `Event`s of a box that is picked up and put down, none where there is none."""
    if not scenario.payload:
        return ()
    uniform, is_at_rest = generator.uniform, scenario.payload == 'at rest'
    ends = [k for k, b in enumerate(arm.links) if not _carries(arm, k)]
    link = arm.links[int(generator.choice(ends))]
    mass, direction = uniform(*_MASSES), generator.normal(size=3)
    com = direction / np.linalg.norm(direction) * uniform(0, _AWAY)
    edges = uniform(*_EDGES, 3) * (mass / _DENSITY) ** (1 / 3)
    about = mass / 12 * (np.sum(edges**2) - edges**2)
    inertia = (about[0], 0.0, 0.0, about[1], 0.0, about[2])
    events = []
    for kind, after in (('grasp', scenario.grasp), ('release', scenario.grasp + HELD)):
        k = int(np.argmax(motion.rests[:, 0] > after))
        begin, end = motion.rests[k]
        t = 0.5 * (begin + end) if is_at_rest else 0.5 * (end + motion.rests[k + 1, 0])
        events.append(
            Event(float(t), kind, link, float(mass), tuple(com.tolist()), inertia, is_at_rest)
        )
    return tuple(events)


def _carries(arm, k):
    """Tell whether the k-th link carries another one."""
    model = arm.model
    return bool((model.body_parentid == model.body(arm.links[k]).id).any())


def _digest(scenario):
    """Return a digest of all that decides what is recorded."""
    digest = hashlib.sha256(json.dumps(asdict(scenario)).encode())
    for name in _CODE:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()[:12]


_ARRAYS = ('t', 'q', 'tau', 'limit', 'rests')


def _as_arrays(recording):
    """Return what a file holds of a `Recording`."""
    fields = {key: getattr(recording, key) for key in _ARRAYS}
    fields |= {f'unseen_{key}': value for key, value in recording.unseen.items()}
    plain = {
        key: getattr(recording, key)
        for key in ('name', 'urdf', 'joints', 'links', 'truth', 'begin', 'warming')
    }
    plain['events'] = [asdict(event) for event in recording.events]
    return fields | {'plain': json.dumps(plain)}


def _from_arrays(file):
    plain = json.loads(str(file['plain']))
    plain['events'] = tuple(
        Event(**{**event, 'com': tuple(event['com']), 'inertia': tuple(event['inertia'])})
        for event in plain['events']
    )
    for key in ('joints', 'links', 'warming'):
        plain[key] = tuple(plain[key])
    unseen = {key: file[f'unseen_{key}'] for key in ('q', 'v', 'a', 'tau')}
    return Recording(unseen=unseen, **{key: file[key] for key in _ARRAYS}, **plain)
