"""
Feed damaged and hostile input to everything that reads what others have written.

    tools/fuzz.py                      all readers, a minute in all
    tools/fuzz.py --seconds 600 urdf   ten minutes of one
    tools/fuzz.py --seed 7             other mutations; the same seed gives the same ones

Each reader gets mutations of good input: bits, bytes, words, lines, numbers, members of archives.
It may accept them, or raise one of the package's errors in a short line. Anything else, and what
takes too long or too much memory, is a finding: it is printed, its input is kept in build/fuzz/,
and the exit status is 1. Put the input into test/corpus/ once it is mended: each file there is
named after its reader, is tried first, and stays a test (test/test_fuzz.py).
"""

import argparse
from contextlib import contextmanager
from functools import cache
import hashlib
import io
import itertools
import json
import logging
import os
from pathlib import Path
import random
import re
import resource
import shutil
import signal
import sys
from tempfile import TemporaryDirectory
import time
import traceback
import warnings
import zipfile

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

CORPUS, FINDINGS = ROOT / 'test' / 'corpus', ROOT / 'build' / 'fuzz'
# One input may take the processor for so long [s], which no good one of this size does, and may
# wait for so long [s], on however busy a computer; and take so much memory [bytes].
_PATIENCE, _WAIT, _MEMORY = 15.0, 300.0, 6 << 30
# Of an error in words.
_LONGEST = 2000
_NASTY = (
    *('nan', 'inf', '-inf', '1e308', '-1e308', '1e-320', '1e400', '0', '-1', '9' * 400, '0x10'),
    *(
        '010',
        '1:30',
        '1_0',
        '',
        '  ',
        'null',
        'true',
        'no',
        '~',
        '[]',
        '{}',
        '*a',
        '&a [*a]',
        '<<',
    ),
    *('!!python/name:os.system', '${x}', '%s%n', '$x_{$', 'a[/b]', '<script>', '../../etc/passwd'),
    *('\x00', '\x1b[31m', '\u202e', '\u0663', '=1+1', '1 2 3', '2001-01-01', '99999999999999'),
)
_WORDS = re.compile(r'-?\d+\.?\d*(?:e-?\d+)?|[A-Za-z_]+')
# What headers of posterior files are given in place of their values.
_VALUES = (
    *(None, True, -1, 0, 10**30, 1e308, 'x', '', [], {}, [1, 2], {'node': 0}, {'node': 10**9}),
    *({'float': 'x'}, {'set': [1]}, {'dict': [[1, 2]]}, {'number': ['float64', 0, [], []]}),
    *(['float64', 0, [10**12], [0]], ['float64', -5, [3], [0]], {'a': 1, 'b': 2}),
)


def main():
    """Fuzz, print what was found, and return 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('readers', nargs='*', help=f'of {", ".join(READERS)}; none: all')
    parser.add_argument('--seconds', type=float, default=60.0, help='for all of them together')
    parser.add_argument('--seed', type=int, default=0, help='of the mutations')
    chosen = parser.parse_args()
    names = chosen.readers or [*READERS]
    if not set(names) <= set(READERS):
        parser.error(f'there are the readers {", ".join(READERS)}')
    # Each is a process of its own, so that the memory that one takes does not count for the next.
    return max(
        _in_a_process(_fuzz, name, chosen.seconds / len(names), chosen.seed) for name in names
    )


def _in_a_process(work, *arguments):
    """Return what a function returns in a fork, 1 where that dies."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            status = work(*arguments)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return int(status != 0)


