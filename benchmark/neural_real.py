"""
Networks on recordings of real arms: what `identify --explain` proposes, trained and compared.

For every arm networks are tried at all joints on the first four fifths; those that are proposed
are trained, and the last fifth says whether they stay on.
"""

from dataclasses import dataclass, replace
import logging
from pathlib import Path
import tempfile

from neural import write_recording
import numpy as np
from real.ours import config_for
from real.recordings import panda, tiago, tx40, ur10e
from report import print_table

from sim2real_estimator.config.settings_tree import NeuralConfig
from sim2real_estimator.offline.training.explain import explain
from sim2real_estimator.offline.training.train import train

# Of the UR10e the longest recording.
_UR = 'ur-20_02_12-50sec_12harm'
_SETS = {
    'TX40': lambda data, shared: tx40(shared),
    'TIAGo': tiago,
    'Panda': lambda data, shared: panda(data),
    'UR10e': lambda data, shared: ur10e(data, (_UR,))[_UR],
}
# Most networks of an arm: those that promise most.
_MOST = 3


@dataclass(frozen=True)
class Tried:
    """A network that was proposed, the gain that was promised, and what came of it."""

    robot: str
    joint: str
    law: str
    inputs: str
    promised: float
    before: float
    after: float
    off: str


def run(data, shared):
    """Print the table of all arms whose recordings are there; tell whether none got worse."""
    found = []
    for title, read in _SETS.items():
        try:
            recording = read(data, shared)
        except OSError as error:
            print(f'{title} is left out: {error}')
            continue
        found += tried(title, recording)
    rows = [
        (
            each.robot,
            each.joint,
            each.law,
            each.inputs,
            f'{100 * each.promised:.0f} %',
            f'{each.before:.3g}',
            'off' if each.off else f'{each.after:.3g}',
            each.off,
        )
        for each in found
    ]
    head = 'robot', 'joint', 'law', 'inputs', 'promised', 'without', 'with', 'why off'
    print_table(head, rows)
    return bool(found) and all(each.off or each.after < each.before for each in found)


def tried(title, recording):
    """Return a `Tried` for each network that is proposed for an arm."""
    logging.getLogger('sim2real_estimator').setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        bag, weights = Path(folder, 'bag'), Path(folder, 'weights.json')
        write_recording(bag, recording.joints, recording.t, recording.q, recording.tau)
        config = config_for(recording)
        proposals = [p for p in explain([bag], config, trust_units=True) if p.declaration]
        wishes = {
            p.declaration.name: NeuralConfig(
                at=p.declaration.at,
                inputs=p.declaration.inputs,
                law=p.declaration.law,
                hidden=p.declaration.hidden,
                sd=p.declaration.sd,
            )
            for p in proposals[:_MOST]
        }
        if not wishes:
            print(f'{title}: no network is proposed', flush=True)
            nothing = '', '', '', 0.0, np.nan, np.nan, 'none is proposed'
            return [Tried(title, *nothing)]
        config = replace(config, neural=wishes)
        found = train([bag], config, weights, trust_units=True).networks
    result = []
    for each, proposal in zip(found, proposals):
        inputs = ', '.join(n.rpartition('.')[2] for n in proposal.declaration.inputs)
        numbers = each.before, each.after, each.off
        result.append(Tried(title, proposal.joint, each.law, inputs, proposal.gain, *numbers))
        print(result[-1], flush=True)
    return result
