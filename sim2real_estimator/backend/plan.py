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
    if max_step is None or not durations.numel():
        return StepPlan(durations, controls, torch.arange(len(durations)))
    # A sample without a number must not decide for the others.
    longest = durations.detach().nan_to_num(0.0, 0.0, 0.0).amax(-1)
    counts = torch.tensor([max(1, math.ceil(d / max_step * (1 - 1e-9))) for d in longest.tolist()])
    each = durations / counts[:, None].to(durations)
    return StepPlan(
        each.repeat_interleave(counts, 0),
        controls.repeat_interleave(counts, 0),
        counts.cumsum(0) - 1,
    )


def delays_of(names, estimated, values, parameters):
    """
    Return (owners, delays) as `delay_commands` takes them.

    names: for every command its delay's; estimated: names of the rows of parameters [P, B or 1];
    values: name to float for the others. Commands with the same delay share a row, but two
    estimated ones never do, even if they happen to be equal: each has its own derivative.
    """
    owners, rows = [], {}
    for name in names:
        value = name if name in estimated else values[name]
        if value == 0:
            owners.append(-1)
            continue
        if value not in rows:
            rows[value] = (
                parameters[estimated.index(name)]
                if name in estimated
                else parameters.new_full(parameters.shape[1:], value)
            )
        owners.append(list(rows).index(value))
    return owners, torch.stack(list(rows.values()))


def delay_commands(durations, commands, delays, owners, previous=None):
    """
    Return (durations, commands, ends) of intervals in which every command acts late.

    Command k is given at the start of interval k and acts a delay later, until the next one
    does. The intervals are cut where a command begins to act, exactly, also where that moves
    with the delay: durations are differentiable in it. Before the first command acts, the
    latest of `previous` does, or the first one where there is none.

    durations [H, B or 1] [s]; commands [H, nu, B or 1]; delays [D, B or 1] [s], any sign;
    owners: for every command the row of its delay, or -1 where it acts at once; previous
    [M, nu, B or 1] or None: commands before the first, spaced like the first interval.
    ends: number of the last cut interval of every interval.
    """
    batch = max(t.shape[-1] for t in (durations, commands, delays))
    durations = durations.expand(-1, batch)
    instants = torch.cat([durations.new_zeros(1, batch), durations.cumsum(0)])
    given = instants[:-1]
    if previous is not None and len(previous):
        batch = max(batch, previous.shape[-1])
        back = torch.arange(len(previous), 0, -1, dtype=durations.dtype)
        given = torch.cat([-back[:, None] * durations[:1], given])
        commands = torch.cat([t.expand(-1, -1, batch) for t in (previous, commands)])
    acting = given[:, None] + delays

    cut_durations, cut_commands, ends = [durations[:0]], [commands[:0].expand(-1, -1, batch)], []
    before = len(commands) - len(durations)
    for number, (start, end) in enumerate(zip(instants[:-1], instants[1:])):
        edges, counts = _cut(start, end, acting)
        cut_durations.append(edges[1:] - edges[:-1])
        at_once = counts.new_full((len(counts), 1, counts.shape[-1]), before + number)
        latest = torch.cat([(counts - 1).clamp(min=0), at_once], 1)[:, owners]
        cut_commands.append(commands.expand(-1, -1, batch).gather(0, latest.expand(-1, -1, batch)))
        ends += [len(counts)]
    ends = torch.tensor(ends, dtype=torch.long).cumsum(0) - 1
    return torch.cat(cut_durations), torch.cat(cut_commands), ends


def _cut(start, end, acting):
    """
    Return (edges, counts): the instants that cut an interval, and how many commands act between.

    start, end [B]; acting [M, D, B]: the instants at which the commands of each delay begin to
    act; edges [n + 2, B]; counts [n + 1, D, B]. An instant at the very start cuts too, into a
    piece of no length and the rest: the derivative by the delay is in it.
    """
    # Written so that NaN is inside and shows in the result.
    inside = ~((acting < start) | (acting >= end))
    chosen = inside.any(-1)
    cuts, here = acting[chosen], inside[chosen]
    # What lies outside in one sample and inside in another makes pieces of no length.
    cuts = torch.where(here, cuts, torch.where(cuts < start, start, end))
    order = cuts.detach().argsort(stable=True, dim=0)
    edges = torch.cat([start[None], cuts.gather(0, order), end[None]])

    owner = chosen.nonzero()[:, 1:]
    begins = here[:, None] & (owner == torch.arange(acting.shape[1]))[..., None]
    begins = begins.gather(0, order[:, None].expand_as(begins))
    begun = (acting < start).sum(0, keepdim=True)
    return edges, torch.cat([begun, begun + begins.cumsum(0)])
