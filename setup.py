"""Build script: colcon and pip both install the package from here (docs/setup.md)."""

from glob import glob
import os

from setuptools import find_packages, setup

package_name = 'sim2real_estimator'
version = '0.1.0'

# What the package needs, declared here once. test/test_package.py holds the requirement files and
# package.xml against it. The lower bounds are Ubuntu 24.04's where that has the library, and else
# the oldest with which a recording was identified; requirements.txt pins what is tested always.
RUNTIME = [
    'backports.zstd>=1.0',
    'casadi>=3.8',
    'cmaes>=0.10',
    'llvmlite>=0.45',
    'numpy>=1.26',
    'pyyaml>=6.0.1',
    'rich>=13.7',
    'rosbags>=0.11.6',
    'scipy>=1.11',
    'threadpoolctl>=3.2',
    'torch>=2.3',
    'transforms3d>=0.4.1',
]
EXTRAS = {
    # The HTML report of `identify`, and the pictures of `demo` and `reproduce`.
    'report': ['jinja2>=3.1', 'matplotlib>=3.6'],
    # Checks of an exported MJCF file by MuJoCo itself.
    'mujoco': ['mujoco>=3.2'],
    # examples/randomize_gymnasium.py.
    'gymnasium': ['gymnasium>=1.0', 'mujoco>=3.2'],
    # The command `rerun`.
    'rerun': ['rerun-sdk>=0.23'],
    # The site of the documents, `make docs`.
    'docs': ['mkdocs>=1.6', 'mkdocs-material>=9.5'],
    # Tests and style; more of it, for colcon and the peers, is in requirements-*.txt.
    'dev': ['pytest>=8,<9', 'pytest-xdist>=3.5', 'ruff>=0.17.5'],
}


def share(folder):
    """Pair each directory under `folder` that holds files with its place in share/."""
    return [
        (os.path.join('share', package_name, root), [os.path.join(root, name) for name in names])
        for root, _, names in sorted(os.walk(folder))
        if names and '__pycache__' not in root
    ]


def text_of(name):
    """Return the text of a file beside this one, which colcon --symlink-install links to."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), name)) as file:
        return file.read()


setup(
    name=package_name,
    version=version,
    packages=find_packages(include=[package_name, package_name + '.*']),
    package_data={package_name + '.posterior.report': ['templates/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        # Where ros2 run and ros2 launch look; the console_scripts are in bin/.
        ('lib/' + package_name, sorted(glob('scripts/*'))),
        # The readers of C++, and what find_package of CMake looks for.
        *share('cpp/include'),
        ('share/' + package_name + '/cmake', sorted(glob('cpp/*.cmake'))),
        *share('config'),
        *share('launch'),
    ],
    python_requires='>=3.10',
    install_requires=RUNTIME,
    extras_require=EXTRAS,
    zip_safe=True,
    author='Seed 2ea298be maintainers',
    author_email='maintainers@users.noreply.a-seed-2ea298be.example',
    maintainer='Seed 2ea298be maintainers',
    maintainer_email='maintainers@users.noreply.a-seed-2ea298be.example',
    url='https://a-seed-2ea298be.example/sim2real_estimator',
    description="Online Bayesian estimation of a robot's physical parameters from ROS 2 topics.",
    long_description=text_of('README.md'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    keywords=['ROS', 'robot', 'system identification', 'payload', 'friction', 'calibration'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Science/Research',
        'License :: OSI Approved :: Apache Software License',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Topic :: Scientific/Engineering',
    ],
    entry_points={
        'console_scripts': [
            'sim2real-estimator = sim2real_estimator.cli:main',
            'sim2real_estimator_node = sim2real_estimator.app.nodes:estimator',
            'adviser = sim2real_estimator.app.nodes:adviser',
            'randomizer = sim2real_estimator.app.nodes:randomizer',
            'controller = sim2real_estimator.app.nodes:controller',
            'payload_bridge = sim2real_estimator.app.nodes:payload_bridge',
            'synthetic_robot = sim2real_estimator.app.nodes:synthetic_robot',
        ],
    },
)
