import math

import pytest

from sim2real_estimator.config.settings_tree import PriorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.urdf.load import load_urdf
from sim2real_estimator.parameters.parametrization import Prior
from sim2real_estimator.parameters.priors import choose_priors
from sim2real_estimator.parameters.usual_priors import default_prior


@pytest.fixture
def parameters(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf))


@pytest.fixture
def motor(double_pendulum_urdf):
    return Parameters(load_urdf(double_pendulum_urdf, actuators={'elbow': 'dc_motor'}))


def chosen(parameters, **wishes):
    """Return the priors of patterns, with '__' for a dot and 'any' for an asterisk."""
    named = {k.replace('__', '.').replace('any', '*'): v for k, v in wishes.items()}
    return choose_priors(parameters, named)


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('upper.mass', Prior(1.5, 0.3, True)),
        ('upper.com.x', Prior(0.0, pytest.approx(0.08), False)),  # a tenth of its length of 0.8 m
        ('upper.inertia.yy', Prior(0.06, 0.4, True)),
        ('upper.inertia.xz', Prior(-0.002, pytest.approx(0.1 * 0.13 / 3), False)),
        ('upper.length', Prior(0.8, 0.1, True)),
        ('elbow.origin.z', Prior(-0.8, 0.005, False)),
        ('shoulder.damping', Prior(0.2, 0.7, True)),
        ('elbow.friction', Prior(0.02, 0.7, True)),
        ('elbow.offset', Prior(0.0, 0.02, False)),
        ('elbow.gain', Prior(1.0, 0.1, True)),
        ('elbow.delay', Prior(0.0, 0.005, False)),
        ('world.gravity', Prior(9.81, 0.001, True)),
    ],
)
def test_priors_follow_from_the_kind(parameters, name, expected):
    assert default_prior(parameters, name) == expected


def test_every_parameter_has_a_prior(motor, branching_arm_urdf, gripper_urdf):
    for of_robot in (
        motor,
        *(Parameters(load_urdf(u)) for u in (branching_arm_urdf, gripper_urdf)),
    ):
        assert all(default_prior(of_robot, name).sd > 0 for name in of_robot)
    assert default_prior(motor, 'elbow.torque_constant') == Prior(0.1, 0.1, True)


# What lifts all that moves of the double pendulum, stretched out to the forearm's centre [N m].
STRONGEST = 9.81 * 2.3 * (0.8 + math.hypot(0.02, 0.3))


def test_friction_that_the_urdf_leaves_out_follows_from_the_limits(
    parameters, double_pendulum_urdf
):
    assert default_prior(parameters, 'shoulder.friction') == Prior(0.4, 1.5, True)
    # The joint may do more, but what moves is lifted by less.
    strong = Parameters(load_urdf(double_pendulum_urdf.replace('effort="20"', 'effort="50"')))
    found = default_prior(strong, 'shoulder.friction')
    assert found == Prior(pytest.approx(0.02 * STRONGEST), 1.5, True)
    only = chosen(parameters, shoulder__friction=PriorConfig(mean=0.1)).priors
    assert only['shoulder.friction'] == Prior(0.1, 0.7, True)


def test_patterns_name_many_and_later_ones_replace_what_they_give(parameters):
    found = chosen(
        parameters,
        any__mass=PriorConfig(sd=0.2),
        lower__mass=PriorConfig(mean=1.0),
        upper__mass=PriorConfig(fixed=True, mean=2.0),
    )
    assert found.priors == {'lower.mass': Prior(1.0, 0.2, True)}
    assert found.fixed == {'upper.mass': 2.0}


def test_priors_come_in_the_order_of_the_parameters(parameters):
    found = chosen(parameters, lower__mass=PriorConfig(), upper__mass=PriorConfig())
    assert list(found.priors) == ['upper.mass', 'lower.mass']


