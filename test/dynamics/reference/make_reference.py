"""
Write random_trees.json.gz: random robots, states, and what Pinocchio computes for them.

Needs Pinocchio (requirements-peers.txt); the tests only read the file. Numbers are exact: the
decimal form of a float in JSON is read back as the same float.
"""

import gzip
import json
from pathlib import Path
import sys

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / 'benchmark'), str(ROOT / 'test' / 'dynamics')]

from comparison import (  # noqa: E402
    condition,
    full_matrix,
    relative_error,
    TOLERANCE,
    WELL_CONDITIONED,
)
from pinocchio_model import PinocchioModel  # noqa: E402
from trees import build_model, draw_kinds, draw_state, draw_tree, let_follow  # noqa: E402

from sim2real_estimator.model.joints import JOINTS  # noqa: E402

TREES = 54
# Regressors have many entries; a few trees show what there is to see.
REGRESSOR_JOINTS = 4
OUTPUT = HERE / 'random_trees.json.gz'


def requests():
    """Yield what each tree shall be, as keywords of `make_entry`."""
    for index in range(TREES):
        yield {
            'name': f'tree{index}',
            'moving': 2 + index % 11,
            'masses': (1e-6, 10.0) if index % 5 == 4 else (0.2, 5.0),
            'is_floating': index % 3 == 2,
            'states': 4 if index in (2, 3, 5) else 1,
        }
    for index in range(8):
        yield {
            'name': f'mimic{index}',
            'moving': 4 + index,
            'is_floating': index % 2 == 1,
            'has_followers': True,
        }
    for index in range(5):
        yield {
            'name': f'ill{index}',
            'moving': 4 + index,
            'masses': (1e-6, 10.0),
            'least_condition': WELL_CONDITIONED,
        }


def make_entry(rng, moving, has_followers=False, states=1, least_condition=0.0, **tree):
    """Return a spec with states and answers, drawn again until all is as it should be."""
    while True:
        spec = draw_tree(rng, kinds=draw_kinds(rng, JOINTS, moving), **tree)
        if has_followers:
            spec = let_follow(rng, spec)
        cases = [make_case(rng, build_model(spec)) for _ in range(states)]
        answers = [case['answers'] for case in cases]
        if min(map(condition, answers)) > least_condition and all(map(is_sound, cases)):
            return {'spec': spec, 'cases': cases}


def make_case(rng, model):
    """Return a random state and the answers to it."""
    state = draw_state(rng, model)
    answers = PinocchioModel(model).answers(state)
    if len(model.moving_joints) > REGRESSOR_JOINTS:
        del answers['regressor']
    return {'state': state, 'answers': answers}


def is_sound(case):
    """Tell whether Pinocchio's accelerations solve its own equations; near 1e8 some do not."""
    answers = case['answers']
    needed = full_matrix(answers['mass_matrix']) @ answers['acceleration'] + answers['bias']
    return relative_error(needed, case['state']['effort']) < TOLERANCE / 10


def main():
    """Write the file."""
    rng = np.random.default_rng(20240501)
    entries = [make_entry(rng, **request) for request in requests()]
    text = json.dumps(entries, separators=(',', ':'))
    # No time stamp in the file: the same trees give the same bytes.
    OUTPUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f'{OUTPUT.name}: {len(entries)} trees, {OUTPUT.stat().st_size // 1000} kB')


if __name__ == '__main__':
    main()
