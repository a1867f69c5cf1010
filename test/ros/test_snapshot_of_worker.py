"""What the node keeps of a worker for the one after it comes in pieces, and is whole."""

from posteriors import feed, pipeline_of, posterior_bytes, samples_of
import pytest

# What is published with it are messages of ROS.
pytest.importorskip('rclpy')

from sim2real_estimator.ros.worker.requests import begin, take_snapshot
from sim2real_estimator.ros.worker.snapshot import Snapshot

INTEGER = 8


def test_a_worker_after_another_goes_on_as_if_nothing_had_been():
    samples, worker, snapshot = samples_of()[:240], pipeline_of(), Snapshot()
    assert snapshot.content() is None
    sent = []
    for start in range(0, 160, 40):
        feed(worker, samples[start : start + 40], to_the_end=False)
        known = snapshot.known[0]
        content = take_snapshot(worker, *snapshot.known)[1]
        snapshot.take(content)
        # Of the frames that were told of before nothing is sent again.
        sent.append(len(content[1]) // INTEGER)
        assert known + sent[-1] == len(worker.stream.recorded_plan.bounds)
    assert all(sent[1:])
    for place in (160, 200):
        following = pipeline_of()
        begin(following, None, snapshot.content())
        assert following.stream.recorded_plan == worker.stream.recorded_plan
        for pipeline in (worker, following):
            feed(pipeline, samples[place : place + 40], to_the_end=False)
        assert posterior_bytes(following) == posterior_bytes(worker)
        assert following.stream.recorded_plan == worker.stream.recorded_plan
        snapshot.take(take_snapshot(following, *snapshot.known)[1])
