"""The synthetic robot: with every tick it measures, sends and moves."""

from dataclasses import dataclass, replace
import heapq
import math
from pathlib import Path

from ...dynamics.wrenches import WRENCH_SIZE
from ...errors import ConfigError
from ...model.parameters import Parameters
from ...parameters.priors import choose_with_delays
from ...setup.sources import build_efforts, build_sensors, build_wrenches, described_model, topics
from .excitation import Motion, Pushes
from .feed import Feed
from .plant import LateCommands, Plant
from .readings import message_of
from .settings import load_estimator, require_known, StreamConfig
from .truth import Truth

_NANO = 1e9
# Efforts that are commanded from outside act so long unless newer ones come [ns]: nothing keeps on
# pushing a robot whose controller has died.
_COMMANDED_NS = 10**8


@dataclass(frozen=True)
class TruthAt:
    """The true values from a time since the start [ns] on: name -> float."""

    time_ns: int
    values: dict


class SyntheticRobot:
    """
    A simulated robot that sends the messages of a real one.

    The same settings give the same readings, bit for bit. truth: the latest `TruthAt`; truths:
    all so far; plant: the `Plant`; readers: topic -> names of the sources that read it.
    """

    def __init__(self, settings, start_ns=0, config=None):
        """
        Set up the robot.

        settings: `SyntheticConfig`; start_ns: time of the computer's clock at the start;
        config: the estimator's `Config`, by default the one that the settings name.
        """
        config = config or load_estimator(settings)
        self.settings, self.config = settings, config
        model = described_model(config)
        sensors, wrenches = build_sensors(config, model), build_wrenches(config, model)
        sources = (*build_efforts(config, model), *wrenches)
        parameters = Parameters(model, [p for sensor in sensors for p in sensor.parameters])
        chosen, self._noises = _without_noises(settings, config, parameters, sensors)
        clocks = [f'{sensor.name}.delay' for sensor in sensors]
        self._truth = Truth(settings, parameters, clocks, chosen)
        values = self._truth.at(0)
        self._motion = Motion(settings, model)
        self._pushes = Pushes(settings, [wrench.name for wrench in wrenches])
        self.plant = Plant(
            parameters,
            sensors,
            config.simulation,
            settings.finer,
            self._truth.varying,
            values,
            [each.wrench for each in wrenches],
        )
        self.plant.place(settings, self._motion.starts())
        delays_ns = self._truth.command_delays_ns(model.command_joints)
        # Wrenches act at once.
        self._commands = LateCommands([*delays_ns, *[0] * (WRENCH_SIZE * len(wrenches))])
        self.begin(start_ns)
        self._tick, self._waiting, self._instants = 0, [], list(self._truth.instants)
        self._commanded, self._commanded_ns = None, 0
        self.truths = []
        self._tell_truth(values)
        self.readers, self.feeds = _feeds(settings, config, model, (sensors, sources), values)

    @property
    def time_ns(self):
        """Time since the start, of the next tick."""
        return round(self._tick * _NANO / self.settings.rate)

    @property
    def clock_ns(self):
        """The robot's own clock at the next tick."""
        return self._start_ns + self.time_ns

    @property
    def description(self):
        """The nominal robot description: the text of the URDF."""
        urdf = self.config.model.urdf
        if urdf.lstrip().startswith('<'):
            return urdf
        return (Path(self.config.source).parent / urdf).read_text(encoding='utf-8')

    @property
    def truth(self):
        """The latest `TruthAt`."""
        return self.truths[-1]

    def arrival_ns(self, reading):
        """Return when a `Reading` arrives, by the robot's own clock."""
        return self._start_ns + reading.due_ns

    def begin(self, start_ns):
        """Set at what time of the computer's clock the robot started [ns]."""
        self._start_ns = start_ns + round(_NANO * self.settings.clock_offset)

    def postpone(self, duration_ns):
        """Pause the robot: its next stamps are later by a duration [ns]."""
        self._start_ns += duration_ns

    @property
    def next_arrival_ns(self):
        """Time of the next arrival since the start [ns], infinite where nothing is under way."""
        return self._waiting[0][0] if self._waiting else math.inf

    def command(self, efforts):
        """
        Let efforts [N m or N] act on top of the motion, one for each command of the model.

        A ConfigError says what is wrong with them; the ones before then act no longer.
        """
        self._commanded, count = None, self._motion.size
        if len(efforts) != count or not all(map(math.isfinite, efforts)):
            raise ConfigError(
                f'commands: are {list(efforts)}; send {count} finite numbers, in the order '
                f'{", ".join(self._motion.commands)}'
            )
        self._commanded, self._commanded_ns = list(efforts), self.time_ns

    def advance(self):
        """Do one tick: measure, send, and move until the next one."""
        now, clock = self.time_ns, self.clock_ns
        if self._instants and self._instants[0] <= now:
            self._instants = [at for at in self._instants if at > now]
            values = self._truth.at(now)
            self.plant.set_values(values)
            self._tell_truth(values)
        efforts = self._motion.efforts(now / _NANO, self.plant.state)
        if self._commanded and now - self._commanded_ns < _COMMANDED_NS:
            efforts = self._motion.limited(map(sum, zip(efforts, self._commanded)))
        efforts = [*efforts, *self._pushes.at(now / _NANO)]
        for place, feed in enumerate(self.feeds.values()):
            reading = feed.reading(now, clock, self.plant, efforts)
            if reading:
                heapq.heappush(self._waiting, (reading.due_ns, place, reading.number, reading))
        self._commands.give(now, efforts)
        self._tick += 1
        self.plant.advance(self._commands.pieces(now, self.time_ns))

    def arrived(self, time_ns):
        """Return the readings that have arrived by a time since the start, in order."""
        found = []
        while self.next_arrival_ns <= time_ns:
            found.append(heapq.heappop(self._waiting)[-1])
        return found

    def run(self, seconds):
        """Yield the readings of the next seconds, in the order of their arrival."""
        end = self.time_ns + round(_NANO * seconds)
        while self.time_ns < end:
            self.advance()
            yield from self.arrived(self.time_ns)

    def _tell_truth(self, values):
        values_now = {name: values[name] for name in self._truth.names}
        self.truths.append(TruthAt(self.time_ns, values_now | self._noises))


