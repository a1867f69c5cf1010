"""Where pictures go: beside other results, into docs/images only where that is asked for."""

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
# Read by processes that draw, of which some are children.
_ASKED = 'SIM2REAL_DRAW_INTO_DOCS'


def add_argument(parser):
    """Add the option that asks for pictures in the documents."""
    parser.add_argument(
        '--draw',
        action='store_true',
        help='write pictures into docs/images, where they are part of the documents (into '
        'results/images)',
    )


def choose(is_for_docs):
    """Say, for this process and its children, whether pictures go into the documents."""
    os.environ[_ASKED] = '1' if is_for_docs else ''


def place(name):
    """Return the path of a picture, its folder made."""
    folder = _ROOT / ('docs' if os.environ.get(_ASKED) else 'results') / 'images'
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def shown(path):
    """Return a path as one reads it from the folder of the repository."""
    return path.relative_to(_ROOT)
