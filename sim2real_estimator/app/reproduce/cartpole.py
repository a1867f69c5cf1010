"""A cart-pole with friction and late commands: its model, its policy, and closed loops of both."""

from dataclasses import dataclass
import math

import numpy as np

from ...backend.base import RolloutInputs
from ...backend.choice import choose_backend
from ...dynamics.system import System
from ...model.parameters import Parameters
from ...model.urdf.load import load_urdf

URDF = """
<robot name="cartpole">
  <link name="rail"/>
  <link name="cart">
    <inertial>
      <mass value="0.8"/>
      <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="pole">
    <inertial>
      <origin xyz="0 0 0.3"/> <mass value="0.2"/>
      <inertia ixx="0.006" iyy="0.006" izz="0.0001" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="slider" type="prismatic">
    <parent link="rail"/> <child link="cart"/> <axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="12" velocity="10"/>
    <dynamics damping="0.5" friction="0.6"/>
  </joint>
  <joint name="hinge" type="continuous">
    <parent link="cart"/> <child link="pole"/> <axis xyz="0 1 0"/>
    <dynamics damping="0.003"/>
  </joint>
</robot>
"""
# What differs from robot to robot; the last one is no parameter of the equations of motion.
DELAY = 'commands.delay'
NAMES = (
    'cart.mass',
    'pole.mass',
    'pole.com.z',
    'slider.damping',
    'slider.friction',
    'hinge.damping',
    DELAY,
)
EFFORT = 12.0  # the largest force on the cart [N]
TRACK = 2.0  # the cart leaves its track beyond [m]
# Friction changes its sign over this speed in a model, and in truth [m/s]: what a model of steps
# of 5 ms can follow, and what the estimator does not know to be different.
FRICTION_VELOCITY, TRUE_FRICTION_VELOCITY = 0.03, 0.012
PERIOD = 0.01  # of commands and encoders [s]
SECONDS = 8.0  # of a rollout
HELD = 2.0  # so long the pole has to stand at the end [s]
UPRIGHT = 0.2  # and so near to the top [rad]
ENCODER_SD = (0.0005, 0.001)  # [m], [rad]
# Share of the newest difference of positions in the policy's velocities.
_FRESH = 0.5
# Gains: of energy; natural frequency of the pole [rad/s]; energy to reach, as a share of that at
# the top; spring and damper of the cart while the pole swings [N/m], [N s/m]; angle from the top
# at which to balance [rad]; balance by position, velocity, angle and rate; lead over latency [s].
FIRST_GAINS = np.array([12.0, 5.0, 1.0, 4.0, 2.0, 0.5, 4.0, 6.0, 45.0, 9.0, 0.03])


@dataclass(frozen=True)
class Rollouts:
    """
    B rollouts of T periods.

    positions [T + 1, 2, B]: true ones of cart [m] and pole [rad from the top]; measured: the
    same by encoders; commands [T, B] [N].
    """

    positions: np.ndarray
    measured: np.ndarray
    commands: np.ndarray

    @property
    def stays(self):
        """Whether the cart stays on its track, [B]."""
        return np.abs(self.positions[:, 0]).max(0) < TRACK

    @property
    def succeeded(self):
        """Whether the pole stands near the top all through the last seconds, [B]."""
        last = self.positions[-round(HELD / PERIOD) :, 1]
        return (np.abs(wrapped(last)) < UPRIGHT).all(0) & self.stays

    @property
    def costs(self):
        """What a policy is trained to make small, [B]: far from the top, far from the middle."""
        x, angle = np.moveaxis(self.positions, 1, 0)
        last = np.abs(wrapped(angle[-round(HELD / PERIOD) :]))
        costs = 0.5 * (1 - np.cos(angle)).mean(0) + 0.1 * (x**2).clip(max=9.0).mean(0)
        costs += (last > UPRIGHT).mean(0) + 0.2 * last.mean(0) + 1.0 * ~self.stays
        return np.where(np.isfinite(costs), costs, 10.0)


