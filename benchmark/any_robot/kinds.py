"""Six robots of different kinds, from the package example-robot-data."""

from dataclasses import dataclass
from pathlib import Path
import sysconfig
from xml.etree import ElementTree

FOLDER = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots')


@dataclass(frozen=True)
class Kind:
    """
    A robot.

    title; urdf: file in the folder of robots; seconds: of its recording; options: of `init`;
    part: the link of the subtree that is taken alone, where that is not all, with what carries
    it; still: beginnings of the names of joints that are held.
    """

    title: str
    urdf: str
    seconds: float = 10.0
    options: tuple = ()
    part: str = ''
    still: tuple = ()

    @property
    def exists(self):
        """Whether the file is there."""
        return (FOLDER / self.urdf).exists()

    def described(self):
        """Return the URDF as text."""
        text = (FOLDER / self.urdf).read_text(encoding='utf-8')
        return _subtree(text, self.part) if self.part else text


KINDS = {
    'arm': Kind('UR5, an arm', 'ur_description/urdf/ur5_robot.urdf'),
    'hand': Kind('Allegro hand', 'allegro_hand_description/urdf/allegro_right_hand.urdf'),
    'quadruped': Kind(
        'Solo, a quadruped that hangs in a stand, its base seen by motion capture',
        'solo_description/robots/solo.urdf',
        options=('--base', 'floating'),
    ),
    'leg': Kind(
        'a leg of Solo, of two joints, on a bench',
        'solo_description/robots/solo.urdf',
        part='FL_UPPER_LEG',
    ),
    'mobile': Kind(
        'TIAGo, a mobile manipulator that stands still',
        'tiago_description/robots/tiago_no_hand.urdf',
        still=('wheel_',),
    ),
    'humanoid': Kind('an arm of Talos, a humanoid', 'talos_data/robots/talos_left_arm.urdf'),
}


def _subtree(text, part):
    """Return the URDF of a link and all that hangs on it, on the link that carries it."""
    robot = ElementTree.fromstring(text)
    joints = robot.findall('joint')
    ends = {j: (j.find('parent').get('link'), j.find('child').get('link')) for j in joints}
    kept, links = [], {part}
    while found := [j for j in joints if j not in kept and ends[j][0] in links]:
        kept += found
        links.update(ends[j][1] for j in found)
    carriers = [j for j in joints if ends[j][1] == part]
    kept += carriers
    links.update(ends[j][0] for j in carriers)
    for element in list(robot):
        is_other_link = element.tag == 'link' and element.get('name') not in links
        if is_other_link or element.tag == 'joint' and element not in kept:
            robot.remove(element)
    return ElementTree.tostring(robot, encoding='unicode')
