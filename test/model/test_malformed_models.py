"""
Robots that cannot be simulated, and what is said about each.

Run as a script from the repository root, `PYTHONPATH=. python test/model/test_malformed_models.py`
writes the messages to docs/malformed_models.md; a test checks that they are the present ones.
"""

from pathlib import Path
import tempfile

import pytest

from sim2real_estimator.errors import ModelError
from sim2real_estimator.model.urdf.load import load_urdf

_DOCUMENT = Path(__file__).resolve().parents[2] / 'docs' / 'malformed_models.md'
_FILE = 'robot.urdf'

_INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
_FOREARM = """
  <link name="forearm">{inertial}</link>
  <joint name="elbow" type="revolute">
    <parent link="arm"/><child link="forearm"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
  </joint>""".format(inertial=_INERTIAL)
_ROBOT = """<robot name="arm">
  <link name="base"/>
  <link name="arm">{inertial}</link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><dynamics damping="0"/>
  </joint>{forearm}
</robot>""".format(inertial=_INERTIAL, forearm=_FOREARM)


def _changed(old, new):
    """Return the sound robot with the first `old` replaced."""
    assert old in _ROBOT
    return _ROBOT.replace(old, new, 1)


def _with(text):
    """Return the sound robot with more elements."""
    return _ROBOT.replace('</robot>', f'  {text}\n</robot>')


def _with_joint(ends, more='', kind='fixed'):
    """Return the sound robot with one more joint; ends: 'parent child'."""
    parent, child = ends.split()
    return _with(
        f'<joint name="extra" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/>{more}</joint>'
    )


def _with_elbow(inside):
    """Return the sound robot with more in its elbow."""
    return _changed('<axis xyz="0 1 0"/>\n', f'<axis xyz="0 1 0"/>{inside}\n')


def _gear(name, reduction):
    return (
        f'<transmission name="{name}"><joint name="elbow"/><actuator name="motor">'
        f'<mechanicalReduction>{reduction}</mechanicalReduction></actuator></transmission>'
    )


