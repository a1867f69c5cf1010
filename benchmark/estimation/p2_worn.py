"""P2 whose elbow gets stiffer all at once, and is what it was again."""

from .p2_change import changed_and_back, explaining, noticing

TITLE = 'P2, the damping of the elbow grows by 40 % after 4 s, and is what it was after 7 s'


def measure(seed):
    """Return the record of one problem."""
    return changed_and_back(seed, 'elbow.damping', 1.4, 'friction of elbow')


def lines():
    """Return the lines of the table."""
    # Damping shows only while the joint moves, so it may take long to notice.
    return [*noticing(1000), *explaining()]
