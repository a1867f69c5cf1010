"""A payload is a body welded to its link, no more and no less."""

import numpy as np
import pytest
import torch

from sim2real_estimator.app.synthetic.truth import carried
from sim2real_estimator.backend.simulator import Simulator
from sim2real_estimator.errors import ConfigError, EstimatorError
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf

PAYLOAD = """
payloads:
  box:
    link: lower
    at: 0.5
    until: 1.0
    mass: 0.4
    com: [0.05, -0.02, -0.35]
    inertia: [0.003, 0.004, 0.002, 0.0003, -0.0002, 0.0001]
"""
# The same body as a link of its own, welded on.
WELDED = """
  <link name="box">
    <inertial>
      <origin xyz="0.05 -0.02 -0.35"/>
      <mass value="0.4"/>
      <inertia ixx="0.003" iyy="0.004" izz="0.002" ixy="0.0003" ixz="-0.0002" iyz="0.0001"/>
    </inertial>
  </link>
  <joint name="weld" type="fixed"><parent link="lower"/><child link="box"/></joint>
</robot>
"""


def swung(urdf, values=None):
    """Return the state after a swing in space, so that every inertia matters."""
    simulator = Simulator(
        load_urdf(urdf, joint_types={'elbow': 'spherical'}), backend='eager', values=values
    )
    model = simulator.model
    state = simulator.neutral_state()
    generator = torch.Generator().manual_seed(3)
    speeds = torch.randn(model.velocity_size, 1, generator=generator, dtype=torch.float64)
    state[model.position_size :] = 2 * speeds
    return simulator.rollout(state, [0.01] * 40).states[-1, :, 0].numpy()


def test_it_moves_as_a_link_that_is_welded_on(make, double_pendulum_urdf):
    payload = make(PAYLOAD).settings.payloads['box']
    parameters = Parameters(load_urdf(double_pendulum_urdf))
    names = parameters.inertial_names('lower')
    values = carried(dict(zip(names, parameters.nominal(names))), names, payload)
    welded = swung(double_pendulum_urdf.replace('</robot>', WELDED))
    np.testing.assert_allclose(swung(double_pendulum_urdf, values), welded, atol=1e-11)
    assert np.abs(swung(double_pendulum_urdf) - welded).max() > 0.1


def test_it_is_there_from_the_tick_on_at_which_it_is_attached_until_it_is_dropped(make):
    robot, other = make(PAYLOAD), make()
    list(robot.run(1.5))
    assert [truth.time_ns for truth in robot.truths] == [0, 500_000_000, 1_000_000_000]
    free, loaded, dropped = (truth.values for truth in robot.truths)
    assert dropped == free
    assert loaded['lower.mass'] == pytest.approx(free['lower.mass'] + 0.4)
    assert loaded['upper.mass'] == free['upper.mass']
    assert other.truth.values.items() <= free.items()


def test_it_changes_the_motion_from_that_instant_on(make):
    motion = 'motion: {shoulder: {amplitude: 0.7, frequencies: [0.8]}}\n'
    states = []
    for text in (motion, motion + PAYLOAD):
        robot, track = make(text), []
        for _ in range(80):
            track.append(robot.plant.state.copy())
            robot.advance()
        states.append(np.array(track))
    without, loaded = states
    # The state of tick 50 is the last one that nothing has disturbed.
    np.testing.assert_allclose(loaded[:51], without[:51], atol=1e-12)
    assert np.abs(loaded[51] - without[51]).max() > 1e-4


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('lower', 'lowr', "there is no link 'lowr'"),
        ('lower', 'stand', 'payloads.box.link: stand does not move; choose a link that does'),
        ('0.05, -0.02', '-0.02', 'payloads.box.com: has not 3 numbers'),
        ('0.003', '0.3', 'payloads.box.inertia: its inertia breaks the triangle inequality'),
        ('until: 1.0', 'until: 0.4', 'payloads.box.until: is not after 0.5 s'),
        ('mass: 0.4', 'mass: 0', 'payloads.box.mass: is 0.0; give a value above 0'),
    ],
)
def test_what_cannot_be_carried_is_an_error(make, old, new, message):
    with pytest.raises(EstimatorError) as caught:
        make(PAYLOAD.replace(old, new))
    assert message in str(caught.value)


def test_a_link_of_unknown_length_carries_nothing(make):
    with pytest.raises(ConfigError, match='lower.length of its own'):
        make(PAYLOAD + 'truth: {lower.length: 0.3}')
