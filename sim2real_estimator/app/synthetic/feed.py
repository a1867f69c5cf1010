"""A topic of the synthetic robot: instants of measurement, losses, and times of arrival."""

from ...errors import ConfigError
from .readings import MEASUREMENTS, Reading
from .settings import generator

_NANO = 1e9


class Feed:
    """Makes the readings of one topic; made, lost: their numbers so far."""

    def __init__(self, topic, sources, delay, settings, model):
        """
        Set up a topic.

        sources: (sensors, sources of efforts and wrenches) that read it; delay [s]: true delay of
        its sensors; settings: `SyntheticConfig`.
        """
        sensors, efforts = sources
        self.topic, self._stream = topic, settings.streams.get(topic)
        self.message_type = _the_only_type(topic, sensors, efforts)
        if self._stream.rate > settings.rate:
            raise ConfigError(
                f'streams.{topic}.rate: is {self._stream.rate:g}, more than the robot can do; '
                f'give at most rate, {settings.rate:g}'
            )
        self._measure = MEASUREMENTS[self.message_type](sensors, efforts, model, self._stream)
        self._noise = generator(settings.seed, f'noise of {topic}')
        self._way = generator(settings.seed, f'way of {topic}')
        self._delay_ns, self._newest_ns = round(_NANO * delay), 0
        self.made, self.lost, self._turns = 0, 0, 0

    def reading(self, time_ns, clock_ns, plant, efforts):
        """
        Return the `Reading` of an instant, or None where there is none or it is lost.

        time_ns: since the start; clock_ns: of the robot; efforts: of all commands, as given, and
        the numbers of wrenches.
        """
        if time_ns < round(self._turns * _NANO / self._stream.rate):
            return None
        self._turns += 1
        content = self._measure(plant, efforts, self._noise)
        is_lost = self._way.random() < self._stream.dropout
        late = self._stream.latency + self._way.exponential(1.0) * self._stream.jitter
        number, self.made, self.lost = self.made, self.made + 1, self.lost + is_lost
        if is_lost:
            return None
        # Messages do not overtake one another on a connection.
        due = max(time_ns + self._delay_ns + round(_NANO * late), self._newest_ns)
        self._newest_ns = due
        stamp = clock_ns + self._delay_ns
        return Reading(self.topic, self.message_type, number, due, stamp, content)


def _the_only_type(topic, sensors, efforts):
    """Return the type of the messages of a topic."""
    kinds = sorted({source.message_type for source in (*sensors, *efforts)})
    if len(kinds) > 1 or len(sensors) > 1 and not sensors[0].measures_joints:
        names = ', '.join(source.name for source in (*sensors, *efforts))
        raise ConfigError(
            f"topic '{topic}': {names} read it, but one message cannot serve all; give each a "
            'topic of its own'
        )
    return kinds[0]
