"""Settings by dotted path, such as `frames.max_rate`, as parameters of a ROS node have them."""

from dataclasses import is_dataclass, replace
from typing import get_args, get_origin, get_type_hints

from ..errors import ConfigError
from .reading import check_facts, declared, parsed


def flattened(config):
    """Return dotted path -> value of every setting, mappings entry by entry."""
    return {path: value for path, value, _ in _walk(config, '')}


def with_values(config, values):
    """Return a config with some settings changed; values: dotted path -> value."""
    for path, value in values.items():
        config = _replaced(type(config), config, path, value, path)
    return config


def declarations(config):
    """Return dotted path -> facts (description, unit, range, ...) of every setting."""
    return {path: facts for path, _, facts in _walk(config, '')}


def _walk(node, path):
    """Yield (dotted path, value, facts) of every setting."""
    for name, declaration in declared(type(node)).items():
        value = getattr(node, name)
        below = f'{path}.{name}' if path else name
        if is_dataclass(value):
            yield from _walk(value, below)
        elif get_origin(declaration.type) is dict:
            for key, entry in value.items():
                if is_dataclass(entry):
                    yield from _walk(entry, f'{below}.{key}')
                else:
                    yield f'{below}.{key}', entry, declaration.metadata
        else:
            yield below, value, declaration.metadata


def _replaced(kind, node, path, value, whole):
    """Return a node of the tree with the setting at a path, relative to it, changed."""
    name, _, rest = path.partition('.')
    known = declared(kind)
    if name not in known:
        raise ConfigError(f'{whole}: there is no such setting; choose from {", ".join(known)}')
    hint = get_type_hints(kind)[name]
    if rest and is_dataclass(hint):
        new = _replaced(hint, getattr(node, name), rest, value, whole)
    elif rest and get_origin(hint) is dict:
        new = {**getattr(node, name), **_entry(hint, getattr(node, name), rest, value, whole)}
    else:
        new = parsed(hint, value, whole)
        check_facts(known[name].metadata, new, whole)
    return replace(node, **{name: new})


def _entry(hint, mapping, rest, value, whole):
    """Return the changed entry of a mapping; its key may have dots itself."""
    kind = get_args(hint)[1]
    if not is_dataclass(kind):
        return {rest: parsed(kind, value, whole)}
    parts = rest.split('.')
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] in declared(kind):
            key = '.'.join(parts[:place])
            node = mapping.get(key, kind())
            return {key: _replaced(kind, node, '.'.join(parts[place:]), value, whole)}
    return {rest: parsed(kind, value, whole)}
