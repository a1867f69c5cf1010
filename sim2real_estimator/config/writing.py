"""Settings as YAML with comments, and as the page of the documents."""

from dataclasses import is_dataclass
import textwrap
from typing import get_args, get_origin, get_type_hints

import yaml

from .reading import declared
from .settings_tree import Config

_WIDTH = 95
_TYPES = {str: 'text', float: 'number', int: 'whole number', bool: 'true or false', object: 'any'}


def to_yaml(config):
    """Return a config as YAML that reads back the same, every setting under its description."""
    return '\n'.join(_lines(config, 0)) + '\n'


def to_short_yaml(config, first, shown, reasons, heading):
    """
    Return a config as YAML that reads back the same, of which defaults are left out.

    first: the sections to begin with; all others come under `heading`, lines of a comment; shown:
    paths that are written though they have their default; reasons: path -> sentence that becomes
    a comment above that setting or entry.
    """
    parts, rest, unsaid = {}, [], []
    names = declared(type(config))
    for name in (*first, *(each for each in names if each not in first)):
        lines = _short_lines(config, name, names[name], '', 0, set(shown), reasons)
        if not lines:
            unsaid.append(name)
        elif name in first:
            parts[name] = lines
        else:
            rest.append(lines)
    blocks = ['\n'.join(lines) for lines in parts.values()]
    blocks += ['\n'.join(heading)] + ['\n'.join(lines) for lines in rest]
    blocks.append('\n'.join(_comment(f'As by default: {", ".join(unsaid)}.', 0)))
    return '\n\n'.join(blocks) + '\n'


def _short_lines(node, name, declaration, path, depth, shown, reasons):
    """Return the lines of a setting, [] where it has its default and need not be shown."""
    value, default = getattr(node, name), getattr(type(node)(), name)
    path, indent = f'{path}.{name}' if path else name, '  ' * depth
    head = _comment(_described(declaration.metadata), depth)
    if path in reasons:
        head += _comment(reasons[path], depth)
    if is_dataclass(value):
        below = [
            line
            for key, each in declared(type(value)).items()
            for line in _short_lines(value, key, each, path, depth + 1, shown, reasons)
        ]
        return [*head, f'{indent}{name}:', *below] if below else []
    if value == default and path not in shown:
        return []
    hint = get_type_hints(type(node))[name]
    if get_origin(hint) is not dict or not value:
        return [*head, f'{indent}{name}: {_flow(_plain(value))}']
    kind, lines = get_args(hint)[1], []
    if is_dataclass(kind):
        used = {key for entry in value.values() for key in _plain(entry)}
        for key, each in declared(kind).items():
            if key in used:
                lines += _comment(f'  {key}: {_described(each.metadata)}', depth)
    lines = [*head, *lines, f'{indent}{name}:']
    for key, entry in value.items():
        if f'{path}.{key}' in reasons:
            lines += _comment(reasons[f'{path}.{key}'], depth + 1)
        lines += _entry_lines(key, entry, kind, indent)
    return lines


def _lines(node, depth):
    lines, hints = [], get_type_hints(type(node))
    for name, declaration in declared(type(node)).items():
        value, indent = getattr(node, name), '  ' * depth
        if depth == 0 and lines:
            lines.append('')
        lines += _comment(_described(declaration.metadata), depth)
        if is_dataclass(value):
            lines += [f'{indent}{name}:', *_lines(value, depth + 1)]
        elif get_origin(hints[name]) is dict:
            lines += _mapping_lines(name, value, get_args(hints[name])[1], depth)
        else:
            lines.append(f'{indent}{name}: {_flow(_plain(value))}')
    return lines


def _mapping_lines(name, mapping, kind, depth):
    """Return the lines of a mapping; what its entries may have comes first."""
    indent, lines = '  ' * depth, []
    if is_dataclass(kind):
        lines += _entry_comments(kind, depth, '  ')
    if not mapping:
        return [*lines, f'{indent}{name}: {{}}']
    lines.append(f'{indent}{name}:')
    for key, value in mapping.items():
        lines += _entry_lines(key, value, kind, indent)
    return lines


