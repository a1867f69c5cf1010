"""Tracing of scalar arithmetic: equal expressions are one node, constants fold."""

from .scalars import is_number


class Tape:
    """Holds the nodes of one trace."""

    def __init__(self):
        self._nodes = {}

    def variable(self, name):
        """Return the node of an input."""
        return self.node('input', (), name)

    def node(self, operation, arguments, name=None):
        """Return the node of an operation, the same one each time."""
        key = (
            operation,
            name,
            *(a.number if isinstance(a, Node) else ('constant', a) for a in arguments),
        )
        if key not in self._nodes:
            self._nodes[key] = Node(self, operation, arguments, len(self._nodes), name)
        return self._nodes[key]


class Node:
    """A traced scalar; `number` counts nodes in the order they were made."""

    __slots__ = ('tape', 'operation', 'arguments', 'number', 'name')

    def __init__(self, tape, operation, arguments, number, name):
        self.tape, self.operation, self.arguments = tape, operation, arguments
        self.number, self.name = number, name

    def __add__(self, other):
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other):
        return sub(self, other)

    def __rsub__(self, other):
        return sub(other, self)

    def __mul__(self, other):
        return mul(self, other)

    __rmul__ = __mul__

    def __neg__(self):
        return neg(self)

    def __rtruediv__(self, other):
        return mul(reciprocal(self), other)


def _apply(operation, *arguments):
    tape = next(a.tape for a in arguments if isinstance(a, Node))
    return tape.node(operation, arguments)


def _is(operation, x):
    return isinstance(x, Node) and x.operation == operation


def add(a, b):
    """Return a + b."""
    if is_number(a) and is_number(b):
        return a + b
    if is_number(a):
        a, b = b, a
    if is_number(b):
        return a if b == 0 else _apply('add', a, float(b))
    if _is('neg', b):
        return sub(a, b.arguments[0])
    if _is('neg', a):
        return sub(b, a.arguments[0])
    return _apply('add', *sorted((a, b), key=lambda node: node.number))


def sub(a, b):
    """Return a - b."""
    if is_number(b):
        return add(a, -b)
    if is_number(a):
        return neg(b) if a == 0 else _apply('sub', float(a), b)
    if a is b:
        return 0.0
    return add(a, b.arguments[0]) if _is('neg', b) else _apply('sub', a, b)


def neg(a):
    """Return -a."""
    if is_number(a):
        return -a
    if _is('neg', a):
        return a.arguments[0]
    if _is('sub', a):
        return sub(a.arguments[1], a.arguments[0])
    return _apply('neg', a)


def mul(a, b):
    """Return a b; signs move outwards."""
    if is_number(a) and is_number(b):
        return a * b
    if is_number(a):
        a, b = b, a
    if is_number(b):
        if b in (0, 1, -1):
            return 0.0 if b == 0 else a if b == 1 else neg(a)
        return mul(a.arguments[0], -b) if _is('neg', a) else _apply('mul', a, float(b))
    if _is('neg', a):
        return neg(mul(a.arguments[0], b))
    if _is('neg', b):
        return neg(mul(a, b.arguments[0]))
    return _apply('mul', *sorted((a, b), key=lambda node: node.number))


def reciprocal(a):
    """Return 1 / a."""
    return 1.0 / a if is_number(a) else _apply('reciprocal', a)


def sin(a):
    """Return the sine of a node."""
    return _apply('sin', a)


def cos(a):
    """Return the cosine of a node."""
    return _apply('cos', a)


def huber(a):
    """Return Huber's loss of a node."""
    return _apply('huber', a)


def clip(a):
    """Return a node clipped to where Huber's loss is quadratic."""
    return _apply('clip', a)


def ordered(outputs):
    """Return all nodes the outputs need, each after its arguments."""
    seen, order = set(), []
    for output in outputs:
        waiting = [(output, 0)] if isinstance(output, Node) else []
        while waiting:
            node, at = waiting.pop()
            if node.number in seen:
                continue
            nodes = [a for a in node.arguments if isinstance(a, Node)]
            if at < len(nodes):
                waiting += [(node, at + 1), (nodes[at], 0)]
            else:
                seen.add(node.number)
                order.append(node)
    return order
