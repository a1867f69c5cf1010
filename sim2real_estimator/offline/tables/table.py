"""Columns by name, of a CSV file or of the arrays of an npz file."""

import csv
from decimal import Decimal
import difflib
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...files import (
    damage_as_error,
    LARGEST_ARRAYS,
    opened_archive,
    read_array,
    require_file,
    words_of,
)
from .formulas import is_formula, worked_out

# Unit of time -> digits after the point of a second.
DIGITS = {'s': 0, 'ms': 3, 'us': 6, 'ns': 9}
_NANO_DIGITS = 9
# Stamps of ROS end in the year 2038 [ns]; digits of that number after the first.
_LATEST_NS, _MOST_DIGITS = 2**31 * 10**9 - 1, 18
_DELIMITERS, _SAMPLE = ',;\t ', 4096
_MOST_NAMES = 40


class Table:
    """
    Named columns; those of an array of several dimensions are `name[0]`, `name[0,1]`, ...

    What is asked for by name may as well be a formula of columns, see `worked_out`.
    """

    def __init__(self, path, rows=slice(None)):
        """Read a file; rows: those that count. A DataError says what is wrong with it."""
        self.path, self._rows = Path(path), rows
        readers = {'.csv': _csv_columns, '.txt': _csv_columns, '.npz': _npz_columns}
        read = readers.get(self.path.suffix.lower())
        if read is None:
            raise DataError(f'{path}: is no table; give a .csv or an .npz file')
        require_file(self.path, LARGEST_ARRAYS)
        try:
            with damage_as_error(path, 'give a .csv or .npz file'):
                self._columns = read(self.path)
        except DataError as error:
            if isinstance(error.__cause__, (OSError, UnicodeDecodeError)):
                what = words_of(error.__cause__)
                raise DataError(
                    f'{path}: cannot be read ({what}); give a .csv or .npz file'
                ) from error
            raise

    def numbers(self, name, where):
        """Return a column as floats, NaN where a cell is empty; where: the setting that asks."""
        if self._is_formula(name):
            return worked_out(name, lambda each: self._term(each, name, where), where)
        column = self._column(name, where)
        if isinstance(column, np.ndarray):
            return column.astype(float)
        try:
            return np.array([float(cell or 'nan') for cell in column])
        except ValueError:
            raise self._no_number(column, name, lambda cell: float(cell or 'nan')) from None

    def nanoseconds(self, name, unit, where):
        """Return a column of times, exact to the last digit, as int64 [ns]."""
        digits = _NANO_DIGITS - DIGITS[unit]
        column = self.numbers(name, where) if self._is_formula(name) else self._column(name, where)
        if isinstance(column, np.ndarray):
            if np.issubdtype(column.dtype, np.integer):
                column = column.astype(object) * 10**digits
                if not all(abs(each) < _LATEST_NS for each in column):
                    raise DataError(
                        f"{self.path}: '{name}' holds times in {unit} that no stamp can hold; "
                        'give its true unit'
                    )
                return column.astype(np.int64)
            if not np.isfinite(column).all():
                row = int(np.argmin(np.isfinite(column)))
                raise DataError(
                    f"{self.path}: row {row + 1} of '{name}' has no time; leave it out"
                )
            with np.errstate(over='ignore'):
                scaled = np.round(column.astype(float) * 10.0**digits)
            if not (np.abs(scaled) < _LATEST_NS).all():
                row = int(np.argmin(np.abs(scaled) < _LATEST_NS))
                raise DataError(
                    f"{self.path}: row {row + 1} of '{name}' is {column[row]:g} {unit}, which no "
                    'stamp can hold; give its true unit'
                )
            return scaled.astype(np.int64)
        try:
            return np.array([_whole(cell, digits) for cell in column], np.int64)
        except (ArithmeticError, ValueError):
            raise self._no_number(column, name, lambda cell: _whole(cell, digits)) from None

    def names(self, wanted, count):
        """Return names of columns; one that is of an array of `count` columns stands for these."""
        if len(wanted) != 1 or wanted[0] in self._columns:
            return tuple(wanted)
        # `p` has the columns p[0], p[1], ...; `p[2]` those that are p[2,0], p[2,1], ...
        begin = f'{wanted[0]}[' if not wanted[0].endswith(']') else f'{wanted[0][:-1]},'
        found = tuple(f'{begin}{k}]' for k in range(count))
        is_whole = all(name in self._columns for name in found)
        return found if is_whole and f'{begin}{count}]' not in self._columns else tuple(wanted)

    def _is_formula(self, name):
        return name not in self._columns and is_formula(name)

    def _term(self, name, formula, where):
        """Return a column [rows] of a formula."""
        if name not in self._columns and difflib.get_close_matches(formula, self._columns, 1, 0.8):
            # A name with a minus in it, mistyped.
            self._column(formula, where)
        return self.numbers(name, where)

    def _column(self, name, where):
        if name in self._columns:
            column = self._columns[name][self._rows]
            if not len(column):
                raise DataError(
                    f"{self.path}: '{name}' has {len(self._columns[name])} rows, and none of "
                    'those that are asked for; give rows that it has'
                )
            return column
        near = difflib.get_close_matches(name, self._columns, 1, 0.5)
        hint = f"did you mean '{near[0]}'? " if near else ''
        names = ', '.join(list(self._columns)[:_MOST_NAMES])
        raise DataError(
            f"{self.path}: there is no column '{name}', which {where} asks for; {hint}"
            f'there are: {names}{", ..." if len(self._columns) > _MOST_NAMES else ""}'
        )

    def _no_number(self, column, name, read):
        """Return the error about the first cell of a column that cannot be read."""

        def is_bad(cell):
            try:
                read(cell)
            except (ArithmeticError, ValueError):
                return True
            return False

        first = 1 + (self._rows.start or 0)
        row, cell = next((row, cell) for row, cell in enumerate(column, first) if is_bad(cell))
        return DataError(
            f"{self.path}: row {row} of column '{name}' is {cell[:40]!r}, which is no number or "
            'too large; write numbers with a point, and leave out rows without a time'
        )


