from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import pytest

from sim2real_estimator.config import (
    Config,
    document,
    flattened,
    load_config,
    read_config,
    to_yaml,
    with_values,
)
from sim2real_estimator.config.node_settings import StartParameters
from sim2real_estimator.config.parameters_page import parameters_page
from sim2real_estimator.config.reading import check_facts, declared
from sim2real_estimator.config.settings_tree import FramesConfig, PriorConfig, SensorConfig
from sim2real_estimator.errors import ConfigError
from sim2real_estimator.estimation.estimators.gaussian_sum import GaussianSum
from sim2real_estimator.estimation.noise import NOISES
from sim2real_estimator.setup.build import build_parts
from sim2real_estimator.setup.sources import (
    build_efforts,
    build_model,
    build_sensors,
    listed,
    topics,
)

ROOT = Path(__file__).resolve().parent.parent
# Parameters of other nodes stand beside them.
_OTHERS = ('payload_bridge.yaml', 'randomization.yaml', 'randomizer.yaml')
SHIPPED = sorted(p for p in (ROOT / 'config').glob('*.yaml') if p.name not in _OTHERS)
MINIMAL = """
model: {urdf: arm.urdf}
joints: {elbow: {effort: commanded}}
sensors:
  encoders: {kind: joint_positions, topic: joint_states, joints: [elbow], sd: 1e-3}
estimate:
  '*.mass': {}
  upper.com.x: {mean: 0.1, sd: 0.02}
"""


def sections(kind=Config):
    """Return all classes of the tree."""
    found = {kind}
    for name in declared(kind):
        hint = get_type_hints(kind)[name]
        for inner in (hint, *get_args(hint)):
            if is_dataclass(inner):
                found |= sections(inner)
    return found


def test_settings_are_read():
    config = read_config(MINIMAL)
    assert config.model.urdf == 'arm.urdf'
    assert config.sensors['encoders'] == SensorConfig(
        'joint_positions', 'joint_states', joints=('elbow',), sd=0.001
    )
    assert config.estimate == {
        '*.mass': PriorConfig(),
        'upper.com.x': PriorConfig(mean=0.1, sd=0.02),
    }
    assert config.frames == FramesConfig()


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.name)
def test_every_shipped_config_loads_and_is_written_as_its_declarations_say(path):
    config = load_config(path)
    build_parts(config)
    head = ''.join(
        line + '\n' for line in path.read_text().split('\n\n')[0].splitlines() if line[0] == '#'
    )
    assert path.read_text() == f'{head}\n{to_yaml(config)}'


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.name)
def test_what_is_read_is_known_without_the_robot(path):
    config = load_config(path)
    model = build_model(config)
    sources = *build_sensors(config, model), *build_efforts(config, model)
    built = {(s.name, topics(config)[s.name], s.message_type, tuple(s.joints)) for s in sources}
    without = {(s.name, s.topic, s.message_type, s.joints) for s in listed(config)}
    # A body of motion capture names no joints, whichever move it.
    named = {each for each in without if each[3]}
    assert named <= built
    assert {each[:3] for each in without} == {each[:3] for each in built}


def test_the_file_to_copy_has_every_setting_of_the_estimator_at_its_default():
    config = load_config(ROOT / 'config' / 'estimator.yaml')
    estimator = GaussianSum()
    told = {**config.estimator.settings, 'noise': NOISES[config.estimator.settings['noise']]()}
    # What no YAML can say is left out.
    for field in fields(GaussianSum):
        if field.name not in ('seed', 'detector'):
            value = told.pop(field.name)
            assert getattr(estimator, field.name) == (
                tuple(value) if isinstance(value, list) else value
            )
    assert not told
    for name in declared(Config):
        if name not in ('model', 'joints', 'sensors', 'estimate', 'estimator'):
            assert getattr(config, name) == getattr(read_config(MINIMAL), name)


def test_the_file_to_copy_names_the_parameters_of_the_node_that_are_no_settings():
    text = (ROOT / 'config' / 'estimator.yaml').read_text()
    for name in declared(StartParameters):
        assert name in text.partition('model:')[0]


