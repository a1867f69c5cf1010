"""
The rows of the section `workday`, what is wanted of them, and the table.

Thresholds of an estimator are chosen on seed 0 and its neighbours (`--seed 0` ... `--seed 99`);
what is reported anywhere is of seeds from 1000 on, which nobody tunes with.
"""

from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
import json
import multiprocessing
import os
import traceback

from estimation.metrics import bootstrap, coverage
from estimation.store import code_digest, RESULTS, Store
import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from scipy.stats import binomtest, chi2

from sim2real_estimator.reported_events import Happened, Misfit

from . import ours, peer, scores
from .misfits import MISFITS, with_misfit
from .recordings import record, Scenario

_CODE = ('sim2real_estimator', 'benchmark/workday', 'benchmark/peers')
# Seconds of motion, without rests, at which what is known is judged; the first ones are early.
_MARKS, _EARLY, _LATER = (1, 3, 5, 10, 30, 60, 240, 800), (1, 3, 5), (10, 30, 60, 240, 800)
# Wanted: of the error of torques [%] by seconds of motion, of 90 and 50 % intervals, of mean
# squared errors, of the early and the elastic ones.
_ERRORS = {10: 7.0, 60: 2.5, 240: 2.5, 800: 2.5}
_BAND90, _BAND50, _BAND_NEES, _EARLY90, _ELASTIC90 = (
    (0.85, 0.97),
    (0.40, 0.62),
    (0.4, 1.4),
    0.8,
    0.85,
)
# Of boxes: found, how late [s], error [kg], on the right link; hours without an alarm.
_FOUND, _LATE, _BOX_ERROR, _LINK, _HOURS = 0.95, 5.0, 0.1, 0.9, 10.0
# What is called identified is off by no more standard deviations.
_OFF = 3.0
# Seconds of motion within which a misfit has to be said: in how many, with the right hint in how
# many, and in how many where there is none.
_MISFIT_SECONDS, _FLAGGED, _HINTED, _FALSE_FLAGS = 5.0, 0.95, 0.7, 0.01
# A sample more, so that what is believed then is looked at.
_A_SAMPLE = 0.02
_SURE, _COLUMNS = 0.95, 150
# Events that say nothing of interest here.
_USUAL = Happened.FITTED, Happened.AT_REST
_WITHOUT_KINOVA = ('ur5', 'panda', 'xarm7', 'tiago_pro')


@dataclass(frozen=True)
class Study:
    """
    A row.

    most: how many recordings there are; wants: what is looked at, see `_lines`; errors: seconds
    of motion after which torques are predicted. Where friction falls the motion that is predicted
    is of the robot as it is in the end, so that it is asked for then only. misfit: what is wrong
    with the description or a unit, '': nothing.
    """

    scenario: Scenario
    most: int
    wants: tuple
    errors: tuple = (10, 60, 240)
    misfit: str = ''

    @property
    def name(self):
        """What it is asked for by."""
        return f'misfit_{self.misfit}' if self.misfit else self.scenario.name

    @property
    def title(self):
        """What it is about."""
        return MISFITS[self.misfit][0] if self.misfit else self.scenario.title


_SHORT = Scenario('short', 'the first five seconds of motion, all as described', 14.0)
STUDIES = {
    study.name: study
    for study in (
        Study(
            Scenario('noise_1', 'moves with rests, torque noise 1 % of limit'),
            100,
            ('error', 'calibration', 'alarms'),
        ),
        Study(
            Scenario('noise_02', 'moves with rests, torque noise .2 % of limit', noise=0.002),
            100,
            ('error', 'calibration', 'alarms'),
        ),
        Study(
            Scenario('harmonic', 'sums of sines without rests', 62.0, is_harmonic=True),
            10,
            ('error', 'calibration', 'alarms'),
        ),
        Study(
            Scenario('jitter', 'the same, stamps that jitter by 1 ms', jitter=1e-3),
            40,
            ('error', 'calibration', 'alarms'),
        ),
        Study(
            Scenario('payload_at_rest', 'a box taken at rest', 75.0, payload='at rest'),
            40,
            ('payload', 'alarms'),
        ),
        Study(
            Scenario('payload_in_motion', 'a box taken in motion', 75.0, payload='in motion'),
            40,
            ('payload', 'alarms'),
        ),
        Study(
            Scenario(
                'payload_early',
                'a box taken in the first rest',
                50.0,
                payload='at rest',
                grasp=4.0,
            ),
            40,
            ('payload', 'alarms'),
        ),
        Study(
            Scenario(
                'elastic',
                'elastic joints, which no column describes',
                45.0,
                has_springs=True,
                robots=_WITHOUT_KINOVA,
            ),
            12,
            ('flagged', 'alarms'),
        ),
        Study(
            Scenario('warm_up', 'friction falls by a quarter', 1205.0, warms=True, rates=(125,)),
            5,
            ('error', 'calibration', 'alarms'),
            errors=(800,),
        ),
        Study(
            Scenario('long', 'nothing happens for hours', 1205.0, step=1e-3, rates=(125,)),
            30,
            ('error', 'calibration', 'alarms'),
        ),
        Study(_SHORT, 100, ('clean',)),
        *(Study(_SHORT, 100, ('misfit',), misfit=name) for name in MISFITS),
    )
}


