"""
What an identification found, as one HTML file that a stranger understands: docs/report.md.

`sections/` holds a file for each part of it and the table of all, `templates/` what it looks like.
What draws it is imported when first used: it comes by the extra `report` of the package.
"""

from importlib.util import find_spec

from ...errors import ConfigError

__all__ = ['missing_for_report', 'report_text', 'require_drawing', 'write_report']

_NEEDED = ('jinja2', 'matplotlib')


def missing_for_report():
    """Return a sentence on what a report lacks to be drawn here, '' where there is all of it."""
    lacking = [name for name in _NEEDED if find_spec(name) is None]
    if not lacking:
        return ''
    return f'{" and ".join(lacking)} missing: pip install {" ".join(lacking)}'


def require_drawing():
    """Raise a ConfigError where nothing can be drawn."""
    if lacking := missing_for_report():
        raise ConfigError(f'no picture or report can be drawn: {lacking}')


def report_text(found):
    """Return the report of an `Identification` as HTML; the same but for the time of day."""
    require_drawing()
    from .page import page_text

    return page_text(found)


def write_report(found, path):
    """Write the report of an `Identification`: one file that needs no other and no network."""
    path.write_text(report_text(found), encoding='utf-8')