def test_a_config_survives_writing_and_reading():
    config = with_values(
        read_config(MINIMAL),
        {
            'frames.gap': 1e-7,
            'simulation.max_step': 12,
            'model.joint_types.elbow': 'fixed',
            'model.actuators.elbow.kind': 'dc_motor',
            'model.actuators.elbow.values.resistance': 2,
            'estimator.settings.horizons': [12, 25],
            'estimate.*.inertia.xx.log': False,
            'sensors.no.topic': "it's: #odd",
            'sensors.no.kind': 'marker',
            'sensors.no.point': [1, 2.5, -3],
        },
    )
    again = read_config(to_yaml(config))
    assert again == config
    assert flattened(again) == flattened(config)


def test_every_setting_is_under_its_description():
    text = ' '.join(line.strip(' #') for line in to_yaml(read_config(MINIMAL)).splitlines())
    for kind in sections():
        for name, declaration in declared(kind).items():
            assert f'{name}:' in text
            assert ' '.join(declaration.metadata['description'].split()) in text


def test_dotted_paths_name_every_setting():
    config = read_config(MINIMAL)
    values = flattened(config)
    assert values['frames.max_rate'] == 250
    assert values['estimate.upper.com.x.sd'] == 0.02
    assert values['sensors.encoders.joints'] == ('elbow',)
    assert with_values(config, values) == config


@pytest.mark.parametrize(
    ('path', 'value', 'message'),
    [
        ('frames.max_rat', 1.0, 'frames.max_rat: there is no such setting; choose from reference'),
        ('frames.max_rate', -1.0, 'frames.max_rate: is -1.0; give a value above 0'),
        ('estimate.*.mass.sd', 'big', "estimate.*.mass.sd: is 'big'; give a number"),
        ('joints.elbow.effort', 'some', "joints.elbow.effort: is 'some'; choose one of none"),
    ],
)
def test_a_wrong_value_at_a_path_is_an_error(path, value, message):
    with pytest.raises(ConfigError) as caught:
        with_values(read_config(MINIMAL), {path: value})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ('more', 'message'),
    [
        (
            'frames: {max_rat: 1}',
            "frames.max_rat: there is no such setting; did you mean 'max_rat",
        ),
        ('colour: red', 'colour: there is no such setting; choose from model, joints'),
        ('frames: {max_rate: fast}', "frames.max_rate: is 'fast'; give a number"),
        ('frames: {max_rate: .nan}', 'frames.max_rate: is nan; give a number'),
        ('frames: {max_rate: true}', 'frames.max_rate: is True; give a number'),
        ('frames: {lateness: -1}', 'frames.lateness: is -1.0; give a value at least 0'),
        ('frames: 5', "frames: is 5; give settings, as 'name: value'"),
        ('estimator: {seed: 0.5}', 'estimator.seed: is 0.5; give a whole number'),
        ('estimator: {name: 3}', 'estimator.name: is 3; give text'),
        ('simulation: {max_step: 0}', 'simulation.max_step: is 0.0; give a value at least 1e-06'),
        ('model: {urdf: a, base: flying}', "model.base: is 'flying'; choose one of fixed, float"),
        ('sensors: {}', 'sensors: is missing; give it: name -> sensor'),
        ('sensors: {a: {topic: b}}', 'sensors.a.kind: is missing'),
        ('sensors: {a: {kind: b, topic: c, joints: d}}', "sensors.a.joints: is 'd'; give a list"),
        ('sensors: {3: {kind: b, topic: c}}', 'sensors: is 3; give a name; put it in quotes'),
        ('estimate: {a.mass: {fixed: maybe}}', "fixed: is 'maybe'; give true or false"),
    ],
)
def test_what_cannot_be_a_setting_is_an_error_with_key_value_and_remedy(more, message):
    section = more.partition(':')[0]
    kept = '\n'.join(
        block
        for block in ('\n' + MINIMAL.strip()).replace('\n  ', '\r  ').split('\n')
        if not block.startswith(f'{section}:')
    ).replace('\r', '\n')
    with pytest.raises(ConfigError) as caught:
        read_config(f'{kept}\n{more}\n', 'my.yaml')
    assert str(caught.value).startswith('my.yaml: ')
    assert message in str(caught.value)


