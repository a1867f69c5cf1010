"""Pictures for docs/estimation.md: two modes, changes, a delay."""

from dataclasses import replace
from pathlib import Path
import sys

import matplotlib
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test'))
matplotlib.use('Agg')
import arms_picture  # noqa: E402, the drawing backend has to be chosen first
import drawings  # noqa: E402
import load_picture  # noqa: E402
from matplotlib import pyplot  # noqa: E402
from problems import p2, p3  # noqa: E402, needs the path above
from problems.common import log_normal_draw, roll, states_of  # noqa: E402
import torch  # noqa: E402

from sim2real_estimator.estimation.estimators import ESTIMATORS  # noqa: E402
from sim2real_estimator.parameters.parametrization import Prior  # noqa: E402
from sim2real_estimator.reported_events import Explained, Happened, kinds_of  # noqa: E402

_TORQUE_AT = 4.0  # [s]
_BIMODAL_SEED = 1
_LATE = 0.004  # [s]
_OF_CHANGES = frozenset((Happened.CHANGED, Explained))


def run(arguments):
    """Draw all pictures; return True when they are written."""
    for draw in (_bimodal, _change, _load, _arms, _latency):
        path = draw()
        print(f'wrote {drawings.shown(path)}')
    return True


def _history(problem, frames, estimator=None):
    """Return [(time [s], mixture, events)] after every frame."""
    estimator = estimator or ESTIMATORS['gaussian_sum']()
    state, history = estimator.init(problem), []
    for frame in frames:
        state, report = estimator.update(problem, state, frame)
        history.append((frame.end_ns * 1e-9, estimator.mixture(problem, state), report.events))
    return history


def _save(figure, name):
    figure.tight_layout()
    path = drawings.place(name)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _bimodal():
    """Draw a free swing that leaves two answers, and the torque that decides between them."""
    problem = p3.make_problem()

    def torque(times):
        return np.where(times > _TORQUE_AT, 0.3 * np.sin(5 * (times - _TORQUE_AT)), 0.0)

    truth, frames = p3.draw(_BIMODAL_SEED, seconds=6.0, torque=torque)
    history = _history(problem, frames)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.8))
    # Much wider than the modes are, or nobody could see them.
    grid = np.linspace(0.1, 0.6, 1000)
    for seconds, color in ((2.0, 'tab:blue'), (6.0, 'tab:orange')):
        _, mixture, _ = min(history, key=lambda h: abs(h[0] - seconds))
        width = 0.006
        density = sum(
            w * np.exp(-0.5 * ((grid - np.exp(m)) / width) ** 2)
            for w, m in zip(mixture.weights, mixture.means[0])
        )
        left.plot(grid, density, color=color, label=f'after {seconds:.0f} s')
    left.axvline(-truth.values['bar.com.z'], color='0.3', linestyle='--', label='truth')
    left.set(
        xlabel='distance of the centre of mass from the pivot [m]',
        yticks=[],
        ylabel='posterior (peaks drawn wider)',
        title='A swinging bar: two answers, then one',
    )
    left.legend()
    log_true = np.log(-truth.values['bar.com.z'])
    times = [t for t, m, _ in history if m.size > 1 or t > 1.0]
    weights = [
        m.weights[np.argmin(np.abs(m.means[0] - log_true))]
        for t, m, _ in history
        if m.size > 1 or t > 1.0
    ]
    right.plot(times, weights, color='tab:green')
    right.axvspan(_TORQUE_AT, 6.0, color='0.9', label='a known torque of 0.3 N m acts')
    right.set(
        xlabel='time [s]',
        ylabel='probability of the true answer',
        ylim=(-0.03, 1.03),
        title='Which of the two: only the torque tells',
    )
    right.legend(loc='lower right')
    return _save(figure, 'bimodal.png')


def _change():
    """Draw how a lower link that becomes twice as heavy, and light again, is found again."""
    problem, rng = p2.make_problem(), np.random.default_rng(4)
    before = log_normal_draw(p2.priors(), rng)
    after = before | {'lower.mass': 2 * before['lower.mass']}
    parts = ((0, 4, before), (4, 6.5, after), (6.5, 8, before))
    state, torques = p2.draw_motion(rng, parts[-1][1])
    states = [np.asarray(state)[None]]
    for begin, end, values in parts:
        first, count = round(begin * p2.RATE), round((end - begin) * p2.RATE)
        controls = torch.from_numpy(torques[first : first + count])
        rolled = roll(p2.simulator(), states[-1][-1], p2.RATE, count, values, controls)
        states.append(states_of(rolled)[1:])
    frames = p2.observed(rng, np.concatenate(states), torques)
    generator, bands, happened = np.random.default_rng(0), [], []
    for time, mixture, events in _history(problem, frames):
        drawn = p2.base_parameters(problem.parametrization.to_named(mixture.draw(200, generator)))
        bands.append((time, *np.quantile(drawn, [0.05, 0.5, 0.95], axis=1)))
        happened += [(time, each) for each in events if kinds_of((each,)) & _OF_CHANGES]
    figure, axes = pyplot.subplots(2, 1, figsize=(9, 6), sharex=True)
    shown = {4: 'mass x distance of the\nlower link [kg m]', 5: 'damping of the\nshoulder [N m s]'}
    for axis, (which, label) in zip(axes, shown.items()):
        _draw_band(axis, bands, parts, which)
        for time, event in happened:
            color = 'tab:red' if event is Happened.CHANGED else 'tab:green'
            axis.axvline(time, color=color, linewidth=1)
        axis.set(ylabel=label, yscale='log')
    for time, event in happened:
        if isinstance(event, Explained):
            text = event.cause_and_probability
            axes[0].text(time + 0.05, 0.93, text, transform=axes[0].get_xaxis_transform())
    axes[0].set_title('The lower link is twice as heavy from 4 s to 6.5 s')
    # Room for the last of the texts.
    axes[0].set_xlim(-0.3, parts[-1][1] + 2.0)
    axes[0].legend(loc='lower right')
    axes[1].set_xlabel('time [s]; red: a change is noticed, green: it is known what has changed')
    return _save(figure, 'change.png')


