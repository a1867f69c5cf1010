"""The payload as the difference of correlated posteriors, and from change to change."""

from dataclasses import replace
from functools import cache

import measured_arms
import numpy as np
import pytest

from sim2real_estimator.app.demo.show import shipped_robot
from sim2real_estimator.app.synthetic.settings import load_estimator, load_synthetic
from sim2real_estimator.app.synthetic.settings import PayloadConfig as SyntheticPayload
from sim2real_estimator.app.synthetic.truth import carried
from sim2real_estimator.config.settings_tree import PayloadConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.changes.isolation import EarlierModel
from sim2real_estimator.estimation.mixture import Mixture
from sim2real_estimator.model.body_numbers import about_frame, are_possible
from sim2real_estimator.observability.null_space import on_slice, tangents_of
from sim2real_estimator.observability.payload import (
    estimate_payload,
    PayloadHistory,
    PayloadSettings,
)
from sim2real_estimator.pipeline import Pipeline
from sim2real_estimator.records import PayloadReason, UpdateReport
from sim2real_estimator.reported_events import Explained, Happened

# Mass, centre, and inertia about it: xx, yy, zz, xy, xz, yz.
BODY = 0.3, (0.02, -0.01, -0.3), (0.002, 0.0025, 0.001, 1e-4, 0.0, -1e-4)
ROWS = 12


def one(mean, root):
    """Return a `Mixture` of one component."""
    return Mixture(np.zeros(1), np.zeros((0, 1)), mean[:, None], root[None])


def root_of(covariance):
    # Scaled to ones: some coordinates are a million times as large as others.
    sd = np.sqrt(np.diag(covariance))
    values, axes = np.linalg.eigh(covariance / sd / sd[:, None])
    return sd[:, None] * axes * np.sqrt(values.clip(0))


def measured(mean, covariance, slope, rows, noise):
    """Return (mean, covariance) after rows of so much noise."""
    across = slope @ covariance @ slope.T + noise**2 * np.eye(len(slope))
    gain = covariance @ slope.T @ np.linalg.inv(across)
    return mean + gain @ (rows - slope @ mean), covariance - gain @ slope @ covariance


@cache
def arm():
    """Return the problem of an arm whose bodies are coordinates."""
    return measured_arms.pipeline().problem


@cache
def pendulum():
    """Return the problem of the demo, with logarithms and a curved null space."""
    return Pipeline.from_config(load_estimator(load_synthetic(shipped_robot()))).problem


def explained(name='mass on lower', probability=0.99):
    return UpdateReport('filter', events=(Happened.CHANGED, Explained(name, probability)))


def history_of(problem, mean, root, change, name=''):
    """Return the `PayloadHistory` after a change of a robot of a known posterior."""
    earlier = EarlierModel(name or change.name, (), mean, root, change)
    tangents = tangents_of(problem.parametrization, one(mean, root))
    return PayloadHistory().after(explained(), earlier, tangents)


def change_on(problem, link):
    name = f'mass on {link}'
    return next(each for each in problem.possible_changes() if each.name == name)


def numbers_about(payload):
    """Return the ten numbers of a payload about its frame."""
    mass, com, (xx, xy, xz, yy, yz, zz) = payload.mean[0], payload.mean[1:4], payload.mean[4:]
    return about_frame(mass, com, np.array([xx, yy, zz, xy, xz, yz]))


@pytest.mark.parametrize('seed', range(3))
def test_it_is_that_of_an_estimate_of_robot_and_body_at_once(seed):
    problem, rng = arm(), np.random.default_rng(seed)
    jump = change_on(problem, 'lower')
    size, known = len(problem.labels), problem.prior.mean
    mixed = np.eye(size) + 0.2 * np.tril(rng.standard_normal((size, size)), -1)
    root = 0.05 * problem.prior.root @ mixed
    now = root @ root.T
    body = about_frame(np.array(BODY[0]), np.array(BODY[1]), np.array(BODY[2]))
    by_body = np.linalg.solve(jump.body.T, jump.root.T).T
    truth = known + root @ rng.standard_normal(size) + by_body @ body
    slope = rng.standard_normal((ROWS, size)) / problem.parametrization.inner.deviations
    noise = 0.01
    rows = slope @ truth + noise * rng.standard_normal(ROWS)
    # Robot before and body in one vector; data tell of their sum.
    both = np.zeros((size + 10, size + 10))
    both[:size, :size], both[size:, size:] = now, jump.body @ jump.body.T
    together = np.hstack([np.eye(size), by_body])
    first = np.concatenate([known, np.zeros(10)])
    mean, covariance = measured(first, both, slope @ together, rows, noise)
    # The estimator knows the sum alone.
    after, spread = measured(known, together @ both @ together.T, slope, rows, noise)
    history = history_of(problem, known, root, jump)
    payload = estimate_payload(problem, one(after, root_of(spread)), history, 7)
    assert payload.link == 'lower' and payload.is_valid and payload.stamp_ns == 7
    mass, sd = mean[size], np.sqrt(covariance[size, size])
    np.testing.assert_allclose(payload.mass_sd, sd, rtol=1e-5)
    if are_possible(mean[size:][None])[0]:
        np.testing.assert_allclose(numbers_about(payload), mean[size:], rtol=1e-5, atol=1e-9)
    else:
        assert abs(payload.mass - mass) < 2 * sd


