"""The picture, the words at the end, and the exit status."""

import io

from boards import HEAVIER, report_change, say, told, TRUTH
import pytest
from rich.console import Console

from sim2real_estimator.app.demo import report
from sim2real_estimator.app.demo import show as show_module
from sim2real_estimator.app.demo.domain import environment
from sim2real_estimator.app.demo.estimate_history import History
from sim2real_estimator.app.demo.goals import Check, Goals
from sim2real_estimator.app.demo.picture import draw
from sim2real_estimator.app.demo.show import Plan, shipped_robot
from sim2real_estimator.errors import ConfigError


@pytest.fixture
def history():
    board = told()
    result = History(board)
    for seconds, values in ((1.0, TRUTH), (29.0, TRUTH), (31.0, HEAVIER), (60.0, HEAVIER)):
        say(board, seconds, values, sd={'upper.inertia.yy': 0.01})
        result.look()
    report_change(board, 30.1)
    return result


def test_the_picture_has_every_parameter(history, tmp_path, monkeypatch):
    from matplotlib import pyplot

    figures = []
    monkeypatch.setattr(pyplot, 'close', figures.append)
    draw(history, Goals(('lower.mass',)), tmp_path / 'demo.png')
    (figure,) = figures
    monkeypatch.undo()
    pyplot.close(figure)
    assert (tmp_path / 'demo.png').stat().st_size > 10_000
    titles = [axis.get_title() for axis in figure.axes]
    for name in TRUTH:
        assert any(title.startswith(name) for title in titles)
    # Where nothing but the truth is seen of an estimate it would be a poor picture.
    low, high = figure.axes[titles.index('lower.mass [kg]: identified at the end')].get_ylim()
    assert low < TRUTH['lower.mass'] < HEAVIER['lower.mass'] < high


@pytest.mark.parametrize(
    ('checks', 'status', 'said'),
    [
        ((Check(True, 'one'), Check(True, 'two')), 0, '2 of 2 promises kept'),
        ((Check(True, 'one'), Check(False, 'two')), 1, '1 of 2 promises kept: FAILED'),
    ],
)
def test_the_exit_status_says_whether_all_was_kept(
    history, tmp_path, monkeypatch, checks, status, said
):
    for name in environment(domain=1):
        monkeypatch.setenv(name, '')
    monkeypatch.setattr(report, 'show', lambda plan, console: (history, checks))
    console = Console(file=io.StringIO(), width=100)
    assert report.perform(Plan(shipped_robot(), tmp_path), console) == status
    assert said in console.file.getvalue()
    assert (tmp_path / 'demo.png').exists()


def test_the_robot_is_found_beside_the_package_and_where_it_is_installed(tmp_path, monkeypatch):
    assert shipped_robot().is_file()
    package = tmp_path / 'lib' / 'python3' / 'site-packages' / 'sim2real_estimator'
    monkeypatch.setattr(show_module, '__file__', str(package / 'demo' / 'show.py'))
    with pytest.raises(ConfigError, match='demo.yaml: is neither beside the package nor'):
        shipped_robot()
    installed = tmp_path / 'share' / 'sim2real_estimator' / 'config' / 'synthetic' / 'demo.yaml'
    installed.parent.mkdir(parents=True)
    installed.touch()
    assert shipped_robot() == installed