def estimates(pipeline, robot, seconds):
    """Yield an `Estimate` for every frame of the next seconds of a robot."""
    for reading in robot.run(seconds):
        message = message_of(reading)
        for name in robot.readers[reading.topic]:
            pipeline.receive(name, message, robot.arrival_ns(reading))
        yield from pipeline.step()
    yield from pipeline.finish()


def _without_noises(settings, config, parameters, sensors):
    """
    Return (the estimator's priors without noises, as `Chosen`; name -> true noise factor).

    The true factors are not drawn, but those of the streams of the topics.
    """
    noises = {f'{sensor.name}.noise': topics(config)[sensor.name] for sensor in sensors}
    chosen = choose_with_delays(parameters, sensors, config.estimate, noises)
    asked = {name: topic for name, topic in noises.items() if name in chosen.priors}
    true = {
        name: settings.streams.get(topic, StreamConfig()).noise for name, topic in asked.items()
    }
    rest = {name: prior for name, prior in chosen.priors.items() if name not in noises}
    return replace(chosen, priors=rest), true


def _feeds(settings, config, model, parts, values):
    """Return topic -> names of the sources that read it, and topic -> `Feed`."""
    readers, found = {}, {}
    for name, topic in topics(config).items():
        readers.setdefault(topic, []).append(name)
    for topic in settings.streams:
        require_known('streams', topic, readers)
    streams = {}
    for topic in readers:
        wish = settings.streams.get(topic, StreamConfig())
        streams[topic] = replace(wish, rate=wish.rate or settings.rate)
    settings = replace(settings, streams=streams)
    for topic, names in readers.items():
        sources = tuple([each for each in group if each.name in names] for group in parts)
        delays = {name: values.get(f'{name}.delay', 0.0) for name in names}
        if len(names) > 1 and any(delays.values()):
            raise ConfigError(
                f"topic '{topic}': {', '.join(names)} read it, and its messages have one stamp; "
                f'set their delays to 0 in truth, or give each a topic of its own'
            )
        found[topic] = Feed(topic, sources, max(delays.values(), key=abs), settings, model)
    return readers, found
