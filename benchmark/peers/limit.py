"""
The C++ limit: the fastest code we know for the workload, traced from `chain.py`.

SIMD over columns, the loop over steps inside, states kept for the way back. Reverse mode, or
forward sensitivities for comparison.
"""

import ctypes

import numpy as np

from . import chain as chains
from . import tracer
from .compiler import address, compile_library
from .derivatives import pull_back, push_forward, to_cpp
from .workload import chain_of, DELTA, links_of, STEP, true_parameters

# g++ takes minutes for straight-line sensitivities of more links times parameters.
LARGEST_FORWARD = 24


def build_limit(work, mode='reverse'):
    """Return a function () -> (loss [B], gradient [D, B]); mode: 'reverse' or 'forward'."""
    text = '#include "simd.hpp"\n' + _kernels(work.kind, mode) + f'#include "{mode}.hpp"\n'
    library = compile_library(f'limit_{work.kind}_{mode}', text, ('-ffast-math',))
    inputs = work.X, work.T, work.Y
    width, steps = library.vector_width(), len(work.Y)
    if work.batch % width or steps > library.most_steps():
        raise ValueError(
            f'the limit runs multiples of {width} columns and at most '
            f'{library.most_steps()} steps; got {work.batch} and {steps}'
        )

    def run():
        loss, gradient = np.empty(work.batch), np.empty((len(work.T), work.batch))
        library.run(
            ctypes.c_long(work.batch),
            ctypes.c_long(steps),
            *map(address, inputs),
            address(loss),
            address(gradient),
            work.threads,
        )
        return loss, gradient

    return run


def _kernels(kind, mode):
    """Return C++ for one step, the loss of an instant, and the derivatives of both."""
    chain, count = chain_of(kind), len(true_parameters(kind))
    tape = tracer.Tape()
    x = [tape.variable(f'x[{i}]') for i in range(chain.nq + chain.nv)]
    theta = [tape.variable(f'p[{i}]') for i in range(count)]
    q, v = x[: chain.nq], x[chain.nq :]
    stepped = chains.step(chain, q, v, links_of(kind, theta), STEP, tracer)
    stepped = stepped[0] + stepped[1]
    seen = chains.headings(chain, q, tracer)
    targets = [tape.variable(f'seen[{i}]') for i in range(len(seen))]
    loss = 0.0
    for a, b in zip(seen, targets):
        loss = loss + tracer.huber(a - b)
    by_q = pull_back([loss], [1.0], q)
    sizes = {'NX': len(x), 'NQ': chain.nq, 'NY': len(seen), 'D': count}
    text = f'constexpr double DELTA = {DELTA};\n'
    text += ''.join(f'constexpr int {name} = {size};\n' for name, size in sizes.items())
    text += _function(
        'loss_slope',
        'const V *seen, V &l, V *g',
        to_cpp([loss, *by_q], ['const V own', *_names('g', by_q)]) + ['  l = l + own;'],
    )
    if mode == 'reverse':
        adjoints = [tape.variable(f'adjoint[{i}]') for i in range(len(x))]
        return text + _reverse_kernels(stepped, adjoints, x, theta)
    return text + _forward_kernel(tape, stepped, x, theta)


def _reverse_kernels(stepped, adjoints, x, theta):
    """Return C++ for a step, and for its adjoint, which is added to that of theta."""
    back = pull_back(stepped, adjoints, x + theta)
    kept = [f'const V gp{i}' for i in range(len(theta))]
    lines = to_cpp(back, _names('g', x) + kept)
    lines += [f'  gp[{i}] = gp[{i}] + gp{i};' for i in range(len(theta))]
    return _function('step', 'const V *p, V *y', to_cpp(stepped, _names('y', x))) + _function(
        'step_back', 'const V *p, const V *adjoint, V *g, V *gp', lines
    )


def _forward_kernel(tape, stepped, x, theta):
    """Return C++ for a step with its sensitivities by theta."""
    count = len(theta)
    tangents = {
        node.number: [tape.variable(f'dx[{i * count + j}]') for j in range(count)]
        for i, node in enumerate(x)
    }
    tangents |= {
        node.number: [float(i == j) for j in range(count)] for i, node in enumerate(theta)
    }
    flat = [entry for row in push_forward(stepped, tangents) for entry in row]
    return _function(
        'step_push',
        'const V *dx, const V *p, V *y, V *dy',
        to_cpp(stepped + flat, _names('y', x) + _names('dy', flat)),
    )


def _names(array, entries):
    return [f'{array}[{i}]' for i in range(len(entries))]


def _function(name, arguments, lines):
    """Return a C++ function of the state x and more."""
    arguments = f'const V *x, {arguments}'.replace('*', '*__restrict__ ')
    body = '\n'.join(lines)
    return f'static void {name}({arguments}) {{\n{body}\n}}\n'
