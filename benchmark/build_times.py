"""How long a native program takes to build (trace, differentiate, compile), in a new process."""

import hashlib
import importlib
import json
from pathlib import Path
import statistics
import subprocess
import sys
import time

CASES = {
    'arm': ('7-joint arm, 98 parameters, RK4, first Jacobian', 5.0),
    'W3': ('W3, first loss and gradient', 1.0),
}
_PROCESSES = 3
# A build is one thread of pure computation: more wall than CPU time means others were at work.
_DISTURBED = 1.2


def run(name, arguments):
    """Print the table and return the targets."""
    from report import print_notes, print_table, Target

    cells, targets, notes = [], [], []
    for case, (title, bound) in CASES.items():
        alone = [_results(_start(case)) for _ in range(_PROCESSES)]
        together = [_results(p) for p in [_start(case), _start(case)]]
        build, cpu, load = (
            statistics.median(r[key] for r in alone) for key in ('build', 'cpu', 'import')
        )
        slower = max(r['build'] for r in together)
        disturbed = build > _DISTURBED * cpu
        if disturbed:
            notes.append(f'{title}: {build:.2f} s of wall time for {cpu:.2f} s of CPU time')
        cells.append([title, f'{load:.2f}', f'{build:.2f}', f'{cpu:.2f}', f'{slower:.2f}'])
        targets.append(Target(f'{case} build', build, bound, 's', disturbed=disturbed))
        same = len({r['digest'] for r in alone + together}) == 1
        targets.append(
            Target(f'{case} two builds at once, same results', float(same), 1, '', True)
        )
    header = ['in a new process', 'imports s', 'build s', 'CPU s', 'two at once, slower one s']
    print(f'medians of {_PROCESSES} processes\n')
    print_table(header, cells)
    print_notes(notes)
    return targets


def _start(case):
    return subprocess.Popen([sys.executable, __file__, case], stdout=subprocess.PIPE, text=True)


def _results(process):
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError('a building process failed; its message is above')
    return json.loads(output)


def _build_arm():
    """Return a function that builds, and then the numbers it gives."""
    from arm import draw, make_simulator, STEP

    def build():
        simulator = make_simulator()
        state, parameters, controls = draw(simulator, 4)
        found = simulator.jacobian(state, [STEP], parameters, controls)
        return found.by_parameters.numpy()

    return build


def _build_w3():
    """Return a function that builds, and then the numbers it gives."""
    from peers.workload import make_workload
    from windows import factory

    work = make_workload('S3', 96, 1)
    return lambda: factory(work)()[1]


def _measure(case):
    """Print what one process measures, as JSON."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    begin = time.perf_counter()
    import torch

    # With it come CasADi and LLVM, which are no part of the build either.
    importlib.import_module('sim2real_estimator.backend.native.program')

    torch.set_num_threads(1)
    build = {'arm': _build_arm, 'W3': _build_w3}[case]()
    start, cpu = time.perf_counter(), time.process_time()
    numbers = build()
    result = {
        'import': start - begin,
        'build': time.perf_counter() - start,
        'cpu': time.process_time() - cpu,
        'digest': hashlib.sha1(numbers.tobytes()).hexdigest(),
    }
    print(json.dumps(result))


if __name__ == '__main__':
    _measure(sys.argv[1])
