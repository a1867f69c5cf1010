"""How one setting is declared."""

from dataclasses import field


def setting(default, description, **facts):
    """
    Declare a setting.

    default: the value, or a class or function that makes one; facts: `unit`; `low` and `high`,
    both still allowed; `above`, not itself allowed; `choices`; `required` where the default only
    stands for nothing; `dynamic` where a running node takes a new value over.
    """
    metadata = {'description': description, **facts}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)
