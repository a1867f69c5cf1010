"""
States as JSON and plain arrays, and back again.

Only classes of the table `KINDS` are ever made from a file, and only by their constructors:
reading one runs none of its content. Arrays keep their order in memory, since the last bit of a
matrix product hangs on it.
"""

from dataclasses import fields, is_dataclass, MISSING
from enum import Enum
import math
from typing import get_type_hints

import numpy as np

from ..errors import DataError
from ..estimation.batch.fit import Fits, Window
from ..estimation.changes.detection import BiasScore, DetectorState, FrameFit, RecentFrame
from ..estimation.changes.isolation import CarriedOn, EarlierModel, Hypothesis, IsolatedChange
from ..estimation.changes.pending import PendingChange
from ..estimation.disturbances import Disturbance, Disturbances
from ..estimation.estimators.gumbel_mixture import GumbelState
from ..estimation.estimators.kinematic_calibration import CalibrationState
from ..estimation.estimators.multiple_shooting import ShootingState
from ..estimation.filter.gating import FaultySensor
from ..estimation.filter.phases import BatchState, FilterState
from ..estimation.filter.smoother import FrameStep, Trajectories
from ..estimation.filter.update import FixedLagWindow
from ..estimation.mixture import Mixture
from ..estimation.noise import NoiseScales
from ..estimation.optimizers import Moments
from ..estimation.protocol import Gaussian, Linearization, ModelChange
from ..estimation.torque.changes import Onset, Snapshot
from ..estimation.torque.delay import Delay
from ..estimation.torque.elasticity import Response, Samples, Spectra
from ..estimation.torque.joint_motion import MotionNoise
from ..estimation.torque.outliers import Disruption
from ..estimation.torque.poses import PoseFit, Poses, PoseState, PoseSums
from ..estimation.torque.regression import Earlier, Fit, Rows, Sums, TorqueNoise
from ..estimation.torque.state import Branch, TorqueState
from ..estimation.torque.units import MisfitHypothesis, MisfitWatch
from ..estimation.windows.least_squares import FoldedWindows
from ..estimation.windows.shooting import FittedWindow
from ..observability.payload import Attached, PayloadHistory
from ..observability.tangents import Tangents
from ..records import (
    CombinationFinding,
    Estimate,
    Findings,
    Frame,
    NetworkFinding,
    ParameterFinding,
    Payload,
    PayloadReason,
    Sample,
    UpdateReport,
)
from ..reported_events import EVENT_CLASSES, Happened, MisfitTest
from ..stream.plans import RecordedPlan, ReferencePlan
from ..stream.restamping import Restamping
from .even_numbers import packed, unpacked
from .identity import Recording

# What the classes are called in files; a new class of a state is a new line.
KINDS = {
    'attached': Attached,
    'batch state': BatchState,
    'branch': Branch,
    'calibration state': CalibrationState,
    'carried on': CarriedOn,
    'change memory': DetectorState,
    'combination finding': CombinationFinding,
    'courses': Trajectories,
    'disruption': Disruption,
    'disturbance': Disturbance,
    'disturbances': Disturbances,
    'earlier rows': Earlier,
    'estimate': Estimate,
    'explanation': IsolatedChange,
    'filter state': FilterState,
    'findings': Findings,
    'fit': Fit,
    'fits': Fits,
    'folded windows': FoldedWindows,
    'frame': Frame,
    'frame fit': FrameFit,
    'frame step': FrameStep,
    'gaussian': Gaussian,
    'gumbel state': GumbelState,
    'hypothesis': Hypothesis,
    'jump': ModelChange,
    'lag': FixedLagWindow,
    'linearization': Linearization,
    'memory': EarlierModel,
    'misfit hypothesis': MisfitHypothesis,
    'misfit watch': MisfitWatch,
    'mixture': Mixture,
    'moments': Moments,
    'motion noise': MotionNoise,
    'network finding': NetworkFinding,
    'noise scales': NoiseScales,
    'onset': Onset,
    'parameter finding': ParameterFinding,
    'past': RecentFrame,
    'payload': Payload,
    'payload history': PayloadHistory,
    'pose fit': PoseFit,
    'pose state': PoseState,
    'pose sums': PoseSums,
    'poses': Poses,
    'pull': BiasScore,
    'recorded plan': RecordedPlan,
    'recording': Recording,
    'reference plan': ReferencePlan,
    'restamping': Restamping,
    'response': Response,
    'rows': Rows,
    'sample': Sample,
    'samples': Samples,
    'shooting state': ShootingState,
    'shot': FittedWindow,
    'snapshot': Snapshot,
    'spectra': Spectra,
    'sums': Sums,
    'suspect state': PendingChange,
    'tangents': Tangents,
    'torque delay': Delay,
    'torque noise': TorqueNoise,
    'torque state': TorqueState,
    'update report': UpdateReport,
    'window': Window,
    'wrong sensor': FaultySensor,
    **{f'event {each.__name__}': each for each in EVENT_CLASSES},
}
_NAMES = {kind: name for name, kind in KINDS.items()}
# Enumerations of which members are saved, by what they are called in files.
_ENUMERATIONS = {
    'happened': Happened,
    'misfit test': MisfitTest,
    'payload reason': PayloadReason,
}
_NAMES_OF_ENUMERATIONS = {kind: name for name, kind in _ENUMERATIONS.items()}
# Arrays of one of these types are laid end to end in one array of the file.
_TYPES = ('float64', 'int64', 'bool', 'uint8', 'complex128')


