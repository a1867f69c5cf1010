"""Kernels as LLVM IR over SIMD vectors."""

import struct

import casadi

from ...errors import EstimatorError
from . import elementary

# Reordering is allowed, but NaN and infinity keep their meaning.
_FAST = 'reassoc nsz arcp contract'
_INTRINSICS = ('nearbyint', 'floor', 'fabs', 'sqrt')


class VectorEmitter:
    """Writes vector operations as lines of IR and returns the names of their results."""

    def __init__(self, width):
        """Take the number of lanes."""
        self.width = width
        self.type = f'<{width} x double>'
        self.mask = f'<{width} x i1>'
        self.integers = f'<{width} x i64>'
        self.suffix = f'v{width}f64'
        self.lines = []
        self._count = 0
        self._sine_and_cosine = {}

    def line(self, text):
        """Write one instruction with a result and return the result's name."""
        self._count += 1
        self.lines.append(f'  %t{self._count} = {text}')
        return f'%t{self._count}'

    def constant(self, value):
        """Return a vector constant."""
        bits = struct.pack('>d', float(value)).hex().upper()
        return f'splat (double 0x{bits})'

    def add(self, a, b):
        """Return a + b."""
        return self.line(f'fadd {_FAST} {self.type} {a}, {b}')

    def sub(self, a, b):
        """Return a - b."""
        return self.line(f'fsub {_FAST} {self.type} {a}, {b}')

    def mul(self, a, b):
        """Return a * b."""
        return self.line(f'fmul {_FAST} {self.type} {a}, {b}')

    def div(self, a, b):
        """Return a / b."""
        return self.line(f'fdiv {_FAST} {self.type} {a}, {b}')

    def neg(self, a):
        """Return -a."""
        return self.line(f'fneg {_FAST} {self.type} {a}')

    def strict_sub(self, a, b):
        """Return a - b, never reordered."""
        return self.line(f'fsub {self.type} {a}, {b}')

    def strict_fma(self, a, b, c):
        """Return a * b + c with one rounding."""
        return self.line(
            f'call {self.type} @llvm.fma.{self.suffix}'
            f'({self.type} {a}, {self.type} {b}, {self.type} {c})'
        )

    def call(self, name, a):
        """Return an LLVM intrinsic of one argument."""
        return self.line(f'call {self.type} @llvm.{name}.{self.suffix}({self.type} {a})')

    def copysign(self, size, sign):
        """Return the magnitude of `size` with the sign of `sign`."""
        return self.line(
            f'call {self.type} @llvm.copysign.{self.suffix}'
            f'({self.type} {size}, {self.type} {sign})'
        )

    def compare(self, predicate, a, b):
        """Return a mask of the lanes in which an ordered comparison holds."""
        return self.line(f'fcmp {predicate} {self.type} {a}, {b}')

    def either(self, a, b):
        """Return the union of two masks."""
        return self.line(f'or {self.mask} {a}, {b}')

    def select(self, mask, a, b):
        """Return a where the mask holds, else b."""
        return self.line(f'select {self.mask} {mask}, {self.type} {a}, {self.type} {b}')

    def power_of_two(self, k):
        """Return 2^k for integral k in [-1022, 1023]; NaN gives an arbitrary finite number."""
        whole = self.line(
            f'call {self.integers} @llvm.fptosi.sat.v{self.width}i64.'
            f'{self.suffix}({self.type} {k})'
        )
        biased = self.line(f'add {self.integers} {whole}, splat (i64 1023)')
        bits = self.line(f'shl {self.integers} {biased}, splat (i64 52)')
        return self.line(f'bitcast {self.integers} {bits} to {self.type}')

    def sine(self, x):
        """Return sin x; the cosine of the same argument is shared."""
        return self._both(x)[0]

    def cosine(self, x):
        """Return cos x; the sine of the same argument is shared."""
        return self._both(x)[1]

    def _both(self, x):
        if x not in self._sine_and_cosine:
            self._sine_and_cosine[x] = elementary.sine_and_cosine(self, x)
        return self._sine_and_cosine[x]

    def truth(self, predicate, a, b):
        """Return 1.0 where a comparison holds, else 0.0."""
        mask = self.compare(predicate, a, b)
        return self.select(mask, self.constant(1.0), self.constant(0.0))

    def load(self, pointer, index):
        """Return one vector of an array of vectors."""
        address = self.line(f'getelementptr {self.type}, ptr {pointer}, i64 {index}')
        return self.line(f'load {self.type}, ptr {address}, align 8')

    def store(self, value, pointer, index):
        """Write one vector of an array of vectors."""
        address = self.line(f'getelementptr {self.type}, ptr {pointer}, i64 {index}')
        self.lines.append(f'  store {self.type} {value}, ptr {address}, align 8')


