"""What crosses the pipes between the node and its worker, besides batches of messages."""

from dataclasses import dataclass

from ...config.node_settings import MarkersConfig, SamplesConfig
from ...records import Estimate, Findings


@dataclass(frozen=True)
class Report:
    """
    What the worker tells the node.

    backend: that simulates; has_room: whether the worker can take a batch; taken: messages
    taken in; updates: frames done; busy: seconds they took; longest: seconds the longest of them
    took since the report before; events: of all updates since then; estimate, findings: the
    newest, None before the first update; counts: source -> {status in words: number}; samples:
    how many wait for their frame; lag: seconds of data that could be done already; is_relieved:
    whether frames are made longer since that is too much; reliefs: how often that has begun.
    """

    backend: str
    has_room: bool
    taken: int
    updates: int
    busy: float
    longest: float
    events: tuple
    estimate: Estimate | None
    findings: Findings | None
    counts: dict
    samples: int
    lag: float
    is_relieved: bool
    reliefs: int


@dataclass(frozen=True)
class Request:
    """
    Something to do between two batches.

    what: the name of an entry of `requests.REQUESTS`; `wish`, with `Wishes`; or `draw_samples`,
    which is answered when they are drawn.
    """

    number: int
    what: str
    arguments: tuple


@dataclass(frozen=True)
class Reply:
    """
    What came of the `Request` of that number.

    is_good: whether it was done; text: what there is to say of it, or why it was not; content:
    what it asked for.
    """

    number: int
    is_good: bool
    text: str
    content: object = None


@dataclass(frozen=True)
class Wishes:
    """
    What the node wants to publish.

    topics: names of those that somebody listens to, or that are kept for whoever comes later;
    rate [1/s]: of what follows every estimate, at most; the other settings are as in the config.
    """

    topics: frozenset
    rate: float
    samples: SamplesConfig
    markers: MarkersConfig


@dataclass(frozen=True)
class Publication:
    """A message for a topic of the node, as it goes over the wire."""

    topic: str
    data: bytes