_BOMB = '<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>\n' + _changed(
    'name="arm"', 'name="&b;"'
)
_XACRO = _changed('<robot', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')

# What is wrong, the file, and what the message must say beside the name of the file.
CASES = [
    ('empty file', '', ['the file is empty', 'write the URDF again']),
    ('no XML', 'joints:\n  - elbow\n', ['not readable as XML', 'line 1', 'correct the XML']),
    ('XML that breaks off', _ROBOT[:200], ['not readable as XML', 'unclosed token: line 4']),
    ('entity expansion', _BOMB, ['<!DOCTYPE robot>', 'remove the declaration']),
    (
        'xacro elements',
        _XACRO.replace('</robot>', '<xacro:arm side="left"/></robot>'),
        ['<xacro:arm>', 'run "xacro'],
    ),
    (
        'xacro elements without namespace',
        _with('<xacro:arm side="left"/>'),
        ['unbound prefix', 'run "xacro'],
    ),
    (
        'xacro expression',
        _changed('mass value="1"', 'mass value="${m}"'),
        ["link 'arm'", '<mass value="${m}">', 'run "xacro'],
    ),
    ('another format', '<sdf version="1.9"/>', ['<sdf> and not <robot>', 'convert the SDF']),
    ('no links', '<robot name="arm"/>', ['no links', 'describe at least one']),
    ('link without name', _with('<link/>'), ['a <link> has no name', 'name="..."']),
    ('two links of one name', _with('<link name="arm"/>'), ["link 'arm'", 'rename one']),
    (
        'two joints of one name',
        _with_joint('base tool')
        .replace('extra', 'elbow')
        .replace('</robot>', '<link name="tool"/></robot>'),
        ["joint 'elbow'", 'rename one'],
    ),
    (
        'two inertials',
        _changed(_INERTIAL, _INERTIAL * 2),
        ["link 'arm'", '2 <inertial> elements', 'keep one'],
    ),
    (
        'inertial without mass',
        _changed('<mass value="1"/>', ''),
        ["link 'arm'", 'no <mass> in its <inertial>', 'add a <mass>'],
    ),
    (
        'inertia without izz',
        _changed(' izz="1"', ''),
        ["link 'arm'", '<inertia> has no izz', 'add izz'],
    ),
    (
        'NaN',
        _changed('mass value="1"', 'mass value="nan"'),
        ["link 'arm'", '<mass value="nan"> is not one finite number'],
    ),
    (
        'infinite origin',
        _changed('xyz="0 0 1"', 'xyz="0 0 inf"'),
        ["joint 'elbow'", '<origin xyz="0 0 inf"> is not 3 finite numbers'],
    ),
    (
        'word for a number',
        _changed('damping="0"', 'damping="low"'),
        ["joint 'shoulder'", '<dynamics damping="low"> is not one finite number'],
    ),
    (
        'negative mass',
        _changed('mass value="1"', 'mass value="-1"'),
        ["link 'arm'", 'mass -1 kg is negative', 'correct it'],
    ),
    (
        'inertia without mass',
        _changed('mass value="1"', 'mass value="0"'),
        ["link 'arm'", 'an inertia but no mass'],
    ),
    (
        'indefinite inertia',
        _changed('ixy="0"', 'ixy="1.5"'),
        ["link 'arm'", 'indefinite', '-0.5, 1, 2.5 kg m^2', "inertia_check='warn'"],
    ),
    (
        'triangle inequality broken',
        _changed('izz="1"', 'izz="2.1"'),
        ["link 'arm'", 'triangle inequality', '1, 1, 2.1 kg m^2', "inertia_check='warn'"],
    ),
    (
        'no inertial on a moving link',
        _ROBOT.replace(_FOREARM, _FOREARM.replace(_INERTIAL, '')),
        [
            "joint 'elbow'",
            'nothing resists',
            "link 'forearm' and all that hangs on it have no mass",
            "give link 'forearm' an <inertial>",
        ],
    ),
    (
        'point mass on its axis',
        _ROBOT.replace(_FOREARM, _FOREARM.replace('="1" i', '="0" i')),
        ["joint 'elbow'", 'no inertia in a direction this joint leaves free', '<inertial>'],
    ),
    (
        'two hinges on one axis',
        _with('<link name="ring"/>')
        .replace('<child link="forearm"/>', '<child link="ring"/>')
        .replace(
            '</robot>',
            '<joint name="twin" type="revolute"><parent link="ring"/>'
            '<child link="forearm"/><axis xyz="0 1 0"/></joint></robot>',
        ),
        ["joint 'elbow'", "link 'ring'", 'nothing resists'],
    ),
    (
        'unknown joint type',
        _changed('revolute', 'hinge'),
        ["joint 'shoulder'", "no joint type 'hinge'", 'revolute', 'floating'],
    ),
    (
        'joint without type',
        _changed(' type="revolute"', ''),
        ["joint 'shoulder'", '<joint> has no type', 'add type'],
    ),
    (
        'joint without parent',
        _changed('<parent link="base"/>', ''),
        ["joint 'shoulder'", 'no <parent> in its <joint>', 'add a <parent>'],
    ),
    (
        'unknown parent',
        _changed('parent link="arm"', 'parent link="amr"'),
        ["joint 'elbow'", "parent link 'amr' does not exist", 'use: arm, base, forearm'],
    ),
    (
        'unknown child',
        _changed('child link="arm"', 'child link="amr"'),
        ["joint 'shoulder'", "child link 'amr' does not exist", 'use: arm, base, forearm'],
    ),
    (
        'child of two joints',
        _with_joint('base forearm'),
        ["link 'forearm'", "joint 'elbow' and of joint 'extra'", 'remove one'],
    ),
    (
        'loop',
        _with_joint('forearm base'),
        ['hangs on itself', 'arm <- base <- forearm <- arm', 'remove a joint'],
    ),
    (
        'link that carries itself',
        _with_joint('tool tool').replace('</robot>', '<link name="tool"/></robot>'),
        ["link 'tool'", 'tool <- tool'],
    ),
    (
        'two roots',
        _with('<link name="table"/>'),
        ["'base', 'table'", 'all of them are roots', 'join the others'],
    ),
    (
        'zero axis',
        _changed('axis xyz="0 1 0"', 'axis xyz="0 0 0"'),
        ["joint 'shoulder'", 'axis (0.0, 0.0, 0.0) has the length 0', '0 0 1'],
    ),
    (
        'axis of two numbers',
        _changed('axis xyz="0 1 0"', 'axis xyz="0 1"'),
        ["joint 'shoulder'", '<axis xyz="0 1"> is not 3 finite numbers', '"0.0 0.0 1.0"'],
    ),
    (
        'negative damping',
        _changed('damping="0"', 'damping="-0.1"'),
        ["joint 'shoulder'", 'damping -0.1 is negative', 'zero or more'],
    ),
    (
        'limits the wrong way round',
        _with_elbow('<limit lower="1" upper="-1"/>'),
        ["joint 'elbow'", 'lower limit 1 is above its upper limit -1', 'swap'],
    ),
    (
        'mimic of an unknown joint',
        _with_elbow('<mimic joint="sholder"/>'),
        ["joint 'elbow'", "mimics joint 'sholder', which does not exist", 'shoulder'],
    ),
    (
        'mimic of itself',
        _with_elbow('<mimic joint="elbow"/>'),
        ["joint 'elbow'", 'elbow -> elbow', 'lead'],
    ),
    (
        'mimics in a circle',
        _with_elbow('<mimic joint="shoulder"/>').replace(
            '<dynamics damping="0"/>', '<mimic joint="elbow"/>'
        ),
        ["joint 'shoulder'", 'shoulder -> elbow -> shoulder', 'one of these joints lead'],
    ),
    (
        'mimic of a fixed joint',
        _with_elbow('<mimic joint="shoulder"/>').replace('revolute', 'fixed', 1),
        ["joint 'elbow'", "joint 'shoulder', which is fixed"],
    ),
    (
        'reduction that is no number',
        _with(_gear('gear', '1:50')),
        [
            "transmission 'gear', actuator 'motor'",
            '<mechanicalReduction>1:50',
            'one finite number',
        ],
    ),
    (
        'reduction of zero',
        _with(_gear('gear', 0)),
        ["joint 'elbow'", 'reduction is zero', 'motor turns per joint turn'],
    ),
    (
        'two reductions for one joint',
        _with(_gear('gear', 50) + _gear('spare', 80)),
        ["transmission 'spare'", "joint 'elbow'", '80', "transmission 'gear' gives 50"],
    ),
]


def _message(text, folder):
    """Return the error that loading `text` from a file in `folder` gives."""
    path = Path(folder) / _FILE
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        load_urdf(path)
    return str(caught.value).replace(str(path), _FILE)


def _document():
    """Return the page of all messages."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [f'| {name} | `{_message(text, folder)}` |' for name, text, _ in CASES]
    return '\n'.join(
        [
            '# Malformed models',
            '',
            'What `load_urdf` says about a robot it cannot use: the file, the element, '
            'what is wrong and what to do.',
            'The files themselves are in `test/model/test_malformed_models.py`, '
            'which writes this page:',
            '`PYTHONPATH=. python test/model/test_malformed_models.py`.',
            '',
            '| what is wrong | message |',
            '|---|---|',
            *rows,
            '',
        ]
    )


def test_the_robot_that_all_cases_spoil_is_sound(tmp_path):
    path = tmp_path / _FILE
    path.write_text(_ROBOT)
    assert load_urdf(path).velocity_size == 2


@pytest.mark.parametrize(
    'text, fragments',
    [case[1:] for case in CASES],
    ids=[case[0].replace(' ', '_') for case in CASES],
)
def test_message_names_file_element_and_remedy(text, fragments, tmp_path):
    message = _message(text, tmp_path)
    assert message.startswith(f'{_FILE}: ')
    assert '; ' in message
    for fragment in fragments:
        assert fragment in message


def test_document_holds_the_present_messages():
    assert _DOCUMENT.read_text() == _document()


if __name__ == '__main__':
    _DOCUMENT.write_text(_document())