@dataclass(frozen=True)
class Line:
    """
    A line of the table.

    value, interval: measured, None where nothing says it; band: (least, most), None where open;
    count: of what it is measured; is_short: whether too little was measured for a verdict.
    """

    study: str
    name: str
    value: float | None
    interval: tuple | None
    band: tuple
    count: int
    is_short: bool = False

    @property
    def verdict(self):
        """Holds: the value is in the band; open: it is not, but may be by chance; or MISSES."""
        if self.value is None or not np.isfinite(self.value):
            return 'not measured'
        if self.is_short:
            return 'too little'
        if self.band == (None, None):
            return ''
        if _is_in((self.value, self.value), self.band):
            return 'holds'
        return 'open' if _is_in(self.interval, self.band) else 'MISSES'


def _is_in(interval, band):
    least, most = band
    return (least is None or interval[1] >= least) and (most is None or interval[0] <= most)


def run(arguments):
    """Run what is missing, print and write the table, and tell whether no line misses."""
    names = arguments.study or list(STUDIES)
    if unknown := set(names) - set(STUDIES):
        raise SystemExit(f'--study: there is no {unknown.pop()}; there are: {", ".join(STUDIES)}')
    records = _collect(names, arguments)
    lines = [line for name in names for line in _lines(name, records[name], arguments.seed)]
    _print(lines)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f'workday_seed{arguments.seed}.json'
    written = [vars(line) | {'verdict': line.verdict} for line in lines]
    path.write_text(json.dumps({'lines': written, 'records': records}, indent=1) + '\n')
    missed = sum(line.verdict == 'MISSES' for line in lines)
    print(f'{len(lines)} lines, {missed} missed; as JSON: {path.relative_to(RESULTS.parent)}')
    return not missed


def measure(name, seed, index, estimator='', seconds=None):
    """
    Return the record of one recording, plain values.

    estimator: name in the config, '' for the usual one, 'none' for the peer alone; seconds: of
    motion that are read at most.
    """
    study = STUDIES[name]
    recording, is_right = record(study.scenario, seed, index), None
    if study.misfit:
        recording, is_right = with_misfit(recording, study.misfit, seed, index)
    if study.scenario is _SHORT:
        seconds = min(seconds or np.inf, _MISFIT_SECONDS + _A_SAMPLE)
    grasp = recording.events[0].t if recording.events else np.inf
    until = min(
        grasp, recording.t[-1], np.inf if seconds is None else recording.moved_for(seconds)
    )
    marks = [m for m in _MARKS if recording.moved_for(m) <= until]
    result = {'recording': recording.name, 'nominal': scores.torque_error(recording, {})}
    if 'error' in study.wants:
        result['peer'] = {
            str(m): scores.torque_error(recording, peer.estimate(recording, m))
            for m in study.errors
            if m in marks
        }
    if estimator == 'none':
        return result
    try:
        told = ours.run(recording, marks, scores.asked(recording), estimator, seconds)
    except Exception:  # no answer is an outcome, too
        return result | {'failed': traceback.format_exc()}
    alarms, watched = scores.false_alarms(recording, told)
    result |= {
        'error': {
            str(m): scores.torque_error(recording, b.named) for m, b in told.beliefs.items()
        },
        'alarms': alarms,
        'watched': min(watched, until),
        'flagged': told.is_flagged,
        'processor': told.processor,
        'events': [(t, str(event)) for t, event in told.events if event not in _USUAL],
    }
    for kind in ('body', 'loss'):
        result[kind] = {str(m): scores.calibration(b, kind) for m, b in told.beliefs.items()}
    result['identified'] = {str(m): belief.identified for m, belief in told.beliefs.items()}
    misfits = [event for _, event in told.events if isinstance(event, Misfit)]
    result['hinted'] = bool(misfits and is_right and is_right(misfits[-1]))
    if recording.events and seconds is None:
        result['payload'] = scores.payload(recording, told)
    return result


