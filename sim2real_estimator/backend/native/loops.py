"""A little vocabulary for writing loops over SIMD vectors in LLVM IR."""

from contextlib import contextmanager

from llvmlite import ir

INT = ir.IntType(64)
DOUBLE = ir.DoubleType()
POINTER = ir.PointerType()
BYTES = 8


class Code:
    """
    One IR function under construction.

    Pointers to scratch memory count in vectors of `width` lanes, pointers to the caller's
    arrays in doubles.
    """

    def __init__(self, module, name, arguments, width, exported=False):
        """Begin the function `name` with pointer arguments of the given names."""
        self.width = width
        self.vector = ir.VectorType(DOUBLE, width)
        types = [INT if n.startswith('n_') else POINTER for n in arguments]
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), types), name)
        if not exported:
            self.function.linkage = 'internal'
        self.arguments = dict(zip(arguments, self.function.args))
        self.builder = ir.IRBuilder(self.function.append_basic_block('entry'))

    def number(self, value):
        """Return an integer constant."""
        return ir.Constant(INT, value)

    def add(self, a, b):
        """Return a + b for integers; Python ones are welcome."""
        return self.builder.add(self._int(a), self._int(b))

    def sub(self, a, b):
        """Return a - b for integers."""
        return self.builder.sub(self._int(a), self._int(b))

    def mul(self, a, b):
        """Return a * b for integers."""
        return self.builder.mul(self._int(a), self._int(b))

    def _int(self, value):
        return self.number(value) if isinstance(value, int) else value

    def vectors(self, pointer, count):
        """Return the pointer moved on by `count` vectors."""
        return self.builder.gep(pointer, [self._int(count)], source_etype=self.vector)

    def doubles(self, pointer, count):
        """Return the pointer moved on by `count` doubles."""
        return self.builder.gep(pointer, [self._int(count)], source_etype=DOUBLE)

    def load(self, pointer, is_vector=True):
        """Return the vector or the double at a pointer."""
        return self.builder.load(pointer, align=BYTES, typ=self.vector if is_vector else DOUBLE)

    def store(self, value, pointer):
        """Write a vector."""
        self.builder.store(value, pointer, align=BYTES)

    def splat(self, scalar):
        """Return a vector with the scalar in every lane."""
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(first, empty, mask)

    def call(self, function, *arguments):
        """Call another function; Python integers are welcome."""
        self.builder.call(function, [self._int(argument) for argument in arguments])

    @contextmanager
    def loop(self, count, start=0, step=1):
        """Repeat the body for an integer from `start` while it is below `count`."""
        b = self.builder
        before, start, count = b.block, self._int(start), self._int(count)
        head, body, end = (self.function.append_basic_block(n) for n in ('head', 'body', 'end'))
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(INT)
        index.add_incoming(start, before)
        b.cbranch(b.icmp_signed('<', index, count), body, end)
        b.position_at_end(body)
        yield index
        index.add_incoming(self.add(index, step), b.block)
        b.branch(head)
        b.position_at_end(end)

    @contextmanager
    def when(self, condition):
        """Run the body if an i1 holds."""
        with self.builder.if_then(condition):
            yield

    def is_set(self, pointer):
        """Tell whether a pointer is not null."""
        return self.builder.icmp_signed('!=', self.builder.ptrtoint(pointer, INT), self.number(0))

    def any_nonzero(self, pointer):
        """Tell whether any lane of a vector is not zero; NaN is not."""
        zero = ir.Constant(self.vector, [0.0] * self.width)
        mask = self.builder.fcmp_unordered('!=', self.load(pointer), zero)
        bits = self.builder.bitcast(mask, ir.IntType(self.width))
        return self.builder.icmp_unsigned('!=', bits, ir.Constant(ir.IntType(self.width), 0))

    def minimum(self, a, b):
        """Return the smaller of two integers."""
        a, b = self._int(a), self._int(b)
        return self.builder.select(self.builder.icmp_signed('<', a, b), a, b)

    def finish(self):
        """End the function and return it."""
        self.builder.ret_void()
        return self.function


def make_helpers(module, width):
    """Return name -> small functions that move vectors between scratch and the caller's arrays."""
    return {
        make.__name__.lstrip('_'): make(module, width)
        for make in (_fetch, _put, _zero, _accumulate, _splat_lane)
    }


def _fetch(module, width):
    """Read rows of a caller's array into vectors: lanes b... or one value for all of them."""
    c = Code(
        module,
        'fetch',
        ['target', 'source', 'n_rows', 'n_row_stride', 'n_lane_stride', 'n_lane'],
        width,
    )
    a = c.arguments
    per_lane = c.builder.icmp_signed('!=', a['n_lane_stride'], c.number(0))
    with c.builder.if_else(per_lane) as (then, otherwise):
        with then, c.loop(a['n_rows']) as i:
            place = c.doubles(a['source'], c.add(c.mul(i, a['n_row_stride']), a['n_lane']))
            c.store(c.load(place), c.vectors(a['target'], i))
        with otherwise, c.loop(a['n_rows']) as i:
            value = c.load(c.doubles(a['source'], c.mul(i, a['n_row_stride'])), is_vector=False)
            c.store(c.splat(value), c.vectors(a['target'], i))
    return c.finish()


def _put(module, width):
    """Write vectors as rows of a caller's array, from lane b on."""
    c = Code(module, 'put', ['source', 'target', 'n_rows', 'n_row_stride', 'n_lane'], width)
    a = c.arguments
    with c.loop(a['n_rows']) as i:
        place = c.doubles(a['target'], c.add(c.mul(i, a['n_row_stride']), a['n_lane']))
        c.store(c.load(c.vectors(a['source'], i)), place)
    return c.finish()


def _zero(module, width):
    """Set vectors to zero."""
    c = Code(module, 'zero', ['target', 'n_rows'], width)
    with c.loop(c.arguments['n_rows']) as i:
        c.store(ir.Constant(c.vector, [0.0] * width), c.vectors(c.arguments['target'], i))
    return c.finish()


def _accumulate(module, width):
    """Add vectors to others."""
    c = Code(module, 'accumulate', ['target', 'source', 'n_rows'], width)
    a = c.arguments
    with c.loop(a['n_rows']) as i:
        place = c.vectors(a['target'], i)
        c.store(c.builder.fadd(c.load(place), c.load(c.vectors(a['source'], i))), place)
    return c.finish()


def _splat_lane(module, width):
    """Copy vectors, one lane of the source in every lane of the target."""
    c = Code(module, 'splat_lane', ['target', 'source', 'n_rows', 'n_lane'], width)
    a = c.arguments
    with c.loop(a['n_rows']) as i:
        place = c.doubles(a['source'], c.add(c.mul(i, width), a['n_lane']))
        c.store(c.splat(c.load(place, is_vector=False)), c.vectors(a['target'], i))
    return c.finish()
