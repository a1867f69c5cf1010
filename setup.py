"""Build script: colcon and pip both install the package from here (docs/setup.md)."""

from glob import glob
import os

from setuptools import find_packages, setup

package_name = 'sim2real_estimator'


def share(folder):
    """Pair each directory under `folder` that holds files with its place in share/."""
    return [
        (os.path.join('share', package_name, root), [os.path.join(root, name) for name in names])
        for root, _, names in sorted(os.walk(folder))
        if names and '__pycache__' not in root
    ]


setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, package_name + '.*']),
    package_data={package_name + '.posterior.report': ['templates/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        # Where ros2 run and ros2 launch look; the console_scripts are in bin/.
        ('lib/' + package_name, sorted(glob('scripts/*'))),
        *share('config'),
        *share('launch'),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    maintainer='Seed 2ea298be maintainers',
    maintainer_email='maintainers@users.noreply.a-seed-2ea298be.example',
    description="Online Bayesian estimation of a robot's physical parameters from ROS 2 topics.",
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'sim2real-estimator = sim2real_estimator.cli:main',
            'sim2real_estimator_node = sim2real_estimator.ros.node:main',
            'synthetic_robot = sim2real_estimator.app.synthetic.node:main',
        ],
    },
)