def _collect(names, arguments):
    """Return study -> records, running those that are not in the store."""
    counts = {name: min(arguments.problems, STUDIES[name].most) for name in names}
    how = arguments.estimator, arguments.seconds
    store = Store(f'{code_digest(_CODE)} {how}', 'workday')
    missing = [
        (name, arguments.seed, index)
        for name, count in counts.items()
        for index in range(count)
        if store.find(name, arguments.seed, index) is None
    ]
    # Read by NumPy in the processes: matrices are small, and every core has its recording.
    os.environ |= dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'), '1')
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(arguments.processes, context) as pool:
        waiting = {pool.submit(measure, *task, *how): task for task in missing}
        for done, future in enumerate(as_completed(waiting), 1):
            store.add(*waiting[future], future.result())
            record_ = future.result()
            said = 'FAILED' if 'failed' in record_ else ''
            print(f'{done} of {len(missing)}: {record_["recording"]} {said}', flush=True)
    return {
        name: [store.find(name, arguments.seed, index) for index in range(count)]
        for name, count in counts.items()
    }


def _lines(name, records, seed):
    """Return the `Line`s of a study."""
    wants, ran = STUDIES[name].wants, [r for r in records if 'error' in r]
    line = partial(_sampled, name, seed)
    lines = [line('nominal: torque error [%]', records, lambda r: [r['nominal']], np.median)]
    if 'error' in wants:
        for mark in STUDIES[name].errors:
            lines += _errors(line, records, mark, _ERRORS[mark])
    if ran:
        lines += [_share(name, 'recordings with an answer', [r in ran for r in records], 1.0)]
        lines += [line('processor [s/s]', ran, lambda r: [r['processor']], np.median)]
    if 'calibration' in wants:
        for kind, title in (('body', 'bodies and rotors'), ('loss', 'friction')):
            lines += _calibration(line, ran, kind, title)
        title = f'identified, off by more than {_OFF:g} sd: share'
        lines.append(line(title, ran, _are_off, np.mean, (None, 0.0)))
    if 'flagged' in wants:
        lines.append(_share(name, 'flagged as not as modelled', [r['flagged'] for r in ran], 1.0))
        wide = partial(_ranks, kinds=('body', 'loss'), marks=_LATER)
        lines.append(line('90 % intervals', ran, wide, _within(0.9), (_ELASTIC90, None)))
    if 'clean' in wants:
        flags = [r['flagged'] for r in ran]
        lines.append(_share(name, 'flagged as not as modelled', flags, None, _FALSE_FLAGS))
    if 'misfit' in wants:
        lines.append(_share(name, 'flagged within 5 s', [r['flagged'] for r in ran], _FLAGGED))
        lines.append(_share(name, 'with the right hint', [r['hinted'] for r in ran], _HINTED))
    if {'clean', 'misfit'} & set(wants):
        title = f'identified, off by more than {_OFF:g} sd: share'
        lines.append(line(title, ran, _are_off, np.mean, (None, 0.0)))
        lines.append(line('parameters called identified', ran, _identified, np.mean))
    if 'payload' in wants:
        lines += _boxes(line, name, [r['payload'] for r in ran if 'payload' in r])
    return [each for each in (*lines, _alarms(name, ran)) if each.count]


def _errors(line, records, mark, most):
    """Return the lines of the error of torques at a mark: ours, the peer's, and the ratio."""

    def of(key):
        return lambda r: [r[key][str(mark)]] if str(mark) in r.get(key, {}) else []

    def ratio(r):
        return [mine / theirs for mine, theirs in zip(of('error')(r), of('peer')(r))]

    when = f'after {mark} s'
    lines = [line(f'torque error [%], {when}', records, of('error'), np.median, (None, most))]
    lines.append(line(f'least squares: torque error [%], {when}', records, of('peer'), np.median))
    title = f'ours / least squares, {when}'
    return [*lines, line(title, records, ratio, np.median, (None, 1.0))]


def _calibration(line, ran, kind, title):
    """Return the lines of intervals and squared errors."""
    early = partial(_ranks, kinds=(kind,), marks=_EARLY)
    later = partial(_ranks, kinds=(kind,), marks=_LATER)
    lines = [
        line(f'{title}: 90 %, 1 to 10 s', ran, early, _within(0.9), (_EARLY90, None)),
        line(f'{title}: 90 %, from 10 s on', ran, later, _within(0.9), _BAND90),
        line(f'{title}: 50 %, from 10 s on', ran, later, _within(0.5), _BAND50),
    ]

    def nees(r):
        found = [r[kind].get(str(mark), {}).get('nees') for mark in _LATER]
        return [each for each in found if each is not None]

    return [*lines, line(f'{title}: NEES, from 10 s on', ran, nees, np.median, _BAND_NEES)]


