"""
Changes of a real arm, spliced from recordings of the UR10e.

It takes up 2.8 kg while it rests, or nothing changes but the day: two recordings in a row.
"""

from itertools import permutations

import numpy as np

from .ours import ours
from .recordings import ur10e, UR_FREE, UR_LOADED

# What is in hand, as their names say or their authors; least squares beside all free recordings
# say 2.83, 2.78, 2.81 and 2.52 [kg].
LOADS = {**dict.fromkeys(UR_LOADED[:3], 2.8), UR_LOADED[3]: 2.6}
# When the mass is asked for, after motion begins [s].
MARKS = (3.0, 5.0, 10.0)
# What is fed after the load is picked up [s].
_AFTER = 12.0
_DAY = slice(0, len('ur-20_02_05'))

# Free recordings in a row, and the loaded one after them.
SPLICES = (
    (('ur-20_02_19_14harm50sec',), 'ur-20_02_19_14harm50secLoad'),
    (('ur-20_02_19_15harm50sec',), 'ur-20_02_19_15harm50secLoad'),
    (('ur-20_01_31-unload',), 'ur-20_01_31-load'),
    (('ur-20_02_12-50sec_12harm',), 'ur-20_02_19_14harm50secLoad'),
    (('ur-20_02_12-50sec_12harm',), 'ur-20_01_31-load'),
    (('ur-20_02_12-40sec_12harm',), 'ur-20_02_19_15harm50secLoad'),
    (('ur-20_02_10-30sec_12harm',), 'ur-20_02_19_14harm50secLoad'),
    (('ur-20_02_05-20sec_12harm', 'ur-20_02_05-20sec_8harm'), 'ur-20_02_19_15harm50secLoad'),
    (('ur-20_02_06-20sec_10harm', 'ur-20_02_06-20sec_5harm'), 'ur-20_01_31-load'),
    (('ur-20_01_31-unload',), 'ur-20_01_13-load_2600'),
)


def splices(data):
    """Return (free, loaded) `Recording`s of all `SPLICES`."""
    of = ur10e(data, {*UR_FREE, *UR_LOADED})
    found = []
    for free, loaded in SPLICES:
        before = of[free[0]]
        for name in free[1:]:
            before = before.then(of[name])[0]
        found.append((before, of[loaded]))
    return found


def take_up(free, loaded, adjust=None):
    """
    Return what our package says of a load that is picked up between two recordings.

    named: when [s], after the motion begins that shows it, None where it never was; link;
    errors: of its mass at `MARKS` [kg], of all of it where none is named; inside: whether 90 %
    intervals hold it; early: events before; events: after; used: time of the processor [s/s].
    """
    both, begin = free.then(loaded.between(loaded.t[0], loaded.motion_begins + _AFTER))
    moves = float(begin + loaded.motion_begins - loaded.t[0])
    run = ours(both, looks=[moves + mark for mark in MARKS], adjust=adjust, since=begin)
    mass, first, errors, inside = LOADS[loaded.name], run.first_load, [], []
    for look in run.looks:
        # What was said before the load was picked up is not about it.
        load = look.load if first and first.time <= look.time else None
        off = mass if load is None else abs(load.mass - mass)
        errors.append(float(off))
        inside.append(load is not None and bool(off < 1.645 * load.mass_sd))
    alarms = [(event.time - moves, event.name) for event in run.events if event.is_alarm]
    return {
        'splice': both.name,
        'named': None if first is None else first.time - moves,
        'link': None if first is None else first.load.link,
        'errors': errors,
        'inside': inside,
        'early': [alarm for alarm in alarms if alarm[0] < begin - moves],
        'events': [alarm for alarm in alarms if alarm[0] >= begin - moves],
        'used': run.used / both.seconds,
    }


def unchanged(data, count=None, seed=0):
    """Return `Recording`s of two different days in a row, at most so many, drawn with a seed."""
    of = ur10e(data, UR_FREE)
    pairs = [pair for pair in permutations(UR_FREE, 2) if pair[0][_DAY] != pair[1][_DAY]]
    if count is not None:
        chosen = np.random.default_rng(seed).permutation(len(pairs))[:count]
        pairs = [pairs[k] for k in chosen]
    return [of[one].then(of[other])[0] for one, other in pairs]


def alarms_of(recording, adjust=None):
    """Return how often, and for how long [s], nothing changed and something was said to."""
    run = ours(recording, adjust=adjust)
    alarms = [(event.time, event.name, event.changed) for event in run.events if event.is_alarm]
    return {
        'pair': recording.name,
        'seconds': recording.seconds,
        'alarms': alarms,
        'used': run.used / recording.seconds,
    }