def _fuzz(name, seconds, seed):
    """Fuzz one reader, and return 1 where anything was found."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    counts, found = dict.fromkeys(('accepted', 'refused'), 0), {}
    with trying(name) as attempt:
        # Good inputs are made before the clock starts.
        made = inputs(name, seed)
        end = time.monotonic() + seconds
        for path, content in made:
            if path is None and time.monotonic() > end:
                break
            outcome = attempt(content)
            if outcome in counts:
                counts[outcome] += 1
            elif outcome not in found:
                found[outcome] = path or _kept(name, content)
    tried = ', '.join(f'{number} {word}' for word, number in counts.items())
    print(f'{name:10} {tried}, {len(found)} findings', flush=True)
    for outcome, path in found.items():
        print(f'    {outcome}\n    {path}', flush=True)
    return int(bool(found))


def inputs(name, seed=0):
    """Return an iterator over (path, None or content) of a reader: its corpus, then mutations."""
    seeds, mutate, _ = READERS[name]
    generator, good = random.Random(f'{name} {seed}'), seeds()
    known = ((path, path.read_bytes()) for path in sorted(CORPUS.glob(f'{name}*')))
    mutations = ((None, mutate(generator, generator.choice(good))) for _ in itertools.count())
    return itertools.chain(known, mutations)


@contextmanager
def trying(name):
    """Give a function of content that returns 'accepted', 'refused' or what is wrong."""
    from sim2real_estimator.errors import EstimatorError

    _, _, read = READERS[name]
    before = {s: signal.signal(s, _ring) for s in (signal.SIGALRM, signal.SIGPROF)}
    level = logging.root.manager.disable
    with TemporaryDirectory(prefix='fuzz') as folder, warnings.catch_warnings():
        warnings.simplefilter('ignore')
        logging.disable(logging.CRITICAL)

        def attempt(content):
            signal.setitimer(signal.ITIMER_PROF, _PATIENCE)
            signal.setitimer(signal.ITIMER_REAL, _WAIT)
            try:
                read(content, Path(folder))
            except EstimatorError as error:
                text = str(error)
                if '\n' in text.strip() or len(text) > _LONGEST:
                    return f'an error of {len(text)} characters: {text[:60]!r}'
                return 'refused'
            except _TooLongError:
                return f'takes more than {_PATIENCE:g} s'
            except Exception as error:
                ours = [
                    f'{Path(each.filename).name}:{each.lineno}'
                    for each in traceback.extract_tb(error.__traceback__)
                    if 'sim2real_estimator' in each.filename
                ]
                return f'{type(error).__name__} at {ours[-1] if ours else "?"}'
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            return 'accepted'

        try:
            yield attempt
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            logging.disable(level)


class _TooLongError(BaseException):
    """The time for one input is over; no reader may catch this."""


def _ring(*_):
    raise _TooLongError


def _kept(name, content):
    """Write an input that is a finding, and return its path."""
    FINDINGS.mkdir(parents=True, exist_ok=True)
    path = FINDINGS / f'{name}-{hashlib.sha256(content).hexdigest()[:12]}'
    path.write_bytes(content)
    return path


# --------------------------------------------------------------------------- mutations


def bytes_mutated(generator, content):
    """Return bytes with a few changes."""
    content = bytearray(content)
    for _ in range(generator.choice((1, 1, 1, 2, 4, 16))):
        if not content:
            break
        place = generator.randrange(len(content))
        match generator.randrange(6):
            case 0:
                content[place] ^= 1 << generator.randrange(8)
            case 1:
                content[place] = generator.choice((0, 127, 128, 255))
            case 2:
                del content[place : place + generator.choice((1, 2, 8, 64, 1024))]
            case 3:
                content[place : place + 8] = generator.choice(
                    (
                        b'\xff' * 8,
                        b'\0' * 8,
                        (1 << 40).to_bytes(8, 'little'),
                        b'\xff' * 3 + b'\x7f',
                    )
                )
            case 4:
                other, size = generator.randrange(len(content)), generator.choice((4, 16, 100))
                content[place : place + size] = content[other : other + size]
            case 5:
                del content[place:]
    return bytes(content)


def text_mutated(generator, content):
    """Return text, as bytes, with words, lines or marks changed."""
    text = content.decode()
    for _ in range(generator.choice((1, 1, 2, 3))):
        lines, kind = text.split('\n'), generator.randrange(7)
        spots = [found.span() for found in _WORDS.finditer(text)]
        if kind <= 2 and spots:
            begin, end = generator.choice(spots)
            text = text[:begin] + generator.choice(_NASTY) + text[end:]
        elif kind == 3:
            lines.insert(generator.randrange(len(lines)), generator.choice(lines))
            text = '\n'.join(lines)
        elif kind == 4:
            del lines[generator.randrange(len(lines))]
            text = '\n'.join(lines)
        elif kind == 5:
            mark = generator.choice(('"', ':', '<', '>', '{', '}', '=', ' ', ','))
            text = text.replace(mark, generator.choice(('', '"', '::', '<<', '\t')), 1)
        else:
            return bytes_mutated(generator, text.encode('utf-8', 'surrogatepass'))
    return text.encode('utf-8', 'surrogatepass')


def archive_mutated(generator, content):
    """Return an archive with bytes, entries of its header, or arrays changed."""
    if generator.random() < 0.3:
        return bytes_mutated(generator, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith('.npy')]
    if 'header.json' in members and generator.random() < 0.7:
        header = json.loads(members['header.json'])
        for _ in range(generator.choice((1, 1, 2))):
            _change_entry(generator, header)
        members['header.json'] = json.dumps(header).encode()
    else:
        name = generator.choice(arrays)
        members[name] = _array_changed(generator, members[name])
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _change_entry(generator, value):
    """Change or delete an entry somewhere in lists and dicts."""
    while True:
        key = generator.choice([*value] if isinstance(value, dict) else range(len(value)))
        inside = value[key]
        if isinstance(inside, (dict, list)) and inside and generator.random() < 0.8:
            value = inside
            continue
        if generator.random() < 0.25:
            del value[key]
        else:
            value[key] = generator.choice(_VALUES)
        return


def _array_changed(generator, content):
    array = np.load(io.BytesIO(content))
    if array.dtype.kind in 'fiu':
        change = generator.choice(
            (
                lambda a: a * np.nan,
                lambda a: a * np.inf,
                lambda a: a.astype(float) * 1e300,
                lambda a: a * 0,
                lambda a: -a.astype(float),
                lambda a: a[:1],
                lambda a: a[None],
                lambda a: a.T,
                lambda a: a.astype('f2'),
                lambda a: a.astype('c16'),
                lambda a: a.astype('S4'),
                lambda a: a > 0,
                lambda a: np.zeros(0),
                lambda a: np.array(3.0),
                lambda a: np.full(a.shape, 2**63, 'u8'),
            )
        )
        array = change(array)
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# --------------------------------------------------------------------------- readers


def _texts(pattern):
    return lambda: [path.read_bytes() for path in sorted((ROOT / 'config').glob(pattern))]


def _written(path, content):
    path.write_bytes(content)
    return path


def _read_urdf(content, folder):
    from sim2real_estimator.model.urdf.load import load_urdf

    for check in ('error', 'mend'):
        model = load_urdf(_written(folder / 'robot.urdf', content), inertia_check=check)
        masses = [link.inertial.mass for link in model.links if link.inertial]
        assert np.isfinite(masses).all(), 'accepted a mass that is no number'


def _read_yaml(content, folder):
    from sim2real_estimator.config import load_config, to_yaml
    from sim2real_estimator.config.reading import read_config

    config = load_config(_written(folder / 'robot.yaml', content))
    # What is written is read again.
    read_config(to_yaml(config), 'again')


def _posteriors():
    from posteriors import feed, pipeline_of, samples_of

    pipeline = pipeline_of()
    feed(pipeline, samples_of()[:200], to_the_end=False)
    with TemporaryDirectory() as folder:
        pipeline.save(Path(folder) / 'posterior.npz')
        return [(Path(folder) / 'posterior.npz').read_bytes()]


@cache
def _pipeline():
    from posteriors import pipeline_of

    return pipeline_of()


def _read_posterior(content, folder):
    from rich.console import Console

    from sim2real_estimator.posterior.file import load
    from sim2real_estimator.posterior.listing import table

    path = _written(folder / 'posterior.npz', content)
    Console(file=io.StringIO()).print(table(load(path)))
    _pipeline().begin_from(path)
    _pipeline().load(path)
    assert _pipeline().mixture.is_finite, 'accepted numbers that are not finite'


def _bags():
    """Return recordings as archives of their files, to be mutated file by file."""
    from bag_files import entries_of, write
    from simulated import record

    found = []
    with TemporaryDirectory() as folder:
        for storage in ('mcap', 'sqlite3'):
            path = write(Path(folder) / storage, entries_of(record(1.0)), storage=storage)
            file = io.BytesIO()
            with zipfile.ZipFile(file, 'w') as archive:
                for each in sorted(path.iterdir()):
                    archive.writestr(each.name, each.read_bytes())
            found.append(file.getvalue())
    return found


def _bag_mutated(generator, content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = generator.choice([*members])
    mutate = text_mutated if name.endswith('.yaml') else bytes_mutated
    members[name] = mutate(generator, members[name])
    if generator.random() < 0.3:
        members.pop('metadata.yaml', None)
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _read_bag(content, folder):
    from simulated import config

    from sim2real_estimator.bags.reader import BagReader
    from sim2real_estimator.setup.sources import build_inputs, build_model, build_sensors

    bag = folder / 'bag'
    shutil.rmtree(bag, ignore_errors=True)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(bag)
    settings = config()
    model = build_model(settings)
    sources = (*build_sensors(settings, model), *build_inputs(settings, model))
    with BagReader(bag) as reader:
        for topic, time_ns, data in reader.messages([*reader.topics]):
            message = reader.decoded(topic, data)
            if reader.topics[topic].message_type == 'sensor_msgs/msg/JointState':
                for source in sources:
                    source.decode(message, time_ns)


_COLUMNS = b"""time: {column: t, unit: s}
topics:
  joint_states: {joints: {shoulder: {position: q1, effort: e}, elbow: {position: q2}}}
  mocap: {position: [x, q1, q2], orientation: [x, x, x, one]}
