"""One recording in which all goes wrong that can, and what is counted of it."""

from collections import Counter

import numpy as np
from ros_like import joint_state, pose_stamped
from simulated import config, JOINTS, record

from sim2real_estimator.build import topics
from sim2real_estimator.config import with_values
from sim2real_estimator.pipeline import Pipeline

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
        'measured_efforts': {
            # The encoders have just restarted the stream when theirs arrives.
            'jumped back': waiting,
            'late': 1,
            # One that a message lacks, and both that nobody renews in the gap.
            'missing effort': 3,
            'repeated': 1,
            'unknown joint': 1,
            'used': received['measured_efforts'] - 2 - waiting,
            'zero effort with motion': 10,
        },
    }
