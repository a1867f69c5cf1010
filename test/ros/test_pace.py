"""Real time for what is simulated; without ROS, and without waiting."""

from sim2real_estimator.ros.recording.clock import Pace

MILLI = 10**6


def test_ticks_are_due_by_the_schedule_and_not_by_when_the_one_before_was_done():
    pace = Pace(10 * MILLI, 5000 * MILLI)
    assert pace.wait(0, 5000 * MILLI) == 0
    assert pace.begin(0, 5001 * MILLI) == 0
    assert pace.wait(10 * MILLI, 5002 * MILLI) == 8 * MILLI
    assert pace.lateness == MILLI
    assert pace.elapsed(5002 * MILLI) == 2 * MILLI


def test_what_is_late_is_made_up_for_at_twice_the_speed():
    pace, now, done = Pace(10 * MILLI, 0), 100 * MILLI, []
    for tick in range(30):
        now += max(pace.wait(tick * 10 * MILLI, now), 0)
        assert pace.begin(tick * 10 * MILLI, now) == 0
        done.append(now)
    steps = {b - a for a, b in zip(done, done[1:])}
    assert steps == {5 * MILLI, 10 * MILLI}
    assert done[-1] == 290 * MILLI
    assert pace.lateness == 100 * MILLI
    pace.forget()
    assert pace.lateness == 0


def test_a_schedule_that_cannot_be_kept_is_put_off():
    pace = Pace(10 * MILLI, 0)
    pace.begin(0, 0)
    assert pace.begin(10 * MILLI, 3010 * MILLI) == 3000 * MILLI
    assert pace.wait(20 * MILLI, 3010 * MILLI) == 10 * MILLI
    assert pace.elapsed(3010 * MILLI) == 10 * MILLI
