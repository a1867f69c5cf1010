"""
The rules of the payload bridge: when a driver is given another payload, and which.

No ROS in here. Time is passed in, in seconds of a steady clock. Whoever holds a `BridgeRules` says
what was heard (`hear_...`), asks for the next call (`step`), and logs what was decided
(`decisions`). `step` is the whole algorithm.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ...model.body_numbers import about_frame, at_centre
from ...records import PAYLOAD_NUMBERS

# From the order of `PAYLOAD_NUMBERS` to that of `model.body_numbers`: xx, yy, zz, xy, xz, yz.
_TO_HOUSE = np.array([0, 1, 2, 3, 4, 7, 9, 5, 6, 8])
_FROM_HOUSE = np.argsort(_TO_HOUSE)
# What a driver reads back may differ from what was set by this [kg, m, kg m^2]: UR rounds.
_READ_BACK = 1e-3
# A speed that is older than this says nothing [s].
_SPEED_AGE = 0.5


class Goal(Enum):
    """Where the payload of the driver is to go."""

    FOLLOW = 'follows the estimate'
    RESTORE = 'goes back to what was before'
    ROLL_BACK = 'is rolled back'
    HOLD = 'stays'


@dataclass(frozen=True)
class Body:
    """A payload, as the `PAYLOAD_NUMBERS`: mass, centre of mass, inertia about that centre."""

    numbers: tuple = (0.0,) * len(PAYLOAD_NUMBERS)

    @property
    def mass(self):
        """Its mass [kg]."""
        return self.numbers[0]

    @property
    def com(self):
        """Its centre of mass (x, y, z) [m]."""
        return self.numbers[1:4]

    @property
    def inertia(self):
        """Its inertia about that centre, xx, xy, xz, yy, yz, zz [kg m^2]."""
        return self.numbers[4:]

    def about_frame(self):
        """Return the ten numbers in which bodies add up [10]."""
        house = np.array(self.numbers)[_TO_HOUSE]
        return about_frame(house[0], house[1:4], house[4:])

    @staticmethod
    def of(numbers):
        """Return the body of ten numbers about the frame [10]."""
        mass, centre, inertia = at_centre(np.asarray(numbers, dtype=float))
        house = np.array([mass, *centre, *inertia])
        return Body(tuple(house[_FROM_HOUSE].tolist()))

    def is_near(self, other, by):
        """Tell whether all numbers are within `by` of those of another body."""
        return max(abs(a - b) for a, b in zip(self.numbers, other.numbers)) <= by

    def __str__(self):
        """Return mass and centre as text."""
        return f'{self.mass:.3f} kg at ({", ".join(f"{x:.3f}" for x in self.com)}) m'


@dataclass(frozen=True)
class Limits:
    """
    What the rules go by; docs/consumers.md has the defaults and their reasons.

    frame: in which payloads have to be given; probability: of the cause, at least; mass_sd [kg],
    com_sd [m] (x, y, z): standard deviations, at most; most_mass [kg], most_com [m]: of what is
    ever set; dead_band_mass [kg], dead_band_com [m]: differences that are not worth a call;
    mass_step [kg], com_step [m]: of one call; interval [s]: between calls; settle [s]: how long
    an estimate has to be usable; stale_after [s]: without an estimate; revoked_after [s]: not
    valid for so long; rest_speed [rad/s], rest_for [s]: the robot has to be so slow for so long,
    None: it may move; answer_within, retry_after [s]; retries: calls that fail in a row before
    none is made any more; adds: whether the estimate comes on top of what was set before.
    """

    frame: str = ''
    probability: float = 0.95
    mass_sd: float = 0.05
    com_sd: tuple = (0.02, 0.02, 0.02)
    most_mass: float = 5.0
    most_com: float = 0.5
    dead_band_mass: float = 0.02
    dead_band_com: float = 0.005
    mass_step: float = 0.5
    com_step: float = 0.05
    interval: float = 0.2
    settle: float = 0.2
    stale_after: float = 5.0
    revoked_after: float = 2.0
    rest_speed: float | None = 0.01
    rest_for: float = 0.3
    answer_within: float = 2.0
    retry_after: float = 2.0
    retries: int = 3
    adds: bool = True


@dataclass(frozen=True)
class Call:
    """A payload to be set; goal: why."""

    body: Body
    goal: Goal
    at: float


@dataclass(frozen=True)
class Decision:
    """What was decided at a time [s], and why."""

    at: float
    text: str
    is_warning: bool = False


class BridgeRules:
    """See the module."""

    def __init__(self, limits, previous=None, is_dry_run=True):
        """
        Begin; no call is made before an estimate was heard.

        previous: `Body` that the driver has now, which is restored when the estimate is lost;
        None: none. is_dry_run: decide and log, but never call.
        """
        self.limits, self.is_dry_run = limits, is_dry_run
        self.previous = self.value = previous or Body()
        # Whether the driver is known to have that value: not after a call without an answer.
        self.is_sure = True
        # Whether something was set that is still to be undone.
        self.has_set = False
        self.pending, self.is_rolled_back = None, False
        self.decisions = []
        self._payload, self._unusable = None, 'no payload was heard yet'
        self._usable_since, self._valid_at, self._alive_at = None, None, None
        self._is_ready, self._was_ready, self._speed, self._fast_at = False, False, None, None
        self._called_at, self._failures, self._retry_at, self._said = None, 0, None, ''

    # -------------------------------------------------------------------- what is heard

    def hear_payload(self, at, payload):
        """Take a `Payload` of the estimator."""
        self._payload = payload
        self._judge(at)

    def hear_unreadable(self, at, why):
        """Take note of a message that is no payload of ours: of another model or program."""
        self._payload, self._usable_since = None, None
        self._unusable = why
        self._decide(at, f'the payload cannot be read: {why}', True)

    def hear_alive(self, at):
        """Take note that the estimator gave an estimate of any kind."""
        self._alive_at = at

    def hear_speed(self, at, speed):
        """Take the largest speed of a joint [rad/s or m/s]; NaN: unknown."""
        self._speed = at, speed
        limit = self.limits.rest_speed
        if limit is not None and not abs(speed) <= limit:
            self._fast_at = at

    def hear_driver(self, at, is_ready):
        """Take whether the driver's service is there."""
        if is_ready == self._is_ready:
            return
        self._is_ready = is_ready
        if is_ready and self._was_ready:
            # It has forgotten what was set, and nothing of that is to be undone.
            self.is_sure, self.has_set = False, False
        self._was_ready |= is_ready
        self._decide(at, f'the driver is {"there" if is_ready else "absent"}', not is_ready)

    def hear_found(self, at, body):
        """Take the `Body` that the driver has, asked when it came; the first one is restored."""
        if not self.has_set and self.previous == self.value and self.is_sure:
            self.previous = body
        self.value, self.is_sure = body, True
        self._decide(at, f'the driver has {body}')

    def hear_answer(self, at, is_good, text='', found=None):
        """Take the driver's answer to the last call; found: the `Body` read back, if it can be."""
        if self.pending is None:
            # It came too late, and counts as lost already: what the driver has is not known.
            return
        call, self.pending = self.pending, None
        if is_good and found is not None and not found.is_near(call.body, _READ_BACK):
            is_good, text = False, f'the driver has {found} instead of {call.body}'
        if not is_good:
            self.is_sure = found is not None
            self.value = found or self.value
            self._fail(at, text or 'the driver refused')
            return
        self.value, self.is_sure, self._failures, self._retry_at = call.body, True, 0, None
        self.has_set = call.body != self.previous
        self._decide(at, f'set and confirmed: {call.body}')

    def rollback(self, at):
        """Go back to what was before, and follow no estimate until `resume`; return a text."""
        self.is_rolled_back, self._failures, self._retry_at = True, 0, None
        text = f'rolling back to {self.previous}; nothing is followed until ~/resume'
        if not self.has_set:
            text = f'nothing to roll back: the driver has {self.value}; nothing is followed'
        self._decide(at, text, True)
        return text

    def resume(self, at):
        """Follow estimates again; return a text."""
        self.is_rolled_back, self._failures, self._retry_at = False, 0, None
        text = 'estimates are followed again'
        self._decide(at, text)
        return text

    # ---------------------------------------------------------------------- decisions

    def step(self, at):
        """Return the `Call` to be made now, None where there is none."""
        self._judge(at)
        if self.pending is not None:
            if at - self.pending.at <= self.limits.answer_within:
                return None
            self.pending, self.is_sure = None, False
            self._fail(at, 'the driver has not answered')
        goal, target, why = self._goal(at)
        if goal is Goal.HOLD:
            return self._wait(at, why)
        if self._is_there(goal, target):
            return self._wait(at, f'nothing to do: {why}')
        if obstacle := self._obstacle(at):
            return self._wait(at, f'{why}, but {obstacle}')
        body = self._slewed(target)
        if self.is_dry_run:
            return self._wait(at, f'dry run, not set: {body} ({why})')
        self._called_at, self.pending, self.has_set = at, Call(body, goal, at), True
        self._decide(at, f'setting {body}: {why}')
        return self.pending

    def _goal(self, at):
        """Return (`Goal`, `Body` or None, why)."""
        if self.is_rolled_back:
            return Goal.ROLL_BACK, self.previous, 'rolled back by service'
        if self._alive_at is None or at - self._alive_at > self.limits.stale_after:
            return Goal.RESTORE, self.previous, 'there are no estimates'
        usable = self._usable_since
        if usable is not None:
            if at - usable < self.limits.settle:
                return Goal.HOLD, None, 'the estimate has just become usable'
            return Goal.FOLLOW, self._wanted(), 'the estimate is usable'
        is_valid = self._payload is not None and self._payload.is_valid
        last = self._valid_at
        if not is_valid and (last is None or at - last > self.limits.revoked_after):
            return Goal.RESTORE, self.previous, f'the estimate is revoked: {self._unusable}'
        return Goal.HOLD, None, self._unusable

    def _wanted(self):
        """Return the `Body` that the estimate asks for."""
        found = Body(tuple(map(float, self._payload.mean)))
        if not self.limits.adds:
            return found
        return Body.of(self.previous.about_frame() + found.about_frame())

    def _judge(self, at):
        """Take note of whether the estimate may be followed, since when, or why not."""
        payload = self._payload
        if payload is None:
            return
        self._unusable = self._fault(payload)
        if payload.is_valid:
            self._valid_at = at
        if self._unusable:
            self._usable_since = None
        elif self._usable_since is None:
            self._usable_since = at

    def _fault(self, payload):
        """Return why a `Payload` may not be followed, an empty text if it may."""
        limits, sd = self.limits, payload.sd
        if not payload.is_valid:
            return f'not valid: {payload.reason.text}'
        if not (np.isfinite(payload.mean).all() and np.isfinite(payload.covariance).all()):
            return 'a number is not finite'
        if not payload.is_held and not payload.frame:
            # Nothing was ever held, and no link is named yet.
            return self._out_of_bounds()
        if payload.frame != limits.frame:
            return f"it is given in the frame '{payload.frame}', not '{limits.frame}'"
        if not payload.probability >= limits.probability:
            return f'its cause has the probability {payload.probability:.2f} only'
        if sd[0] > limits.mass_sd:
            return f'the sd of its mass is {sd[0]:.3g} kg, above {limits.mass_sd:g}'
        if payload.is_held:
            for axis, found, most in zip('xyz', sd[1:4], limits.com_sd):
                if found > most:
                    return f'the sd of its centre {axis} is {found:.3g} m, above {most:g}'
        return self._out_of_bounds()

    def _out_of_bounds(self):
        """Return why the payload asked for is never set, an empty text if it may be."""
        wanted, limits = self._wanted(), self.limits
        if not 0.0 <= wanted.mass <= limits.most_mass:
            return f'{wanted.mass:.3g} kg are out of bounds: 0 to {limits.most_mass:g}'
        if max(map(abs, wanted.com)) > limits.most_com:
            return f'its centre is farther than {limits.most_com:g} m from the frame'
        return ''

    def _is_there(self, goal, target):
        """Tell whether the driver has the target, or is so near that no call is worth it."""
        if goal is not Goal.FOLLOW:
            return not self.has_set
        if not self.is_sure:
            return False
        limits = self.limits
        away = max(abs(a - b) for a, b in zip(self.value.com, target.com))
        is_light = self.value.mass == target.mass == 0.0
        is_close = abs(self.value.mass - target.mass) <= limits.dead_band_mass
        return is_close and (is_light or away <= limits.dead_band_com)

    def _obstacle(self, at):
        """Return what forbids a call now, an empty text if nothing does."""
        limits = self.limits
        if not self._is_ready:
            return 'the driver is absent'
        if self._failures > limits.retries:
            return f'{self._failures} calls have failed: see the driver, then call ~/resume'
        if self._retry_at is not None and at < self._retry_at:
            return 'the last call failed a moment ago'
        if self._called_at is not None and at - self._called_at < limits.interval:
            return 'the last call was a moment ago'
        if limits.rest_speed is not None:
            if self._speed is None or at - self._speed[0] > _SPEED_AGE:
                return 'the speed of the robot is unknown'
            if self._fast_at is not None and at - self._fast_at < limits.rest_for:
                return 'the robot moves'
        return ''

    def _slewed(self, target):
        """Return the `Body` on the way to a target that one call may set."""
        limits, share = self.limits, 1.0
        if (step := abs(target.mass - self.value.mass)) > limits.mass_step:
            share = limits.mass_step / step
        start, end = self.value.about_frame(), target.about_frame()
        while share > 1e-6:
            body = target if share == 1.0 else Body.of(start + share * (end - start))
            # The centre of no mass is nowhere.
            away = max(abs(a - b) for a, b in zip(body.com, self.value.com))
            if not (body.mass and self.value.mass) or away <= limits.com_step:
                return body
            share *= 0.5
        return self.value

    def _fail(self, at, text):
        """Take note of a call that failed."""
        self._failures += 1
        self._retry_at = at + self.limits.retry_after
        self._decide(at, f'a call failed: {text}', True)

    def _wait(self, at, why):
        """Take note, once, of why there is no call."""
        self._decide(at, why)
        return None

    def _decide(self, at, text, is_warning=False):
        if text != self._said:
            self._said = text
            self.decisions.append(Decision(at, text, is_warning))

    def taken_decisions(self):
        """Return the `Decision`s since the last time this was asked."""
        found, self.decisions = self.decisions, []
        return found
