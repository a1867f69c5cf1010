"""Pinocchio in C++, compiled once against the headers of its wheels."""

from functools import cache
from pathlib import Path

import pinocchio

from .compiler import compile_library, SOURCES

# As Pinocchio's own build sets them.
_DEFINITIONS = (
    'BOOST_MPL_LIMIT_LIST_SIZE=30',
    'BOOST_MPL_LIMIT_VECTOR_SIZE=30',
    'BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS',
    'BOOST_FUSION_INVOKE_MAX_ARITY=12',
    'NDEBUG',
)


@cache
def pinocchio_library():
    """Return the library of `cpp/pinocchio_peers.cpp`."""
    folder = (
        next(p for p in Path(pinocchio.__file__).resolve().parents if p.name == 'cmeel.prefix')
        / 'include'
    )
    if not (folder / 'eigen3').is_dir():
        raise RuntimeError(
            'the headers of Eigen are missing; install them with pip install --no-deps cmeel-eigen'
        )
    options = [
        '-w',
        '-std=c++17',
        *(f'-D{name}' for name in _DEFINITIONS),
        f'-isystem{folder}',
        f'-isystem{folder / "eigen3"}',
    ]
    name = f'pinocchio_{pinocchio.__version__}'
    return compile_library(
        name, (SOURCES / 'pinocchio_peers.cpp').read_text(), options, '(once; 1 to 2.5 minutes)'
    )