def test_an_interval_holds_95_per_cent(parameters):
    found = chosen(parameters, upper__mass=PriorConfig(min=1.0, max=4.0)).priors['upper.mass']
    assert found == Prior(pytest.approx(2.0), pytest.approx(0.35365, rel=1e-4), True, (1.0, 4.0))
    found = chosen(parameters, upper__com__x=PriorConfig(min=-0.1, max=0.3)).priors['upper.com.x']
    assert found == Prior(pytest.approx(0.1), pytest.approx(0.10204, rel=1e-4), False, (-0.1, 0.3))


def test_a_later_interval_replaces_a_mean(parameters):
    found = chosen(
        parameters, any__mass=PriorConfig(sd=0.2), upper__mass=PriorConfig(min=1.0, max=4.0)
    )
    assert found.priors['upper.mass'].mean == pytest.approx(2.0)


def test_the_width_stays_when_logarithms_are_declined(parameters):
    found = chosen(parameters, upper__mass=PriorConfig(log=False)).priors['upper.mass']
    assert found == Prior(1.5, pytest.approx(0.45), False)


def test_patterns_leave_out_what_is_zero_and_say_so(branching_arm_urdf):
    parameters = Parameters(load_urdf(branching_arm_urdf))
    found = choose_priors(parameters, {'*.mass': PriorConfig(), 'left_tip.*': PriorConfig()})
    assert 'left_tip.mass' not in found.priors
    assert 'a logarithm needs a size' in found.left_out['left_tip.mass']
    assert 'gives the link no mass' in found.left_out['left_tip.com.x']


@pytest.mark.parametrize(
    ('wishes', 'message'),
    [
        ({'uper.mass': PriorConfig()}, "no parameter 'uper.mass'"),
        ({'*.weight': PriorConfig()}, r"pattern '\*.weight' matches no parameter.*mass"),
        ({}, 'nothing is left to estimate'),
        ({'upper.mass': PriorConfig(fixed=True)}, 'nothing is left to estimate'),
        ({'upper.mass': PriorConfig(min=1.0)}, 'either min and max, or mean and sd'),
        ({'upper.mass': PriorConfig(min=1.0, max=2.0, sd=1.0)}, 'not a mixture'),
        ({'upper.mass': PriorConfig(min=2.0, max=1.0)}, 'give min < max'),
        ({'upper.mass': PriorConfig(min=-1.0, max=1.0)}, 'holds zero'),
        ({'upper.mass': PriorConfig(mean=-1.0)}, r'upper.mass.mean: is -1; give a value above'),
        ({'elbow.stiffness': PriorConfig()}, 'estimate.elbow.stiffness: .*typical size'),
    ],
)
def test_what_cannot_be_a_prior_is_an_error_with_a_remedy(parameters, wishes, message):
    with pytest.raises(ConfigError, match=message):
        choose_priors(parameters, wishes)


def test_delays_are_estimated_by_name_or_pattern(parameters):
    delays = ('commands.delay', 'encoders.delay')
    found = choose_priors(parameters, {'*.delay': PriorConfig()}, delays)
    assert found.priors == dict.fromkeys(delays, Prior(0.0, 0.005, False))
    found = choose_priors(parameters, {'encoders.delay': PriorConfig(mean=0.01)}, delays)
    assert found.priors == {'encoders.delay': Prior(0.01, 0.005, False)}
    with pytest.raises(ConfigError, match="no delay 'elbow.delay'; choose from commands.delay"):
        choose_priors(parameters, {'elbow.delay': PriorConfig()}, delays)


def test_of_links_that_are_welded_together_the_heaviest_stands_for_all(branching_arm_urdf):
    parameters = Parameters(load_urdf(branching_arm_urdf))
    found = chosen(parameters, any__mass=PriorConfig())
    bodies = [m.joint.child for m in parameters.model.moving_joints]
    assert len(found.priors) == len(bodies)
    welded = next(name for name in found.left_out if 'welded' in found.left_out[name])
    named = chosen(
        parameters, any__mass=PriorConfig(), **{welded.replace('.', '__'): PriorConfig()}
    )
    assert welded in named.priors


