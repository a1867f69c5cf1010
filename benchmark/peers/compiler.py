"""Compiles C++ once, into a folder that git ignores."""

import ctypes
import hashlib
from pathlib import Path
import platform
import shutil
import subprocess
import sys
import time

SOURCES = Path(__file__).parent / 'cpp'
CACHE = Path(__file__).resolve().parents[2] / 'build' / 'peers'
_FLAGS = ('-O3', '-march=native', '-fopenmp', '-shared', '-fPIC')


def compile_library(name, text, options=(), note=''):
    """
    Return the loaded library of C++ source text.

    options: further ones for g++; note: what to expect, printed when compiling.
    """
    if shutil.which('g++') is None:
        raise RuntimeError('g++ was not found; install it to run this row')
    command = ['g++', *_FLAGS, f'-I{SOURCES}', *options]
    digest = hashlib.sha1(text.encode())
    for part in (*command, platform.node(), *_texts_of_headers()):
        digest.update(part.encode())
    target = CACHE / f'{name}_{digest.hexdigest()[:12]}.so'
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        _compile(command, text, target, note)
    return ctypes.CDLL(str(target))


def _texts_of_headers():
    return [path.read_text() for path in sorted(SOURCES.glob('*.hpp'))]


def _compile(command, text, target, note):
    """Compile beside the target and move it there, so that two processes cannot collide."""
    start = time.perf_counter()
    print(f'compiling {target.stem} {note}', end=' ', file=sys.stderr, flush=True)
    source = target.with_suffix('.cpp')
    source.write_text(text)
    temporary = target.with_suffix(f'.{time.time_ns()}')
    done = subprocess.run(
        [*command, str(source), '-o', str(temporary)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f'g++ failed: {done.stderr[:2000]}')
    temporary.replace(target)
    print(f'{time.perf_counter() - start:.0f} s', file=sys.stderr, flush=True)


def address(array):
    """Return an array's address for a C function; the array must be kept alive."""
    return ctypes.c_void_p(array.ctypes.data)
