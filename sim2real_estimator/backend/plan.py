"""From intervals between instants to integration steps: sub-steps and delayed commands."""

from dataclasses import dataclass
import math

import torch


@dataclass(frozen=True)
class StepPlan:
    """
    The steps of a rollout over H intervals.

    durations [S, B or 1] and controls [S, nu, B or 1] of the steps; ends: for every interval the
    number of its last step.
    """

    durations: torch.Tensor
    controls: torch.Tensor
    ends: torch.Tensor


def plan_steps(durations, controls, max_step):
    """
    Divide every interval into equal steps of at most `max_step` [s] (None: one step each).

    durations [H, B or 1]; controls [H, nu, B or 1], constant during an interval.
    """
    counts = torch.ones(len(durations), dtype=torch.long)
    if max_step is not None and durations.numel():
        longest = durations.detach().amax(-1)
        counts = torch.tensor(
            [max(1, math.ceil(d / max_step * (1 - 1e-9))) for d in longest.tolist()]
        )
    if bool((counts == 1).all()):
        return StepPlan(durations, controls, torch.arange(len(durations)))
    each = durations / counts[:, None].to(durations)
    return StepPlan(
        each.repeat_interleave(counts, 0),
        controls.repeat_interleave(counts, 0),
        counts.cumsum(0) - 1,
    )


def delay_commands(durations, commands, delays, previous=None):
    """
    Return (durations, commands, ends) of intervals in which every command acts late.

    Command k is given at the start of interval k and acts `delays` later, until the next one
    does. The intervals are cut where a command begins to act, exactly, also where that moves
    with the delay: durations are differentiable in it. Before the first command acts, the
    latest of `previous` does.

    durations [H, B or 1] [s]; commands [H, nu, B or 1]; delays [nu, B or 1] [s], any sign;
    previous [M, nu, B or 1] or None: commands before the first, spaced like the first interval.
    ends: number of the last cut interval of every interval.
    """
    batch = max(durations.shape[-1], commands.shape[-1], delays.shape[-1])
    durations = durations.expand(-1, batch)
    instants = torch.cat([durations.new_zeros(1, batch), durations.cumsum(0)])
    given = instants[:-1]
    if previous is not None and len(previous):
        back = torch.arange(len(previous), 0, -1, dtype=durations.dtype)
        given = torch.cat([-back[:, None] * durations[:1], given])
        commands = torch.cat([previous.expand(-1, -1, commands.shape[-1]), commands])
    # A delay shared by several commands cuts once; [M, number of distinct delays, B].
    owners, distinct = _distinct_rows(delays.expand(-1, batch))
    acting = given[:, None] + distinct

    cut_durations, cut_commands, ends, count = [], [], [], 0
    for start, end in zip(instants[:-1], instants[1:]):
        inside = ((acting > start) & (acting < end)).detach().any(-1)
        cuts = torch.minimum(torch.maximum(acting[inside], start), end)
        edges = torch.cat([start[None], cuts.sort(0).values, end[None]])
        middles = (0.5 * (edges[:-1] + edges[1:])).detach()
        cut_durations.append(edges[1:] - edges[:-1])
        cut_commands += [_acting_commands(acting, owners, commands, m) for m in middles]
        count += len(middles)
        ends.append(count - 1)
    return torch.cat(cut_durations), torch.stack(cut_commands), torch.tensor(ends)


def _distinct_rows(rows):
    """Return (for every row the number of its value, the distinct rows themselves)."""
    owners, kept = [], []
    for row in rows:
        same = [k for k, other in enumerate(kept) if torch.equal(other, row)]
        owners.append(same[0] if same else len(kept))
        if not same:
            kept.append(row)
    return owners, torch.stack(kept)


def _acting_commands(acting, owners, commands, instant):
    """Return the commands [nu, B] that act at an instant [B]."""
    latest = ((acting.detach() <= instant).sum(0) - 1).clamp(min=0)
    batch = instant.shape[-1]
    rows = [
        commands[:, k].expand(-1, batch).gather(0, latest[owner][None])[0]
        for k, owner in enumerate(owners)
    ]
    return torch.stack(rows)