def _whole(cell, digits):
    """Return a time as text in nanoseconds; digits: of its unit, after the point."""
    number = Decimal(cell)
    # Before it is written out, as it may have millions of digits.
    if number.is_finite() and number and number.adjusted() + digits > _MOST_DIGITS:
        raise OverflowError('no stamp is as large')
    stamp_ns = round(number.scaleb(digits))
    if abs(stamp_ns) > _LATEST_NS:
        raise OverflowError('no stamp is as large')
    return stamp_ns


def _csv_columns(path):
    """Return name -> list of texts."""
    with path.open(newline='', encoding='utf-8-sig') as file:
        sample = file.read(_SAMPLE)
        file.seek(0)
        try:
            dialect = csv.Sniffer().sniff(sample.partition('\n')[0], _DELIMITERS)
        except csv.Error:
            # A single column has nothing between.
            dialect = csv.excel
        rows = csv.reader(file, delimiter=dialect.delimiter, skipinitialspace=True)
        names = [name.strip().lstrip('#').strip() for name in next(rows, [])]
        columns = [[] for _ in names]
        for number, row in enumerate(rows, 1):
            if not row:
                continue
            if len(row) != len(names):
                raise DataError(
                    f'{path}: row {number} has {len(row)} cells, and {len(names)} columns have a '
                    'name; give each column a name in the first line'
                )
            for column, cell in zip(columns, row):
                column.append(cell.strip())
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{path}: several columns are named '{repeated[0]}'; rename them")
    return dict(zip(names, columns))


def _npz_columns(path):
    """Return name -> numbers [rows]."""
    found = {}
    with opened_archive(path) as archive:
        for member in archive.namelist():
            name, array = member.removesuffix('.npy'), read_array(archive, member)
            if array.ndim == 0 or not (
                np.issubdtype(array.dtype, np.number) and np.isrealobj(array)
            ):
                continue
            for place in np.ndindex(array.shape[1:]):
                label = f'{name}[{",".join(map(str, place))}]' if place else name
                found[label] = array[(slice(None), *place)]
    return found
