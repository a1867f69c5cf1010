"""
Real tosses of a cube: friction, rebound, inertia and the scale of a camera, through contact.

The recordings of ContactNets (Pfrommer, Halm and Posa, CoRL 2020): a cube is thrown onto a board
275 times, and cameras see its pose at 148 Hz. Groups of tosses are estimated one after the other,
each as a stream from the same prior, so that intervals can be held against what all groups agree
on. Two ways have the model of contact in common:

- windows: the package's `multiple_shooting` on the poses as they come, with first states of its
  own for each window;
- roll-outs: whole tosses are predicted from the state at which they begin, CMA-ES finds the robot
  that comes closest, and the interval is that of least squares: what a user of a simulator would
  write. (Least squares itself stays near its start: roll-outs of tumbling cubes are chaotic.)

How well a posterior predicts is judged on the tosses of the next group, from their first frames.
"""

from dataclasses import dataclass
import time

from cmaes import CMA
import numpy as np
from scipy.spatial.transform import Rotation
import torch

from ...backend.simulator import Simulator
from ...config import read_config, with_values
from ...errors import DataError
from ...files import require_file
from ...observability.null_space import draw_samples
from ...pipeline import Pipeline
from ...records import Sample
from ...setup.sources import build_model

URDF = """
<robot name="cube">
  <link name="cube">
    <inertial>
      <mass value="0.37"/>
      <inertia ixx="0.0007" iyy="0.0007" izz="0.0007" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision><geometry><box size="0.1048 0.1048 0.1048"/></geometry></collision>
  </link>
</robot>
"""
# The mass is that of a scale: motion does not tell it. Inertias begin at those of a solid cube.
# The stiffness is fixed: at 1.2 m/s a corner enters the board by a millimetre, and motion does not
# tell it either. The sd of poses is how well contact is modelled, not how well cameras see.
CONFIG = f"""
model: {{urdf: '{' '.join(URDF.split())}', base: floating}}
joints: {{floating_base: {{effort: none}}}}
contacts:
  board: {{between: [cube, ground], stiffness: 3.0e+5, slip_velocity: 0.02}}
sensors:
  camera: {{kind: link_pose, topic: cube, link: cube, position_sd: 0.001, orientation_sd: 0.02}}
estimate:
  board.friction: {{mean: 0.3, sd: 1.0}}
  board.dissipation: {{mean: 1.0, sd: 1.5}}
  'cube.inertia.xx': {{sd: 0.5}}
  'cube.inertia.yy': {{sd: 0.5}}
  'cube.inertia.zz': {{sd: 0.5}}
  camera.scale: {{sd: 0.05}}
frames: {{max_rate: 200.0}}
simulation: {{max_step: 0.00135}}
"""
FRICTION, DISSIPATION, SCALE = 'board.friction', 'board.dissipation', 'camera.scale'
INERTIAS = ('cube.inertia.xx', 'cube.inertia.yy', 'cube.inertia.zz')
# What the authors publish: inertia [kg m^2], and friction by a fit of their own. The scale is what
# gravity in free flight and the height at rest ask for.
REFERENCE = {FRICTION: 0.18, SCALE: 0.979} | dict.fromkeys(INERTIAS, 0.00081)
GROUP = 15  # tosses
FRAMES = 85  # of a toss that are used, 0.57 s
# Frames by which the state at the beginning of a roll-out is known, all of them in flight.
FIRST = 5
# Between tosses of a stream [s].
_PAUSE = 3.0
_DRAWS = 4000
_INTERVAL = (0.05, 0.95)
_NORMAL_INTERVAL = 1.645
_GRAVITY = 9.81
_NANO = 1e9
# Half a side [m]: an angle times this is a length, and counts as one.
_HALF = 0.0524
# The cube slides flat where its height is that at rest within so much [m], it turns more slowly
# than this [rad/s], and it is faster than this [m/s], for so many frames at least.
_FLAT, _TURNS, _SLIDES, _LEAST_SLIDE = 1.2e-3, 0.6, 0.12, 7
# Roll-outs begin where windows do: friction, dissipation, inertia and scale. The search begins
# with a deviation of so much of each logarithm.
_START = np.log([0.3, 1.0, 0.0007, 1.0])
_FIRST_SIGMA, _POPULATION, _GENERATIONS = 0.3, 12, 50
_DIFFERENCE = 1e-3


@dataclass(frozen=True)
class Toss:
    """Stamps [k] from the first [s] and poses [k, 7]: x, y, z [m], quaternion w, x, y, z."""

    stamps: np.ndarray
    poses: np.ndarray


@dataclass(frozen=True)
class Found:
    """
    What one way finds by a group of tosses.

    values: name -> (5 %, 50 %, 95 %) of a parameter; milliseconds: of the processor for a frame;
    errors: (mean position [m], mean angle [rad]) of roll-outs of the next group's tosses; events:
    what the estimator reported that needs a look.
    """

    values: dict
    milliseconds: float
    errors: tuple
    events: tuple = ()

    def holds(self, name, value):
        """Tell whether the interval of a parameter holds a value."""
        low, _, high = self.values[name]
        return bool(low <= value <= high)


