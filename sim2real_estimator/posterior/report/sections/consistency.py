"""Whether the uncertainties can be believed."""

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from ..blocks import Cell, Section, Table
from ..drawing import drawing, picture
from ..figure_style import BLACK, BLUE, GREY, LIGHT, SKY, WIDTH
from ..words import number

_TITLE = 'Can the uncertainty be believed'
_NANO = 1e9
_BINS = 10
# Of poses of which less is used something is wrong.
_MOST = 0.6


def consistency(found):
    """Return the section of innovations and of coverage."""
    blocks = []
    if (found.course.degrees > 0).any():
        blocks.append(_innovations(found))
    if found.held_out.traces or found.held_out.torques:
        blocks.append(_coverage(found.held_out))
    if found.noise is not None:
        blocks += [_encoders(found.noise), _torques(found.noise)]
        blocks += [_poses(found.noise)] if found.noise.poses else []
    if not blocks:
        return Section(
            _TITLE,
            missing='There is nothing to judge it by: the filter never took over, and no data '
            'were kept back.',
        )
    return Section(_TITLE, tuple(blocks))


def _encoders(noise):
    """Return what was learned of the noise of encoders."""
    rows = [
        (sensor, joint, number(configured), number(learned), f'{learned / configured:.2g}')
        for sensor, joint, configured, learned in noise.encoders
    ]
    caption = (
        'Noise of encoders, as configured and as learned from how joints move: what was learned '
        'is used, so what is configured need not be right.'
    )
    head = ('sensor', 'joint', 'configured sd', 'learned sd', 'ratio')
    return Table(caption, head, tuple(rows), texts=(0, 1))


def _torques(noise):
    """Return what was learned of what is left of torques."""
    rows = [
        (
            joint,
            number(sd),
            number(inflation, 2),
            'yes' if is_explained else Cell('no', 'warn'),
            '' if resonance is None else Cell(number(resonance, 2), 'warn'),
        )
        for joint, sd, inflation, is_explained, resonance in noise.torques
    ]
    caption = (
        'What the model leaves of measured torques, of means over 20 ms: its standard deviation '
        '[N m or N], how many of them tell as much as a single one would if they were '
        'independent, whether the model explains the torque at all; if not, it is not used; and '
        'the frequency at which an elastic joint resonates [Hz].'
    )
    if noise.delay:
        mean, sd, applied = (f'{1e3 * each:.1f}' for each in noise.delay)
        caption += (
            f' Torques are {mean} ms late beside encoders, give or take {sd} ms; they were taken '
            f'to be {applied} ms late.'
        )
    head = ('joint', 'sd', 'worth one', 'explained', 'elastic')
    return Table(caption, head, tuple(rows), texts=(0, 3))


def _poses(noise):
    """Return what was learned of the noise of poses."""
    rows = [
        (
            *(sensor, part, number(configured), number(learned), number(inflation, 2)),
            f'{used:.0%}' if used >= _MOST else Cell(f'{used:.0%}', 'warn'),
        )
        for sensor, part, configured, learned, inflation, used in noise.poses
    ]
    caption = (
        'Noise of poses [m or rad], as configured and as learned from what kinematics leave of '
        'them, how many samples tell as much as a single one would if they were independent, and '
        'how many of those that were kept are used: others are far off, as if another body were '
        'followed.'
    )
    head = ('sensor', 'part', 'configured sd', 'learned sd', 'worth one', 'used')
    return Table(caption, head, tuple(rows), texts=(0, 1))


def _innovations(found):
    """Draw the squared innovations per degree of freedom."""
    times = found.course
    rows = times.degrees > 0
    degrees = times.degrees[rows]
    ratio = times.nis[rows] / degrees
    # Recordings one after the other, pauses between them left out.
    elapsed = np.concatenate([[0.0], np.cumsum(np.minimum(np.diff(times.stamps_ns), _NANO * 5))])
    elapsed = elapsed[rows] / _NANO
    low, high = (chi2.ppf(share, degrees) / degrees for share in (0.025, 0.975))
    with drawing(WIDTH, 2.8) as figure:
        axis = figure.subplots()
        axis.fill_between(elapsed, low, high, color=LIGHT, alpha=0.8, step='mid', linewidth=0)
        axis.axhline(1, color=GREY, linewidth=1)
        axis.plot(elapsed, ratio, 'o-', color=BLUE, markersize=4, linewidth=1)
        axis.set_xlabel('time of data [s]')
        axis.set_ylabel('surprise of each second')
        top = max(2.0, 1.1 * float(np.quantile(ratio, 0.97)))
        axis.set_ylim(0, top)
        for at, value in zip(elapsed[ratio > top], ratio[ratio > top]):
            axis.annotate(f'{value:.2g}', (at, top), ha='center', va='top', fontsize=8, color=BLUE)
        inside = 100 * np.mean((ratio >= low) & (ratio <= high))
        caption = (
            'Surprise of the filter (squared innovations per degree of freedom): where model, '
            'noise and uncertainty are right it is about one, and within the grey band in 95 % of '
            f'all seconds; here it was in {inside:.0f} %. Above it the noise is larger than said, '
            'or the model lacks something.'
        )
        return picture(figure, caption, 'Normalised innovations over time')


def _coverage(held):
    """Draw where measurements lie within what was predicted of them."""
    shares = _ranks(held)
    promised = np.linspace(0.05, 0.95, 19)
    within = [float((np.abs(2 * shares - 1) <= p).mean()) for p in promised]
    with drawing(WIDTH, 3.4) as figure:
        left, right = figure.subplots(1, 2)
        left.hist(shares, np.linspace(0, 1, _BINS + 1), density=True, color=SKY, edgecolor='white')
        left.axhline(1, color=BLACK, linestyle='--', linewidth=1.2)
        left.set_xlabel('where in its predicted distribution a measurement lies')
        left.set_ylabel('how often')
        left.set_title('should be level')
        right.plot([0, 100], [0, 100], '--', color=BLACK, linewidth=1.2)
        right.plot(100 * promised, 100 * np.array(within), 'o-', color=BLUE, markersize=4)
        right.set_xlabel('promised [%]')
        right.set_ylabel('found [%]')
        right.set_title('should lie on the line')
        right.set_aspect('equal')
        caption = (
            'Data that were kept back, against the spread of draws and noise: a hill on the left '
            'and a curve above the line on the right say that intervals are too wide, a valley '
            'and a curve below that they are too narrow.'
        )
        return picture(figure, caption, 'Coverage of predictions of data that were kept back')


def _ranks(held):
    """Return of every measurement which share of its predicted distribution lies below it."""
    shares = []
    # Torques are what a model of measured torques is about.
    for trace in held.torques or held.traces:
        away = (trace.measured[:, None] - trace.predicted['draws']) / trace.sd
        shares.append(ndtr(away).mean(1))
    return np.concatenate(shares)
