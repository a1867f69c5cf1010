"""Table and picture of the thrown cube."""

import matplotlib
import numpy as np
from rich import box
from rich.table import Table

from .cube_by_lcp import SIDE

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402 (the drawing backend has to be chosen first)

# What is to be reached on held-out throws: place as a part of the side, turn [degrees], how much
# better than the best coefficient of friction, and friction as a part of the target's cone.
PLACE, TURN, GAIN, CONE = 0.02, 3.0, 2.0, 1.02
_SHOWN = 3  # throws in the picture


def cube_table(result):
    """Return a rich table with a row for each law, before and after it was fitted."""
    out = Table(
        box=box.SIMPLE,
        padding=0,
        title='Held-out throws of one second',
        caption='Errors against the target, rms and largest over all instants: of places in parts '
        'of the side, of turns in degrees. Cone: the largest friction as a part of what the '
        "target's coefficient allows.",
    )
    out.add_column('friction', no_wrap=True)
    for heading in ('place', 'largest', 'turn', 'largest', 'cone', 'evaluations'):
        out.add_column(heading, justify='right', no_wrap=True)
    for name, fitted in result.laws().items():
        place, turn = fitted.accuracy.rms()
        most_place, most_turn = fitted.accuracy.largest()
        out.add_row(
            name,
            f'{100 * place:.2f} %',
            f'{100 * most_place:.1f} %',
            f'{turn:.2f}',
            f'{most_turn:.1f}',
            f'{fitted.cone:.3f}',
            str(fitted.evaluations),
        )
    return out


def cube_verdict(result):
    """Return (whether what was promised was reached, a sentence)."""
    place, turn = result.network.accuracy.rms()
    best_place, best_turn = result.scalar.accuracy.rms()
    gain = min(best_place / place, best_turn / turn)
    is_reached = place <= PLACE and turn <= TURN and gain >= GAIN
    is_reached &= result.network.cone <= CONE
    sentence = (
        f'With the friction network held-out throws are off by {100 * place:.2f} % of the side '
        f'and {turn:.2f} degrees (rms), {gain:.0f} times less than with the best coefficient of '
        f'friction; the friction stays within {result.network.cone:.3f} of the cone.'
    )
    return is_reached, sentence


def cube_picture(result, path):
    """Draw held-out throws from above before and after, and their errors over time; save them."""
    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4.6))
    before, *after = result.laws().items()
    for axis, laws in zip(axes, ((before,), after)):
        for throw in range(min(_SHOWN, result.wanted.shape[-1])):
            _draw(axis, result.wanted[..., throw], 'tab:green', 'target', throw)
            for (name, fitted), color in zip(laws, ('tab:orange', 'tab:blue')):
                _draw(axis, fitted.poses[..., throw], color, name, throw)
        axis.set_aspect('equal')
        axis.set_xlabel('x [m]')
        axis.set_ylabel('y [m]')
        axis.legend(fontsize=8)
    axes[0].set_title('before: throws from above', fontsize=10)
    axes[1].set_title('after', fontsize=10)
    times = np.linspace(0.0, 1.0, len(result.wanted))
    for (name, fitted), color in zip(after, ('tab:orange', 'tab:blue')):
        error = 100 * np.sqrt((fitted.accuracy.places**2).mean(1))
        axes[2].plot(times, np.maximum(error, 1e-3), color=color, label=name)
    axes[2].axhline(100 * PLACE, color='0.4', linestyle='--', linewidth=1, label='wanted')
    axes[2].set_yscale('log')
    axes[2].set_xlabel('time [s]')
    axes[2].set_ylabel('error of the place, held-out throws [% of the side]')
    axes[2].grid(alpha=0.25)
    axes[2].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw(axis, poses, color, name, throw):
    """Draw the path of a cube [T, 12] from above, and where it ends up."""
    label = name if throw == 0 else None
    axis.plot(poses[:, 0], poses[:, 1], color=color, linewidth=1.2, label=label)
    turn = poses[-1, 3:].reshape(3, 3)
    square = SIDE / 2 * np.array([[1, 1], [1, -1], [-1, -1], [-1, 1], [1, 1]])
    outline = poses[-1, :2] + square @ turn[:2, :2].T
    axis.plot(*outline.T, color=color, linewidth=0.8)