def read_tosses(path):
    """
    Return the `Toss`es of an npz file with `t`, `pos`, `quat_wxyz`, `start` and `length`.

    All tosses one after the other; toss k has `length[k]` rows from `start[k]` on.
    """
    require_file(path, 2**30, DataError)
    try:
        with np.load(path, allow_pickle=False) as file:
            stamps, places, turns, starts, lengths = (
                np.asarray(file[name]) for name in ('t', 'pos', 'quat_wxyz', 'start', 'length')
            )
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f'{path}: is no recording of tosses ({error}); give an npz file with t, pos, '
            'quat_wxyz, start and length'
        ) from error
    rows = [slice(start, start + length) for start, length in zip(starts, lengths)]
    poses = np.concatenate([places, turns], 1).astype(float)
    tosses = [Toss(stamps[row] - stamps[row][0], poses[row]) for row in rows]
    return [Toss(t.stamps[:FRAMES], t.poses[:FRAMES]) for t in tosses if len(t.stamps) >= FRAMES]


def groups_of(tosses):
    """Return the groups of `GROUP` tosses; a rest that is smaller is left out."""
    whole = len(tosses) // GROUP * GROUP
    return [tosses[first : first + GROUP] for first in range(0, whole, GROUP)]


def settings(changes=None):
    """Return the `Config` of the cube; changes: path of a setting -> value."""
    return with_values(read_config(CONFIG), changes or {})


def by_windows(tosses, following, changes=None):
    """Return the `Found` of the package's estimator; following: tosses to predict."""
    pipeline, events = Pipeline.from_config(settings(changes)), []
    began = time.process_time()
    for sample in samples_of(tosses):
        pipeline.push(sample)
        events += _events(pipeline.step())
    events += _events(pipeline.finish())
    milliseconds = 1e3 * (time.process_time() - began) / sum(len(t.stamps) for t in tosses)
    problem = pipeline.problem
    draws = draw_samples(problem, pipeline.mixture, _DRAWS, seed=0)
    low, high = np.quantile(draws, _INTERVAL, axis=1)
    middle = np.median(draws, 1)
    names = problem.parametrization.names
    values = {name: row for name, *row in zip(names, low, middle, high)}
    errors = Rollouts(following).errors({name: row[1] for name, row in values.items()})
    return Found(values, milliseconds, errors, tuple(events))


def samples_of(tosses):
    """Yield the poses of tosses as samples of one stream, with pauses between them."""
    start = _PAUSE
    for toss in tosses:
        for stamp, pose in zip(toss.stamps, toss.poses):
            yield Sample('camera', round((start + stamp) * _NANO), pose)
        start += toss.stamps[-1] + _PAUSE


def _events(estimates):
    """Return the reported events, without those that every fit of windows reports."""
    events = (event for estimate in estimates for event in estimate.report.events)
    return [str(event) for event in events if str(event) not in ('fitted', 'at rest')]


def by_rollouts(tosses, following, seed=0):
    """Return the `Found` of the nearest roll-outs; following: tosses to predict."""
    began, rollouts = time.process_time(), Rollouts(tosses)
    search = CMA(mean=_START, sigma=_FIRST_SIGMA, seed=seed, population_size=_POPULATION)
    for _ in range(_GENERATIONS):
        points = np.array([search.ask() for _ in range(search.population_size)])
        costs = np.abs(rollouts.residuals(points.T)).mean(0)
        search.tell([(point, float(cost)) for point, cost in zip(points, costs)])
    best, residuals = search.mean, rollouts.residuals(search.mean[:, None])
    slopes = rollouts.slopes(best)
    variance = (residuals**2).sum() / (len(residuals) - len(best))
    deviations = np.sqrt(variance * np.diag(np.linalg.inv(slopes.T @ slopes)))
    milliseconds = 1e3 * (time.process_time() - began) / sum(len(t.stamps) for t in tosses)
    rows = np.exp(best + _NORMAL_INTERVAL * np.outer((-1, 0, 1), deviations)).T
    friction, dissipation, inertia, scale = rows.tolist()
    values = {FRICTION: friction, DISSIPATION: dissipation, SCALE: scale}
    values |= dict.fromkeys(INERTIAS, inertia)
    errors = Rollouts(following).errors({name: row[1] for name, row in values.items()})
    return Found(values, milliseconds, errors)


