"""
The node `adviser`: suggests the next motion when it is asked, and moves nothing.

It reads the posterior that an estimator has saved (its service `~/save`), and publishes the motion
under its own name, where no driver listens: whoever wants it made sends it on.
"""

from pathlib import Path
import sys

from ...ros import exit_without_ros

if __name__ == '__main__':
    # Before imports that would end in a traceback.
    exit_without_ros('adviser')

from builtin_interfaces.msg import Duration
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...errors import ConfigError, EstimatorError
from ...ros.process import run, serve

NAME = 'adviser'
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# So many parameters are listed in the answer; all in ~/advice.
_LISTED = 10


class AdviserNode(Node):
    """A motion and its reasons, for each call of ~/suggest."""

    def __init__(self):
        """Declare the parameters, which the next call takes as they are then."""
        super().__init__(NAME)
        declared = (
            ('posterior', '', 'saved posterior, or the folder of a result'),
            ('config_file', '', 'settings of the estimation (those in the posterior)'),
            ('limits', '', 'YAML of joint limits, spheres about links and the floor'),
            ('wishes', [''], 'names or patterns of parameters (all that is not identified)'),
            ('seconds', 10.0, 'how long the motion lasts'),
            ('around', [''], 'JOINT=POSITION: configuration about which to move'),
            ('start', [''], 'JOINT=POSITION: where it begins and ends (wherever is best)'),
            ('swing', 1.0, 'how far at most to either side [rad or m]'),
            ('range_share', 0.9, "share of each joint's range that is used"),
            ('speed_share', 0.5, "share of each joint's speed limit that is used"),
            ('effort_share', 0.8, "share of each joint's effort limit that is used"),
            ('seed', 0, 'of motions at random'),
        )
        self._names = [name for name, *_ in declared]
        for name, value, about in declared:
            self.declare_parameter(name, value, ParameterDescriptor(description=about))
        self._trajectories = self.create_publisher(JointTrajectory, '~/trajectory', _LATCHED)
        self._words = self.create_publisher(String, '~/advice', _LATCHED)
        self.create_service(Trigger, '~/suggest', self._suggest)
        self.get_logger().info('waiting for ~/suggest; nothing is ever moved by this node')

    def close(self):
        """End the node."""
        self.destroy_node()

    def _suggest(self, request, response):
        """Suggest a motion, and publish it."""
        try:
            advice = self._advice()
        except EstimatorError as error:
            response.success, response.message = False, str(error)
            self.get_logger().warning(f'no motion is suggested: {error}')
            return response
        self._trajectories.publish(message_of(advice.plan.motion))
        self._words.publish(String(data='\n'.join(advice.lines())))
        response.success, response.message = True, '\n'.join(advice.lines(_LISTED))
        return response

    def _advice(self):
        """Return the `Advice` by the parameters as they are now."""
        # Imported here, so that the node is there at once.
        from ...excitation.advice import advise
        from ...excitation.limits import places_of, safety_of, Shares
        from ...excitation.planning import PlanOptions
        from ...posterior.export import opened
        from ..export_command import posterior_in

        value = {name: self.get_parameter(name).value for name in self._names}
        if not value['posterior']:
            raise ConfigError(
                'parameter posterior: is empty; give the file that ~/save of the estimator writes'
            )
        for name in ('seconds', 'swing', 'range_share', 'speed_share', 'effort_share'):
            if not 0 < value[name] <= (1 if name.endswith('share') else 1e6):
                raise ConfigError(f'parameter {name}: is {value[name]:g}, which is out of range')
        path = posterior_in(Path(value['posterior']))
        problem, posterior = opened(path, value['config_file'] or None)
        start, around = (
            places_of([each for each in value[name] if each], f'parameter {name}')
            for name in ('start', 'around')
        )
        return advise(
            problem,
            posterior,
            safety_of(value['limits']),
            [wish for wish in value['wishes'] if wish],
            Shares(value['range_share'], value['speed_share'], value['effort_share']),
            PlanOptions(seconds=value['seconds'], start=start, seed=value['seed']),
            around=around,
            swing=value['swing'],
        )


def message_of(motion):
    """Return a `Motion` as a JointTrajectory."""
    from ...excitation.motion_files import trajectory

    content = trajectory(motion)
    points = [
        JointTrajectoryPoint(**{**point, 'time_from_start': Duration(**point['time_from_start'])})
        for point in content['points']
    ]
    return JointTrajectory(joint_names=content['joint_names'], points=points)


def main(arguments=None):
    """Run the node until a signal ends it, and return the exit status."""
    return run(NAME, AdviserNode, serve, arguments)


if __name__ == '__main__':
    sys.exit(main())
