"""One recording in which all goes wrong that can, and what is counted of it."""

from collections import Counter

import numpy as np
import pytest
from ros_like import joint_state, pose_stamped
from simulated import config, JOINTS, record

from sim2real_estimator.config import with_values
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.setup.sources import topics

SECOND = 10**9
SETTINGS = {
    'sensors.hand.kind': 'link_pose',
    'sensors.hand.topic': 'hand',
    'sensors.hand.link': 'lower',
    'sensors.hand.position_sd': 0.001,
    'sensors.hand.orientation_sd': 0.01,
    # Bad poses would only make the fits slow.
    'estimator.settings.horizons': [1000, 2000],
}


def bad_messages(recording):
    """Yield (topic, message) of a recording in which all goes wrong that can."""
    turned = (1.0, 0.0, 0.0, 0.0)
    offset = int(recording.stamps[0])
    for k in range(200):
        stamp = offset + k * SECOND // 100
        angles, torques = recording.angles[k].copy(), recording.torques[k].copy()
        names = list(JOINTS)
        place, quaternion = [0.1 * np.sin(0.1 * k), 0.0, -0.01 * k], turned
        if k == 10:
            place[0] = np.nan
        if k == 11:
            quaternion = (0.0, 0.0, 0.0, 0.0)
        if k == 12:
            quaternion = (0.9, 0.0, 0.0, 0.0)
        if k == 13:
            place[0] = place[2] = 0.0
        if k == 14:
            place[0] = place[2] = 0.0
        if k == 20:
            angles[0] = np.inf
        if k == 21:
            names[1] = 'elbow_joint'
        if k == 22:
            stamp -= SECOND // 100
        if k == 23:
            stamp -= SECOND // 5
        if 40 <= k < 100:
            torques[1] = 0.0
        if k < 110 or k >= 190:
            yield 'joint_states', joint_state(stamp, names, angles, effort=torques)
        if k < 110:
            yield 'hand', pose_stamped(stamp, place, quaternion)
    yield 'joint_states', joint_state(offset - 9 * SECOND, JOINTS, angles, effort=torques)


def received_of(pipeline, wanted):
    """Run the bad recording and return how many messages each source got."""
    received = Counter()
    for topic, message in bad_messages(record(2.5)):
        for name, subscribed in topics(wanted).items():
            if subscribed == topic:
                received[name] += 1
                pipeline.receive(name, message)
        pipeline.step()
    pipeline.finish()
    return received


def test_every_fault_has_its_count():
    wanted = with_values(config(), SETTINGS)
    pipeline = Pipeline.from_config(wanted)
    received = received_of(pipeline, wanted)
    table = pipeline.counts.table()
    for name, number in received.items():
        assert pipeline.counts.outcomes(name) == number
    waiting = table['encoders']['jumped back'] - 1
    assert table == {
        'encoders': {
            'gap': 1,
            'jumped back': 1 + waiting,
            'late': 1,
            'missing joint': 1,
            'non-finite': 1,
            'repeated': 1,
            'unknown joint': 1,
            'used': received['encoders'] - 4 - waiting,
        },
        'hand': {
            'frozen': 1,
            'late': 1,
            'non-finite': 1,
            'occluded': 2,
            'repeated': 1,
            'used': received['hand'] - 6,
        },
        'commanded_efforts': {
            # The encoders have just restarted the stream when theirs arrives.
            'jumped back': waiting,
            'late': 1,
            # One that a message lacks, the other that is overdue after two messages that are left
            # out, and both that nobody renews in the gap.
            'missing effort': 4,
            'repeated': 1,
            'unknown joint': 1,
            'used': received['commanded_efforts'] - 2 - waiting,
            'zero effort with motion': 10,
        },
    }


@pytest.mark.parametrize(
    ('has_hand', 'word'), [(False, 'torque without motion'), (True, 'frozen')]
)
def test_encoders_that_hang_are_counted_and_make_a_gap(has_hand, word):
    pipeline, recording = Pipeline.from_config(with_values(config(), SETTINGS)), record(2.5)
    for k, (stamp, angles) in enumerate(zip(recording.stamps, recording.angles)):
        angles = recording.angles[60] if 60 <= k < 180 else angles
        torques = 3 * np.sin(0.3 * k + np.arange(2))
        message = joint_state(int(stamp), JOINTS, angles, effort=torques)
        pipeline.receive('encoders', message)
        pipeline.receive('commanded_efforts', message)
        if has_hand:
            place = [0.1 * np.sin(0.1 * k), 0.0, -0.01 * k]
            pipeline.receive('hand', pose_stamped(int(stamp), place, (1.0, 0.0, 0.0, 0.0)))
        pipeline.step()
    pipeline.finish()
    # The first half second of assessment still is let pass.
    assert pipeline.counts.table()['encoders'] == {'gap': 1, 'used': 251 - 69, word: 69}


def test_a_number_that_is_none_leaves_out_its_joint_only():
    pipeline, recording = Pipeline.from_config(config()), record(0.2)
    for k, (stamp, angles) in enumerate(zip(recording.stamps, recording.angles)):
        angles = [angles[0], np.nan] if k == 7 else angles
        efforts = [np.nan, 0.1] if k == 9 else [0.1, 0.1]
        message = joint_state(int(stamp), JOINTS, angles, effort=efforts)
        for source in pipeline.sources:
            pipeline.receive(source, message)
    pipeline.finish()
    assert pipeline.counts.table() == {
        'encoders': {'missing joint': 1, 'used': 21},
        'commanded_efforts': {'missing effort': 1, 'used': 21},
    }
