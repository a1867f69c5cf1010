"""
Where a network would pay: sites tried on what an identification leaves of the torques.

`explain` is the main function, the answer of `identify --explain` to the open question of Heiden
et al. (2020), where extra degrees of freedom are needed to close the gap. For every joint with a
torque each of a few networks is fitted beside the physics on blocks of its rows, and judged on the
others. The one that lowers their error most is proposed, with the lines for the config, unless a
simpler one does nearly as well.
"""

from dataclasses import dataclass, replace

from ...augmentation.declaration import Declaration
from .network_fit import Effort
from .train import fitted, of_torques
from .training_rows import rows_of

# A proposal lowers the error of unseen blocks by more than this part; a network with more inputs
# has to lower it by so much more than a simpler one.
LEAST_GAIN, _SIMPLER = 0.03, 0.02
_QUICK = Effort(starts=4, penalties=(1.0,), rows=2000)


@dataclass(frozen=True)
class Proposal:
    """
    What a joint's torques leave, and the network that would explain a part of it.

    joint; before, after: root mean square error of rows that were not fitted, without and with
    the network [N m or N]; declaration: a `Declaration`, None where no network pays.
    """

    joint: str
    before: float
    after: float
    declaration: object = None

    @property
    def gain(self):
        """The part by which the error falls."""
        return 1 - self.after / self.before

    @property
    def lines(self):
        """The lines for the config."""
        wish = self.declaration
        return (
            'neural:',
            f'  {wish.name}:',
            f'    at: {wish.at}',
            f'    inputs: [{", ".join(wish.inputs)}]',
            f'    law: {wish.law}',
            f'    hidden: [{", ".join(map(str, wish.hidden))}]',
            f'    sd: {wish.sd:.3g}',
        )


def explain(paths, config, held_out=0.2, mean=None, trust_units=False, show=None):
    """
    Return a `Proposal` for each joint with a torque, those that gain most first.

    paths: of the recordings; config: `Config` they were identified with; held_out: share that was;
    mean [p]: coordinates that were found, None: those of the prior mean; show: called with the
    name of each joint.
    """
    plain = replace(of_torques(config), neural={})
    rows = rows_of(paths, plain, held_out, mean, trust_units)
    found = []
    for joint in rows.joints:
        if show:
            show(joint)
        if rows.usable[:, rows.joints.index(joint)].sum() < _QUICK.rows // 4:
            continue
        found.append(_proposal(plain, rows, joint))
    return tuple(sorted(found, key=lambda each: -each.gain))


def candidates(joint, sd):
    """Return the `Declaration`s that are tried at a joint, simpler ones first."""
    own = joint.replace('.', '_').replace('-', '_').replace('/', '_')
    site, velocity, position = f'{joint}.effort', f'{joint}.velocity', f'{joint}.position'
    return (
        Declaration(f'{own}_friction', site, 'add', 'dissipative', (velocity,), (8,), sd),
        Declaration(f'{own}_cogging', site, 'add', 'conservative', (position,), (16,), sd),
        Declaration(f'{own}_loss', site, 'add', 'dissipative', (velocity, position), (12,), sd),
        Declaration(f'{own}_gear', site, 'add', 'free', (velocity, f'{joint}.load'), (12,), sd),
        Declaration(f'{own}_rest', site, 'add', 'free', (velocity, position), (12,), sd),
    )


def _proposal(config, rows, joint):
    """Return the `Proposal` of a joint."""
    residual = rows.left_of(joint)
    best = None
    for wish in candidates(joint, residual):
        fit, _ = fitted(config, rows, wish, effort=_QUICK)
        if best is None:
            best = Proposal(joint, fit.before, fit.before)
        least = LEAST_GAIN if best.declaration is None else _SIMPLER
        if fit.after < (1 - least) * best.after:
            best = Proposal(joint, fit.before, fit.after, wish)
    return best