def _entry_comments(kind, depth, pad):
    """Return comments on all that an entry of a mapping may have, entries of its own included."""
    lines, hints = [], get_type_hints(kind)
    for key, declaration in declared(kind).items():
        lines += _comment(f'{pad}{key}: {_described(declaration.metadata)}', depth)
        if get_origin(hints[key]) is dict and is_dataclass(get_args(hints[key])[1]):
            lines += _entry_comments(get_args(hints[key])[1], depth, f'{pad}  ')
    return lines


def _entry_lines(key, value, kind, indent):
    """Return the lines of an entry of a mapping: one, or one for each setting of a long one."""
    text = f'{indent}  {_flow(key)}: {_flow(_plain(value))}'
    if len(text) <= _WIDTH or not is_dataclass(kind):
        return [text]
    below = [f'{indent}    {k}: {_flow(v)}' for k, v in _plain(value).items()]
    return [f'{indent}  {_flow(key)}:', *below]


def _plain(value):
    """Return a value as YAML knows it; of an entry of a mapping what is not as by default."""
    if is_dataclass(value):
        default = type(value)()
        names = declared(type(value))
        return {
            n: _plain(getattr(value, n)) for n in names if getattr(value, n) != getattr(default, n)
        }
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _flow(value):
    """Return a value on one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
    return text.strip().removesuffix('...').strip()


def facts_in_words(metadata):
    """Return unit, choices and range of a setting, as texts."""
    facts = [metadata['unit']] if 'unit' in metadata else []
    if 'choices' in metadata:
        facts.append(' | '.join(metadata['choices']))
    words = (('low', 'at least'), ('above', 'above'), ('high', 'at most'))
    return facts + [f'{word} {metadata[fact]:g}' for fact, word in words if fact in metadata]


def _described(metadata):
    """Return a description with unit, choices and range."""
    facts = facts_in_words(metadata)
    return metadata['description'] + (f' [{", ".join(facts)}]' if facts else '')


def _comment(text, depth):
    indent = '  ' * depth + '# '
    return textwrap.wrap(
        text.strip(),
        _WIDTH,
        initial_indent=indent + ' ' * (len(text) - len(text.lstrip())),
        subsequent_indent=indent + ' ' * 2 * (len(text) - len(text.lstrip())),
    )


def document():
    """Return docs/configuration.md."""
    lines = [
        '# Configuration',
        '',
        'Written by `python -m sim2real_estimator.config` from the declarations in',
        '`sim2real_estimator/config/`; a test compares. `sim2real-estimator init URDF`',
        'writes a file to begin with; `config/estimator.yaml` has every setting, to copy from. An',
        'unknown name, a value of the wrong type or out of range is an error that says so, at',
        'start.',
    ]
    return '\n'.join(lines) + '\n' + tables(Config)


def tables(root):
    """Return every section of a tree of settings as a heading and a table, in Markdown."""
    lines = []
    for path, kind in _sections(root, ''):
        description = ' '.join(kind.__doc__.split())
        lines += ['', f'## {path or "The file"}', '', description, '']
        lines += ['| setting | type | default | meaning |', '|---|---|---|---|']
        hints = get_type_hints(kind)
        for name, declaration in declared(kind).items():
            default = getattr(kind(), name)
            text = '' if is_dataclass(default) else _flow(_plain(default))
            if declaration.metadata.get('required'):
                text = 'required'
            cells = (f'`{name}`', _type_in_words(hints[name]), text and f'`{text}`')
            meaning = _described(declaration.metadata).replace('|', 'or')
            lines.append(f'| {" | ".join((*cells, meaning))} |')
    return '\n'.join(lines) + '\n'


def _sections(kind, path):
    yield path, kind
    for name in declared(kind):
        hint = get_type_hints(kind)[name]
        below = f'{path}.{name}' if path else name
        if is_dataclass(hint):
            yield from _sections(hint, below)
        elif get_origin(hint) is dict and is_dataclass(get_args(hint)[1]):
            yield from _sections(get_args(hint)[1], f'{below}.<name>')


def _type_in_words(hint):
    if is_dataclass(hint):
        return 'section'
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is dict:
        return f'name -> {_type_in_words(arguments[1])}'
    if origin is tuple:
        return f'list of {_type_in_words(arguments[0])}s'
    return _TYPES[arguments[0] if arguments else hint]
