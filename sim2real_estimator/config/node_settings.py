"""The settings that only a running node heeds, and the parameters it starts with."""

from dataclasses import dataclass

from .declaring import setting


@dataclass(frozen=True)
class NodeConfig:
    """Settings of the ROS node only."""

    robot_description: bool = setting(
        False,
        'take the robot description from the topic robot_description instead of model.urdf; if '
        'another one comes, the filter stops until the node is configured again',
    )
    initial_posterior: str = setting(
        '',
        'posterior file to begin with, or a folder whose newest one is taken, relative to the '
        'folder of this file; empty: the prior',
    )
    rate: float = setting(
        50.0, 'how often estimates are published at most', unit='1/s', above=0, dynamic=True
    )
    realtime_priority: int = setting(
        0,
        'SCHED_FIFO priority of the thread that receives messages; if the system refuses it there '
        'is a warning; 0: none',
        low=0,
        high=99,
    )


@dataclass(frozen=True)
class StartParameters:
    """Parameters of the ROS node that say where its settings are; no part of the settings."""

    config_file: str = setting(
        '',
        'YAML file with the settings; a relative path is from where the node was started',
        required=True,
    )
    autostart: bool = setting(
        True, 'configure and activate at start; otherwise use the lifecycle services'
    )


@dataclass(frozen=True)
class SavingConfig:
    """When a running node writes its posterior to a file."""

    folder: str = setting(
        '',
        'folder for posterior files, created if missing; relative to the folder of this file; '
        'empty: only the service ~/save writes files, into the folder '
        'sim2real_estimator/NAME-OF-THIS-FILE of $XDG_STATE_HOME (~/.local/state)',
    )
    period: float = setting(
        60.0, 'time between two files; a last one is written at the end', unit='s', above=0
    )
    keep: int = setting(5, 'how many of the latest files are kept', low=1, dynamic=True)


@dataclass(frozen=True)
class SamplesConfig:
    """Draws of physical parameters for randomization."""

    count: int = setting(200, 'how many are drawn', low=1, high=100_000, dynamic=True)
    seed: int = setting(0, 'seed of the draws', low=0, dynamic=True)


@dataclass(frozen=True)
class MarkersConfig:
    """What rviz shows."""

    rate: float = setting(
        5.0, 'how often the markers are published at most', unit='1/s', above=0, dynamic=True
    )
    ghosts: int = setting(
        6,
        'for how many draws of the posterior the future motion is shown',
        low=0,
        high=50,
        dynamic=True,
    )
    horizon: float = setting(
        1.0, 'how far ahead this motion is simulated', unit='s', above=0, high=10, dynamic=True
    )
    kernels: tuple[str, ...] = setting(
        (),
        'names of two parameters in whose plane the mixture is drawn; empty: the first two',
        dynamic=True,
    )