def test_files_that_cannot_be_read_are_errors(tmp_path):
    with pytest.raises(ConfigError, match='cannot be read'):
        load_config(tmp_path / 'none.yaml')
    with pytest.raises(ConfigError, match='is not YAML'):
        read_config('a: [')
    with pytest.raises(ConfigError, match='the file: is'):
        read_config('- a')


def test_declarations_are_true_to_themselves():
    for kind in sections():
        assert kind.__doc__
        for name, declaration in declared(kind).items():
            facts = declaration.metadata
            assert facts['description']
            assert set(facts) <= {
                'description', 'unit', 'low', 'high', 'above', 'choices', 'required', 'dynamic',
            }  # fmt: skip
            hint = get_type_hints(kind)[name]
            if not facts.get('required') and get_origin(hint) is not dict:
                check_facts(facts, getattr(kind(), name), name)


def test_the_pages_of_the_documents_are_generated():
    assert (ROOT / 'docs' / 'configuration.md').read_text() == document()
    assert (ROOT / 'docs' / 'parameters.md').read_text() == parameters_page()


def shipped():
    return load_config(ROOT / 'config' / 'double_pendulum.yaml')


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'sensors.encoders.kind': 'joint_position'}, "did you mean 'joint_positions'"),
        ({'sensors.encoders.sd': None}, 'sensors.encoders.sd: a joint_positions needs it'),
        ({'sensors.encoders.link': 'upper'}, 'sensors.encoders.link: .* has no use for it'),
        ({'joints.elbw.effort': 'none'}, "joints.elbw: .* did you mean 'elbow'"),
        ({'frames.reference': 'encoder'}, "frames.reference: .* did you mean 'encoders'"),
        ({'estimator.name': 'magic'}, 'estimator.name: .*gaussian_sum'),
        ({'estimator.settings.start': 3}, "settings.start: .* did you mean 'starts'"),
        ({'estimator.settings.noise': 'red'}, 'settings.noise: .*normal, student'),
        (
            {'joints.elbow.effort': 'none', 'model.actuators.elbow.kind': 'dc_motor'},
            'joints.elbow.effort: .*drop one',
        ),
        (
            {'joints.elbow.effort': 'driven', 'model.actuators.elbow.kind': 'dc_motor'},
            'joints.elbow.effort: .*drop one',
        ),
        ({'model.actuators.elbow.kind': 'driven'}, 'joints.elbow: {effort: driven}'),
        (
            {'joints.elbow.effort': 'unknown', 'joints.shoulder.effort': 'driven'},
            'estimate: no motion .* joints.JOINT.effort',
        ),
    ],
)
def test_settings_that_do_not_fit_the_robot_are_errors(values, message):
    with pytest.raises(ConfigError, match=message):
        build_parts(with_values(shipped(), values))


def test_a_sensor_may_not_take_the_name_of_the_efforts():
    config = shipped()
    sensors = {'commanded_efforts': config.sensors['encoders']}
    with pytest.raises(ConfigError, match='sensors.commanded_efforts'):
        build_parts(replace(config, sensors=sensors))


def test_every_source_has_a_topic():
    changes = {'joints.shoulder.effort': 'measured', 'efforts.commanded': 'joint_commands'}
    config = with_values(shipped(), changes)
    *_, sources, _ = build_parts(config)
    assert topics(config) == {
        'encoders': 'joint_states',
        'measured_efforts': 'joint_states',
        'commanded_efforts': 'joint_commands',
    }
    assert {source.name for source in sources} == set(topics(config))
    assert [source.places for source in sources[1:]] == [(0,), (1,)]


@pytest.mark.parametrize(
    ('effort', 'expected'),
    [
        ('measured', 'measured_torque'),
        ('commanded', 'gaussian_sum'),
        ('none', 'multiple_shooting'),
    ],
)
def test_who_is_not_told_takes_the_estimator_that_fits_the_efforts(effort, expected):
    efforts = {f'joints.{joint}.effort': effort for joint in ('shoulder', 'elbow')}
    problem, estimator, *_ = build_parts(with_values(shipped(), efforts))
    assert estimator.name == expected
    assert (problem.torque is not None) == (effort == 'measured')


