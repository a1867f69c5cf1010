"""The state of a running estimator, collected from its topics."""

from dataclasses import dataclass

_NANO = 1e9


@dataclass(frozen=True)
class Happening:
    """An event of the estimator; text: for people; is_warning: whether to look at it."""

    stamp_ns: int
    name: str
    text: str
    is_warning: bool


@dataclass(frozen=True)
class Task:
    """What the diagnostics say of a task; values: text -> text."""

    is_well: bool
    text: str
    values: dict


@dataclass(frozen=True)
class Row:
    """
    What is known of one parameter, all numbers in `unit`.

    truth: None where nobody tells it; aliases: names of those it cannot be told apart from.
    """

    name: str
    unit: str
    truth: float | None
    mean: float
    sd: float
    prior_mean: float
    prior_sd: float
    verdict: str
    aliases: tuple


class Board:
    """
    Collects what was heard.

    truths: (stamp_ns, name -> value), of a synthetic robot, as they changed; happenings: all
    events; tasks: name -> `Task` of the latest diagnostics.
    """

    def __init__(self):
        """Begin empty."""
        self.truths, self.happenings, self.tasks = [], [], {}
        self._estimate = self._reading = self._begin_ns = None

    def take_estimate(self, reading):
        """Set the newest estimate: `stamp_ns`, and `mean` and `sd` by name."""
        self._estimate = reading
        if self._begin_ns is None:
            self._begin_ns = reading.stamp_ns

    def take_parameters(self, reading):
        """Set the verdicts: `stamp_ns`, `ParameterFinding`s and `units` by name."""
        self._reading = reading

    def take_truth(self, stamp_ns, values):
        """Set the true values, name -> float, from a stamp on."""
        self.truths.append((stamp_ns, values))

    def take_happening(self, happening):
        """Add a `Happening`."""
        self.happenings.append(happening)

    def take_task(self, name, task):
        """Set a `Task` of the diagnostics."""
        self.tasks[name] = task

    @property
    def stamp_ns(self):
        """Stamp of the newest datum used; None before the first estimate."""
        return None if self._estimate is None else self._estimate.stamp_ns

    def seconds(self, stamp_ns):
        """Return a stamp in seconds since the synthetic robot's start, or the first estimate."""
        begin = self.truths[0][0] if self.truths else self._begin_ns
        return (stamp_ns - (stamp_ns if begin is None else begin)) / _NANO

    def truth(self, stamp_ns):
        """Return the true values at a stamp, name -> float, as far as they were published."""
        found = {}
        for begin_ns, values in self.truths:
            if begin_ns <= stamp_ns:
                found = values
        return found

    @property
    def payload(self):
        """What is held: (link, mass [kg], its sd); None where nothing is, as far as was said."""
        said = self._reading.posterior if self._reading else {}
        if 'payload mass' not in said:
            return None
        return (
            said['payload on'],
            float(said['payload mass']),
            float(said['payload mass std']),
        )

    def rows(self):
        """Return a `Row` for every parameter; none before the first verdicts."""
        if self._reading is None or self._estimate is None:
            return ()
        return tuple(map(self._row, self._reading.parameters.values()))

    def _row(self, found):
        """Return the row of a `ParameterFinding`; its numbers are those that come most often."""
        now, name = self._estimate, found.name
        return Row(
            name=name,
            unit=self._reading.units[name],
            truth=self.truth(now.stamp_ns).get(name),
            mean=now.mean.get(name, found.mean),
            sd=now.sd.get(name, found.sd),
            prior_mean=found.prior_mean,
            prior_sd=found.prior_sd,
            verdict=found.verdict,
            aliases=found.aliases,
        )
