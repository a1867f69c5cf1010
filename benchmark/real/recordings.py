"""
Recordings of real robots with measured torques, as a recorder would have given them.

UR10e: github.com/shamilmamedov/dynamic_calibration, motor currents times gains. Panda:
github.com/marcocognetti/FrankaEmikaPandaDynModel, joint torque sensors. Staubli TX40 and TIAGo:
github.com/thanhndv212/figaroh-plus, converted to npz. None of them is part of this repository.
"""

from dataclasses import dataclass
from pathlib import Path
import sysconfig
from xml.etree import ElementTree

import numpy as np

ROBOT_DATA = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
_UR_FOLDER, _PANDA_FOLDER = 'dynamic_calibration', 'FrankaEmikaPandaDynModel'
_TIAGO_URDF = 'figaroh-plus/examples/tiago/urdf/tiago_48_schunk.urdf'
# Of the motors of a UR10 [N m / A], and what a known load says that they are too large by.
_UR_GAINS = 0.92 * np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])
# It was recorded with nothing on its flange.
_PANDA_HAND = ('panda_hand', 'panda_hand_tcp', 'panda_leftfinger', 'panda_rightfinger')
# Gear ratio times torque constant, as the authors give them [N m / A]; the torso's is not known.
_TIAGO_GAINS = np.array([np.nan, *[100 * 0.136] * 2, *[100 * -0.087] * 2, *[336 * -0.0613] * 3])
# Moments of inertia of a flange of .2 kg that is 5 cm wide [kg m^2].
_TX40_FLANGE = 1e-4
# Rest that is kept before the first motion and after the last [s], and what counts as motion
# [rad/s].
_REST, _MOVING = 0.5, 3e-3
# Lines of a csv file that are damaged: what no state of the robot is, and no step of it [rad].
_ABSURD, _STEP = 100.0, 0.1
# Between recordings that end and begin in the same pose (to so many rad) no time passes [s];
# else the recorder was off.
_SAME_POSE, _NO_TIME, _OFF = 5e-3, 0.01, 1.0


@dataclass(frozen=True)
class Robot:
    """
    A robot that was recorded.

    title; joints: names, base first; urdf: its text, all other joints fixed; limit [n]: largest
    torques [N m]; couple: two joints that a motor turns together, or none; cutoff: of the
    zero-phase filter of reference [Hz]; stride: every so manieth sample of it is compared;
    width: friction velocity of the plain fit [rad/s].
    """

    title: str
    joints: tuple
    urdf: str
    limit: np.ndarray
    couple: tuple
    cutoff: float
    stride: int
    width: float


