"""Print docs/configuration.md, or with the word `parameters` docs/parameters.md."""

import sys

from .parameters_page import parameters_page
from .writing import document

print(parameters_page() if sys.argv[1:] == ['parameters'] else document(), end='')
