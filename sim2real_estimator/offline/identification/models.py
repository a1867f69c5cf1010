"""The robot as identified, for other programs, in the folder of a result."""

from ...errors import DataError, ModelError, OutputError
from ...posterior.export import robot_of, write_mjcf, write_randomization, write_urdf

# Where there is none, why.
REASON = 'no_robot.txt'


def write_models(found, folder):
    """Write URDF, MJCF and draws of an `Identification`, or why no robot is like that."""
    try:
        robot = robot_of(found.problem, found.posterior)
        write_urdf(robot, folder / 'robot.urdf')
        write_mjcf(robot, folder / 'robot.xml')
        write_randomization(robot, folder / 'randomization.json')
    except OutputError:
        raise
    except (DataError, ModelError) as error:
        (folder / REASON).write_text(f'{error}\n', encoding='utf-8')
