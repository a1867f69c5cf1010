"""Tables, targets and the summary of `make benchmark`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """
    A number that should be at most (or at least) another.

    value: None where it could not be measured, which is no failure; disturbed: whether the run
    cannot be quoted.
    """

    name: str
    value: float | None
    bound: float
    unit: str
    at_least: bool = False
    disturbed: bool = False

    @property
    def is_met(self):
        """Whether the value, which there must be, is on the right side of its bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def fails(self):
        """Whether this is a reason for an exit code."""
        return self.value is not None and not self.is_met and not self.disturbed

    @property
    def verdict(self):
        """The outcome in words."""
        if self.value is None:
            return 'not measured'
        return ('met' if self.is_met else 'NOT MET') + (' (disturbed run)' * self.disturbed)


def print_table(header, rows):
    """Print a Markdown table with aligned columns; rows: lists of strings."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ['-' * width for width in widths], *rows]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]
        print(f'| {" | ".join(cells)} |')
    print(flush=True)


def print_notes(notes):
    """Print one line per note."""
    for note in notes:
        print(f'note: {note}')
    if notes:
        print(flush=True)


def print_summary(targets):
    """Print value, bound and verdict of every target."""
    rows = []
    for target in targets:
        value = 'none' if target.value is None else f'{target.value:.2f} {target.unit}'
        sign = '>=' if target.at_least else '<='
        rows.append([target.name, value, f'{sign} {target.bound:g} {target.unit}', target.verdict])
    print_table(['target', 'value', 'wanted', 'verdict'], rows)
