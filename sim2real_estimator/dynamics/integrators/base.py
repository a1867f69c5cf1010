"""What an integrator must offer."""

from abc import ABC, abstractmethod


class AbstractIntegrator(ABC):
    """
    One explicit step of the equations of motion.

    `stages` is how often a step asks for the acceleration; `order` the order of convergence.
    """

    name = ''
    order = 0
    stages = 0

    @abstractmethod
    def step(self, robot, q, v, duration, acceleration):
        """
        Return (q, v) after `duration` [s].

        acceleration: function of (q, v) that returns one scalar per velocity; it holds the
        commands, which stay constant during the step.
        """


def map_joints(robot, function, *vectors):
    """
    Return the concatenated results of a joint-wise function of coordinates and velocities.

    function(kind, q, *rest) gets each independent joint's slice of every vector; the first
    vector is sliced by coordinates, all others by velocities.
    """
    result = []
    for body in robot.bodies:
        if body.moving.is_independent:
            q = vectors[0][body.moving.positions]
            rest = [vector[body.moving.velocities] for vector in vectors[1:]]
            result += function(body.kind, q, *rest)
    return result
