"""Several threads in one program, and several processes that build at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import subprocess
import sys
import threading

from comparisons import assert_close, everything
from models import draw, pair, pendulum, see
import pytest
import torch

from sim2real_estimator.backend.native import program
from sim2real_estimator.backend.simulator import Simulator

ROOT = Path(__file__).resolve().parents[2]
THREADS = 4
REPEATS = 25


@pytest.fixture(scope='module')
def simulator():
    return Simulator(pair('spherical'), ('arm.mass', 'hand.com.x'), backend='native', observe=see)


def test_threads_do_not_share_scratch_memory(simulator):
    # Different lengths, so that scratch memory grows in one thread while others run.
    jobs = [draw(simulator, 5 + k, steps=2 + 9 * k, seed=k) for k in range(THREADS)]
    expected = [everything(simulator, job) for job in jobs]
    together = threading.Barrier(THREADS)

    def run(number):
        torch.set_num_threads(1)
        together.wait()
        for _ in range(REPEATS):
            assert_close(everything(simulator, jobs[number]), expected[number])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


def test_threads_that_need_a_program_at_once_build_one(monkeypatch):
    built, original = [], program.Program

    def build(*arguments):
        built.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(program, 'Program', build)
    simulator = Simulator(pendulum(), backend='native')
    together = threading.Barrier(THREADS)

    def run(_):
        together.wait()
        return simulator._backend.program()

    with ThreadPoolExecutor(THREADS) as pool:
        programs = list(pool.map(run, range(THREADS)))
    assert len(built) == 1
    assert all(p is programs[0] for p in programs)


def test_processes_that_build_at_once_do_not_disturb_each_other(tmp_path):
    script = (
        'import sys\n'
        f'sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "test/backend")!r}]\n'
        'from models import draw, pair\n'
        'from sim2real_estimator.backend.simulator import Simulator\n'
        "simulator = Simulator(pair('planar'), ('arm.mass',), backend='native')\n"
        "print('ready', flush=True)\n"
        'sys.stdin.readline()\n'
        'states = simulator.rollout(*draw(simulator, 9).arguments()).states\n'
        'print(states.sum().item().hex(), states.abs().max().item().hex())\n'
    )
    pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}
    command = [sys.executable, '-B', '-c', script]
    processes = [subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) for _ in range(2)]
    assert [process.stdout.readline() for process in processes] == ['ready\n', 'ready\n']
    for process in processes:
        process.stdin.write('\n')
        process.stdin.flush()
    outputs = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    simulator = Simulator(pair('planar'), ('arm.mass',), backend='native')
    states = simulator.rollout(*draw(simulator, 9).arguments()).states
    expected = f'{states.sum().item().hex()} {states.abs().max().item().hex()}\n'
    assert [stdout for stdout, _ in outputs] == [expected, expected]
    # The program is in memory: nothing is left where they ran.
    assert list(tmp_path.iterdir()) == []


def test_threads_take_turns_with_dual_numbers():
    # Torch has one level of them for all threads, and refuses to nest.
    simulator = Simulator(pendulum(), ('rod.mass',), backend='eager')
    arguments = draw(simulator, 3, steps=2, seed=0).arguments()
    expected = simulator.sensitivities(*arguments).d_states
    together = threading.Barrier(THREADS)

    def run(_):
        together.wait()
        for _ in range(REPEATS):
            assert torch.equal(simulator.sensitivities(*arguments).d_states, expected)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))
