"""The demo: start robot and node, show the table, and check the goals."""

from dataclasses import dataclass
from pathlib import Path
import time

from ...errors import ConfigError, ProcessError
from ..monitor import Board, Display
from ..synthetic.settings import load_synthetic
from .estimate_history import History
from .goals import Goals, judge
from .processes import interruptible, Processes

_PACKAGE = 'sim2real_estimator'
_NODE, _ROBOT = (f'{_PACKAGE}.{module}' for module in ('ros.node', 'app.synthetic.node'))
# How long it may take until the robot moves, and until late data are worked off [s].
_START, _GRACE = 120.0, 30.0
_STEP = 0.05


# Those that the sensors of the demo can tell.
_NAMES = (
    'upper.length',
    'lower.mass',
    'lower.com.z',
    'lower.inertia.yy',
    'shoulder.damping',
    'elbow.damping',
)


@dataclass(frozen=True)
class Plan:
    """
    What is shown.

    robot: path of the synthetic robot's settings; folder: for logs and the picture; seed: of the
    robot, None: that of the file; seconds: how long it moves.
    """

    robot: Path
    folder: Path
    seed: int | None = None
    seconds: float = 60.0
    goals: Goals = Goals(_NAMES)


def shipped_robot():
    """Return the path of the settings of the demo's robot."""
    return shipped(Path('config', 'synthetic', 'demo.yaml'))


def shipped(tail):
    """Return the path of a file that the package ships, as installed or in a clone."""
    package = Path(__file__).resolve().parents[2]
    places = [package.parent, *(above / 'share' / _PACKAGE for above in package.parents)]
    for place in places:
        if (place / tail).is_file():
            return place / tail
    raise ConfigError(f'{tail}: is neither beside the package nor under share; install it again')


def show(plan, console):
    """Run the demo in the domain that is set; return (`History`, `Check`s); all processes end."""
    # Imported here, so that the package can be used without ROS.
    from ..monitor.listener import Listener

    board = Board()
    history = History(board)
    settings = load_synthetic(plan.robot)
    plan.folder.mkdir(parents=True, exist_ok=True)
    with interruptible(), Processes() as processes:
        _start(_NODE, Path(settings.source).parent / settings.config, plan, processes)
        with Listener(board) as listener, Display(console) as display:

            def step():
                listener.listen(_STEP)
                processes.check()
                display.show(board)

            # A robot that begins before the node listens is not heard from its start on.
            _wait(step, lambda: _is_ready(board), plan, 'the node')
            seed = () if plan.seed is None else ('-p', f'seed:={plan.seed}')
            _start(_ROBOT, plan.robot, plan, processes, *seed)
            _wait(step, lambda: board.truths, plan, 'the robot')
            _watch(plan, board, history, step)
    return history, judge(plan.goals, history)


def _start(module, path, plan, processes, *more):
    """Start a node with a config file, its output into a file of the folder."""
    arguments = ('--ros-args', '-p', f"config_file:='{path}'", *more)
    processes.start(module, arguments, plan.folder / f'demo_{module.split(".")[-1]}.log')


def _is_ready(board):
    """Tell whether the process of the node that computes is at work."""
    return 'worker' in board.tasks and board.tasks['worker'].values.get('backend')


def _wait(step, condition, plan, who):
    """Take steps until a condition holds; a ProcessError where it never does."""
    end = time.monotonic() + _START
    while not condition():
        if time.monotonic() > end:
            raise ProcessError(
                f'{who} is not ready after {_START:g} s; see the logs in {plan.folder}'
            )
        step()


def _watch(plan, board, history, step):
    """Take steps, and note what is said, until the time is over."""
    end = time.monotonic() + plan.seconds + _GRACE
    while time.monotonic() < end and not _is_over(board, plan.seconds):
        step()
        history.look()


def _is_over(board, seconds):
    return board.stamp_ns is not None and board.seconds(board.stamp_ns) >= seconds
