"""Identify the robots of examples/ from published recordings; `make examples` runs this."""

import argparse
from concurrent.futures import as_completed, ProcessPoolExecutor
import json
import multiprocessing
import os
from pathlib import Path
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import drawings  # noqa: E402, after the path is set
from published import repeating  # noqa: E402
from published.dfki import other_examples  # noqa: E402
from published.measuring import data_folder, FOLDER, HORIZONS, measure, piece  # noqa: E402
from published.robots import error_of, EXAMPLES  # noqa: E402
from rich import box  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.markup import escape  # noqa: E402
from rich.table import Table  # noqa: E402

_ROOT = Path(__file__).resolve().parents[1]
_COLUMNS, _FIRST = 160, 40
# A robot that is predicted so far off has flown apart [rad or m].
_AWAY = 100.0
# Between these lines a page has what is printed.
_BEGIN, _END = '<!-- printed -->', '<!-- until here -->'


def parse(arguments=None):
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(prog='make examples', description=__doc__)
    parser.add_argument(
        '--shared',
        default=os.environ.get('REAL_SHARED'),
        help='folder with data/, of which the README of an example says what is in it '
        '($REAL_SHARED); what is not there is left out',
    )
    parser.add_argument(
        '--only',
        action='append',
        choices=[each.folder for each in EXAMPLES],
        help='this example only; may be repeated',
    )
    parser.add_argument(
        '--repeat',
        action='store_true',
        help='instead: identify every recording of a robot alone, compare what they say, and '
        f'draw {repeating.PICTURE}',
    )
    parser.add_argument(
        '--dfki',
        metavar='FOLDER',
        help='with --repeat: also take more recordings, four of which nothing was chosen on, from '
        'a clone of dfki-ric-underactuated-lab/double_pendulum',
    )
    parser.add_argument(
        '--write',
        action='store_true',
        help='put what is printed into the README of each example, or with --repeat into '
        'docs/results.md and its picture into docs/images',
    )
    parser.add_argument(
        '--processes', type=int, default=2, help='how many to identify side by side (2)'
    )
    return parser.parse_args(arguments)


def main():
    """Measure what there are recordings for, and print one table; return the exit code."""
    arguments, begin = parse(), time.perf_counter()
    drawings.choose(arguments.write)
    chosen = [e for e in EXAMPLES if not arguments.only or e.folder in arguments.only]
    there = [each for each in chosen if _is_there(each, arguments.shared)]
    if not there:
        print('Give the folder of the recordings: ARGS="--shared FOLDER", or $REAL_SHARED.')
        return 0
    with tempfile.TemporaryDirectory() as place:
        if arguments.repeat:
            others = other_examples(arguments.dfki, place) if arguments.dfki else []
            folders = [arguments.shared] * len(there) + [place] * len(others)
            there += others
            tasks = {
                (each.folder, recording.name): (piece, each, recording, folder)
                for each, folder in zip(there, folders)
                for recording in each.pieces
            }
        else:
            tasks = {(each.folder,): (measure, each, arguments.shared) for each in there}
        found = _measured(tasks, arguments.processes)
    saved = _ROOT / 'results' / ('examples_repeated.json' if arguments.repeat else 'examples.json')
    saved.parent.mkdir(exist_ok=True)
    saved.write_text(json.dumps({' / '.join(key): each for key, each in found.items()}, indent=1))
    if arguments.repeat:
        comparisons = repeating.compare(there, found)
        tables = {_ROOT / 'docs' / 'results.md': repeating.table(comparisons)}
        print(f'picture: {drawings.shown(repeating.draw(comparisons))}')
    else:
        tables = {FOLDER / each.folder / 'README.md': _table([each], found) for each in there}
    for path, table in tables.items():
        if arguments.write:
            _put(_text(table), path)
    Console(width=_COLUMNS).print(table if arguments.repeat else _table(there, found))
    print(f'{time.perf_counter() - begin:.0f} s; as JSON: {saved.relative_to(_ROOT)}')
    return 1 if any(isinstance(each, str) for each in found.values()) else 0


def _is_there(example, shared):
    """Tell whether there are recordings of an example, and print where there are none."""
    try:
        data_folder(example, shared)
    except FileNotFoundError as error:
        print(f'{example.title}: left out, {error}')
        return False
    return True


def _measured(tasks, processes):
    """Return key -> what came of a task (function, *arguments), or the error it ended in."""
    os.environ |= dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'), '1')
    context, found = multiprocessing.get_context('spawn'), {}
    with ProcessPoolExecutor(processes, context) as pool:
        waiting = {pool.submit(_attempt, *task): key for key, task in tasks.items()}
        for number, future in enumerate(as_completed(waiting), 1):
            key = waiting[future]
            found[key] = future.result()
            text = f'FAILED\n{found[key]}' if isinstance(found[key], str) else 'measured'
            print(f'[{number}/{len(tasks)}] {" / ".join(key)}: {text}', flush=True)
    return {key: found[key] for key in tasks}