def carrying(problem, coordinates, link='lower'):
    """Return the coordinates [p] of a robot of coordinates [p] that holds the body."""
    parametrization, parameters = problem.parametrization, problem.parameters
    names = parameters.inertial_names(link)
    nominal = dict(zip(parameters, parameters.nominal())) | parametrization.fixed
    values = nominal | dict(
        zip(parametrization.names, parametrization.to_named(coordinates[:, None])[:, 0])
    )
    mass, com, inertia = BODY
    load = SyntheticPayload(link=link, at=0.0, mass=mass, com=com, inertia=inertia)
    held = values | carried(values, names, load)
    inner = parametrization.inner.from_named(
        np.array([[held[name]] for name in parametrization.names])
    )
    return on_slice(parametrization, inner)[0][:, 0]


def test_with_logarithms_it_is_as_sharp_as_the_posteriors():
    problem = pendulum()
    rng, size = np.random.default_rng(0), len(problem.labels)
    before = problem.prior.mean + problem.prior.root @ (0.3 * rng.standard_normal(size))
    root = 1e-4 * np.eye(size)
    history = history_of(problem, before, root, change_on(problem, 'lower'))
    payload = estimate_payload(problem, one(carrying(problem, before), root), history, 0)
    mass, com, _ = BODY
    assert payload.mass_sd < 5e-4 and abs(payload.mass - mass) < payload.mass_sd
    assert payload.sd[3] < 2e-3 and abs(payload.mean[3] - com[2]) < 2 * payload.sd[3]
    # There are no data on these, since the robot moves in a plane.
    assert (payload.sd[1:3] > 0.1).all()


@pytest.mark.parametrize('seed', range(4))
def test_its_mean_is_a_body_that_can_be_however_little_is_known(seed):
    problem, rng = arm(), np.random.default_rng(seed)
    jump, size = change_on(problem, 'lower'), len(problem.labels)
    root = 0.01 * problem.prior.root
    wide = np.hstack([root, jump.root])
    place = problem.prior.mean + jump.root @ np.array([0.5, *rng.standard_normal(9)])
    spread = wide @ wide.T * 0.2
    history = history_of(problem, problem.prior.mean, root, jump)
    payload = estimate_payload(problem, one(place, root_of(spread)), history, 0)
    assert payload.is_held
    assert are_possible(numbers_about(payload)[None])[0]
    assert size == len(place)


# -------------------------------------------------------------------------- history


def moved(problem, mass=0.3):
    """Return the coordinates of a robot with a point at its lower link."""
    body = about_frame(np.array(mass), np.array(BODY[1]), np.array(BODY[2]) * mass / BODY[0])
    place = np.array(problem.prior.mean)
    place[problem.parametrization.inner.rows[1]] += body
    return place


@cache
def picked_up():
    """Return (problem, root, change, history, coordinates with the body)."""
    problem = arm()
    links = list(problem.parametrization.inner.links)
    assert links[1] == 'lower'
    root = 1e-4 * problem.prior.root
    jump = change_on(problem, 'lower')
    return problem, root, jump, history_of(problem, problem.prior.mean, root, jump), moved(problem)


def test_before_any_change_nothing_is_held():
    problem, root, *_ = picked_up()
    begun = PayloadHistory().after(UpdateReport('filter'), None, None)
    payload = estimate_payload(problem, one(problem.prior.mean, root), begun, 0)
    assert payload.is_valid and not payload.mean.any() and not payload.covariance.any()
    early = PayloadHistory().after(UpdateReport('batch'), None, None)
    payload = estimate_payload(problem, one(problem.prior.mean, root), early, 0)
    assert payload.reason is PayloadReason.UNKNOWN


def test_while_a_change_is_isolated_it_is_not_valid():
    problem, root, _, history, held = picked_up()
    asked = history.after(UpdateReport('batch', events=(Happened.CHANGED,)), None, None)
    payload = estimate_payload(problem, one(held, root), asked, 0)
    assert payload.reason is PayloadReason.CHANGING
    assert payload.mass == pytest.approx(BODY[0], abs=0.01)


