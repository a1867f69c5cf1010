"""What networks carry, where there are any."""

from ..blocks import Cell, Section, Table, Text
from ..words import number

_TITLE = 'What networks carry'
# From this part of the mean square of the effort on, the physics should be looked at.
_MUCH = 0.1


def networks(found):
    """Return the section of the networks of a robot."""
    carried = found.findings.networks
    if not carried:
        return Section(
            _TITLE,
            missing='The settings declare no network, or training has switched all of them off.',
        )
    rows = []
    for each in carried:
        low, _, high = (number(100 * x, 2) for x in each.quantiles)
        share = f'{number(100 * each.share, 2)} ({low} to {high})'
        rows.append(
            (
                each.name,
                each.site,
                each.law,
                each.layers if each.layers == 'trained' else Cell(each.layers, 'warn'),
                number(each.rms),
                Cell(share, 'warn') if each.quantiles[0] > _MUCH else share,
            )
        )
    caption = (
        'Networks beside the physics. Share: mean square of the effort of the network over that '
        'of all effort at its site, along the motion that it refers to, in per cent, with its '
        '90 % interval.'
    )
    head = ('network', 'at', 'law', 'hidden layers', 'rms effort', 'share [%]')
    table = Table(caption, head, tuple(rows), texts=(0, 1, 2, 3))
    advice = Text(
        'A network that carries much stands for physics that the model lacks: look for its cause '
        'before the robot is simulated where the recording has not been.'
    )
    return Section(_TITLE, (table, advice))
