"""
All messages that a node would publish of a short run, as bytes.

As a script it makes them as if there were no ROS, and prints topics and hexadecimal digits.
"""

import sys

# What has these endings or beginnings is not to be found, as where there is no ROS.
_HIDDEN = ('rclpy', 'sensor_msgs', 'std_msgs', 'geometry_msgs', 'diagnostic_msgs')
_HIDDEN = (*_HIDDEN, 'visualization_msgs', 'builtin_interfaces')


def every_output():
    """Return topic -> bytes."""
    from posteriors import feed, samples_of
    from scenarios import changed

    from sim2real_estimator.config.node_settings import MarkersConfig, SamplesConfig
    from sim2real_estimator.events import EventDescriber
    from sim2real_estimator.messages import serialized
    from sim2real_estimator.ros.publishers import estimate_message, events_message
    from sim2real_estimator.ros.worker.output_messages import Composer
    from sim2real_estimator.ros.worker.pipes import Wishes

    pipeline, _ = changed()
    estimates = feed(pipeline, samples_of(0.5, 9.0), to_the_end=False)
    composer, progress = Composer(pipeline.problem), pipeline.progress
    draws = SamplesConfig(count=5)
    wishes = Wishes(frozenset(), 50.0, draws, MarkersConfig(ghosts=2))
    trail = 2 * (progress.mixture.moments()[0],)
    topics = ('posterior', 'coordinates', 'payload', 'payload_uncertainty', 'parameters')
    topics += ('bands', 'predicted_joint_states', 'markers')
    made = {topic: composer.message(topic, progress, wishes, trail) for topic in topics}
    made['samples'], _ = composer.samples(progress, draws, None)
    latest = progress.estimate
    made['estimate'] = estimate_message(latest, progress.assessment.latest)
    reported = [event for estimate in estimates for event in estimate.report.events]
    made['events'] = events_message(EventDescriber().describe(reported, latest), latest.stamp_ns)
    return {topic: serialized(message) for topic, message in made.items()}


if __name__ == '__main__':
    sys.modules.update(dict.fromkeys(_HIDDEN))
    for topic, content in every_output().items():
        print(topic, content.hex())