def test_a_tentative_cause_counts_once():
    problem, root, jump, _, held = picked_up()
    tangents = tangents_of(problem.parametrization, one(problem.prior.mean, root))
    pending = UpdateReport('batch', events=(Happened.CHANGED,))
    history = PayloadHistory(is_begun=True)
    # The onset moves while the change is isolated.
    for shift in (0.0, 1e-6, 2e-6):
        earlier = EarlierModel('mass on lower', (), problem.prior.mean + shift, root, jump)
        history = history.after(pending, earlier, tangents)
        payload = estimate_payload(problem, one(held, root), history, 0)
        assert payload.reason is PayloadReason.CHANGING
        assert payload.mass == pytest.approx(BODY[0], abs=0.01)
    history = history.after(explained(), earlier, tangents)
    assert len(history.past) == len(history.now.changes) == 1
    assert estimate_payload(problem, one(held, root), history, 0).is_valid


def test_many_pickups_need_no_more_room():
    problem, root, jump, history, held = picked_up()
    size = len(problem.labels) + 10
    wide = replace(jump, root=np.tile(jump.root, 20), body=np.tile(jump.body, 20))
    for k in range(12):
        earlier = EarlierModel(f'{k}', (), held + 1e-9 * k, root, wide)
        history = history.after(explained(), earlier, None)
        (change,) = history.now.changes
        assert change.root.shape[1] <= size and len(history.past) <= 6
    expected = jump.body @ jump.body.T * (1 + 12 * 20)
    np.testing.assert_allclose(change.body @ change.body.T, expected)


def test_what_is_put_down_again_is_no_more():
    problem, root, jump, history, held = picked_up()
    back = EarlierModel(
        'as before: mass on lower', (), held, root, None, returns_to=problem.prior.mean
    )
    empty = history.after(explained(), back, None)
    payload = estimate_payload(problem, one(problem.prior.mean, root), empty, 0)
    assert payload.is_valid and payload.link == 'lower'
    assert not payload.mean.any() and not payload.covariance.any()
    # And again: the robot that held it holds it once more.
    again = EarlierModel(
        'as before: x', (), problem.prior.mean + 1e-9, root, jump, returns_to=held
    )
    full = empty.after(explained(), again, None)
    payload = estimate_payload(problem, one(held, root), full, 0)
    assert payload.mass == pytest.approx(BODY[0], abs=0.01)


def test_what_is_no_payload_leaves_it():
    problem, root, _, history, held = picked_up()
    friction = next(c for c in problem.possible_changes() if c.name == 'friction of elbow')
    later = history.after(explained(), EarlierModel('friction', (), held, root, friction), None)
    payload = estimate_payload(problem, one(held, root), later, 0)
    assert payload.is_valid and payload.mass == pytest.approx(BODY[0], abs=0.01)


def test_a_second_body_on_the_link_is_added():
    problem, root, jump, history, held = picked_up()
    later = history.after(explained(), EarlierModel('again', (), held, root, jump), None)
    payload = estimate_payload(problem, one(moved(problem, 0.8), root), later, 0)
    assert payload.mass == pytest.approx(0.8, abs=0.01)
    assert len(later.now.changes) == 1


def test_a_cause_may_be_put_down_to_another_later():
    problem, root, _, history, held = picked_up()
    friction = next(c for c in problem.possible_changes() if c.name == 'friction of elbow')
    other = EarlierModel('friction of elbow', (), problem.prior.mean, root, friction)
    later = history.after(explained(), other, None)
    payload = estimate_payload(problem, one(held, root), later, 0)
    assert not payload.is_held and len(later.past) == 1


def test_a_body_on_another_link_is_told():
    problem, root, _, history, held = picked_up()
    upper = EarlierModel('other', (), held, root, change_on(problem, 'upper'))
    later = history.after(explained(), upper, None)
    payload = estimate_payload(problem, one(held, root), later, 0)
    assert payload.reason is PayloadReason.OTHER_LINK


def test_after_all_was_estimated_anew_it_is_unknown():
    problem, root, _, history, held = picked_up()
    report = UpdateReport('batch', events=(Happened.CHANGED, Happened.FORGOTTEN))
    lost = history.after(report, None, None)
    assert estimate_payload(problem, one(held, root), lost, 0).reason is PayloadReason.FORGOTTEN


def test_a_return_to_what_is_remembered_no_longer_is_told():
    problem, root, _, history, held = picked_up()
    unknown = EarlierModel('as before: x', (), held, root, None, returns_to=held + 1.0)
    lost = history.after(explained(), unknown, None)
    assert estimate_payload(problem, one(held, root), lost, 0).reason is PayloadReason.FORGOTTEN


