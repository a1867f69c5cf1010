"""Parameters with their verdicts, and estimates with combinations, as messages and back."""

from dataclasses import replace

import numpy as np
import pytest

from sim2real_estimator.errors import DataError
from sim2real_estimator.events import input_back
from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.records import (
    CombinationFinding,
    Estimate,
    Findings,
    ParameterFinding,
    Payload,
    PayloadReason,
    UpdateReport,
)

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy import serialization

from sim2real_estimator.ros.publishers import (
    bands_message,
    estimate_message,
    events_message,
    parameters_message,
    read_bands,
    read_estimate,
    read_parameters,
)
from sim2real_estimator.ros.verdict_looks import LOOKS

STAMP_NS = 1_700_000_000_000_000_007
# Two thirds: no decimal number has all its bits but one of seventeen digits.
THIRDS = 2 / 3


def received(message):
    """Return a message as somebody else gets it."""
    return serialization.deserialize_message(
        serialization.serialize_message(message), type(message)
    )


def estimate():
    names = ('elbow.damping', 'lower.mass')
    report = UpdateReport('filter')
    verdicts = ('identified', 'ambiguous')
    return Estimate(
        STAMP_NS, names, np.array([0.1, THIRDS]), np.array([0.01, 1 / 7]), verdicts, report
    )


FOUND = (
    ParameterFinding(
        'elbow.damping', 0.1, 0.01, (0.08, 0.1, 0.12), 0.2, 0.15, 0.07, 'identified', ()
    ),
    ParameterFinding(
        'lower.mass',
        THIRDS,
        1 / 7,
        (0.5, THIRDS, 0.75),
        1.0,
        0.3,
        1 / 3,
        'aliased',
        ('lower.com.z', 'upper.mass'),
    ),
    ParameterFinding(
        'commands.delay', 0.0, 1e-3, (-1e-3, 0.0, 1e-3), 0.0, 5e-3, 0.2, 'changed', ()
    ),
)
UNITS = ('N m s/rad', 'kg', 's')
COMBINATION = CombinationFinding('log(lower.mass) + 0.5 lower.com.z', -0.4, 0.02, 0.3)


def findings(**changes):
    usual = Findings(
        STAMP_NS,
        FOUND,
        (CombinationFinding('log(elbow.damping)', -2.3, 0.1, 0.7), COMBINATION),
        ('lower.mass - lower.com.z', 'upper.mass'),
        observed=5,
        unobserved=2,
        information=17.25,
        modes=((1.0, (0.1, THIRDS)),),
        misfit=1.125,
    )
    return replace(usual, **changes)


def test_combinations_follow_the_parameters():
    message = received(estimate_message(estimate(), findings()))
    assert message.name == ['elbow.damping', 'lower.mass', COMBINATION.label]
    assert message.position.tolist() == [0.1, THIRDS, -0.4]
    assert message.velocity.tolist() == [0.01, 1 / 7, 0.02]
    assert len(message.effort) == 0


def test_with_several_modes_the_heaviest_is_in_the_efforts():
    modes = ((0.75, (0.3, 0.4)), (0.25, (0.1, 0.9)))
    message = received(estimate_message(estimate(), findings(modes=modes)))
    heaviest = read_estimate(message).heaviest
    assert np.isnan(heaviest.pop(COMBINATION.label))
    assert heaviest == {'elbow.damping': 0.3, 'lower.mass': 0.4}


def test_bands_are_the_mean_and_the_outer_quantiles_bit_for_bit():
    message = received(bands_message(findings()))
    assert message.name == [each.name for each in FOUND]
    reading = read_bands(message)
    assert reading.stamp_ns == STAMP_NS
    assert reading.mean == {each.name: each.mean for each in FOUND}
    assert reading.low == {each.name: each.quantiles[0] for each in FOUND}
    assert reading.high == {each.name: each.quantiles[2] for each in FOUND}


def test_an_estimate_is_no_bands():
    with pytest.raises(DataError, match='listen to ~/bands'):
        read_bands(received(estimate_message(estimate())))


def test_parameters_arrive_bit_for_bit():
    reading = read_parameters(received(parameters_message(findings(), UNITS)))
    assert reading.stamp_ns == STAMP_NS
    assert tuple(reading.parameters.values()) == FOUND
    assert reading.units == dict(zip(reading.parameters, UNITS))


