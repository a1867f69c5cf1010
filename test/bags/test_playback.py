"""A recording is handed out when it is due, by a clock of the test."""

from bag_files import joints, LATENCY, SECOND, START, write
import pytest

from sim2real_estimator.bags.playback import Playback
from sim2real_estimator.bags.reader import BagReader
from sim2real_estimator.errors import DataError

TOPIC, NOW = '/joint_states', 5 * SECOND
# Messages every tenth of a second, for a second.
COUNT, PERIOD = 11, SECOND // 10


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    others = [joints(START, [0.0], [0.0], ['wheel'], '/other')]
    entries = [joints(START + k * PERIOD, [float(k)], [0.0], ['pivot']) for k in range(COUNT)]
    path = write(tmp_path_factory.mktemp('played') / 'bag', [*others, *entries])
    with BagReader(path) as opened:
        yield opened


def begun(bag, **options):
    playback = Playback(bag, [TOPIC], **options)
    playback.begin(NOW)
    return playback


def heard(bag, playback, seconds):
    """Return the numbers of the messages that are due so many seconds after the begin."""
    found = playback.due(NOW + round(seconds * SECOND))
    return [round(bag.decoded(topic, content).position[0]) for topic, content in found]


def test_what_is_due_is_handed_out_once_and_in_order(bag):
    playback = begun(bag)
    assert heard(bag, playback, 0.35) == [0, 1, 2, 3]
    assert heard(bag, playback, 0.35) == []
    assert playback.wait_ns(NOW + round(0.35 * SECOND)) == SECOND // 20
    assert playback.time_ns(NOW + SECOND // 2) == START + LATENCY + SECOND // 2
    assert heard(bag, playback, 3.0) == list(range(4, COUNT)) and playback.is_over


def test_at_another_rate_time_runs_otherwise(bag):
    playback = begun(bag, rate=3.0)
    assert heard(bag, playback, 0.11) == [0, 1, 2, 3]
    assert playback.wait_ns(NOW + SECOND // 10) == pytest.approx(SECOND / 30, abs=1)
    assert not playback.is_over
    assert len(heard(bag, playback, 0.34)) == COUNT - 4 and playback.is_over


def test_what_comes_before_the_start_is_left_out(bag):
    playback = begun(bag, start=0.25)
    assert heard(bag, playback, 0.06) == [3]
    assert playback.before(['/other', TOPIC]).keys() == {'/other', TOPIC}
    assert bag.decoded(TOPIC, playback.before([TOPIC])[TOPIC]).position[0] == 2.0
    assert begun(bag).before(['/other']) == {}
    with pytest.raises(DataError, match='is 1.0 s long'):
        begun(bag, start=1.0)


def test_nothing_is_due_while_it_is_paused(bag):
    playback = begun(bag)
    assert heard(bag, playback, 0.15) == [0, 1]
    playback.toggle(NOW + round(0.17 * SECOND))
    assert heard(bag, playback, 9.0) == [] and playback.is_paused
    assert playback.time_ns(NOW + 9 * SECOND) == START + LATENCY + round(0.17 * SECOND)
    playback.toggle(NOW + 9 * SECOND)
    assert heard(bag, playback, 9.02) == [] and heard(bag, playback, 9.04) == [2]


def test_a_step_goes_to_the_next_message_and_stays_there(bag):
    playback = begun(bag)
    assert heard(bag, playback, 0.15) == [0, 1]
    for number in (2, 3):
        playback.step(NOW + SECOND)
        assert playback.is_paused
        assert heard(bag, playback, 5.0) == [number] and heard(bag, playback, 6.0) == []
    playback.toggle(NOW + 7 * SECOND)
    assert heard(bag, playback, 7.11) == [4]


def test_in_a_loop_it_begins_anew_and_time_goes_back(bag):
    playback = begun(bag, is_looped=True)
    assert heard(bag, playback, 1.05) == list(range(COUNT))
    assert (playback.is_over, playback.rounds) == (False, 1)
    assert playback.time_ns(NOW + round(1.05 * SECOND)) == START + LATENCY
    assert heard(bag, playback, 1.06) == [0]
    assert heard(bag, playback, 3.0) == list(range(1, COUNT)) and playback.rounds == 2


def test_steps_go_round_too(bag):
    playback = begun(bag, is_looped=True)
    found = []
    for _ in range(COUNT + 3):
        playback.step(NOW)
        found += heard(bag, playback, 0.0)
    assert found == [*range(COUNT), 0, 1, 2]
