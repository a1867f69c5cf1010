"""Print docs/configuration.md."""

from .writing import document

print(document(), end='')