def with_settings(problem, **settings):
    """Return a problem with other `PayloadSettings`; it shares all else."""
    import copy

    other = copy.copy(problem)
    other.payload = PayloadSettings(**settings)
    return other


def test_a_body_of_the_beginning_that_is_put_down_is_told():
    problem, root, jump, _, held = picked_up()
    history = history_of(problem, held, root, jump)
    mixture = one(problem.prior.mean, root)
    payload = estimate_payload(problem, mixture, history, 0)
    assert payload.reason is PayloadReason.RELEASED and not payload.is_held
    # A known one is just gone.
    known = held[problem.parametrization.inner.rows[1]]
    known = known - problem.prior.mean[problem.parametrization.inner.rows[1]]
    declared = with_settings(problem, link='lower', known=known)
    payload = estimate_payload(declared, mixture, history, 0)
    assert payload.is_valid and payload.mass == pytest.approx(0.0, abs=0.01)
    # Before it is put down it is what is held.
    begun = PayloadHistory().after(UpdateReport('filter'), None, None)
    payload = estimate_payload(declared, one(held, root), begun, 0)
    assert payload.is_valid and payload.mass == pytest.approx(BODY[0])
    np.testing.assert_allclose(payload.mean[1:4], BODY[1], atol=1e-9)


def test_it_can_be_what_differs_from_the_robot_description():
    problem, root, _, _, held = picked_up()
    begun = PayloadHistory().after(UpdateReport('filter'), None, None)
    nominal = with_settings(problem, link='lower', is_nominal=True)
    payload = estimate_payload(nominal, one(held, root), begun, 0)
    assert payload.is_valid and payload.mass == pytest.approx(BODY[0], abs=2e-3)
    np.testing.assert_allclose(payload.mean[1:4], BODY[1], atol=5e-3)


def test_another_frame_turns_and_shifts_it():
    problem, root, _, history, held = picked_up()
    turn, origin = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([0.1, 0.2, 0.3])
    here = estimate_payload(problem, one(held, root), history, 0)
    other = with_settings(problem, link='lower', frame='tool', rotation=turn, origin=origin)
    there = estimate_payload(other, one(held, root), history, 0)
    assert there.frame == 'tool' and there.link == 'lower'
    np.testing.assert_allclose(turn @ there.mean[1:4] + origin, here.mean[1:4], atol=1e-9)
    matrices = []
    for each in (here, there):
        xx, xy, xz, yy, yz, zz = each.mean[4:]
        matrices.append(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    np.testing.assert_allclose(turn @ matrices[1] @ turn.T, matrices[0], atol=1e-9)
    trace = [np.trace(each.covariance[1:4, 1:4]) for each in (here, there)]
    assert trace[0] == pytest.approx(trace[1])


# ------------------------------------------------------------------------ settings


def settings_with(**payload):
    return replace(
        load_estimator(load_synthetic(shipped_robot())), payload=PayloadConfig(**payload)
    )


def test_a_known_body_is_part_of_the_model():
    config = settings_with(link='lower', mass=0.3, com=(0.0, 0.0, -0.3), inertia=BODY[2])
    with_it, without = Pipeline.from_config(config).problem, pendulum()
    names = with_it.parameters.inertial_names('lower')
    body = about_frame(np.array(0.3), np.array([0.0, 0.0, -0.3]), np.array(BODY[2]))
    there, here = (np.array(each.parameters.nominal(names)) for each in (with_it, without))
    together = about_frame(here[0], here[1:4], here[4:]) + body
    np.testing.assert_allclose(about_frame(there[0], there[1:4], there[4:]), together)
    np.testing.assert_allclose(with_it.payload.known, body)


@pytest.mark.parametrize(
    ('payload', 'key'),
    [
        ({'link': 'hand', 'mass': 1.0}, 'payload.link'),
        ({'mass': 1.0}, 'payload.link'),
        ({'against': 'nominal'}, 'payload.link'),
        ({'link': 'lower', 'com': (0.0, 1.0)}, 'payload.com'),
        ({'link': 'lower', 'com': (0.0, 1.0, 0.0)}, 'payload.mass'),
        ({'link': 'lower', 'mass': 1.0, 'inertia': (1.0, 0.1, 0.1, 0, 0, 0)}, 'payload.inertia'),
        ({'frame': 'lower'}, 'payload.frame'),
        ({'link': 'lower', 'frame': 'upper'}, 'payload.frame'),
    ],
)
def test_settings_that_cannot_be_are_refused(payload, key):
    with pytest.raises(ConfigError, match=key):
        Pipeline.from_config(settings_with(**payload))
