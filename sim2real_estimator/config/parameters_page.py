"""Writes docs/parameters.md: the settings as parameters of the ROS node."""

from dataclasses import is_dataclass
from typing import get_args, get_origin, get_type_hints

from .node_settings import StartParameters
from .reading import declared
from .settings_tree import Config
from .writing import facts_in_words

_TYPES = {str: 'string', float: 'double', int: 'integer', bool: 'bool', object: 'any'}


def parameters_page():
    """Return docs/parameters.md."""
    lines = [
        '# Parameters of the node',
        '',
        'Written by `python -m sim2real_estimator.config parameters` from the declarations in',
        '`sim2real_estimator/config/`; a test compares. Every setting of the config file',
        '([configuration.md](configuration.md)) is a parameter under its dotted path. A parameter',
        'given at start (`-p frames.max_rate:=50.0`, `--params-file`) or set later counts more',
        'than the file. What cannot be used is refused with the reason; a misspelt name is an',
        'error.',
        '',
        'Parameters that are `dynamic` may be set at any time. The others are read when the node',
        'is configured; set them while it is not:',
        '`ros2 lifecycle set /sim2real_estimator cleanup`.',
        '',
        'An empty default stands for: none.',
    ]
    lines += ['', '## Where the settings are', '', *_table(StartParameters, '')]
    for name, declaration in declared(Config).items():
        hint = get_type_hints(Config)[name]
        kind, path = _section(hint, name)
        lines += ['', f'## {path}', '', f'{_sentence(declaration.metadata["description"])}', '']
        lines += _table(kind, f'{path}.')
    return '\n'.join(lines) + '\n'


def _section(hint, path):
    """Return (class, dotted path) of a section, or of the entries of one."""
    if get_origin(hint) is dict:
        return get_args(hint)[1], f'{path}.<name>'
    return hint, path


def _table(kind, prefix):
    return [
        '| parameter | type | default | | meaning |',
        '|---|---|---|---|---|',
        *_rows(kind, prefix),
    ]


def _rows(kind, prefix):
    hints = get_type_hints(kind)
    for name, declaration in declared(kind).items():
        hint, facts = hints[name], declaration.metadata
        inner, path = _section(hint, f'{prefix}{name}')
        if is_dataclass(inner):
            yield from _rows(inner, f'{path}.')
            continue
        default = getattr(kind(), name)
        shown = '' if default in (None, '', (), {}) else f'`{str(default).lower()}`'
        if isinstance(default, str) and default:
            shown = f'`{default}`'
        meaning = ', '.join(facts_in_words(facts))
        meaning = facts['description'] + (f' [{meaning}]' if meaning else '')
        cells = (
            f'`{path}`',
            _type(hint),
            'required' if facts.get('required') else shown,
            'dynamic' if facts.get('dynamic') else '',
            meaning.replace('|', 'or'),
        )
        yield f'| {" | ".join(cells)} |'


def _type(hint):
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return f'{_TYPES[arguments[0]]} array'
    if origin is dict:
        return _type(arguments[1])
    return _TYPES[arguments[0] if arguments else hint]


def _sentence(text):
    return f'{text[0].upper()}{text[1:]}.'