class Cartpole:
    """Batches of cart-poles under the policy, in steps of equal length."""

    def __init__(self, steps=2, friction_velocity=FRICTION_VELOCITY):
        """Take the number of steps in a period, and the speed over which friction changes."""
        self.steps = steps
        parameters = Parameters(load_urdf(URDF))
        values = dict(zip(parameters, parameters.nominal()))
        values['slider.friction_velocity'] = friction_velocity
        self._backend = choose_backend('auto')(System(parameters, NAMES[:-1]), values)

    def run(self, values, gains, starts, generator):
        """
        Return `Rollouts` of robots under policies.

        values [7, B]: of `NAMES`; gains [11, B or 1]; starts [2, B]: positions at rest.
        """
        steps, batch = self.steps, starts.shape[1]
        periods, step = round(SECONDS / PERIOD), PERIOD / steps
        values = np.ascontiguousarray(np.broadcast_to(values, (len(values), batch)))
        robots = np.ascontiguousarray(values[:-1])
        durations = np.full((steps, 1), step)
        noise = np.array(ENCODER_SD)[:, None]
        # Commands of all steps, after those before the first, which are zero.
        late = values[-1] / step
        before = math.ceil(late.max()) + 1
        given = np.zeros((before + periods * steps, batch))
        whole = np.floor(late).astype(int)
        share, lanes = late - whole, np.arange(batch)
        rows = before - whole + np.arange(steps)[:, None]
        state = np.concatenate([starts, np.zeros((2, batch))])
        positions, measured = np.empty((2, periods + 1, 2, batch))
        commands = np.empty((periods, batch))
        policy = Policy(gains)
        for period in range(periods + 1):
            positions[period] = state[:2]
            measured[period] = state[:2] + noise * generator.standard_normal((2, batch))
            if period == periods:
                break
            force = commands[period] = policy.force(measured[period])
            at = period * steps
            given[before + at : before + at + steps] = force
            # The mean over a step of what acts in it: a command begins to act within the step.
            acting = share * given[rows + at - 1, lanes] + (1 - share) * given[rows + at, lanes]
            controls = np.zeros((steps, 2, batch))
            controls[:, 0] = acting
            inputs = RolloutInputs(state, robots, controls, durations)
            state = self._backend.rollout_arrays(inputs)[0][-1]
        return Rollouts(positions, measured, commands)


class Policy:
    """Pumps energy into the pole until it is near the top, and balances it there."""

    def __init__(self, gains):
        """Take gains [11, B or 1], in the order of `FIRST_GAINS`."""
        self.gains = gains
        self.before = self.velocities = None

    def force(self, measured):
        """Return the force on the cart [B] [N] at measured positions [2, B]."""
        if self.before is None:
            self.before, self.velocities = measured, np.zeros_like(measured)
        fresh = (measured - self.before) / PERIOD
        self.velocities = self.velocities + _FRESH * (fresh - self.velocities)
        self.before = measured
        pump, frequency, energy, spring, damper, near, *balance, lead = self.gains
        (x, angle), (v, rate) = measured, self.velocities
        # Where the pole will be when the command acts.
        angle, rate = angle + lead * rate, rate + lead * frequency**2 * np.sin(angle)
        missing = energy - np.cos(angle) - 0.5 * (rate / frequency) ** 2
        swing = -pump * missing * rate / frequency * np.cos(angle) - spring * x - damper * v
        angle = wrapped(angle)
        hold = balance[0] * x + balance[1] * v + balance[2] * angle + balance[3] * rate
        return np.clip(np.where(np.abs(angle) < near, hold, swing), -EFFORT, EFFORT)


def wrapped(angle):
    """Return angles [rad] within half a turn of zero."""
    return np.remainder(angle + math.pi, 2 * math.pi) - math.pi


def random_starts(count, generator):
    """Return positions at rest [2, count]: the cart near the middle, the pole hanging."""
    x = generator.uniform(-0.2, 0.2, count)
    return np.stack([x, math.pi + generator.uniform(-0.3, 0.3, count)])
