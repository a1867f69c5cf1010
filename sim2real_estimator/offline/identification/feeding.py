"""A recording on its way into a pipeline, from any message on."""

from itertools import islice
import time

from ...bags.matching import match, wanted_topics
from ...errors import DataError
from ...sensors import stamp_ns
from ...setup.sources import settings_of, topics
from .result import Bag, Topic
from .survey import require_plausible_units, survey

_NANO = 1e9


class Timings:
    """
    Where the time of the processor goes.

    seconds: 'reading', which includes decoding, and 'estimating' -> time.
    """

    def __init__(self):
        """Begin with none."""
        self.seconds = {'reading': 0.0, 'estimating': 0.0}
        self.skip()

    def skip(self):
        """Count only what comes from now on."""
        self._latest = time.thread_time()

    def add(self, part):
        """Count the time since the last call, of this or of `skip`, as that of a part."""
        before, self._latest = self._latest, time.thread_time()
        self.seconds[part] += self._latest - before


class Feed:
    """
    An opened recording, its topics matched with the config.

    bag: its `BagReader`; matches: a `Match` for each topic; split_ns: by the bag's time, from
    where on messages are held out; passed: messages handed out so far.
    """

    def __init__(self, bag, digest, config, pipeline, share, is_trusting=False):
        """
        Look into the recording; a DataError says what cannot be right.

        digest: of its files; share: of its time that is held out at its end; is_trusting: whether
        units that look wrong are right.
        """
        sources = pipeline.sources.values()
        self.bag, self._digest, self._jump = bag, digest, config.frames.jump_back
        self.matches = match(wanted_topics(sources, topics(config), settings_of(config)), bag)
        self._readers = {each.topic: each.wanted.sources for each in self.matches}
        self._surveyed = survey(bag, self.matches)
        model, is_fixed = pipeline.problem.model, config.model.base == 'fixed'
        if not is_trusting:
            require_plausible_units(bag, self.matches, self._surveyed, model, is_fixed)
        self.end_ns = max(bag.last(each.topic)[0] for each in self.matches)
        self.split_ns = self.end_ns - round(share * (self.end_ns - bag.begin_ns))
        self.passed, self._latest, self._counts = 0, {}, {}

    def names_of_guesses(self):
        """Return sentences about topics that go by another name than in the config."""
        return tuple(
            f"'{each.wanted.name}' of the config is '{each.topic}' here, as far as its "
            f'{"name" if each.how == "namespace" else "type"} tells'
            for each in self.matches
            if each.how != 'config'
        )

    def messages(self):
        """
        Yield (time in the bag [ns], [(source, `Decoded`)]) of messages that are not held out.

        From the one after those `passed` on.
        """
        # To the very end, which is when it is known whether all could be read.
        for topic, time_ns, content in islice(self.bag.messages(self._readers), self.passed, None):
            if time_ns > self.split_ns:
                continue
            message = self.bag.decoded(topic, content)
            self._pass(topic, stamp_ns(message, time_ns))
            yield (
                time_ns,
                [(each.name, each.decode(message, time_ns)) for each in self._readers[topic]],
            )

    def held_out(self, begin_ns, seconds):
        """Yield the samples of a stretch of what is held out, from a time in the bag on [ns]."""
        begin_ns = max(begin_ns, self.split_ns + 1)
        end_ns = begin_ns + round(seconds * _NANO)
        for topic, time_ns, content in self.bag.messages(self._readers, begin_ns, end_ns):
            message = self.bag.decoded(topic, content)
            for source in self._readers[topic]:
                yield from source.decode(message, time_ns).samples

    def snapshot(self):
        """Return what it takes to go on after the messages passed, plain values."""
        return self.passed, dict(self._latest), dict(self._counts)

    def restore(self, saved):
        """Go on from a snapshot."""
        self.passed, latest, counts = saved
        self._latest, self._counts = dict(latest), dict(counts)

    def described(self, health):
        """Return the `Bag` of what was read; health: source -> {status in words: number}."""
        seconds = max((self.split_ns - self.bag.begin_ns) / _NANO, 1 / _NANO)
        found = []
        for each in self.matches:
            seen, number = self._surveyed[each.topic], self._counts.get(each.topic, 0)
            found.append(
                Topic(
                    each.topic,
                    each.wanted.message_type,
                    tuple(source.name for source in each.wanted.sources),
                    each.wanted.name,
                    each.how,
                    number,
                    number / seconds,
                    seen.first_ns,
                    seen.last_ns,
                    seen.latency,
                    seen.latency_sd,
                )
            )
        warnings = (*self.bag.warnings, *self.names_of_guesses())
        times = self.bag.begin_ns, self.split_ns, self.end_ns
        return Bag(self.bag.name, self._digest, *times, tuple(found), health, warnings)

    def _pass(self, topic, stamp):
        """Count a message; refuse one whose clock was set back."""
        # Of those that nobody has set, the stream takes care.
        stamp = stamp or self._latest.get(topic, 0)
        latest = self._latest.get(topic, stamp)
        if latest - stamp > self._jump * _NANO:
            raise DataError(
                f"{self.bag.path}: stamps of '{topic}' go back by {(latest - stamp) / _NANO:.1f} "
                f's after {self._counts[topic]} messages; cut the recording there, and give the '
                'parts as recordings of their own, or its earlier part alone where it repeats'
            )
        self._latest[topic] = max(latest, stamp)
        self._counts[topic] = self._counts.get(topic, 0) + 1
        self.passed += 1
