"""Arms of seven joints of which nothing is known but the URDF that comes with them."""

from dataclasses import dataclass, replace
import json
from pathlib import Path
import sysconfig

import numpy as np

from sim2real_estimator.app.synthetic.settings import SyntheticConfig
from sim2real_estimator.app.synthetic.synthetic_robot import SyntheticRobot
from sim2real_estimator.config import read_config

_ROBOTS = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')
# What each joint swings by, and how long from one waypoint to the next [rad, s]: accelerations of
# 4 rad/s^2 (root of the mean square); with slow ones nothing tells what wrists weigh.
_SWING, INTERVAL = 0.8, 0.8
# What losses are expected of the first and of the last joint [N m s/rad, N m].
_LOSSES = {'damping': (2.0, 0.4), 'friction': (1.2, 0.4)}


@dataclass(frozen=True)
class Arm:
    """
    An arm.

    urdf: file, in the folder of robots; prefix: of the names link1 ... link7, joint1 ... joint7;
    middles: where each joint swings about [rad]; fixed: other joints, which do not move.
    """

    urdf: str
    prefix: str
    middles: tuple
    fixed: tuple = ()

    @property
    def joints(self):
        """The names of the seven joints."""
        return tuple(f'{self.prefix}joint{k}' for k in range(1, 8))

    def config(self, disturbance_time=None, frame_rate=100.0):
        """
        Return the `Config` of an estimator that has torques and encoders of 2e-4 rad.

        disturbance_time: of efforts of unknown origin [s], None: it reckons with none;
        frame_rate: how many frames there may be in a second.
        """
        links = f'{self.prefix}link[1-7]'
        losses = {
            f'{joint}.{loss}': {'mean': round(float(mean), 3), 'sd': 0.4}
            for loss, (first, last) in _LOSSES.items()
            for joint, mean in zip(self.joints, np.linspace(first, last, len(self.joints)))
        }
        encoders = {'kind': 'joint_positions', 'topic': 'joint_states', 'joints': [*self.joints]}
        settings = {
            'model': {
                'urdf': (_ROBOTS / self.urdf).read_text().strip(),
                'joint_types': dict.fromkeys(self.fixed, 'fixed'),
            },
            'joints': {joint: {'effort': 'commanded'} for joint in self.joints},
            'efforts': {'commanded': 'joint_states'},
            'sensors': {'encoders': {**encoders, 'sd': 2e-4, 'max_rate': 250.0}},
            'estimate': {
                f'{links}.mass': {'sd': 0.25},
                f'{links}.com.*': {'sd': 0.015},
                f'{links}.inertia.*': {},
                **losses,
                f'{self.prefix}joint[1-7].armature': {'mean': 0.1},
            },
            'frames': {'max_rate': frame_rate},
            'simulation': {'max_step': 0.002, 'disturbance_time': disturbance_time},
            'estimator': {'settings': {'starts': 1, 'horizons': [25, 50, 75, 100, 150, 200]}},
        }
        return read_config(json.dumps(settings), self.urdf)

    def robot(self, config, seed, **changes):
        """Return the `SyntheticRobot`, its truth drawn from the prior; changes: more settings."""
        motion = {
            joint: {'interval': INTERVAL, 'low': middle - _SWING, 'high': middle + _SWING}
            for joint, middle in zip(self.joints, self.middles)
        }
        settings = {'config': self.urdf, 'seed': seed, 'spread': 1.0, 'motion': motion}
        settings = read_config(json.dumps(settings), 'robot', SyntheticConfig)
        return SyntheticRobot(replace(settings, **changes), config=config)