def test_a_moment_of_inertia_of_zero_is_that_of_a_slender_body(double_pendulum_urdf):
    text = double_pendulum_urdf.replace('izz="0.004"', 'izz="0"')
    found = default_prior(Parameters(load_urdf(text)), 'lower.inertia.zz')
    assert found == Prior(pytest.approx(0.05 * 0.03), 0.4, True)


def test_an_armature_that_the_urdf_leaves_out_follows_from_the_limits(parameters):
    found = default_prior(parameters, 'shoulder.armature')
    assert found == Prior(pytest.approx(0.02 * 20 / 3), 0.5, True)


@pytest.mark.parametrize(('centre', 'effort'), [('0 0 -0.5', 9.81 * 0.5), ('0 0 0', 20.0)])
def test_a_single_link_at_the_base_has_losses_by_its_weight_or_by_its_limit(
    pendulum_urdf, centre, effort
):
    text = pendulum_urdf.replace('damping="0.1" friction="0.05"', '').replace('0 0 -0.5', centre)
    limits = '<limit lower="-1" upper="1" velocity="3" effort="20"/>'
    text = text.replace('type="continuous"', 'type="revolute"')
    rod = Parameters(load_urdf(text.replace('</joint>', f'{limits}</joint>')))
    found = [default_prior(rod, f'pivot.{word}').mean for word in ('friction', 'damping')]
    assert found == pytest.approx([0.02 * effort, 0.02 * effort / 3])


# Of joints with limits of 20 N m.
COLUMNS = {
    'torque_offset': 0.4,
    'load_friction': 0.1,
    'stribeck': 0.6,
    'coupled_armature': 0.2,
    'coupled_damping': 2.0,
    'coupled_friction': 2.0,
}


@pytest.mark.parametrize('name', COLUMNS)
def test_columns_of_friction_that_no_description_gives_are_known_by_the_limit(
    double_pendulum_urdf, name
):
    model = load_urdf(double_pendulum_urdf).with_couplings({'elbow': 'shoulder'})
    prior = default_prior(Parameters(model), f'elbow.{name}')
    assert prior == Prior(0.0, pytest.approx(COLUMNS[name]), False)


def test_without_a_limit_of_effort_what_lifts_the_robot_stands_for_it(pendulum_urdf):
    parameters = Parameters(load_urdf(pendulum_urdf))
    prior = default_prior(parameters, 'pivot.torque_offset')
    # 1 kg at 0.5 m.
    assert prior == Prior(0.0, pytest.approx(0.02 * 9.81 * 0.5), False)
    # Nothing but a rotor.
    head, _, rest = pendulum_urdf.partition('<inertial>')
    light = head + rest.partition('</inertial>')[2].replace('<dynamics', '<dynamics armature="1"')
    empty = Parameters(load_urdf(light))
    prior = default_prior(empty, 'pivot.torque_offset')
    assert prior == Prior(0.0, pytest.approx(0.02), False)


@pytest.mark.parametrize(
    ('driven', 'is_left_out'), [((), False), (('elbow',), False), (('elbow', 'shoulder'), True)]
)
def test_a_shared_motor_is_left_out_where_the_motion_of_both_joints_is_given(
    double_pendulum_urdf, driven, is_left_out
):
    model = load_urdf(double_pendulum_urdf, actuators=dict.fromkeys(driven, 'driven'))
    parameters = Parameters(model.with_couplings({'elbow': 'shoulder'}))
    wishes = {n: PriorConfig() for n in ('upper.mass', 'elbow.coupled_armature', 'elbow.stribeck')}
    chosen = choose_priors(parameters, wishes)
    assert ('elbow.coupled_armature' in chosen.left_out) == is_left_out
    assert ('elbow.stribeck' in chosen.left_out) == bool(driven)
