"""URDF text in which attributes change and nothing else does."""

import pytest

from sim2real_estimator.errors import ModelError
from sim2real_estimator.model.urdf.text import UrdfText

TEXT = b"""<?xml version='1.0' encoding='utf-8'?>\r
<!-- <link name="arm"><mass value="3"/></link> -->
<robot name="r\xc3\xb6bot">
\t<link   name = 'arm' >
    <inertial><mass\n value = '1.50'/> <!-- heavy > light -->
      <inertia ixx="1"/></inertial>
    <visual><geometry><mesh filename="a>b.dae"/></geometry></visual>
  </link>
  <link name="tip"/>
  <joint name="arm" type="fixed"><![CDATA[<origin xyz="9"/>]]>
    <parent link="arm"/></joint>
</robot>
<!-- the end -->
"""


def text():
    return UrdfText(TEXT, 'robot.urdf')


def test_without_changes_it_is_the_same():
    assert text().changed() == TEXT


def test_an_attribute_is_replaced_between_its_quotes():
    urdf = text()
    inertial = urdf.named('link', 'arm').child('inertial')
    urdf.set(inertial.child('mass'), 'value', '2')
    urdf.set(inertial.child('inertia'), 'ixx', '7')
    assert urdf.changed() == TEXT.replace(b"'1.50'", b"'2'").replace(b'ixx="1"', b'ixx="7"')


def test_an_attribute_that_is_not_there_comes_last():
    urdf = text()
    urdf.set(urdf.named('link', 'arm').child('inertial').child('inertia'), 'iyy', '7')
    assert urdf.changed() == TEXT.replace(b'ixx="1"', b'ixx="1" iyy="7"')


def test_an_element_is_added_in_line_with_the_others():
    urdf = text()
    urdf.add(urdf.named('joint', 'arm'), '<dynamics damping="1"/>')
    start = b'type="fixed">'
    assert urdf.changed().startswith(TEXT[: TEXT.index(start)])
    assert b'<dynamics damping="1"/><![CDATA[<origin xyz="9"/>]]>' in urdf.changed()
    urdf = text()
    urdf.add(urdf.robot, '<material name="red"/>')
    assert urdf.changed() == TEXT.replace(b'\n\t<link', b'\n\t<material name="red"/>\n\t<link')


def test_an_element_without_content_is_opened():
    urdf = text()
    urdf.add(urdf.named('link', 'tip'), '<inertial/>')
    assert urdf.changed() == TEXT.replace(
        b'<link name="tip"/>', b'<link name="tip"><inertial/></link>'
    )


def test_a_comment_stands_before_the_robot():
    urdf = text()
    urdf.insert_comment('  why')
    assert urdf.changed() == TEXT.replace(b'<robot', b'<!--\n  why\n-->\n<robot')


def test_utf_16_is_refused_with_the_remedy():
    with pytest.raises(ModelError, match='robot.urdf: it is in UTF-16; save it in UTF-8'):
        UrdfText(TEXT.decode().encode('utf-16'), 'robot.urdf')
