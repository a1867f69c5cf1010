"""The rules of the payload bridge, without ROS, one by one and by random events."""

import math

import numpy as np
import pytest

from sim2real_estimator.records import Payload, PayloadReason
from sim2real_estimator.ros.payload_bridge.bridge_rules import Body, BridgeRules, Goal, Limits

LIMITS = Limits(frame='flange', rest_speed=0.01, mass_step=0.5, com_step=0.05)
HELD = (0.4, 0.0, 0.0, 0.05, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)


def payload(numbers=HELD, sd=1e-3, frame='flange', reason=PayloadReason.NONE, probability=1.0):
    covariance = np.eye(10) * sd**2
    return Payload('hand', frame, 0, np.array(numbers), covariance, probability, reason)


class World:
    """Rules with a clock: 50 steps a second."""

    def __init__(self, limits=LIMITS, previous=None, is_dry_run=False):
        self.rules, self.at = BridgeRules(limits, previous, is_dry_run), 0.0
        self.speed, self.is_alive, self.is_ready, self.calls = 0.0, True, True, []
        self.texts = []

    def run(self, seconds, answer=lambda call: (True, '', None)):
        """Go on for a time; every call is answered at once, None: never."""
        for _ in range(round(seconds / 0.02)):
            self.at += 0.02
            self.rules.hear_driver(self.at, self.is_ready)
            if self.speed is not None:
                self.rules.hear_speed(self.at, self.speed)
            if self.is_alive:
                self.rules.hear_alive(self.at)
            call = self.rules.step(self.at)
            if call:
                self.calls.append(call)
                if (said := answer(call)) is not None:
                    self.rules.hear_answer(self.at, *said)
            self.texts += [each.text for each in self.rules.taken_decisions()]
        return self

    def hear(self, *arguments, **more):
        self.rules.hear_payload(self.at, payload(*arguments, **more))
        return self


def test_a_usable_estimate_is_set_once():
    world = World().run(1.0).hear().run(3.0)
    (call,) = world.calls
    assert call.goal is Goal.FOLLOW and call.body.numbers == pytest.approx(HELD)
    assert world.rules.value == call.body and world.rules.is_sure


def test_nothing_is_set_in_a_dry_run_but_it_says_what_would_be():
    world = World(is_dry_run=True).run(1.0).hear().run(3.0)
    assert not world.calls
    assert any('dry run, not set: 0.400 kg' in text for text in world.texts)
    assert not BridgeRules(LIMITS, is_dry_run=True).decisions


def test_a_dry_run_is_the_default():
    assert BridgeRules(LIMITS).is_dry_run


REFUSED = {
    'not valid': {'reason': PayloadReason.MISFIT},
    'being isolated': {'reason': PayloadReason.CHANGING},
    'improbable': {'probability': 0.9},
    'mass not known': {'sd': 0.06},
    'centre not known': {'sd': 0.03},
    'another frame': {'frame': 'wrist'},
    'no frame': {'frame': ''},
    'too heavy': {'numbers': (5.1, *HELD[1:])},
    'too far': {'numbers': (0.4, 0.6, *HELD[2:])},
    'not finite': {'numbers': (0.4, math.nan, *HELD[2:])},
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_is_not_known_well_enough_is_never_set(case):
    world = World().run(1.0).hear(**REFUSED[case]).run(5.0)
    assert not world.calls


def test_a_robot_that_moves_is_left_alone_until_it_rests():
    world = World()
    world.speed = 0.2
    world.run(1.0).hear().run(2.0)
    assert not world.calls and any('moves' in text for text in world.texts)
    world.speed = 0.001
    world.run(LIMITS.rest_for - 0.05)
    assert not world.calls
    assert world.run(1.0).calls


@pytest.mark.parametrize('speed', [None, math.nan])
def test_a_speed_that_is_unknown_is_no_rest(speed):
    world = World()
    world.speed = speed
    assert not world.run(1.0).hear().run(3.0).calls


def test_a_driver_that_needs_no_rest_is_told_in_motion():
    world = World(Limits(frame='flange', rest_speed=None))
    world.speed = 3.0
    assert world.run(1.0).hear().run(1.0).calls


def test_a_heavy_body_comes_in_steps():
    heavy = (2.2, *HELD[1:])
    world = World().run(1.0).hear(heavy).run(4.0)
    masses = [call.body.mass for call in world.calls]
    assert masses == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.2])
    gaps = np.diff([call.at for call in world.calls])
    assert (gaps >= LIMITS.interval - 1e-9).all()
    assert world.rules.value.numbers == pytest.approx(heavy)