class Encoder:
    """Turns values into JSON; what appears twice, such as a frame, is written once."""

    def __init__(self):
        """Begin with nothing."""
        self._nodes, self._places, self._alive = [], {}, []
        self._parts = {name: [] for name in _TYPES}
        self._ends = dict.fromkeys(_TYPES, 0)

    def encode(self, value):
        """Return the JSON of a value, to which `tables` belongs."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, np.generic):
            return {'number': self._array(np.asarray(value))}
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {'float': str(value)}
        if isinstance(value, tuple):
            return [self.encode(entry) for entry in value]
        if isinstance(value, dict):
            pairs = [[self.encode(key), self.encode(entry)] for key, entry in value.items()]
            return {'dict': pairs}
        if isinstance(value, frozenset):
            if all(type(entry) is int for entry in value):
                return {'whole numbers': self._whole_numbers(value)}
            return {'set': sorted(value)}
        if isinstance(value, np.ndarray) or type(value) in _NAMES:
            return {'node': self._place(value)}
        if isinstance(value, Enum) and type(value) in _NAMES_OF_ENUMERATIONS:
            return {'member': [_NAMES_OF_ENUMERATIONS[type(value)], value.value]}
        raise TypeError(
            f'{type(value).__name__} cannot be saved; give it a name in encoding.KINDS'
        )

    def tables(self):
        """Return (nodes, arrays): JSON and type -> flat array, for the `Decoder`."""
        arrays = {
            name: np.concatenate(parts) if parts else np.zeros(0, name)
            for name, parts in self._parts.items()
        }
        return self._nodes, arrays

    def _place(self, value):
        """Return where a value stands among the nodes."""
        if id(value) not in self._places:
            if is_dataclass(value):
                entries = {f.name: self.encode(getattr(value, f.name)) for f in fields(value)}
                node = {'kind': _NAMES[type(value)], 'fields': entries}
            else:
                node = {'array': self._array(value)}
            self._nodes.append(node)
            self._places[id(value)] = len(self._nodes) - 1
            # Kept, so that no other value gets the same id.
            self._alive.append(value)
        return self._places[id(value)]

    def _whole_numbers(self, values):
        """Return what it takes to have a set of whole numbers again; of a plan there are many."""
        if not values:
            return []
        *known, content = packed(np.sort(np.fromiter(values, np.int64, len(values))))
        return [*known, self._array(content)]

    def _array(self, array):
        """Return [type, offset, shape, order] of an array: its axes from the widest stride on."""
        name = array.dtype.name
        if name not in _TYPES:
            raise TypeError(f'an array of {name} cannot be saved; use one of {", ".join(_TYPES)}')
        # Where an axis of one entry stands makes no difference, so they all stand in front.
        order = sorted(range(array.ndim), key=lambda k: (array.shape[k] > 1, -array.strides[k]))
        start = self._ends[name]
        self._parts[name].append(array.transpose(order).ravel())
        self._ends[name] += array.size
        return [name, start, list(array.shape), order]


class UnknownSortError(DataError):
    """There is something of which this version has not heard."""


class OtherVersionError(DataError):
    """A value is of a kind that this version does not have, or has other fields here."""


class Decoder:
    """
    Turns JSON back into values; what does not fit is a DataError.

    An object of another kind or with other fields, and all that holds it, raises an
    `OtherVersionError` where it is asked for: all else of a file that another version has written
    can be read.
    """

    def __init__(self, nodes, arrays):
        """Take what `Encoder.tables` returned."""
        self._arrays, self._nodes = arrays, []
        # A node refers to earlier ones only, so what is read cannot run in circles.
        for node in nodes:
            try:
                self._nodes.append(self._made(node))
            except OtherVersionError as error:
                self._nodes.append(error)

    def decode(self, value):
        """Return the value of JSON."""
        if isinstance(value, list):
            return tuple(self.decode(entry) for entry in value)
        if not isinstance(value, dict):
            return value
        ((tag, content),) = value.items()
        if tag == 'node':
            found = self._nodes[content]
            if isinstance(found, OtherVersionError):
                raise found
            return found
        if tag == 'number':
            return self._array(content)[()]
        if tag == 'float':
            return float(content)
        if tag == 'dict':
            return {self.decode(key): self.decode(entry) for key, entry in content}
        if tag == 'whole numbers':
            return self._whole_numbers(content)
        if tag == 'set':
            return frozenset(content)
        if tag == 'member':
            return self._member(*content)
        raise UnknownSortError(f"there is a value of the unknown sort '{tag}'")

    @staticmethod
    def _member(name, value):
        """Return a member of an enumeration by the name of that and the member's value."""
        if name not in _ENUMERATIONS:
            raise UnknownSortError(f"there is a member of the unknown enumeration '{name}'")
        try:
            return _ENUMERATIONS[name](value)
        except ValueError as error:
            raise OtherVersionError(f"'{value}' is no '{name}'") from error

    def _made(self, node):
        """Return the array or the object of a node."""
        if 'array' in node:
            return self._array(node['array'])
        if node['kind'] not in KINDS:
            raise OtherVersionError(f"there is an object of the unknown kind '{node['kind']}'")
        entries = {name: self.decode(entry) for name, entry in node['fields'].items()}
        kind = KINDS[node['kind']]
        known = {each.name for each in fields(kind)}
        needed = {f.name for f in fields(kind) if f.default is f.default_factory is MISSING}
        if not needed <= set(entries) <= known:
            other = ', '.join(sorted(set(entries) ^ known))
            raise OtherVersionError(f"there is a '{node['kind']}' with other fields ({other})")
        return kind(**entries)

    def _whole_numbers(self, content):
        if not content:
            return frozenset()
        *known, place = content
        return frozenset(unpacked(*known, self._array(place)).tolist())

    def _array(self, content):
        name, start, shape, order = content
        stored = [shape[axis] for axis in order]
        flat = self._arrays[name][start : start + math.prod(shape)]
        return flat.reshape(stored).transpose(np.argsort(order)).copy(order='K')


def require_kinds(value, kind):
    """
    Raise a ValueError unless a decoded value is None or of a class, with fields as it declares.

    Fields that are tuples are looked into as well.
    """
    if value is None:
        return
    if not isinstance(value, kind):
        raise ValueError(f'a {type(value).__name__} stands where a {kind.__name__} belongs')
    hints = get_type_hints(kind)
    for each in fields(kind):
        entry, hint = getattr(value, each.name), hints[each.name]
        if not isinstance(entry, _ACCEPTED.get(hint, hint)) or isinstance(entry, bool):
            raise ValueError(f'{each.name} of a {kind.__name__} is {entry!r:.40}')
        for part in entry if isinstance(entry, tuple) else (entry,):
            if type(part) in _NAMES:
                require_kinds(part, type(part))


# Types of fields that are declared more narrowly than what they may hold.
_NUMBERS = float, int, np.floating, np.integer
_ACCEPTED = {float: _NUMBERS, float | None: (*_NUMBERS, type(None)), int: (int, np.integer)}
