"""The mixture of the posterior, pair by pair."""

import numpy as np

from ....observability.null_space import tangents_of
from ..blocks import Section
from ..drawing import drawing, picture
from ..figure_style import BLUE, GREEN, GREY, ORANGE, PURPLE, WIDTH
from ..words import count

_DRAWS, _MOST = 1500, 6
_BINS = 30
# Of a row of panels, and of what is written below them [inch].
_HEIGHT, _FOOT = 1.5, 0.9
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)


def corner(found):
    """Return the section of the corner plot."""
    title = 'How parameters hang together'
    parametrization, mixture = found.problem.parametrization, found.posterior.mixture
    if len(parametrization.names) < 2:
        return Section(title, missing='There is one parameter only, so no pair of them.')
    tangents, generator = tangents_of(parametrization, mixture), np.random.default_rng(0)
    estimates = mixture.draw(_DRAWS, generator)
    inner = tangents.draw(estimates, generator)
    values, answer = parametrization.inner.to_named(inner), _answers(found, estimates)
    return Section(
        title, (_picture(found, values, answer, _chosen(parametrization.inner.separated(inner))),)
    )


def _answers(found, estimates):
    """Return which component each draw is nearest to [N], by weight."""
    mixture = found.posterior.mixture
    order = np.argsort(-mixture.weights, kind='stable')[: len(_COLOURS)]
    if len(order) == 1:
        return np.zeros(estimates.shape[1], dtype=int)
    roots = [np.linalg.pinv(mixture.parameter_roots()[k]) for k in order]
    away = [
        ((root @ (estimates - mixture.means[:, [k]])) ** 2).sum(0) for k, root in zip(order, roots)
    ]
    return np.argmin(away, 0)


def _chosen(draws):
    """Return the indices of the parameters that depend most on one another, in their order."""
    together = np.abs(np.corrcoef(draws))
    np.fill_diagonal(together, 0.0)
    return sorted(np.argsort(-together.max(1), kind='stable')[:_MOST].tolist())


def _picture(found, values, answer, chosen):
    """Draw every pair of some parameters, and each alone on the diagonal."""
    size, names = len(chosen), found.problem.parametrization.names
    # Given places: to find them takes as long as all the rest, for so many panels.
    with drawing(WIDTH, _HEIGHT * size + _FOOT, None) as figure:
        foot = _FOOT / (_HEIGHT * size + _FOOT)
        figure.subplots_adjust(0.1, foot, 0.99, 0.99, 0.12, 0.12)
        grid = figure.subplots(size, size, squeeze=False)
        for row in range(size):
            for column in range(size):
                axis = grid[row, column]
                if column > row:
                    axis.set_axis_off()
                    continue
                x, y = values[chosen[column]], values[chosen[row]]
                _cell(axis, x, y, answer, row == column)
                axis.tick_params(labelsize=7)
                axis.locator_params(nbins=3)
                if row == size - 1:
                    axis.set_xlabel(_title(found, names[chosen[column]]), fontsize=8)
                    axis.tick_params(axis='x', rotation=30)
                else:
                    axis.set_xticklabels([])
                if column == 0 and row:
                    axis.set_ylabel(_title(found, names[chosen[row]]), fontsize=8)
                else:
                    axis.set_yticklabels([])
        figure.align_labels()
        components = count(found.posterior.mixture.size, 'component')
        caption = (
            f'Draws of the posterior ({components}): every dot is a robot that explains the data. '
            'A round cloud means that both parameters are known by themselves, a narrow slanted '
            'one that only their combination is; colours are separate answers.'
        )
        return picture(
            figure, caption, 'Pairs of parameters, and each alone on the diagonal', True
        )


def _cell(axis, x, y, answer, is_alone):
    """Draw one pair, or one parameter alone."""
    for k, colour in enumerate(_COLOURS):
        rows = answer == k
        if not rows.any():
            continue
        if is_alone:
            edges = np.linspace(x.min(), x.max(), _BINS)
            axis.hist(x[rows], edges, color=colour, alpha=0.7)
        else:
            axis.plot(x[rows], y[rows], '.', color=colour, markersize=1.6)


def _title(found, name):
    owner, _, quantity = name.rpartition('.')
    return f'{owner}\n.{quantity} [{found.units[name]}]'
