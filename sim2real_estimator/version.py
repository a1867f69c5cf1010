"""The version of the package, also where nobody has installed it; setup.py has the same."""

__version__ = '0.1.0'
