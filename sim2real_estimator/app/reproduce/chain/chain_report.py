"""Table and picture of the chain."""

import matplotlib
import numpy as np
from rich import box
from rich.table import Table

from .chain_experiment import NOISE, STARTS
from .chain_model import CHAIN_MASS, LINKS, RADIUS
from .chain_simulation import RATE

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)

# What is to be reached: error of the mass [kg], iterations, time [ms], share of intervals.
ERROR, MOST_ITERATIONS, MOST_MILLISECONDS, SHARES = 0.01, 10, 20.0, (0.85, 0.95)
# Instants that are drawn [s].
_DRAWN = (0.0, 4.4, 6.5, 8.1, 9.5)


def chain_table(result):
    """Return a rich table with a row for each start."""
    out = Table(
        box=box.SIMPLE,
        padding=0,
        title='Mass of the chain, 7 kg, from 10 s of positions',
        caption=f'Iterations of Levenberg-Marquardt until the mass stays within {ERROR} kg; '
        'time: of one loss with its gradient. lcp-physics takes 3 to 30 steps of RMSprop and '
        '1.7 to 2.4 s each.',
    )
    for heading in ('start [kg]', 'found [kg]', 'iterations', 'evaluations', 'time [ms]'):
        out.add_column(heading, justify='right', no_wrap=True)
    for start, course, time in zip(STARTS, result.courses, result.milliseconds):
        count = course.iterations_to(ERROR)
        out.add_row(
            f'{start:g}',
            f'{course.masses[-1]:.4f}',
            '-' if count is None else str(count),
            str(course.evaluations),
            f'{time:.1f}',
        )
    return out


def chain_verdict(result):
    """Return (whether what was promised was reached, a sentence)."""
    counts = [course.iterations_to(ERROR) for course in result.courses]
    holding = sum(each.holds for each in result.intervals)
    share, slowest = holding / len(result.intervals), max(result.milliseconds)
    is_reached = None not in counts and max(counts) <= MOST_ITERATIONS
    is_reached &= SHARES[0] <= share <= SHARES[1]
    arrived = sum(count is not None for count in counts)
    sentence = (
        f'{arrived} of {len(counts)} starts arrive within {ERROR} kg; with {NOISE * 100:.0f} cm '
        f'of noise {holding} of {len(result.intervals)} intervals of 90 % hold the true mass; '
        f'one loss with its gradient takes {slowest:.1f} ms at most (wanted: '
        f'{MOST_MILLISECONDS:.0f}).'
    )
    return is_reached, sentence


def chain_picture(result, path):
    """Draw the motion, the descents and the intervals, and save them."""
    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4.6))
    _draw_motion(axes[0], result.observed)
    for start, course in zip(STARTS, result.courses):
        axes[1].plot(course.masses, marker='o', markersize=3, label=f'from {start:g} kg')
    axes[1].axhline(CHAIN_MASS, color='0.4', linestyle='--', linewidth=1)
    axes[1].set_yscale('log')
    axes[1].set_xlabel('iteration of Levenberg-Marquardt')
    axes[1].set_ylabel('mass of the chain [kg]')
    axes[1].legend(fontsize=8)
    order = sorted(result.intervals, key=lambda each: each.mass)
    for row, each in enumerate(order):
        color = 'tab:blue' if each.holds else 'tab:red'
        axes[2].plot([each.low, each.high], [row, row], color=color, linewidth=1)
    axes[2].axvline(CHAIN_MASS, color='0.4', linestyle='--', linewidth=1)
    axes[2].set_xlabel('90 % interval of the mass [kg]')
    axes[2].set_ylabel('seed of the noise, in order')
    holding = sum(each.holds for each in order)
    axes[2].set_title(f'{holding} of {len(order)} hold', fontsize=10)
    for axis in axes[1:]:
        axis.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw_motion(axis, observed):
    """Draw chain and ball at a few instants."""
    colors = pyplot.cm.viridis(np.linspace(0.0, 0.9, len(_DRAWN)))
    for time, color in zip(_DRAWN, colors):
        points = observed[round(time * RATE)].reshape(-1, 2)
        chain = np.vstack([(0.0, 0.0), points[:LINKS]])
        axis.plot(*chain.T, color=color, marker='.', markersize=4, label=f'{time:g} s')
        axis.add_patch(pyplot.Circle(points[-1], RADIUS, color=color, alpha=0.7))
    axis.set_aspect('equal')
    axis.set_xlabel('[m]')
    axis.set_ylabel('[m]')
    axis.set_title('a ball of 3 kg hits a chain', fontsize=10)
    axis.legend(fontsize=8)
