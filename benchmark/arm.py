"""A real arm: seven joints about axes that are not parallel, everything about it estimated."""

from pathlib import Path
import sysconfig

import torch

from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.model.urdf.load import load_urdf

ROBOT = Path(
    sysconfig.get_path('purelib'),
    'cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf',
)
_FINGERS = ('panda_finger_joint1', 'panda_finger_joint2')
_OF_JOINT = ('damping', 'friction', 'armature', 'offset')
STEP = 0.002


def load_arm():
    """Return the `Model`, fingers fixed."""
    return load_urdf(str(ROBOT), joint_types=dict.fromkeys(_FINGERS, 'fixed'))


def names_of(parameters):
    """Return, joint by joint, the ten inertial parameters of its link and four of its own."""
    joints = [moving.joint for moving in parameters.model.moving_joints]
    return [
        name
        for joint in joints
        for name in (
            *parameters.inertial_names(joint.child),
            *(f'{joint.name}.{quantity}' for quantity in _OF_JOINT),
        )
    ]


def make_simulator():
    """Return the RK4 `Simulator` of the arm with all those parameters symbolic."""
    model = load_arm()
    return Simulator(model, names_of(Simulator(model).parameters), backend='native')


def draw(simulator, count, seed=0):
    """Return (state [14, K], parameters [98, K], controls [1, 7, K]); parameters do not vary."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = torch.cat([0.7 * normal(7, count), 0.5 * normal(7, count)])
    each = simulator.nominal().reshape(7, -1)
    each[:, -len(_OF_JOINT) :] += torch.tensor([0.1, 0.2, 0.1, 0.02], dtype=torch.float64)
    return state, each.reshape(-1, 1).repeat(1, count), 3.0 * normal(1, 7, count)
