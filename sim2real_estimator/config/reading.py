"""Settings from YAML, each checked against its declaration."""

from dataclasses import fields, is_dataclass, replace
import difflib
import math
from pathlib import Path
import types
from typing import get_args, get_origin, get_type_hints, Union

import yaml

from ..errors import ConfigError
from .settings_tree import Config

# Of a value in a message: the file given may be any other.
_LONGEST = 80
_WORDS = {str: 'text', float: 'a number', int: 'a whole number', bool: 'true or false'}


def load_config(path, kind=Config):
    """Return the `Config` of a YAML file; kind: another tree of settings with a `source`."""
    path = Path(path)
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{path}: cannot be read ({error}); give a YAML file') from error
    return read_config(text, str(path), kind)


def read_config(text, source='', kind=Config):
    """Return the `Config` of YAML text; `source` names it in errors."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f'{source or "config"}: is not YAML: {error}') from error
    try:
        config = parsed(kind, {} if data is None else data, '')
    except ConfigError as error:
        raise ConfigError(f'{source or "config"}: {error}') from error
    return replace(config, source=source)


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
    if kind is float and isinstance(value, str):
        # YAML 1.1 takes 1e-3, without a dot, for text.
        try:
            value, is_number = float(value), True
        except ValueError:
            is_number = False
    if kind is float and is_number and math.isfinite(value):
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
