"""
More recordings of DFKI's double pendulums, from a clone of its repository that the user has.

Those of design A.0 that the folder of recordings does not have, with which nothing was chosen, and
those of design C.1 in which both joints move, which were in view when it was decided that windows
estimate the delay of torques.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from .robots import about, EXAMPLES, Recording

_RECORDS = 'data/experiment_records'
_A0 = f'{_RECORDS}/design_A.0/20220815/sys_id/trajectory_{{}}.csv'
_C1 = f'{_RECORDS}/design_C.1/sys_id/20230629/{{}}/trajectory.csv'
_OF_A0 = ('01', '03', '05', '13')
_OF_C1 = (
    *('20230629-143339', '20230629-143524', '20230629-143601', '20230629-143704'),
    *('20230629-143747', '20230629-154220', '20230629-154548'),
)
# Values that the authors publish for C.1 (model_1.0), with which the gears' rotors agree.
_KNOWN_OF_C1 = {
    'P1 [kg m2]': about(0.0592),
    'I2 [kg m2]': about(0.0509),
    'h [kg m]': about(0.160),
    'G1 [kg m]': about(0.230),
}
# Columns of the CSV files by the arrays that `convert` reads.
_ARRAYS = {
    'q': ('pos_meas1', 'pos_meas2'),
    'qd': ('vel_meas1', 'vel_meas2'),
    'tau_meas': ('tau_meas1', 'tau_meas2'),
}


def other_examples(clone, place):
    """
    Return `Example`s whose recordings are written below a place, as `data_folder` looks for them.

    clone: folder of dfki-ric-underactuated-lab/double_pendulum.
    """
    folder = Path(place, 'data', 'dfki_double_pendulum')
    folder.mkdir(parents=True)
    found = []
    for example, pattern, names, title, known, is_fresh in (
        (_example('dfki_double_pendulum_a0'), _A0, _OF_A0, 'A.0, others', None, True),
        (_example('dfki_double_pendulum_c0'), _C1, _OF_C1, 'C.1', _KNOWN_OF_C1, False),
    ):
        pieces = tuple(Recording(f'{title[:3]}_{name}') for name in names)
        for piece, name in zip(pieces, names):
            _write(Path(clone, pattern.format(name)), folder / f'{piece.file}.npz')
        title = f'DFKI double pendulum {title}'
        known = example.known if known is None else known
        own = {'learned': pieces[:1], 'tests': (), 'pieces': pieces}
        own['chosen_on'] = () if is_fresh else tuple(each.name for each in pieces)
        found.append(replace(example, title=title, known=known, **own))
    return found


def _example(folder):
    return next(each for each in EXAMPLES if each.folder == folder)


def _write(source, path):
    """Write a CSV file of the repository as arrays, time from zero on."""
    if not source.is_file():
        raise FileNotFoundError(f'{source}: is not there; give the folder of a whole clone')
    rows = np.genfromtxt(source, delimiter=',', names=True)
    arrays = {name: np.stack([rows[c] for c in pair], 1) for name, pair in _ARRAYS.items()}
    np.savez(path, t=rows['time'] - rows['time'][0], **arrays)
