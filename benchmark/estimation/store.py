"""Records of problems that were run already, so that an interrupted evaluation goes on."""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / 'results'
_CODE = ('sim2real_estimator', 'test/problems', 'benchmark/estimation')


def code_digest(folders=_CODE):
    """Return a digest of all that decides what comes out: the Python files of some folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob('*.py')):
            digest.update(str(path.relative_to(ROOT)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Store:
    """A file of JSON lines in results/, one per problem of one state of the code."""

    def __init__(self, digest, name='estimation'):
        """Read what there is of the same code; lines of other code are dropped."""
        self._digest, self._path = digest, RESULTS / f'{name}.jsonl'
        RESULTS.mkdir(exist_ok=True)
        self._records, kept = {}, []
        for text in self._path.read_text().splitlines() if self._path.exists() else ():
            line = _parsed(text)
            if line and line['code'] == digest:
                self._records[tuple(line['key'])] = line['record']
                kept.append(text)
        self._path.write_text(''.join(f'{text}\n' for text in kept))

    def find(self, study, seed, index):
        """Return the record of a problem, or None."""
        return self._records.get((study, seed, index))

    def add(self, study, seed, index, record):
        """Keep a record, on disk at once."""
        key = (study, seed, index)
        self._records[key] = record
        line = {'code': self._digest, 'key': key, 'record': record}
        with self._path.open('a') as file:
            file.write(json.dumps(line) + '\n')


def _parsed(text):
    """Return a line, or None where an interruption has cut it off."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