def test_what_data_ask_for_and_no_robot_has_is_told():
    asked = replace(FOUND[0], verdict='out of prior', asked=('', -THIRDS, 0.04))
    message = received(parameters_message(findings(parameters=(asked, *FOUND[1:])), UNITS))
    status = message.status[1]
    assert status.message == ('out of prior: data ask for -0.667 +- 0.04, which no joint has')
    assert status.level == DiagnosticStatus.WARN
    assert read_parameters(message).parameters['elbow.damping'] == asked


def test_parameters_are_readable_as_they_are():
    _, first, second, third = parameters_message(findings(), UNITS).status
    assert (first.name, first.message, first.level) == (
        'elbow.damping',
        'identified',
        DiagnosticStatus.OK,
    )
    assert second.message == 'aliased with lower.com.z, upper.mass'
    assert {each.key: each.value for each in second.values} == {
        'mean': repr(THIRDS),
        'std': repr(1 / 7),
        'unit': 'kg',
        '5 %': '0.5',
        'median': repr(THIRDS),
        '95 %': '0.75',
        'prior mean': '1.0',
        'prior std': '0.3',
        'share of prior std': repr(1 / 3),
        'verdict': 'aliased',
        'aliases': 'lower.com.z, upper.mass',
    }
    assert third.level == DiagnosticStatus.WARN


def test_what_is_said_of_all_parameters_comes_first():
    reading = read_parameters(received(parameters_message(findings(), UNITS)))
    assert reading.posterior == {
        'observed dimensions': '5',
        'unobserved dimensions': '2',
        'information [nats]': '17.25',
        'modes': '1',
        'misfit': '1.125',
        'null direction 1': 'lower.mass - lower.com.z',
        'null direction 2': 'upper.mass',
    }


def payload_of(mass=2.41, reason=PayloadReason.NONE):
    mean = np.array([mass, 0.01, -0.09, 0.1, *[0.0] * 6])
    deviations = np.array([0.02, 0.001, 0.002, 0.003, *[0.0] * 6])
    return Payload('hand', 'tool', 0, mean, np.diag(deviations**2), 1.0, reason)


def test_what_was_taken_up_is_told_with_its_uncertainty():
    message = parameters_message(findings(payload=payload_of()), UNITS)
    reading = read_parameters(received(message))
    said = {key: text for key, text in reading.posterior.items() if key.startswith('payload')}
    assert said.pop('payload on') == 'hand' and said.pop('payload frame') == 'tool'
    assert {key: float(text) for key, text in said.items()} == {
        'payload mass': 2.41,
        'payload mass std': 0.02,
        'payload com.x': 0.01,
        'payload com.x std': 0.001,
        'payload com.y': -0.09,
        'payload com.y std': 0.002,
        'payload com.z': 0.1,
        'payload com.z std': 0.003,
    }


def test_a_payload_that_is_not_to_be_relied_on_is_told_with_the_reason():
    payload = payload_of(0.0, PayloadReason.MISFIT)
    reading = read_parameters(parameters_message(findings(payload=payload), UNITS))
    said = {key: text for key, text in reading.posterior.items() if key.startswith('payload')}
    assert said == {'payload not valid': PayloadReason.MISFIT.text}


def test_what_keeps_data_from_being_used_is_said_loudly():
    first, *_ = parameters_message(findings(unknown_efforts=('elbow',)), UNITS).status
    assert first.level == DiagnosticStatus.WARN
    assert 'the effort of elbow is unknown' in first.message


def test_before_any_innovation_there_is_no_misfit():
    reading = read_parameters(parameters_message(findings(misfit=None), UNITS))
    assert reading.posterior['misfit'] == ''


def test_another_message_is_not_of_parameters():
    with pytest.raises(DataError, match='no parameters with verdicts'):
        read_parameters(events_message([input_back('/joint_states')], 0))


def test_every_verdict_has_a_look_of_its_own():
    assert set(LOOKS) == set(Verdict)
    assert len({look.rgb for look in LOOKS.values()}) == len(Verdict)
    assert len({look.colour for look in LOOKS.values()}) == len(Verdict)
    assert len({look.rank for look in LOOKS.values()}) == len(Verdict)