@dataclass(frozen=True)
class Recording:
    """
    What was recorded of a `Robot`.

    t [N]: stamps [s]; q [N, n]: positions [rad or m]; tau [N, n]: at the joints [N m], NaN where
    nobody knows them.
    """

    name: str
    robot: Robot
    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray

    @property
    def joints(self):
        """The names of the joints."""
        return self.robot.joints

    @property
    def urdf(self):
        """The robot description as text."""
        return self.robot.urdf

    @property
    def limit(self):
        """The largest torques [n] of the joints [N m]."""
        return self.robot.limit

    @property
    def known(self):
        """The places of the joints whose torque is known."""
        return np.flatnonzero(np.isfinite(self.tau).any(0))

    @property
    def seconds(self):
        """How long it is [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def motion_begins(self):
        """The time [s] at which the robot first moves: faster than any noise of its encoders."""
        away = np.abs(self.q - np.median(self.q[:20], 0)).max(1)
        return float(self.t[np.argmax(away > 2e-3)])

    def between(self, begin, end, name=None):
        """Return the part of it from begin to end [s]."""
        kept = (self.t >= begin) & (self.t < end)
        return Recording(name or self.name, self.robot, self.t[kept], self.q[kept], self.tau[kept])

    def then(self, other):
        """Return (this and another after it, when [s] the other begins)."""
        is_same_pose = np.abs(self.q[-1] - other.q[0]).max() < _SAME_POSE
        begin = self.t[-1] + (_NO_TIME if is_same_pose else _OFF)
        parts = zip((self.t, self.q, self.tau), (other.t - other.t[0] + begin, other.q, other.tau))
        both = (np.concatenate(pair) for pair in parts)
        return Recording(f'{self.name} > {other.name}', self.robot, *both), float(begin)


@dataclass(frozen=True)
class Trial:
    """Data to learn from, and data to predict: recordings with (from, to) [s] of what counts."""

    title: str
    training: Recording
    tests: tuple
    window: tuple = (-np.inf, np.inf)


# --------------------------------------------------------------------------------------- UR10e
UR_FREE = (
    'ur-20_02_05-20sec_12harm',
    'ur-20_02_05-20sec_8harm',
    'ur-20_02_06-20sec_10harm',
    'ur-20_02_06-20sec_5harm',
    'ur-20_02_10-20sec_7harm',
    'ur-20_02_10-30sec_12harm',
    'ur-20_02_12-40sec_12harm',
    'ur-20_02_12-50sec_12harm',
    'ur-20_02_19_14harm50sec',
    'ur-20_02_19_15harm50sec',
    'ur-20_01_31-unload',
)
# With a load in hand.
UR_LOADED = (
    'ur-20_02_19_14harm50secLoad',
    'ur-20_02_19_15harm50secLoad',
    'ur-20_01_31-load',
    'ur-20_01_13-load_2600',
)
UR_TRAINING = ('ur-20_02_12-50sec_12harm', 'ur-20_02_12-40sec_12harm', 'ur-20_01_31-unload')
UR_TESTS = ('ur-20_02_10-30sec_12harm', 'ur-20_02_19_14harm50sec', 'ur-20_02_19_15harm50sec')


def ur10e(data, names):
    """Return name -> `Recording` of the UR10e."""
    folder = _within(data, '--data', _UR_FOLDER)
    joints = ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_1', 'wrist_2', 'wrist_3')
    urdf = (folder / 'URe/urdf/ur10e.urdf').read_text(encoding='utf-8')
    joints = tuple(f'{joint}_joint' for joint in joints)
    robot = _robot('UR10e', urdf, joints, cutoff=6.0, stride=5, width=0.03)
    return {name: _ur_recording(folder, name, robot) for name in names}


def _ur_recording(folder, name, robot):
    """Return a recording without its damaged lines, and with little rest at either end."""
    path = folder / f'dataset_ur10e/identification_data/{name}.csv'
    rows = []
    for line in path.read_text(encoding='utf-8').splitlines():
        try:
            row = [float(number) for number in line.strip().rstrip(',').split(',')[:19]]
        except ValueError:
            continue
        if len(row) == 19 and max(map(abs, row[1:])) < _ABSURD and row[0] > 0:
            rows.append(row)
    rows = np.array(rows)
    rows = rows[np.diff(rows[:, 0], prepend=-np.inf) > 0]
    rows = rows[np.abs(np.diff(rows[:, 1:7], axis=0, prepend=rows[:1, 1:7])).max(1) < _STEP]
    t, q, v, current = rows[:, 0], rows[:, 1:7], rows[:, 7:13], rows[:, 13:19]
    moving = t[np.abs(v).max(1) > _MOVING]
    kept = (t > moving[0] - _REST) & (t < moving[-1] + _REST)
    return Recording(name, robot, t[kept] - t[kept][0], q[kept], (current * _UR_GAINS)[kept])


# --------------------------------------------------------------------------------------- Panda
def panda(data):
    """Return the `Recording` of the Panda, without rows that are written twice."""
    folder = _within(data, '--data', _PANDA_FOLDER)
    folder /= 'matlab/data/Exciting_Traj/Trajectory_1/rbt_log'
    t, q, v, tau = (
        np.loadtxt(folder / f'exciting_traj_{what}.txt')
        for what in ('time', 'positions', 'velocity', 'torques')
    )
    q, v, tau = (x.reshape(-1, 7) for x in (q, v, tau))
    steps = [np.abs(np.diff(x, axis=0, prepend=np.inf)).max(1) for x in (v, tau)]
    new = (steps[0] > 0) | (steps[1] > 0)
    urdf = (ROBOT_DATA / 'panda_description/urdf/panda.urdf').read_text(encoding='utf-8')
    joints = tuple(f'panda_joint{k}' for k in range(1, 8))
    robot = _robot('Panda', urdf, joints, _PANDA_HAND, cutoff=8.0, stride=10, width=0.02)
    return Recording('panda', robot, t[new], q[new], tau[new])


# ------------------------------------------------------------------------------- TX40 and TIAGo
def tx40(shared):
    """Return the `Recording` of the TX40, as long as it moves [7.45 s]."""
    folder = _within(shared, '--shared', 'data/staubli_tx40')
    saved = np.load(folder / 'arm_excitation.npz')
    joints = tuple(saved['joint_names'].tolist())
    urdf = (folder / 'tx40.urdf').read_text(encoding='utf-8')
    # Its last link has its inertia rounded to zero, which no joint can be simulated with.
    before, last = urdf.split('<link name="link_6">')
    for moment in ('ixx', 'iyy', 'izz'):
        last = last.replace(f'{moment}="0.000"', f'{moment}="{_TX40_FLANGE}"', 1)
    urdf = f'{before}<link name="link_6">{last}'
    robot = _robot('TX40', urdf, joints, couple=joints[4:6], cutoff=25.0, stride=3, width=0.02)
    whole = Recording('tx40', robot, saved['t'], saved['q'], saved['tau'].astype(float))
    return whole.between(0.0, 7.45)


def tiago(data, shared):
    """
    Return the `Recording` of the arm of TIAGo; of its torso the force is not known.

    Its description is the authors' where their repository is there, else that of
    example-robot-data, which has lighter links and another hand.
    """
    saved = np.load(_within(shared, '--shared', 'data/tiago_arm') / 'arm_excitation.npz')
    joints = tuple(saved['joint_names'].tolist())
    path = Path(data or '', _TIAGO_URDF)
    if not path.exists():
        path = ROBOT_DATA / 'tiago_description/robots/tiago.urdf'
    urdf = path.read_text(encoding='utf-8')
    robot = _robot('TIAGo', urdf, joints, cutoff=3.0, stride=5, width=0.02)
    tau = saved['current'].astype(float) * _TIAGO_GAINS
    return Recording('tiago', robot, saved['t'], saved['q'], tau).between(2.5, 72.0)


# --------------------------------------------------------------------------- what is asked of all
def trials(data, shared):
    """
    Return (the `Trial`s of all robots, robot -> why it is left out).

    data: folder of the two repositories; shared: folder with data/staubli_tx40, data/tiago_arm.
    """
    found, missing = [], {}
    for title, make in _TRIALS.items():
        try:
            found += make(data, shared)
        except OSError as error:
            missing[title] = str(error)
    return found, missing


def _ur_trials(data, _):
    of = ur10e(data, {*UR_TRAINING, *UR_TESTS})
    tests = [(of[name], (-np.inf, np.inf)) for name in UR_TESTS]
    return [Trial(f'UR10e, {name[3:]}', of[name], tuple(tests)) for name in UR_TRAINING]


def _panda_trials(data, _):
    whole = panda(data)
    split = whole.t[0] + 0.8 * whole.seconds
    return [_split('Panda', whole, (whole.t[0], split - 0.25), (split + 0.25, np.inf))]


def _tx40_trials(_, shared):
    split = 0.8 * 7.45
    return [_split('TX40', tx40(shared), (0.0, split - 0.25), (split + 0.25, np.inf))]


def _tiago_trials(data, shared):
    return [_split('TIAGo', tiago(data, shared), (3.0, 25.0), (26.0, 71.0))]


_TRIALS = {
    'UR10e': _ur_trials,
    'Panda': _panda_trials,
    'TX40': _tx40_trials,
    'TIAGo': _tiago_trials,
}


def _split(title, whole, learnt, tested):
    """Return the `Trial` of a recording of which a part is learnt from and another predicted."""
    return Trial(title, whole, ((whole, tested),), learnt)


def _within(folder, option, part):
    """Return the path of a part of a folder of recordings; option: that names the folder."""
    path = Path(folder or '', part)
    if not folder or not path.is_dir():
        raise FileNotFoundError(f'no folder {part} in that of {option}')
    return path


def _robot(title, urdf, joints, without=(), **settings):
    """Return a `Robot` whose description keeps only these joints, without some links."""
    root = ElementTree.fromstring(urdf)
    for element in [*root.findall('joint'), *root.findall('link')]:
        child = element.find('child')
        if element.get('name') in without or child is not None and child.get('link') in without:
            root.remove(element)
    limits = {}
    for element in root.findall('joint'):
        if element.get('name') in joints:
            limits[element.get('name')] = float(element.find('limit').get('effort'))
        else:
            element.set('type', 'fixed')
            for word in ('mimic', 'limit', 'dynamics', 'axis'):
                for each in element.findall(word):
                    element.remove(each)
    for link in root.findall('link'):
        for shape in [*link.findall('visual'), *link.findall('collision')]:
            link.remove(shape)
    for element in list(root):
        if element.tag not in ('link', 'joint'):
            root.remove(element)
    text = ElementTree.tostring(root, encoding='unicode')
    limit = np.array([limits[joint] for joint in joints])
    return Robot(title, joints, text, limit, settings.pop('couple', ()), **settings)
