"""Settings from YAML, each checked against its declaration."""

from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
import difflib
import math
from pathlib import Path
import re
import types
from typing import get_args, get_origin, get_type_hints, Union

import yaml

from ..errors import ConfigError
from ..files import LARGEST_SETTINGS, require_file, words_of
from .settings_tree import Config

# Of a value in a message: the file given may be any other.
_LONGEST = 80
# Of a number, more than any unit needs and less than overflows when it is squared.
_LARGEST = 1e100
# Values of a file of settings: arms of seven joints have less than a thousand.
_MOST_NODES = 100_000
_EXAMPLES = 'the examples in config/'
_WORDS = {str: 'text', float: 'a number', int: 'a whole number', bool: 'true or false'}


def load_config(path, kind=Config):
    """Return the `Config` of a YAML file; kind: another tree of settings with a `source`."""
    path = Path(path)
    require_file(path, LARGEST_SETTINGS, ConfigError)
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path}: cannot be read ({error}); give a YAML file') from error
    return read_config(text, str(path), kind)


def read_config(text, source='', kind=Config):
    """Return the `Config` of YAML text; `source` names it in errors."""
    try:
        data = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f'{source or "config"}: is not YAML: {words_of(error)}') from error
    except RecursionError as error:
        raise ConfigError(
            f'{source or "config"}: is nested too deeply; see {_EXAMPLES}'
        ) from error
    try:
        config = parsed(kind, {} if data is None else data, '')
    except ConfigError as error:
        raise ConfigError(f'{source or "config"}: {error}') from error
    return replace(config, source=source)


class _Loader(yaml.SafeLoader):
    """
    YAML as most people read it.

    Numbers are decimal: YAML 1.1 takes 010 for eight and 1:30 for ninety. A name stands once in
    a mapping, and what aliases repeat is counted before any of it is made.
    """

    def get_single_data(self):
        """Return the value of the document."""
        node = self.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > _MOST_NODES:
            raise yaml.YAMLError(f'its aliases (*name) stand for more than {_MOST_NODES} values')
        return self.construct_document(node)

    def construct_mapping(self, node, deep=False):
        """Return a mapping; refuse names that stand in it twice."""
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                    continue
                if key.value in seen:
                    mark = key.start_mark
                    raise yaml.YAMLError(
                        f"'{key.value}' stands there twice, again in line {mark.line + 1}; "
                        'keep one of them'
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_MERGE, _INT, _FLOAT = (f'tag:yaml.org,2002:{word}' for word in ('merge', 'int', 'float'))
_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in pairs if tag not in (_INT, _FLOAT)]
    for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_INT, re.compile(r'[-+]?(0|[1-9][0-9]*)$'), [*'-+0123456789'])
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        r'([-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?'
        r'|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$'
    ),
    [*'-+0123456789.'],
)


def _size(node, sizes, above=()):
    """Return how many values a node stands for, with all that aliases repeat."""
    if id(node) in above:
        raise yaml.YAMLError('an alias (*name) stands within what it names')
    if id(node) not in sizes:
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in parts for part in pair]
        inside = {*above, id(node)}
        sizes[id(node)] = 1 + sum(_size(part, sizes, inside) for part in parts)
    return sizes[id(node)]


def declared(kind):
    """Return name -> field of the settings of a class; other fields have no description."""
    return {f.name: f for f in fields(kind) if f.metadata}


def parsed(kind, value, path):
    """Return a value from YAML as the type that its setting declares, or raise a ConfigError."""
    if is_dataclass(kind):
        return _parsed_tree(kind, value, path)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        inner = next(a for a in arguments if a is not type(None))
        return None if value is None else parsed(inner, value, path)
    if origin is dict:
        return {
            _parsed_key(key, path): parsed(arguments[1], entry, f'{path}.{key}')
            for key, entry in _mapping(value, path).items()
        }
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise _mismatch(path, value, 'a list, such as [a, b]')
        return tuple(parsed(arguments[0], entry, f'{path}[{i}]') for i, entry in enumerate(value))
    return value if kind is object else _parsed_scalar(kind, value, path)


def _parsed_tree(kind, value, path):
    known, hints = declared(kind), get_type_hints(kind)
    given, values = _mapping(value, path), {}
    for key, entry in given.items():
        below = f'{path}.{key}' if path else str(key)
        if key not in known:
            raise ConfigError(f'{below}: there is no such setting; {_nearest(key, known)}')
        values[key] = parsed(hints[key], entry, below)
        check_facts(known[key].metadata, values[key], below)
    for name, declaration in known.items():
        if declaration.metadata.get('required') and not values.get(name):
            below = f'{path}.{name}' if path else name
            about = declaration.metadata['description']
            raise ConfigError(f'{below}: is missing; give it: {about}')
    return kind(**values)


def _mapping(value, path):
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch(path or 'the file', value, "settings, as 'name: value'")
    return value


def _parsed_key(key, path):
    if not isinstance(key, str):
        raise _mismatch(path, key, 'a name; put it in quotes')
    return key


def _parsed_scalar(kind, value, path):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and isinstance(value, str) and value.isascii() and '_' not in value:
        # In quotes, as from other tools.
        with suppress(ValueError):
            value, is_number = float(value), True
    if is_number and kind in (float, int):
        # Whole numbers may have any number of digits.
        is_number = abs(value) < _LARGEST and math.isfinite(value)
    if kind is float and is_number:
        return float(value)
    if kind is int and is_number and value == int(value):
        return int(value)
    if kind in (str, bool) and isinstance(value, kind):
        return value
    raise _mismatch(path, value, _WORDS[kind])


def check_facts(metadata, value, path):
    """Refuse a value outside its choices or its range."""
    choices = metadata.get('choices')
    if choices and value not in choices:
        raise ConfigError(f'{path}: is {value!r}; choose one of {", ".join(choices)}')
    if value is None:
        return
    for fact, word, is_good in (
        ('low', 'at least', lambda limit: value >= limit),
        ('high', 'at most', lambda limit: value <= limit),
        ('above', 'above', lambda limit: value > limit),
    ):
        if fact in metadata and not is_good(metadata[fact]):
            raise ConfigError(f'{path}: is {value!r}; give a value {word} {metadata[fact]}')


def _mismatch(path, value, wanted):
    text = repr(value)
    text = f'{text[:_LONGEST]}...' if len(text) > _LONGEST else text
    return ConfigError(f'{path}: is {text}; give {wanted}')


def _nearest(key, known):
    near = difflib.get_close_matches(str(key), known, 1, 0.5)
    if near:
        return f"did you mean '{near[0]}'?"
    return f'choose from {", ".join(known)}'
