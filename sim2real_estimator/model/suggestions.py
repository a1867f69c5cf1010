"""Which of many names a user may have meant."""

import difflib

_SHOWN = 8


def suggestions(wanted, known):
    """Return all of the `known` names in words, or those nearest to `wanted` if they are many."""
    names = sorted(known)
    if len(names) <= _SHOWN:
        return ', '.join(names) or 'none'
    near = difflib.get_close_matches(wanted, names, _SHOWN, 0.5) or names[:_SHOWN]
    return f'{", ".join(near)} (of {len(names)})'