def test_a_centre_moves_in_steps():
    moved = (0.4, 0.2, *HELD[2:])
    world = World().run(1.0).hear().run(1.0).hear(moved).run(6.0)
    places = np.array([call.body.com for call in world.calls])
    assert (np.abs(np.diff(places, axis=0)).max(1) <= LIMITS.com_step + 1e-9).all()
    assert world.rules.value.numbers == pytest.approx(moved)


def test_small_differences_are_not_set():
    world = World().run(1.0).hear().run(1.0)
    for mass in (0.41, 0.395, 0.419):
        world.hear((mass, *HELD[1:])).run(1.0)
    assert len(world.calls) == 1
    assert len(world.hear((0.43, *HELD[1:])).run(1.0).calls) == 2


def test_what_the_driver_had_is_added():
    tool = Body((1.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    world = World(previous=tool).run(1.0).hear((0.4, 0.0, 0.0, 0.2, *[0.0] * 6)).run(2.0)
    assert world.rules.value.mass == pytest.approx(1.4)
    assert world.rules.value.com[2] == pytest.approx(0.18 / 1.4)
    alone = Limits(frame='flange', adds=False)
    world = World(alone, tool).run(1.0).hear((0.4, 0.0, 0.0, 0.1, *[0.0] * 6)).run(3.0)
    assert world.rules.value.mass == pytest.approx(0.4)


def test_a_body_that_is_put_down_is_unset():
    world = World().run(1.0).hear().run(1.0).hear((0.0,) * 10, sd=0.0).run(2.0)
    assert world.rules.value == Body() and len(world.calls) == 2


def test_without_estimates_the_previous_payload_comes_back():
    tool = Body((1.0, 0.0, 0.0, 0.1, *[0.0] * 6))
    world = World(previous=tool).run(1.0).hear().run(1.0)
    world.is_alive = False
    world.run(LIMITS.stale_after - 0.1)
    assert len(world.calls) == 1
    world.run(3.0)
    assert world.rules.value == tool and world.calls[-1].goal is Goal.RESTORE
    assert not world.rules.has_set


def test_without_estimates_nothing_is_restored_that_was_never_set():
    world = World(previous=Body((1.0, *[0.0] * 9)))
    world.is_alive = False
    assert not world.run(10.0).calls


def test_a_revoked_estimate_is_undone_after_a_while():
    world = World().run(1.0).hear().run(1.0).hear(reason=PayloadReason.CHANGING)
    world.run(LIMITS.revoked_after - 0.1)
    assert len(world.calls) == 1
    world.run(2.0)
    assert world.rules.value == Body() and world.calls[-1].goal is Goal.RESTORE


def test_a_change_that_is_isolated_in_time_undoes_nothing():
    world = World().run(1.0).hear().run(1.0)
    world.hear(reason=PayloadReason.CHANGING).run(0.5).hear((0.9, *HELD[1:])).run(2.0)
    assert world.rules.value.mass == pytest.approx(0.9)
    assert all(call.goal is Goal.FOLLOW for call in world.calls)


def test_an_estimate_that_is_less_certain_changes_nothing():
    world = World().run(1.0).hear().run(1.0).hear((0.9, *HELD[1:]), sd=0.1).run(20.0)
    assert len(world.calls) == 1 and world.rules.value.mass == pytest.approx(0.4)


def test_what_cannot_be_read_counts_as_revoked():
    world = World().run(1.0).hear().run(1.0)
    world.rules.hear_unreadable(world.at, 'fields of another program')
    assert world.run(6.0).rules.value == Body()


def test_an_absent_driver_is_not_called():
    world = World()
    world.is_ready = False
    assert not world.run(1.0).hear().run(3.0).calls
    world.is_ready = True
    assert world.run(1.0).calls


def test_a_driver_that_comes_back_is_told_again():
    world = World().run(1.0).hear().run(1.0)
    world.is_ready = False
    world.run(1.0)
    world.is_ready = True
    assert len(world.run(1.0).calls) == 2


def test_a_driver_that_comes_back_without_estimates_is_left_alone():
    world = World().run(1.0).hear().run(1.0)
    world.is_ready = world.is_alive = False
    world.run(5.0)
    world.is_ready = True
    assert len(world.run(5.0).calls) == 1


def test_a_driver_that_refuses_is_asked_a_few_times():
    world = World().run(1.0).hear().run(60.0, lambda call: (False, 'in protective stop', None))
    assert len(world.calls) == LIMITS.retries + 1
    gaps = np.diff([call.at for call in world.calls])
    assert (gaps >= LIMITS.retry_after - 1e-9).all()
    assert any('protective stop' in text for text in world.texts)
    world.rules.resume(world.at)
    assert len(world.run(2.0).calls) == LIMITS.retries + 2
    assert world.rules.value.numbers == pytest.approx(HELD)


def test_a_driver_that_never_answers_is_asked_a_few_times():
    world = World().run(1.0).hear().run(60.0, lambda call: None)
    assert len(world.calls) == LIMITS.retries + 1 and not world.rules.is_sure


def test_an_answer_that_comes_too_late_confirms_nothing():
    world = World().run(1.0).hear().run(LIMITS.answer_within + 0.5, lambda call: None)
    world.rules.hear_answer(world.at, True)
    assert not world.rules.is_sure


def test_another_value_read_back_is_a_failure():
    world = World().run(1.0).hear().run(1.0, lambda call: (True, '', Body()))
    assert not world.rules.value.mass and any('instead of' in text for text in world.texts)


def test_rolling_back_restores_and_stays_until_told_otherwise():
    world = World().run(1.0).hear().run(1.0)
    assert 'rolling back' in world.rules.rollback(world.at)
    world.run(2.0)
    assert world.rules.value == Body() and world.calls[-1].goal is Goal.ROLL_BACK
    count = len(world.calls)
    assert len(world.hear((0.8, *HELD[1:])).run(5.0).calls) == count
    world.rules.resume(world.at)
    assert world.run(3.0).rules.value.mass == pytest.approx(0.8)


def test_there_is_nothing_to_roll_back_before_a_call():
    world = World().run(1.0)
    assert 'nothing to roll back' in world.rules.rollback(world.at)
    assert not world.run(5.0).calls


def test_what_the_driver_has_at_first_is_what_is_restored():
    world = World().run(0.1)
    tool = Body((1.0, 0.0, 0.0, 0.1, *[0.0] * 6))
    world.rules.hear_found(world.at, tool)
    world.run(1.0).hear().run(1.0)
    world.rules.rollback(world.at)
    assert world.run(2.0).rules.value == tool


# ------------------------------------------------------------------------ random events


class Oracle:
    """What may be called, kept apart from the rules: each test of a call is a fact of the past."""

    def __init__(self, limits):
        self.limits, self.value, self.last, self.previous = limits, Body(), None, Body()
        self.fast, self.speed, self.is_ready, self.alive = -math.inf, None, False, None
        self.payload, self.heard, self.is_rolled_back, self.is_open = None, 0.0, False, False
        self.opened, self.is_sure = 0.0, True

    def check(self, call, at):
        """Assert that every rule allows a call."""
        limits = self.limits
        assert self.is_ready
        assert self.last is None or at - self.last >= limits.interval
        assert not self.is_open or at - self.opened > limits.answer_within
        assert self.speed is not None and at - self.speed <= 0.5
        assert at - self.fast >= limits.rest_for
        body, before = call.body, self.value
        if self.is_sure:
            assert abs(body.mass - before.mass) <= limits.mass_step + 1e-9
        assert 0 <= body.mass <= limits.most_mass
        if call.goal is Goal.FOLLOW:
            sd = self.payload.sd
            assert not self.is_rolled_back and self.payload.is_valid
            assert self.payload.frame == limits.frame
            assert self.payload.probability >= limits.probability
            assert sd[0] <= limits.mass_sd and (sd[1:4] <= limits.com_sd).all()
            assert at - self.alive <= limits.stale_after
        elif call.goal is Goal.RESTORE:
            lost = self.alive is None or at - self.alive > limits.stale_after
            assert lost or self.payload is None or not self.payload.is_valid
        else:
            assert self.is_rolled_back
        if call.goal is not Goal.FOLLOW:
            assert abs(body.mass - self.previous.mass) <= abs(before.mass - self.previous.mass)


@pytest.mark.parametrize('seed', range(16))
def test_no_sequence_of_events_leads_to_a_call_that_the_rules_forbid(seed):
    random = np.random.default_rng(seed)
    rules, oracle, at = BridgeRules(LIMITS, is_dry_run=False), Oracle(LIMITS), 0.0
    reasons, count, goals = list(PayloadReason), 0, set()
    for _ in range(3000):
        at += float(random.exponential(0.05))
        match int(random.integers(9)):
            case 0:
                known = payload(
                    (float(random.uniform(0, 3)), *random.uniform(-0.2, 0.2, 3), *[1e-4] * 6),
                    float(random.choice([1e-3, 1e-3, 1e-3, 0.1])),
                    str(random.choice(['flange', 'flange', 'flange', 'wrist'])),
                    reasons[int(random.integers(len(reasons)))]
                    if random.random() < 0.3
                    else PayloadReason.NONE,
                    float(random.choice([1.0, 1.0, 0.5])),
                )
                oracle.payload = known
                rules.hear_payload(at, known)
            case 1 | 2 if at % 20 < 14:
                oracle.alive = at
                rules.hear_alive(at)
            case 3 | 4:
                speed = float(
                    random.choice([0.0, 0.0, 0.0, 0.5, math.nan], p=[0.4, 0.3, 0.25, 0.03, 0.02])
                )
                oracle.speed = at
                if not speed <= LIMITS.rest_speed:
                    oracle.fast = at
                rules.hear_speed(at, speed)
            case 5 if random.random() < 0.1:
                is_ready = bool(random.random() < 0.8)
                if is_ready and not oracle.is_ready:
                    oracle.is_sure = False
                oracle.is_ready = is_ready
                rules.hear_driver(at, is_ready)
            case 6 if random.random() < 0.02:
                oracle.payload = None
                rules.hear_unreadable(at, 'of another program')
            case 7 if random.random() < 0.03:
                oracle.is_rolled_back = True
                rules.rollback(at)
            case 8 if random.random() < 0.2:
                oracle.is_rolled_back = False
                rules.resume(at)
        if oracle.is_open and random.random() < 0.7:
            is_good = bool(random.random() < 0.8)
            if rules.pending is not None:
                oracle.value, oracle.is_sure = (
                    (rules.pending.body, True) if is_good else (oracle.value, False)
                )
            rules.hear_answer(at, is_good, 'refused')
            oracle.is_open = False
        call = rules.step(at)
        if call is not None:
            oracle.check(call, at)
            count += 1
            goals.add(call.goal)
            oracle.last, oracle.is_open, oracle.opened = at, True, at
            oracle.is_sure = False if not oracle.is_sure else oracle.is_sure
    # All goals come up, so that each rule is tried.
    assert count > 5 and goals == {Goal.FOLLOW, Goal.RESTORE, Goal.ROLL_BACK}
