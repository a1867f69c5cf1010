"""
All settings: one tree of frozen dataclasses, which declares each of them once.

Name, type, default, unit, range and description stand in `tree` and `node`; reading, checking,
writing with comments, dotted paths and the page docs/configuration.md all follow from them.
"""

from .declaring import setting
from .paths import declarations, flattened, with_values
from .reading import load_config, read_config
from .settings_tree import Config
from .writing import document, facts_in_words, tables, to_short_yaml, to_yaml

__all__ = [
    'Config',
    'declarations',
    'document',
    'facts_in_words',
    'flattened',
    'load_config',
    'read_config',
    'setting',
    'tables',
    'to_short_yaml',
    'to_yaml',
    'with_values',
]