def _attempt(function, *arguments):
    """Return what a function returns; an estimator that fails is an outcome."""
    try:
        return function(*arguments)
    except Exception:
        return traceback.format_exc()


def _text(table):
    """Return a table as lines without colours."""
    console = Console(width=_COLUMNS, no_color=True)
    with console.capture() as captured:
        console.print(table)
    lines = (line.rstrip() for line in captured.get().splitlines())
    return '\n'.join(line for line in lines if line)


def _put(text, path):
    """Put a text between the lines of a page that wait for it."""
    before, rest = path.read_text(encoding='utf-8').split(_BEGIN)
    after = rest.split(_END)[1]
    path.write_text(f'{before}{_BEGIN}\n```\n{text}\n```\n{_END}{after}', encoding='utf-8')


def _table(examples, found):
    """
    Return the table: a line for each quantity, and for each way of predicting.

    Of predictions open loop, errors of the description stand where else references do.
    """
    table = Table(box=box.SIMPLE, padding=(0, 1))
    headings = 'quantity', 'reference', 'median', '90 % interval', 'error', 'of prior', 'verdict'
    for number, heading in enumerate(headings):
        width = {'max_width': _FIRST, 'min_width': _FIRST} if number == 0 else {'no_wrap': True}
        table.add_column(heading, justify='right' if 0 < number < 6 else 'left', **width)
    for example in examples:
        record = found[example.folder,]
        table.add_section()
        if isinstance(record, str):
            table.add_row(example.title, *[''] * 5, 'FAILED', style='bold')
            continue
        alarms = sum(record['alarms'].values())
        said = f'{alarms or "no"} alarm{"" if alarms == 1 else "s"}'
        about = f'{record["seconds"]:.0f} s of data, {record["used"]:.2f} CPU s/s, {said}'
        table.add_row(f'[bold]{example.title}[/]: {about}', *[''] * 6)
        for row in (*_quantities(example, record), *_predictions(record)):
            table.add_row(*map(escape, row))
        for sentence in record['distrust']:
            table.add_row(f'  caution: {escape(sentence)}', *[''] * 6)
    return table


def _quantities(example, record):
    """Yield the rows of quantities."""
    for name, (low, middle, high) in record['quantities'].items():
        before = record['prior'][name]
        # How much narrower than before any data.
        left = (high - low) / max(before[2] - before[0], 1e-300)
        known, reference, error = example.known.get(name), '', ''
        verdict = record['verdicts'].get(name, 'learned' if left < 0.5 else 'prior-only')
        verdict = verdict.split(' with ')[0]
        if known:
            reference = f'{known.low:.4g}'
            reference += f' .. {known.high:.4g}' if known.high > known.low else ''
            is_one = known.most is not None or known.low == known.high != 0
            error = f'{error_of(known, middle):.1f} %' if is_one else ''
            verdict += ', within' if low <= known.high and known.low <= high else ', OUTSIDE'
            if known.most is not None and error_of(known, middle) > known.most:
                verdict += f', wanted {known.most:g} %'
        interval = f'{low:.4g} .. {high:.4g}'
        yield f'  {name}', reference, f'{middle:.4g}', interval, error, f'{left:.2f}', verdict


def _predictions(record):
    """Yield the rows of predictions of what is held out."""
    for signal, rows in record['open_loop'].items():
        unit = 'mrad' if '[rad]' in signal else 'mm'
        nominal, mean = zip(*rows)
        name = f'  open loop, {signal.split(" position")[0]} [{unit}]'
        worse = [f'{t:g}' for t, a, b in zip(HORIZONS, nominal, mean) if b > a]
        verdict = f'worse at {", ".join(worse)} s' if worse else ''
        yield name, _in_thousandths(nominal), _in_thousandths(mean), '', '', '', verdict
    if torques := record.get('torques'):
        for who, error in torques.items():
            yield f'  held-out torque, {who}', '', f'{error:.3g} %', '', '', '', ''


def _short(number):
    return f'{number:.0f}' if number >= 100 else f'{number:.3g}'


def _in_thousandths(errors):
    """Return errors at `HORIZONS`, in thousandths of their unit."""
    if min(errors) > _AWAY:
        return 'flies apart'
    return ' / '.join('away' if each > _AWAY else _short(1e3 * each) for each in errors)


if __name__ == '__main__':
    sys.exit(main())