def _boxes(line, name, boxes):
    """Return the lines of boxes."""
    found = [b for b in boxes if b['found']]
    errors = [b for b in found if b['error'] is not None]
    ranked = [b for b in found if b['rank'] is not None]
    return [
        _share(name, 'box found', [b['found'] for b in boxes], _FOUND),
        line('box: after motion begins [s]', found, _of('late'), np.median, (None, _LATE)),
        line('box: error 3 s after [kg]', errors, _of('error'), np.median, (None, _BOX_ERROR)),
        _share(
            name, 'box: 90 % intervals', [abs(b['rank'] - 0.5) < 0.45 for b in ranked], *_BAND90
        ),
        _share(name, 'box: right link 10 s after', [b['has_link'] for b in boxes], _LINK),
        _share(name, 'box: return recognised', [b['has_return'] for b in boxes], _FOUND),
    ]


def _alarms(name, ran):
    """Return the line of false alarms an hour, with the interval of a Poisson rate."""
    count, hours = sum(r['alarms'] for r in ran), sum(r['watched'] for r in ran) / 3600
    if not hours:
        return Line(name, 'false alarms an hour', None, None, (None, 0.0), 0)
    edge = (1 - _SURE) / 2
    low = chi2.ppf(edge, 2 * count) / 2 if count else 0.0
    interval = (float(low / hours), float(chi2.ppf(1 - edge, 2 * count + 2) / 2 / hours))
    is_short = not count and hours < _HOURS
    title = f'false alarms an hour, in {hours:.2f} h'
    return Line(name, title, count / hours, interval, (None, 0.0), len(ran), is_short)


def _sampled(study, seed, title, records, values, statistic, band=(None, None)):
    """Return a `Line` of a statistic; recordings are drawn again for its interval."""
    kept = [found for found in map(values, records) if len(found)]
    if not kept:
        return Line(study, title, None, None, band, 0)

    def of(indices):
        return float(statistic(np.concatenate([kept[i] for i in indices])))

    generator = np.random.default_rng(seed)
    interval = bootstrap(kept, of, generator, level=_SURE)
    return Line(study, title, of(range(len(kept))), interval, band, len(kept))


def _share(study, title, outcomes, least, most=None):
    """Return a `Line` of a share, with the interval of Clopper and Pearson."""
    if not outcomes:
        return Line(study, title, None, None, (least, most), 0)
    test = binomtest(sum(outcomes), len(outcomes))
    interval = tuple(map(float, test.proportion_ci(_SURE)))
    return Line(study, title, float(np.mean(outcomes)), interval, (least, most), len(outcomes))


def _ranks(result, kinds, marks):
    """Return the ranks of the truth in all learned directions at some marks."""
    return [x for k in kinds for m in marks for x in result[k].get(str(m), {}).get('ranks', ())]


def _are_off(result):
    """Return of all parameters that are called identified at some mark whether they are off."""
    return [abs(x) > _OFF for names in result['identified'].values() for x in names.values()]


def _identified(result):
    """Return how many parameters are called identified at each mark."""
    return [len(names) for names in result['identified'].values()]


def _within(level):
    return partial(coverage, level=level)


def _of(key):
    return lambda each: [each[key]]


def _print(lines):
    """Print the table."""
    table = Table(box=box.SIMPLE, padding=(0, 1), row_styles=())
    table.add_column('name', no_wrap=True)
    for heading in ('target', 'measured', f'{_SURE:.0%} interval', 'of'):
        table.add_column(heading, justify='right', no_wrap=True)
    table.add_column('verdict', no_wrap=True)
    shown = None
    for line in lines:
        if line.study != shown:
            table.add_section()
            table.add_row(f'{line.study}: {STUDIES[line.study].title}', style='bold')
            shown = line.study
        low, high = line.interval or (np.nan, np.nan)
        # Units in brackets are no markup.
        cells = [_wanted(line.band), f'{line.value:.3g}', f'{low:.3g} ... {high:.3g}']
        table.add_row(f'  {escape(line.name)}', *cells, str(line.count), line.verdict)
    Console(width=_COLUMNS).print(table)


def _wanted(band):
    least, most = band
    if least is None:
        return '' if most is None else f'<= {most:g}'
    return f'>= {least:g}' if most is None else f'{least:g} ... {most:g}'
