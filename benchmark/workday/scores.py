"""How good what is said of a recording is, by the hidden truth; nothing of our package."""

import numpy as np
from peers.named_torque import pinocchio_model, torque_of_named
from scipy.linalg import eigh
from scipy.stats import norm

# Slower joints may stick: what holds them is no function of the motion [rad/s].
_SLOW = 0.05
# What data have left less than this part of the prior's variance of is learned.
_LEARNED = 0.1
# A box that is put down leaves less than this [kg], or is reported as so much less.
_NOTHING = 0.2


def torque_error(recording, named):
    """
    Return the rms error of the torques of a motion not seen before over their rms [%].

    named: name -> value. What the sensors add, offsets and gains, is none of the robot: the true
    torques are to be predicted.
    """
    model, unseen = pinocchio_model(recording.urdf), recording.unseen
    robot = {name: v for name, v in named.items() if not name.endswith('.torque_offset')}
    motion = unseen['q'], unseen['v'], unseen['a']
    away = torque_of_named(model, robot, recording.joints, *motion) - unseen['tau']
    is_moving = np.abs(unseen['v']) > _SLOW
    return 100 * float(
        np.sqrt((away[is_moving] ** 2).sum() / (unseen['tau'][is_moving] ** 2).sum())
    )


def calibration(belief, kind):
    """
    Return ranks of the truth in what is known of each learned direction, and the mean square.

    belief: a `Belief`; kind: 'body' or 'loss'. Directions are the generalised eigenvectors of the
    posterior and the prior. {'ranks': [d], 'nees': float, None where nothing was learned}.
    """
    rows = np.array([k for k, each in enumerate(belief.kinds) if each == kind], dtype=int)
    if not rows.size:
        return {'ranks': [], 'nees': None}
    block = np.ix_(rows, rows)
    left, directions = eigh(belief.covariance[block], belief.prior[1][block])
    directions = directions[:, left < _LEARNED]
    error = directions.T @ (belief.truth - belief.mean)[rows]
    off = error / np.sqrt(np.maximum(left[left < _LEARNED], 1e-300))
    return {
        'ranks': norm.cdf(off).tolist(),
        'nees': float((off**2).mean()) if off.size else None,
    }


def payload(recording, told):
    """
    Return what was noticed of a box: a record of plain values.

    found: whether a change was reported while it was held, and a load named within 10 s; late:
    after motion began [s]; error: of its mass 3 s after motion began [kg], all of it where none
    was named by then, and rank of the truth; has_link: whether it is on the right link 10 s
    after; has_return: whether putting it down was noticed.
    """
    grasp, release = recording.events
    begin, again = (recording.motion_after(event.t) for event in (grasp, release))
    during = [t for t in told.changes if grasp.t <= t < release.t]
    after = [t for t in told.changes if release.t <= t < again + 10.0]
    at = told.loads
    soon, later, gone = at.get(begin + 3.0), at.get(begin + 10.0), at.get(again + 10.0)
    known = soon if during else None
    return {
        'found': bool(during) and bool(soon or later),
        'late': max(0.0, during[0] - begin) if during else None,
        'error': abs(known[1] - grasp.mass) if known else (grasp.mass if during else None),
        'rank': float(norm.cdf((grasp.mass - known[1]) / known[2])) if known else None,
        'has_link': bool(later and later[0] == grasp.link),
        'has_return': bool(after)
        and (gone is None or abs(gone[1]) < _NOTHING or abs(gone[1] + grasp.mass) < _NOTHING),
    }


def asked(recording):
    """Return the times at which the load has to be told [s]."""
    if not recording.events:
        return ()
    begin, again = (recording.motion_after(event.t) for event in recording.events)
    return begin + 3.0, begin + 10.0, again + 10.0


def false_alarms(recording, told):
    """Return how many changes were reported before there was any, and in how long [s]."""
    until = recording.events[0].t if recording.events else float(recording.t[-1])
    return sum(t < until for t in told.changes), float(until)
