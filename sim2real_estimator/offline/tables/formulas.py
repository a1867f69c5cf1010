"""Columns worked out from others: differences, factors, offsets, angles of points."""

import ast
import operator
import re

import numpy as np

from ...errors import DataError

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISONS = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
_SIGNS = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_FUNCTIONS = {
    'sin': np.sin,
    'cos': np.cos,
    'atan2': np.arctan2,
    'sqrt': np.sqrt,
    'abs': np.abs,
    'unwrap': np.unwrap,
}
_CONSTANTS = {'pi': np.pi}
# What makes a text a formula where no column has it for its name.
_MARKS = re.compile(r'[-+*/(){}<>]')
_IN_BRACES = re.compile(r'\{([^{}]*)\}')
_HOW = (
    "write names of columns, numbers, + - * / ** < > and brackets, as in 'q[1] - q[0]'; names "
    f'with spaces or signs in braces, as in {{time [ms]}}; functions: {", ".join(_FUNCTIONS)}'
)


def is_formula(text):
    """Tell whether a text that is no column's name can be a formula."""
    return _MARKS.search(text) is not None


def worked_out(text, column, where):
    """
    Return the column [rows] of a formula.

    column: function that returns the column [rows] of a name; where: the setting that has the
    formula. A DataError says what cannot be read.
    """
    names = []

    def stand_in(match):
        names.append(match[1])
        return f'_column_{len(names) - 1}'

    try:
        tree = ast.parse(_IN_BRACES.sub(stand_in, text).strip(), mode='eval').body
    except SyntaxError:
        raise DataError(f"{where}: '{text}' is neither a column nor a formula; {_HOW}") from None
    in_braces = {f'_column_{k}': name for k, name in enumerate(names)}

    def value(node):
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                try:
                    with np.errstate(divide='ignore', invalid='ignore'):
                        return _OPERATORS[type(op)](value(left), value(right))
                except ArithmeticError as error:
                    raise DataError(f"{where}: '{text}': {error}; {_HOW}") from error
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return 1.0 * _COMPARISONS[type(op)](value(left), value(right))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _SIGNS:
                return _SIGNS[type(op)](value(operand))
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _FUNCTIONS:
                try:
                    return _FUNCTIONS[name](*map(value, given))
                except (TypeError, ValueError) as error:
                    raise DataError(f"{where}: {name} in '{text}': {error}; {_HOW}") from error
            case ast.Name(id=name) if name in in_braces:
                return column(in_braces[name])
            case ast.Name(id=name) if name in _CONSTANTS:
                return _CONSTANTS[name]
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return column(ast.unparse(node).replace(', ', ','))
        raise DataError(f"{where}: '{ast.unparse(node)}' in '{text}' cannot be read; {_HOW}")

    found = value(tree)
    if np.ndim(found) == 0:
        raise DataError(f"{where}: '{text}' has no column in it, so it has no rows; {_HOW}")
    return found