def test_windows_take_measured_efforts_and_every_joint_is_pushed():
    efforts = {f'joints.{joint}.effort': 'measured' for joint in ('shoulder', 'elbow')}
    changes = {**efforts, 'estimator.name': 'multiple_shooting'}
    problem, estimator, *_ = build_parts(with_values(shipped(), changes))
    assert estimator.name == 'multiple_shooting' and problem.torque is None
    labels = [problem.labels[k] for k in problem.constant_efforts.places]
    assert labels == ['shoulder.torque_offset', 'elbow.torque_offset']
    assert (problem.constant_efforts.sd > 0).all()


@pytest.mark.parametrize('name', ['gaussian_sum', 'gumbel_mixture'])
def test_who_takes_efforts_as_what_acts_takes_none_that_are_measured(name):
    changes = {'joints.elbow.effort': 'measured', 'estimator.name': name}
    message = f"joints.elbow.effort: is 'measured', .* '{name}', .*'commanded'.* be auto"
    with pytest.raises(ConfigError, match=message):
        build_parts(with_values(shipped(), changes))


def test_settings_of_another_estimator_are_an_error():
    changes = {'joints.elbow.effort': 'measured', 'estimator.settings.starts': 1}
    with pytest.raises(ConfigError, match="settings.starts: 'measured_torque' has no settings"):
        build_parts(with_values(shipped(), changes))


def test_measured_torques_without_encoders_are_an_error():
    changes = {'joints.elbow.effort': 'measured', 'sensors.encoders.joints': ['elbow']}
    with pytest.raises(ConfigError, match="no sensor has shoulder; .*'commanded'"):
        build_parts(with_values(shipped(), changes))


def test_settings_reach_the_estimator():
    config = with_values(
        shipped(),
        {
            'estimator.seed': 7,
            'estimator.settings.starts': 3,
            'estimator.settings.noise': 'student',
        },
    )
    _, estimator, *_ = build_parts(config)
    assert (estimator.seed, estimator.starts) == (7, 3)
    assert estimator.noise.degrees == 4


def without(config, joint):
    """Return a config that does not list a joint."""
    joints = {name: wish for name, wish in config.joints.items() if name != joint}
    return replace(config, joints=joints)


UNREPORTED = {
    'driven': lambda config: with_values(config, {'joints.elbow.effort': 'driven'}),
    'unknown': lambda config: with_values(config, {'joints.elbow.effort': 'unknown'}),
    'unlisted': lambda config: without(config, 'elbow'),
    'motor': lambda config: with_values(
        without(config, 'elbow'), {'model.actuators.elbow.kind': 'dc_motor'}
    ),
}


@pytest.mark.parametrize('word', UNREPORTED)
def test_a_joint_whose_effort_nobody_reports_is_driven_and_has_nothing_inside(word, caplog):
    config = with_values(shipped(), {'estimate.elbow.damping.sd': 0.5})
    problem, _, _, sources, _ = build_parts(UNREPORTED[word](config))
    assert problem.model.joint('elbow').actuator.prescribes_motion
    assert [source.places for source in sources[1:]] == [(0,)]
    assert 'shoulder.damping' in problem.parametrization.names
    assert not any(name.startswith('elbow.') for name in problem.parametrization.names)
    assert not any('elbow' in label for label in problem.labels)
    assert "'elbow.damping' is not estimated: nobody reports" in caplog.text


def test_joints_without_effort_take_no_command():
    config = with_values(shipped(), {'joints.elbow.effort': 'none'})
    problem, _, stream, sources, _ = build_parts(config)
    assert problem.model.commands == ('shoulder',)


def test_a_robot_that_no_node_waits_for_has_to_be_there():
    with pytest.raises(ConfigError, match='model.urdf: is missing; .*node.robot_description'):
        build_parts(with_values(shipped(), {'model.urdf': ''}))