# What each CasADi instruction is in vector operations.
_OPERATIONS = {
    casadi.OP_ASSIGN: lambda e, a: a,
    casadi.OP_ADD: VectorEmitter.add,
    casadi.OP_SUB: VectorEmitter.sub,
    casadi.OP_MUL: VectorEmitter.mul,
    casadi.OP_DIV: VectorEmitter.div,
    casadi.OP_NEG: VectorEmitter.neg,
    casadi.OP_SQ: lambda e, a: e.mul(a, a),
    casadi.OP_TWICE: lambda e, a: e.add(a, a),
    casadi.OP_INV: lambda e, a: e.div(e.constant(1.0), a),
    casadi.OP_SQRT: lambda e, a: e.call('sqrt', a),
    casadi.OP_FABS: lambda e, a: e.call('fabs', a),
    casadi.OP_SIGN: lambda e, a: e.sub(
        e.truth('ogt', a, e.constant(0.0)), e.truth('olt', a, e.constant(0.0))
    ),
    casadi.OP_SIN: VectorEmitter.sine,
    casadi.OP_COS: VectorEmitter.cosine,
    casadi.OP_EXP: elementary.exponential,
    casadi.OP_TANH: elementary.hyperbolic_tangent,
    casadi.OP_FMIN: lambda e, a, b: e.select(e.compare('olt', b, a), b, a),
    casadi.OP_FMAX: lambda e, a, b: e.select(e.compare('ogt', b, a), b, a),
    casadi.OP_LT: lambda e, a, b: e.truth('olt', a, b),
    casadi.OP_LE: lambda e, a, b: e.truth('ole', a, b),
    casadi.OP_NOT: lambda e, a: e.truth('oeq', a, e.constant(0.0)),
    casadi.OP_IF_ELSE_ZERO: lambda e, a, b: e.select(
        e.compare('one', a, e.constant(0.0)), b, e.constant(0.0)
    ),
}


def emit_kernel(kernel, width):
    """
    Return the IR of a kernel: `void name(ptr inputs..., ptr outputs...)` on arrays of vectors.

    All inputs are loaded before any output is stored, so an output may overwrite an input.
    """
    function, e = kernel.function, VectorEmitter(width)
    inputs = [f'%{name}' for name, _ in kernel.inputs]
    outputs = [f'%{name}_out' for name, _ in kernel.outputs]
    registers, stores = {}, []
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if operation == casadi.OP_INPUT:
            registers[targets[0]] = e.load(inputs[sources[0]], sources[1])
        elif operation == casadi.OP_CONST:
            registers[targets[0]] = _Constant(function.instruction_constant(k))
        elif operation == casadi.OP_OUTPUT:
            stores.append((registers[sources[0]], *targets))
        else:
            values = [_name(e, registers[s]) for s in sources]
            registers[targets[0]] = _apply(e, operation, values, kernel.name)
    for value, output, index in stores:
        _store(e, value, outputs[output], index, kernel.outputs[output][0] in kernel.added)
    arguments = ', '.join(f'ptr {name}' for name in inputs + outputs)
    body = '\n'.join(e.lines)
    attribute = f'"prefer-vector-width"="{64 * width}"'
    return f'define void @{kernel.name}({arguments}) {attribute} {{\n{body}\n  ret void\n}}\n'


class _Constant(float):
    """A number in a CasADi register."""


def _name(e, register):
    return e.constant(register) if isinstance(register, _Constant) else register


def _apply(e, operation, values, kernel_name):
    if operation not in _OPERATIONS:
        raise EstimatorError(
            f"kernel '{kernel_name}': CasADi operation {operation} has no vector "
            'form; add it to _OPERATIONS in backend/native/emit.py'
        )
    return _OPERATIONS[operation](e, *values)


def _store(e, value, pointer, index, is_added):
    """Store a result, or add it to what is there; adding a constant zero is nothing."""
    if is_added:
        if isinstance(value, _Constant) and value == 0:
            return
        value = e.add(e.load(pointer, index), _name(e, value))
    e.store(_name(e, value), pointer, index)


def declarations(width):
    """Return the declarations of the intrinsics the kernels use."""
    vector, suffix = f'<{width} x double>', f'v{width}f64'
    one = [f'declare {vector} @llvm.{name}.{suffix}({vector})' for name in _INTRINSICS]
    return (
        '\n'.join(
            [
                *one,
                f'declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})',
                f'declare {vector} @llvm.copysign.{suffix}({vector}, {vector})',
                f'declare <{width} x i64> @llvm.fptosi.sat.v{width}i64.{suffix}({vector})',
            ]
        )
        + '\n'
    )
