"""Compiles a system for this machine's CPU, in memory, and calls the result."""

import ctypes
import threading

import llvmlite.binding as llvm
import numpy as np
import torch

from ...errors import EstimatorError
from .calls import TABLES
from .drivers import DriverWriter
from .emit import declarations, emit_kernel
from .kernels import trace_system

_ALIGNMENT = 64
# All drivers' tables begin alike.
_SCRATCH_PLACE = TABLES['cost'].index('scratch')
# Kernels of so many instructions are compiled as they are. They have no loops, and what occurs
# twice in them has been taken out: the compiler's passes would take a third of its time, and make
# those of an arm faster by a hundredth. Those of a pendulum they make faster by a fifteenth.
_LARGE = 8_000
_lock = threading.Lock()
_compiled_calls = False


def _initialize():
    """Initialise LLVM once per process."""
    global _compiled_calls
    with _lock:
        if not _compiled_calls:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            _compiled_calls = True


def vector_width():
    """Return how many doubles a vector register of this CPU holds."""
    features = llvm.get_host_cpu_features()
    if features.get('avx512f'):
        return 8
    return 4 if features.get('avx') else 2


class Program:
    """
    The compiled rollouts of one system; bound to its structure, not to parameter values.

    `width` is the number of samples computed at once: batches are at least that large.
    """

    def __init__(self, system, structure, loss=None, width=None, directions=(True, True)):
        """
        Trace, differentiate and compile; takes a fraction of a second to a few seconds.

        width: lanes of a vector, None for those of this CPU's registers; directions: whether
        there are drivers with derivatives backwards in time, and forwards. Most of the time is
        that of the compiler, which takes as long for what nobody asks for.
        """
        _initialize()
        self.width = width or vector_width()
        kernels = trace_system(system, structure, loss)
        self.sizes = kernels.sizes
        self.has_backwards, self.has_forwards = directions
        writer = DriverWriter(kernels, self.width, *directions)
        drivers = writer.write()
        self._scratch_sizes = writer.scratch
        text = declarations(self.width) + ''.join(
            emit_kernel(kernel, self.width) for kernel in kernels.needed(*directions)
        )
        self._engine = _compile(text, drivers)
        self._functions = {
            name: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._engine.get_function_address(name))
            for name in writer.scratch
        }
        self._local = threading.local()

    def call(self, name, **entries):
        """
        Run a driver.

        entries: by the names of `TABLES[name]`; contiguous tensors and arrays are passed by
        address, integers as they are, None as a null address. The scratch memory is added here.
        """
        self.run_table(name, self.table(name, entries), entries['steps'])

    def run(self, name, table, steps):
        """Run a driver with a ready table of integers, in the order of `TABLES[name]`."""
        self.run_table(name, (ctypes.c_int64 * len(table))(*table), steps)

    def table(self, name, entries):
        """Return the entries of a call, as `call` takes them, ready to be run: they must stay."""
        table = [_entry(entries.get(key)) for key in TABLES[name]]
        return (ctypes.c_int64 * len(table))(*table)

    def run_table(self, name, table, steps):
        """Run a driver with what `table` has returned."""
        fixed, per_step = self._scratch_sizes[name]
        scratch = self._scratch((fixed + (steps + 1) * per_step) * self.width)
        table[_SCRATCH_PLACE] = scratch.data_ptr()
        self._functions[name](table)

    def _scratch(self, doubles):
        """Return aligned memory of this thread, grown when needed."""
        found = getattr(self._local, 'scratch', None)
        if found is None or len(found) < doubles:
            padding = _ALIGNMENT // 8
            raw = torch.zeros(doubles + padding, dtype=torch.float64)
            start = (-raw.data_ptr() // 8) % padding
            found = self._local.scratch = raw[start : start + doubles]
        return found


def _entry(value):
    if value is None:
        return 0
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    return value.data_ptr() if isinstance(value, torch.Tensor) else value


def _compile(kernels, drivers):
    """Return an execution engine with the kernels and the drivers, together."""
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    try:
        module = llvm.parse_assembly(kernels)
        module.link_in(llvm.parse_assembly(drivers))
        module.verify()
    except RuntimeError as error:
        raise EstimatorError(
            f'the generated program is not valid LLVM IR: {error}; '
            'please report this with the model'
        ) from error
    if kernels.count('\n') < _LARGE:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return engine