"""


def _columns():
    times = np.arange(60) / 100
    columns = {'t': times, 'q1': np.sin(times), 'q2': np.cos(times), 'e': 0.1 * times}
    return {**columns, 'x': 0 * times, 'one': 0 * times + 1}


def _csv_files():
    columns = _columns()
    rows = '\n'.join(','.join(f'{cell:.6f}' for cell in row) for row in zip(*columns.values()))
    return [f'{",".join(columns)}\n{rows}\n'.encode()]


def _npz_files():
    file = io.BytesIO()
    np.savez(file, **_columns(), q=np.zeros((60, 2)))
    return [file.getvalue()]


def _read_table(suffix):
    def read(content, folder):
        from sim2real_estimator.offline.tables.converting import convert

        shutil.rmtree(folder / 'bag', ignore_errors=True)
        columns = _written(folder / 'columns.yaml', _COLUMNS)
        convert(_written(folder / f'table{suffix}', content), columns, folder / 'bag')

    return read


def _messages():
    from bag_files import joints, pose

    from sim2real_estimator.messages import serialized

    entries = joints(10**18, [0.1, 0.2], [0.0, 0.0]), pose(10**18, (0.1, 0.2, 0.3))
    return [kind.encode() + b'\0' + serialized(message) for _, kind, _, message in entries]


def _message_mutated(generator, content):
    kind, _, data = content.partition(b'\0')
    return kind + b'\0' + bytes_mutated(generator, data)


def _read_message(content, _):
    from sim2real_estimator.messages import deserialized

    kind, _, data = content.partition(b'\0')
    message = deserialized(data, kind.decode())
    for name, source in _pipeline().sources.items():
        if source.message_type == kind.decode():
            _pipeline().receive(name, message, 10**18)
    _pipeline().step()


def _files_of_draws():
    """Return JSON lines of draws, without the time that drawing takes."""
    from sim2real_estimator.posterior.draws import Draw
    from sim2real_estimator.posterior.draws.draw import FORMAT, VERSION

    body = (1.5, [0.1, 0.0, -0.2], [0.02, 0.03, 0.02, 0.0, 1e-3, 0.0])
    place = {'hand': [0.0, 0.0, 0.3]}
    draws = [Draw(k, {'elbow.damping': 0.1 + k}, {'hand': body}, place, 'up') for k in range(3)]
    head = {'format': FORMAT, 'version': VERSION, 'count': len(draws)}
    lines = [head, *(draw.record() for draw in draws)]
    return [''.join(f'{json.dumps(line)}\n' for line in lines).encode()]


def _read_draws(content, folder):
    from sim2real_estimator.posterior.draws import read_draws

    for draw in read_draws(_written(folder / 'draws.jsonl', content))[1]:
        numbers = [*draw.values.values(), *(body[0] for body in draw.bodies.values())]
        assert np.isfinite(numbers).all(), 'accepted a number that is not finite'


def _read_ranges(content, folder):
    from sim2real_estimator.posterior.draws import load_ranges

    for each in load_ranges(_written(folder / 'ranges.yaml', content)).ranges.values():
        ends = each.times or each.between
        assert np.isfinite(ends).all() and ends[0] < ends[1], 'accepted what is no range'


# Name -> (function that returns good inputs, function that mutates one, function that reads one).
READERS = {
    'urdf': (_texts('*.urdf'), text_mutated, _read_urdf),
    'yaml': (_texts('*.yaml'), text_mutated, _read_yaml),
    'posterior': (_posteriors, archive_mutated, _read_posterior),
    'bag': (_bags, _bag_mutated, _read_bag),
    'csv': (_csv_files, text_mutated, _read_table('.csv')),
    'npz': (_npz_files, archive_mutated, _read_table('.npz')),
    'message': (_messages, _message_mutated, _read_message),
    'draws': (_files_of_draws, text_mutated, _read_draws),
    'ranges': (_texts('randomization.yaml'), text_mutated, _read_ranges),
}


if __name__ == '__main__':
    sys.exit(main())
