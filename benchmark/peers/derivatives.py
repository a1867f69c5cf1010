"""Derivatives of traced scalars, and C++ for them."""

from .tracer import clip, cos, mul, neg, Node, ordered, sin

_PARTIALS = {
    'add': lambda node, a, b: (1.0, 1.0),
    'sub': lambda node, a, b: (1.0, -1.0),
    'neg': lambda node, a: (-1.0,),
    'mul': lambda node, a, b: (b, a),
    'reciprocal': lambda node, a: (neg(mul(node, node)),),
    'sin': lambda node, a: (cos(a),),
    'cos': lambda node, a: (neg(sin(a)),),
    'huber': lambda node, a: (clip(a),),
}
_CPP = {
    'add': '{} + {}',
    'sub': '{} - {}',
    'mul': '{} * {}',
    'neg': '-{}',
    'reciprocal': 'fill(1.0) / {}',
    'sin': 'sin_({})',
    'cos': 'cos_({})',
    'huber': 'huber_({})',
    'clip': 'clip_({})',
}


def _slopes(node):
    """Yield (argument, partial derivative by it) for arguments that are nodes."""
    partials = _PARTIALS[node.operation](node, *node.arguments)
    for argument, partial in zip(node.arguments, partials):
        if isinstance(argument, Node):
            yield argument, partial


def pull_back(outputs, adjoints, inputs):
    """Return the adjoints of inputs from those of outputs: reverse mode."""
    found = {}
    for output, adjoint in zip(outputs, adjoints):
        if isinstance(output, Node):
            found[output.number] = found.get(output.number, 0.0) + adjoint
    for node in reversed(ordered(outputs)):
        adjoint = found.get(node.number, 0.0)
        if node.operation == 'input' or not isinstance(adjoint, Node) and adjoint == 0:
            continue
        for argument, partial in _slopes(node):
            found[argument.number] = found.get(argument.number, 0.0) + mul(partial, adjoint)
    return [found.get(node.number, 0.0) for node in inputs]


def push_forward(outputs, tangents):
    """Return tangents of outputs from those of inputs (node number -> list): forward mode."""
    none = [0.0] * len(next(iter(tangents.values())))
    found = dict(tangents)
    for node in ordered(outputs):
        if node.number in found:
            continue
        result = none
        moving = [a for a in node.arguments if isinstance(a, Node) and found[a.number] is not none]
        for argument, partial in _slopes(node) if moving else ():
            if found[argument.number] is not none:
                result = [r + mul(partial, t) for r, t in zip(result, found[argument.number])]
        found[node.number] = result
    return [found[o.number] if isinstance(o, Node) else none for o in outputs]


def to_cpp(outputs, targets):
    """Return C++ lines that assign the outputs to targets; inputs stand under their names."""
    lines, names = [], {}

    def text(x):
        return names[x.number] if isinstance(x, Node) else f'fill({float(x)!r})'

    for node in ordered(outputs):
        if node.operation == 'input':
            names[node.number] = node.name
            continue
        value = _CPP[node.operation].format(*map(text, node.arguments))
        names[node.number] = f't{node.number}'
        lines.append(f'  const V t{node.number} = {value};')
    return lines + [f'  {target} = {text(o)};' for o, target in zip(outputs, targets)]
