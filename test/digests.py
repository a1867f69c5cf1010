"""What came out of the `STREAMS` when it was recorded last, and on which machine."""

import hashlib
from importlib.metadata import version
import json
from pathlib import Path
import platform

RECORDED = Path(__file__).with_name('digests.json')
_LIBRARIES = ('numpy', 'scipy', 'torch', 'casadi', 'llvmlite')


def machine():
    """Return what the bits of a result depend on besides our code, as a hash."""
    parts = [platform.python_version(), *(f'{name} {version(name)}' for name in _LIBRARIES)]
    cpu = Path('/proc/cpuinfo')
    lines = cpu.read_text(encoding='utf-8').splitlines() if cpu.exists() else [platform.machine()]
    parts += sorted({line for line in lines if line.startswith(('model name', 'flags'))})
    return hashlib.sha256('\n'.join(parts).encode()).hexdigest()[:16]


def read():
    """Return what was recorded: {machine, streams: {name: {numbers, words}}}."""
    return json.loads(RECORDED.read_text(encoding='utf-8')) if RECORDED.exists() else {}
