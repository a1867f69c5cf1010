"""What became of messages, how late estimates were, and how memory grew."""

import numpy as np

from sim2real_estimator.records import Status

# Words of diagnostics that say of a message what became of it; the others are remarks.
_OUTCOMES = {status.value for status in Status if status.is_outcome} | {'dropped', 'ignored'}
# Each topic ends with a message that nothing follows, so that nothing takes it up either.
_WAITING = 1
# The age [s] of an estimate with which no data wait.
_CAUGHT_UP = 0.15


def accounts(statuses, sent, sources):
    """
    Return (rows of a table, how many messages nobody knows anything of).

    statuses: task -> values of the node's diagnostics; sent: topic -> number; sources: name ->
    topic that it reads.
    """
    rows, unknown = [], 0
    for source, topic in sources.items():
        received = int(statuses[f'input /{topic}']['messages'])
        values = {
            word: int(number)
            for word, number in statuses[f'samples of {source}'].items()
            if word in _OUTCOMES
        }
        used = values.pop('used', 0)
        missing = received - _WAITING - used - sum(values.values())
        others = ', '.join(f'{number} {word}' for word, number in values.items() if number)
        rows.append([source, sent[topic], received, used, others or '-', missing])
        unknown += abs(missing)
    return [[str(cell) for cell in row] for row in rows], unknown


def since_hand_over(seen):
    """
    Return the estimates (time, age) of the filter, once it has caught up with the data.

    What had to wait for the first fits is worked off before; all of them where it never is.
    """
    begins = [at for at, stage, *_ in seen['works'] if stage == 'filter']
    found = [(at, age) for at, age in seen['estimates'] if begins and at >= begins[0]]
    first = next((k for k, (_, age) in enumerate(found) if age < _CAUGHT_UP), 0)
    return found[first:]


def late_periods(estimates):
    """
    Return (begin [s], end [s], greatest age [s]) of every period in which data waited.

    estimates: (time [s], age [s]), as of `since_hand_over`.
    """
    periods = []
    was_late = False
    for at, age in estimates:
        is_late = age > _CAUGHT_UP
        if is_late and was_late:
            begin, _, worst = periods.pop()
            periods.append((begin, at, max(worst, age)))
        elif is_late:
            periods.append((at, at, age))
        was_late = is_late
    return periods


def course(memory, period):
    """Return the median memory [MiB] of every period [s]; memory: as of `slope`."""
    numbers = np.array([int(at / period) for at, _ in memory])
    sizes = np.array([size for _, size in memory])
    return [float(np.median(sizes[numbers == k])) for k in range(numbers[-1] + 1)]


def slope(memory, settled):
    """
    Return growth [MiB/min] of memory, by a line through what was measured.

    memory: (time [s], MiB); settled: time [s] from which on it counts.
    """
    kept = np.array([(at, size) for at, size in memory if at >= settled])
    return 60 * float(np.polyfit(*kept.T, 1)[0])


def frame_rate(seen):
    """Return frames per second since the hand-over, None where there was none."""
    works = [(at, updates) for at, stage, updates, _ in seen['works'] if stage == 'filter']
    if len(works) < 2:
        return None
    (begin, first), (end, last) = works[0], works[-1]
    return (last - first) / (end - begin)