def _draw_band(axis, bands, parts, which):
    """Draw the intervals of a base parameter over time, and the truth in parts."""
    times, low, middle, high = zip(*((t, a[which], b[which], c[which]) for t, a, b, c in bands))
    axis.fill_between(times, low, high, alpha=0.35, label='90 % interval')
    axis.plot(times, middle, label='median')
    for k, (begin, end, values) in enumerate(parts):
        true = p2.base_parameters(np.array([values[n] for n in p2.NAMES]))[which]
        label = None if k else 'truth'
        axis.plot((begin, end), (true, true), 'k--', linewidth=1.2, label=label)


def _load():
    """Draw what an arm is known to hold."""
    return _save(load_picture.draw(), 'load.png')


def _arms():
    """Draw how well arms are known while they move."""
    return _save(arms_picture.draw(), 'arms.png')


def _latency():
    """Draw how late commands act, estimated, and what it costs to ignore that."""
    rng = np.random.default_rng(2)
    values = log_normal_draw(p2.priors(), rng)
    state, torques = p2.draw_motion(rng, 6.0)
    fine = 1000.0
    repeated = np.repeat(torques, round(fine / p2.RATE), 0)
    late = np.roll(repeated, round(_LATE * fine), 0)
    late[: round(_LATE * fine)] = repeated[0]
    path = states_of(roll(p2.simulator(), state, fine, len(late), values, torch.from_numpy(late)))
    states = path[:: round(fine / p2.RATE)]
    frames = [
        _with_history(f, k, torques) for k, f in enumerate(p2.observed(rng, states, torques))
    ]
    delay = {'commands.delay': Prior(0.0, 0.005, False)}
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.8))
    column = np.array([values[n] for n in p2.NAMES])
    for problem, label, color in (
        (p2.make_problem(more_priors=delay), 'delay estimated', 'C0'),
        (p2.make_problem(), 'delay ignored', 'C3'),
    ):
        estimator = replace(ESTIMATORS['gaussian_sum'](), longest=200)
        history = [h for h in _history(problem, frames, estimator) if h[0] > 1.0]
        moments = [
            p2.base_parameters(problem.parametrization.to_named(m.means[:, [m.heaviest()]]))[4, 0]
            for _, m, _ in history
        ]
        error = np.abs(np.array(moments) / p2.base_parameters(column)[4] - 1)
        right.plot([t for t, _, _ in history], 100 * error, color=color, label=label)
        if label == 'delay estimated':
            _draw_delay(left, history)
    right.set(
        xlabel='time [s]',
        ylabel='error of mass x distance [%]',
        yscale='log',
        title='What ignoring it costs',
    )
    right.legend()
    return _save(figure, 'latency.png')


def _draw_delay(axis, history):
    times = np.array([t for t, _, _ in history])
    mean = np.array([m.moments()[0][-1] for _, m, _ in history])
    sd = np.array([np.sqrt(m.moments()[1][-1, -1]) for _, m, _ in history])
    axis.fill_between(
        times,
        1e3 * (mean - 1.645 * sd),
        1e3 * (mean + 1.645 * sd),
        alpha=0.35,
        label='90 % interval',
    )
    axis.plot(times, 1e3 * mean, label='estimate')
    axis.axhline(1e3 * _LATE, color='k', linestyle='--', linewidth=1.2, label='truth')
    axis.set(
        xlabel='time [s]', ylabel='delay of the commands [ms]', title='Commands that act 4 ms late'
    )
    axis.legend()


def _with_history(frame, k, torques):
    """Return a frame that knows the torques before it too, which act in it where they are late."""
    before = tuple(
        (round((j - 1) * 1e9 / p2.RATE), torques[j - 1]) for j in range(max(1, k - 2), k + 1)
    )
    return replace(frame, inputs=before) if before else frame
