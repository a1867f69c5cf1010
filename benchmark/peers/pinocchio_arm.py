"""Pinocchio in C++ on a serial arm that is given by plain arrays."""

import ctypes
import weakref

import numpy as np

from .compiler import address
from .pinocchio_library import pinocchio_library


class PinocchioArm:
    """
    An arm on hinges; samples are consecutive: state [K, 2n], controls [K, n].

    Parameters of a joint are mass, centre, inertia about it (xx, yy, zz, xy, xz, yz) of its link,
    and damping, friction, armature, offset.
    """

    def __init__(self, placements, axes, rest, friction_velocity):
        """
        Build the model.

        placements [n, 12]: rotation by rows and translation in the joint before; axes [n, 3];
        rest [n, 10]: dynamic parameters, in Pinocchio's order, of all that is fixed to the links.
        """
        self.library, self.count = pinocchio_library(), len(axes)
        self.library.arm_new.restype = ctypes.c_void_p
        arrays = [np.ascontiguousarray(a, dtype=np.float64) for a in (placements, axes, rest)]
        handle = self.library.arm_new(
            self.count, *map(address, arrays), ctypes.c_double(friction_velocity)
        )
        self._handle = ctypes.c_void_p(handle)
        weakref.finalize(self, self.library.arm_delete, self._handle)

    def set(self, parameters):
        """Take parameters [n, 14]."""
        self.parameters = np.ascontiguousarray(parameters, dtype=np.float64)
        self.library.arm_set(self._handle, address(self.parameters))

    def step(self, state, controls, duration):
        """Return a function () -> states [K, 2n] after an RK4 step of `pinocchio::aba`."""
        return self._function(self.library.arm_step, state, controls, duration)

    def derivatives(self, state, controls, duration):
        """Return the same with derivatives and regressor computed at the four stages."""
        return self._function(self.library.arm_derivatives, state, controls, duration)

    def _function(self, function, state, controls, duration):
        result = np.empty_like(state)
        arrays = state, controls, result
        x, u, y = map(address, arrays)
        count, duration = ctypes.c_long(len(state)), ctypes.c_double(duration)

        def run():
            function(self._handle, count, x, u, duration, y)
            return arrays[-1]

        return run

    def differences(self, state, controls, duration, width=1e-6, central=False):
        """
        Return a function () -> derivatives of the step, [K, 2n, columns].

        Columns: state, parameters, duration, controls.
        """
        columns = state.shape[1] + self.parameters.size + 1 + controls.shape[1]
        result = np.empty((columns, *state.shape))

        def run():
            self.library.arm_differences(
                self._handle,
                ctypes.c_long(len(state)),
                address(state),
                address(self.parameters),
                address(controls),
                ctypes.c_double(duration),
                ctypes.c_double(width),
                int(central),
                address(result),
            )
            return result.transpose(1, 2, 0)

        return run
