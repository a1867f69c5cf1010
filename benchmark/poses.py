"""
Kinematics and torques of arms seen by motion capture: calibration, accuracy and cost.

    python benchmark/poses.py [SECONDS] [SEEDS] [clean | damaged | unseen]

Prints for each seed the squared distance of the truth per coordinate (NEES) of kinematics and of
all else, the error of predicted torques and processor seconds per second of data; then how often
intervals of 90 and 50 % hold the truth. damaged: a marker that flips for 20 of 250 frames, and 60
of 400 frames lost; unseen: no pose comes, lengths are as off as with the others.
"""

from pathlib import Path
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test'))
from posteriors import feed  # noqa: E402, needs the line above
import seen_arms  # noqa: E402

from sim2real_estimator.pipeline import Pipeline  # noqa: E402


def main(seconds=12.0, seeds=20, mode='clean'):
    """Print what the module says."""
    inside = {'kinematics': [], 'others': []}
    for seed in range(int(seeds)):
        bodies = () if mode == 'unseen' else tuple(seen_arms.BODIES)
        recording = seen_arms.record(float(seconds), seed, bodies=bodies)
        if mode == 'damaged':
            recording.poses.update(seen_arms.damaged(recording))
        samples, pipeline = recording.samples(), Pipeline.from_config(seen_arms.config())
        begun = time.process_time()
        feed(pipeline, samples)
        cost = (time.process_time() - begun) / float(seconds)
        scores = seen_arms.scores(pipeline, recording.truth)
        error = seen_arms.torque_error(pipeline, recording.truth)
        print(
            f'{seed}: NEES of kinematics {scores[0]:.2f}, of others {scores[1]:.2f}; torque error '
            f'{error:.2%}; {cost:.3f} CPU s/s',
            flush=True,
        )
        mean, covariance = pipeline.mixture.moments()
        off = (mean - seen_arms.coordinates(recording.truth)) / np.sqrt(np.diag(covariance))
        places = pipeline.problem.poses.places
        inside['kinematics'].append(np.abs(off[places]))
        inside['others'].append(np.abs(np.delete(off, places)))
    for name, found in inside.items():
        ninety, fifty = (np.mean(np.array(found) < limit) for limit in (1.645, 0.674))
        print(f'{name}: {ninety:.1%} within 90 %, {fifty:.1%} within 50 %')


if __name__ == '__main__':
    main(*sys.argv[1:])
