"""Records that cross the pipes between the node and its worker, beside batches of messages."""

from dataclasses import dataclass

from ...config.node_settings import MarkersConfig, SamplesConfig
from ...records import Estimate, Findings


@dataclass(frozen=True)
class Report:
    """
    The state of the worker, as the node needs it.

    backend: name of the one that simulates; has_room: whether the worker accepts a batch; taken:
    messages processed; updates: frames processed; busy: time these took [s]; longest: time of
    the longest update since the report before [s]; events: of all updates since then; estimate,
    findings: the newest, None before the first update; counts: source -> {status in words:
    number}; samples: number that await their frame; lag: data whose frames are complete but not
    processed [s]; is_relieved: whether frames are made longer because of the lag; reliefs: how
    often that has begun.
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
    A request that the worker serves between two batches.

    what: a key of `requests.REQUESTS`; `wish`, with `Wishes`; or `draw_samples`, which is
    answered when they are drawn.
    """

    number: int
    what: str
    arguments: tuple


@dataclass(frozen=True)
class Reply:
    """
    The outcome of the `Request` of that number.

    is_good: whether it succeeded; text: a remark, or why it failed; content: the result.
    """

    number: int
    is_good: bool
    text: str
    content: object = None


@dataclass(frozen=True)
class Wishes:
    """
    The outputs that the node wants to publish.

    topics: names of those with subscribers, or that are latched for later ones; rate [1/s]:
    largest one of messages that follow every estimate; the other settings are as in the config.
    """

    topics: frozenset
    rate: float
    samples: SamplesConfig
    markers: MarkersConfig


@dataclass(frozen=True)
class Publication:
    """A serialized message for a topic of the node."""

    topic: str
    data: bytes