def sliding_friction(tosses, scale):
    """
    Return (median, its standard error, number of slides) of friction where the cube slides flat.

    No model of contact is needed there: friction is the deceleration over gravity. scale: of the
    camera.
    """
    found = []
    for toss in tosses:
        places = toss.poses[:, :3] / scale
        velocities = np.gradient(places, toss.stamps, axis=0)
        turns = _turns_between(toss.poses[:-1, 3:], toss.poses[1:, 3:])
        rates = np.linalg.norm(turns, axis=1) / np.diff(toss.stamps)
        speeds = np.linalg.norm(velocities[:, :2], axis=1)
        is_flat = np.abs(places[:, 2] - _HALF) < _FLAT
        slides = is_flat & (speeds > _SLIDES) & (np.append(rates, 0.0) < _TURNS)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], slides, [0]])))
        for begin, end in edges.reshape(-1, 2):
            if end - begin < _LEAST_SLIDE:
                continue
            stamps = toss.stamps[begin:end] - toss.stamps[begin:end].mean()
            _, velocity, half = np.polynomial.polynomial.polyfit(stamps, places[begin:end, :2], 2)
            found.append(-2 * half @ velocity / np.linalg.norm(velocity) / _GRAVITY)
    found = np.array(found)
    error = 1.25 * found.std() / np.sqrt(max(len(found), 1)) if len(found) else np.nan
    return float(np.median(found)) if len(found) else np.nan, float(error), len(found)


class Rollouts:
    """Whole tosses predicted from their first frames, for many values of the parameters."""

    def __init__(self, tosses):
        """Take `Toss`es of equally many frames."""
        self._tosses, config = tosses, settings()
        names = (FRICTION, DISSIPATION, *INERTIAS)
        step = config.simulation.max_step
        self._simulator = Simulator(build_model(config), names, max_step=step)
        # [k, tosses, 7]
        self._measured = np.stack([toss.poses for toss in tosses], 1)
        self._durations = np.stack([np.diff(toss.stamps) for toss in tosses], 1)

    def residuals(self, points):
        """
        Return predicted less measured poses [rows, B] in mm, angles as lengths at half a side.

        points [4, B]: logarithms of friction, dissipation, inertia and scale.
        """
        shifts, turns = self._away(np.exp(points))
        rows = np.concatenate([shifts, _HALF * turns], 1) * 1e3
        # [k, 6, B, tosses] -> rows of one column after the other.
        return np.moveaxis(rows, 2, -1).reshape(-1, points.shape[1])

    def slopes(self, point):
        """Return the derivative [rows, 4] of the residuals at a point [4], by differences."""
        moved = np.concatenate([np.eye(4), -np.eye(4)]) * _DIFFERENCE
        found = self.residuals(point[:, None] + moved.T)
        return (found[:, :4] - found[:, 4:]) / (2 * _DIFFERENCE)

    def errors(self, values):
        """Return the mean (distance [m], angle [rad]) over frames and tosses; name -> value."""
        inertia = np.mean([values[name] for name in INERTIAS])
        point = [values[FRICTION], values[DISSIPATION], inertia, values[SCALE]]
        exact = [values[name] for name in INERTIAS]
        shifts, turns = self._away(np.array(point)[:, None], exact)
        distance = np.linalg.norm(shifts, axis=1).mean() / values[SCALE]
        return float(distance), float(np.linalg.norm(turns, axis=1).mean())

    def _away(self, values, inertias=None):
        """
        Return (shifts, turns [rad]) [k, 3, B, tosses] of predicted against measured poses.

        values [4, B]; inertias: of the three axes, None: all the same.
        """
        friction, dissipation, inertia, scale = values
        axes = [np.full_like(inertia, x) for x in inertias] if inertias else [inertia] * 3
        count, tosses = values.shape[1], len(self._tosses)
        named = np.repeat(np.stack([friction, dissipation, *axes]), tosses, 1)
        starts = np.concatenate([self._first_states(s) for s in scale], 1)
        with torch.no_grad():
            states = self._simulator.rollout(
                torch.from_numpy(starts),
                torch.from_numpy(np.tile(self._durations, count)),
                torch.from_numpy(named),
            ).states.numpy()
        # [k, nx, B, tosses]
        states = states.reshape(len(states), -1, count, tosses)
        places = np.moveaxis(self._measured[..., :3], -1, 1)[:, :, None]
        shifts = states[:, :3] * scale[:, None] - places
        predicted = np.moveaxis(states[:, 3:7], 1, -1)
        measured = np.broadcast_to(self._measured[:, None, :, 3:], predicted.shape)
        turns = _turns_between(measured, predicted)
        return shifts, np.moveaxis(turns, -1, 1)

    def _first_states(self, scale):
        """Return the states [13, tosses] at the first frame, by a parabola of free fall."""
        found = []
        for toss in self._tosses:
            stamps, poses = toss.stamps[:FIRST], toss.poses[:FIRST]
            places = poses[:, :3] / scale
            places[:, 2] += 0.5 * _GRAVITY * stamps**2
            start, velocity = np.polynomial.polynomial.polyfit(stamps, places, 1)
            turns = _turns_between(poses[:-1, 3:], poses[1:, 3:])
            rates = turns / np.diff(stamps)[:, None]
            found.append(np.concatenate([start, poses[0, 3:], velocity, rates.mean(0)]))
        return np.array(found).T


def _turns_between(first, second):
    """Return the rotation vectors [..., 3] from quaternions [..., 4], w first, to others."""
    one, other = (Rotation.from_quat(q.reshape(-1, 4), scalar_first=True) for q in (first, second))
    return (one.inv() * other).as_rotvec().reshape(*first.shape[:-1], 3)
