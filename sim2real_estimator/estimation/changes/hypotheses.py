"""What may have changed: hypotheses, each of which lets a few things jump and keeps all else."""

from dataclasses import dataclass, replace

import numpy as np

from ..disturbances import forgotten, with_scales
from ..factors import lower_root
from ..gaussian import predict
from ..protocol import ModelChange

EVERYTHING = 'everything'
# What has changed is seen beside a disturbance of about the right size.
_APART = 2.5
NOTHING = 'nothing but disturbances'


@dataclass(frozen=True)
class Memory:
    """
    What was known of the parameters before a change.

    name: of the change; parameters: names of those that it concerned; mean [p], root [p, p];
    jump: by which the change was explained, None where what was known before came back.
    """

    name: str
    parameters: tuple
    mean: np.ndarray
    root: np.ndarray
    jump: ModelChange | None = None


@dataclass(frozen=True)
class Hypothesis:
    """What jumps, or was known before and holds again, and the scale of disturbances since."""

    name: str
    scale: float
    jump: ModelChange | None = None
    memory: Memory | None = None

    @property
    def parameters(self):
        """Names of the parameters that it concerns, none where all or nothing is."""
        return getattr(self.jump or self.memory, 'parameters', ())


def hypotheses(problem, mixture, memories, scales):
    """
    Return (hypotheses that are but a jump, the others) on a robot that was known by a mixture.

    memories: what was known before earlier changes; scales: of disturbances.
    """
    heaviest = mixture.heaviest()
    scale = mixture.scales[heaviest]
    jumps = problem.jumps(mixture.means[:, heaviest])
    return [Hypothesis(jump.name, scale, jump) for jump in jumps], [
        *(Hypothesis(f'as before: {each.name}', scale, memory=each) for each in memories),
        *disturbed(problem, scale, scales),
        Hypothesis(EVERYTHING, scale),
    ]


def all_at_once(jumps, scale):
    """Return the hypothesis that everything jumps that does so in any of these."""
    roots = [each.jump.root for each in jumps]
    return Hypothesis('', scale, ModelChange('', (), np.concatenate(roots, 1)) if roots else None)


def disturbed(problem, scale, scales):
    """Return the hypotheses that nothing but a disturbance is another than that of a scale."""
    if not problem.disturbance_size:
        return [Hypothesis(NOTHING, scale)]
    # What was learnt while it was thought to be smaller is too sure of itself.
    unsure = ModelChange(NOTHING, (), forgotten(problem.prior))
    each = _apart(sorted({*scales, scale}), scale)
    return [Hypothesis(NOTHING, k, unsure if k > scale else None) for k in each]


def _apart(scales, kept):
    """Return scales that are well apart, the smallest and the largest and one of them all."""
    found = []
    for each in scales:
        if each in (kept, scales[-1]) or not found or each >= _APART * found[-1]:
            found.append(each)
    return found


def released(problem, mixture, each, impulse):
    """
    Return a mixture of which every component holds by a `Hypothesis` of its own.

    impulse [t]: by how much the states may be off besides.
    """
    t, n = problem.tangent_size, mixture.roots.shape[-1]
    means, roots = mixture.means.copy(), np.zeros_like(mixture.roots)
    for k, hypothesis in enumerate(each):
        jump = None if hypothesis.jump is None else hypothesis.jump.root
        root = predict(mixture.roots[[k]], np.eye(n)[None, :t], impulse, jump)[0]
        instead = problem.prior if hypothesis.name == EVERYTHING else hypothesis.memory
        if instead is None:
            roots[k] = root
        else:
            means[:, k] = instead.mean
            roots[k, :t, :t] = lower_root(root[None, :t])[0]
            roots[k, t:, t:] = instead.root
    scales = np.array([hypothesis.scale for hypothesis in each])
    found = replace(mixture, means=means, roots=roots, scales=scales)
    return with_scales(problem, found)
