"""The arm of the measurement: the ready one, known to about a percent before it begins."""

from dataclasses import replace

from sim2real_estimator.app.synthetic.settings import load_estimator, load_synthetic
from sim2real_estimator.config import to_yaml, with_values
from sim2real_estimator.config.settings_tree import (
    EffortsConfig,
    EstimatorConfig,
    JointConfig,
    PriorConfig,
)

# All that the ready config estimates, so the filter is as large; what a batch from a wide prior
# takes is measured elsewhere.
KNOWN = {
    '*.mass': PriorConfig(sd=0.01),
    '*.com.*': PriorConfig(sd=5e-4),
    '*.inertia.*': PriorConfig(sd=0.01),
    '*.inertia.x[yz]': PriorConfig(sd=1e-4),
    '*.inertia.yz': PriorConfig(sd=1e-4),
    '*.damping': PriorConfig(sd=0.01),
    '*.friction': PriorConfig(sd=0.01),
    '*.armature': PriorConfig(mean=0.1, sd=0.01),
}
# In simulation efforts are just what acts.
_EFFORTS = EffortsConfig(commanded='joint_states')
_ESTIMATOR = EstimatorConfig(settings={'starts': 1, 'horizons': [25, 50, 75, 100, 150, 200]})


def prepare(robot_file, folder):
    """Write settings of node and robot to a folder; return (path of the node's, the robot's)."""
    settings = load_synthetic(robot_file)
    config = load_estimator(settings)
    urdf = robot_file.parents[1].resolve() / config.model.urdf
    joints = {name: JointConfig('commanded') for name in config.joints}
    parts = {'joints': joints, 'efforts': _EFFORTS, 'estimator': _ESTIMATOR, 'estimate': KNOWN}
    config = with_values(replace(config, **parts), {'model.urdf': str(urdf)})
    node, robot = folder / 'node.yaml', folder / 'robot.yaml'
    node.write_text(to_yaml(config), encoding='utf-8')
    settings = replace(settings, config=node.name, spread=1.0)
    robot.write_text(to_yaml(settings), encoding='utf-8')
    return node, robot
