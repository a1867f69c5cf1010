"""In a venv without any package of ROS a recording is identified, to the same files."""

import os
from pathlib import Path
import subprocess
import sysconfig
import venv

from test_architecture import is_ros
from test_identify import every_file

from sim2real_estimator import identify

HERE = Path(__file__).parent
SCRIPT = """
import importlib.util, sys
assert not [name for name in ('rclpy', 'sensor_msgs') if importlib.util.find_spec(name)]
from killed import main
main(sys.argv[1], sys.argv[2], 0)
assert not [name for name in sys.modules if name.split('.')[0] in ('rclpy', 'sensor_msgs')]
"""


def venv_without_ros(folder):
    """Return the Python of a venv that has all packages of this one but those of ROS."""
    venv.create(folder, symlinks=True)
    scheme = {'base': str(folder), 'platbase': str(folder)}
    target = Path(sysconfig.get_path('purelib', 'venv', scheme))
    for key in ('purelib', 'platlib'):
        for path in Path(sysconfig.get_path(key)).iterdir():
            place = target / path.name
            if path.suffix != '.pth' and not is_ros(path.stem) and not place.exists():
                place.symlink_to(path)
    return folder / 'bin' / 'python'


def test_no_ros_is_needed(bag, config, tmp_path):
    python = venv_without_ros(tmp_path / 'venv')
    own = ('LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')
    environment = {key: value for key, value in os.environ.items() if key not in own}
    environment['PYTHONPATH'] = os.pathsep.join(map(str, (HERE, HERE.parent, HERE.parents[1])))
    output = tmp_path / 'without'
    subprocess.run([python, '-c', SCRIPT, bag, output], env=environment, check=True)
    identify(bag, config, tmp_path / 'with', held_out=0)
    assert every_file(output) == every_file(tmp_path / 'with')
