"""The simulator as users meet it: named parameters in, differentiable trajectories out."""

from dataclasses import dataclass, replace

import torch
from torch.autograd import forward_ad

from ..dynamics.contact import warn_of_long_steps
from ..dynamics.system import System
from ..dynamics.wrenches import LinkWrench
from ..errors import ConfigError
from ..model.parameters import Parameters
from .base import LOSSES, RolloutInputs
from .choice import choose_backend
from .dual_numbers import dual_level
from .plan import delay_commands, delays_of, plan_steps
from .shapes import batched, check_shapes

# Of names, in the description of a simulator.
_SHOWN = 4


@dataclass(frozen=True)
class Trajectory:
    """
    A rollout at H + 1 instants, the initial one included.

    states [H + 1, nx, B]: positions, then velocities; outputs [H + 1, ny, B]: what `observe`
    saw.
    """

    states: torch.Tensor
    outputs: torch.Tensor


class Simulator:
    """
    Simulates batches of robots that differ in their estimated parameters.

    The batch B is always the last dimension, and 1 there means the same for every sample.
    Everything is float64, on the CPU, and differentiable by torch.
    """

    def __init__(
        self,
        model,
        estimate=(),
        *,
        integrator='rk4',
        backend='auto',
        max_step=None,
        wrench_links=(),
        observe=None,
        values=None,
    ):
        """
        Set up a simulator.

        model: a `Model`; estimate: names of the parameters that callers give values for;
        integrator: an entry of INTEGRATORS; backend: 'native', 'eager' or 'auto' (native where
        it can run); max_step: longer intervals are divided [s]; wrench_links: links on which
        controls put a wrench; observe: function (robot, q, v) -> scalars; values: name to float
        for parameters that keep one value, where that is not the model's.
        """
        self.parameters = Parameters(model)
        self.names = self.parameters.checked(estimate)
        if max_step is not None and not max_step > 0:
            raise ConfigError(
                f'max_step is {max_step}, but should be a positive time [s], or None'
            )
        self.max_step = max_step
        self._delays = tuple(f'{joint}.delay' for joint in model.command_joints)
        rows = [i for i, name in enumerate(self.names) if not name.endswith('.delay')]
        self._rows = torch.tensor(rows, dtype=torch.long)
        self._system = System(
            self.parameters,
            tuple(self.names[i] for i in rows),
            integrator,
            tuple(map(LinkWrench, wrench_links)),
            observe,
        )
        self._values = dict(zip(self.parameters, self.parameters.nominal()))
        self._backend = choose_backend(backend)(self._system, self._values)
        self._words = f'{integrator}, backend {self._backend.name}'
        self.set_values(values or {})

    def __repr__(self):
        model = self.parameters.model
        estimated = ', '.join(self.names[:_SHOWN]) + (', ...' if len(self.names) > _SHOWN else '')
        return (
            f'<Simulator of {model.name}: {model.state_size} states, {self._words}, '
            f'{len(self.names)} estimated{": " if estimated else ""}{estimated}>'
        )

    @property
    def model(self):
        """The `Model`."""
        return self.parameters.model

    @property
    def backend(self):
        """Name of the backend in use."""
        return self._backend.name

    @property
    def values(self):
        """The value of every parameter that is not estimated, name to float."""
        return {name: v for name, v in self._values.items() if name not in self.names}

    def set_values(self, values):
        """Change parameters that are not estimated; `values` maps name to float."""
        for name in self.parameters.checked(values):
            if name in self.names:
                raise ConfigError(
                    f"'{name}' is estimated, so every call takes its value from `parameters`; "
                    'give it there, or leave it out of `estimate`'
                )
        self._values.update((name, float(value)) for name, value in values.items())
        self._backend = self._backend.with_values(self._values)

    def nominal(self, batch=1):
        """Return the model's values of the estimated parameters, [P, batch]."""
        column = torch.tensor(self.parameters.nominal(self.names), dtype=torch.float64)
        return column[:, None].repeat(1, batch)

    def neutral_state(self, batch=1):
        """Return the state with every joint at its neutral position and at rest, [nx, batch]."""
        values = [*self.model.neutral_positions(), *[0.0] * self.model.velocity_size]
        return torch.tensor(values, dtype=torch.float64)[:, None].repeat(1, batch)

    def rollout(
        self, state, durations, parameters=None, controls=None, *, previous=None, mode='reverse'
    ):
        """
        Simulate H intervals and return a `Trajectory`.

        state [nx, B]; durations: a list or tensor [H] or [H, B] [s]; parameters [P, B] in the
        order of `names` (None: nominal); controls [H, nu] or [H, nu, B], constant during an
        interval (None: zero); previous [M, nu(, B)]: commands before the first, where they are
        delayed; mode: 'reverse' (cost independent of the number of parameters) or 'forward'
        (cheaper for very few), how the gradient is computed.
        """
        if mode not in ('reverse', 'forward'):
            raise ConfigError(f"mode '{mode}' is unknown; choose 'reverse' or 'forward'")
        inputs, ends = self._prepare(state, durations, parameters, controls, previous)
        states, outputs = self._backend.rollout(inputs, mode)
        instants = torch.cat([ends.new_zeros(1), ends + 1])
        if len(instants) < len(states):
            states, outputs = states[instants], outputs[instants]
        return Trajectory(states, outputs)

    def loss(
        self,
        state,
        durations,
        targets,
        parameters=None,
        controls=None,
        *,
        weights=None,
        kind='huber',
        delta=0.1,
        previous=None,
    ):
        """
        Return the summed loss between outputs and targets of every sample, [B].

        The same as comparing `rollout(...).outputs[1:]` with targets [H, ny, B or 1], in one
        compiled pass. weights [H] or [H, B]; kind: 'squared' (sum of squares) or 'huber' with
        its `delta`. Other arguments as in `rollout`.
        """
        prepared = self._prepare_loss(
            state, durations, targets, parameters, controls, weights, kind, previous
        )
        return self._backend.loss(*prepared, kind, delta)

    def loss_function(
        self, state, durations, targets, controls=None, *, weights=None, kind='huber', delta=0.1
    ):
        """
        Return a function of parameters [P, B or 1] that gives `loss` for data that stay the same.

        Everything but the parameters is checked and laid out once, which makes small batches
        twice as fast. Arguments as in `loss`; the function is differentiable by the parameters
        alone. Values set later by `set_values` do not reach it.
        """
        batch = batched(state, 2).shape[-1]
        if self._has_delay():
            # Steps are cut where the delays say: nothing stays.
            return lambda parameters: self.loss(
                state,
                durations,
                targets,
                parameters,
                controls,
                weights=weights,
                kind=kind,
                delta=delta,
            )
        inputs, targets, weights = self._prepare_loss(
            state, durations, targets, None, controls, weights, kind, None
        )
        if any(tensor.requires_grad for tensor in inputs.tensors()):
            raise ConfigError(
                'a loss function is differentiable by the parameters alone; detach the rest, '
                'or use `loss`'
            )
        function = self._backend.loss_function(inputs, targets, weights, kind, delta)

        def loss(parameters):
            parameters = batched(parameters, 2)
            check_shapes(batch, parameters=(parameters, len(self.names)))
            return function(parameters)

        return loss

    def _prepare_loss(
        self, state, durations, targets, parameters, controls, weights, kind, previous
    ):
        """Return (`RolloutInputs`, targets, weights) of every step."""
        if kind not in LOSSES:
            raise ConfigError(f"loss '{kind}' is unknown; choose one of {', '.join(LOSSES)}")
        if self._system.observation is None:
            raise ConfigError(
                'a loss compares outputs, and this simulator has none; give it observe=...'
            )
        inputs, ends = self._prepare(state, durations, parameters, controls, previous)
        targets = batched(targets, 3)
        weights = batched(inputs.durations.new_ones(len(ends)) if weights is None else weights, 2)
        if targets.requires_grad or weights.requires_grad:
            raise ConfigError(
                'a loss has no derivative by its targets and weights; detach them, or compare '
                'the outputs of `rollout`'
            )
        size = self._system.output_size
        check_shapes(
            inputs.batch, targets=(targets, len(ends), size), weights=(weights, len(ends))
        )
        if len(ends) < inputs.steps:
            # Steps that end between instants carry no weight.
            full = weights.new_zeros(inputs.steps, weights.shape[-1])
            weights = full.index_copy(0, ends, weights)
            rows = torch.searchsorted(ends, torch.arange(inputs.steps))
            targets = targets[rows]
        return inputs, targets, weights

    def jacobian(self, state, durations, parameters=None, controls=None, *, previous=None):
        """
        Return the `StepDerivatives` of the state after the last interval.

        Arguments as in `rollout`. What comes back is not attached to the graph of autograd. Where
        commands act late, the derivatives by durations and controls are those by the cut steps.
        """
        with torch.no_grad():
            prepared = self._prepare(state, durations, parameters, controls, previous)
            inputs, ends = prepared
            result = self._backend.jacobian(inputs)
            by_parameters = result.by_state.new_zeros(
                inputs.batch, result.state.shape[0], len(self.names)
            )
            by_parameters[..., self._rows] = result.by_parameters
        for row, name in enumerate(self.names):
            if name.endswith('.delay'):
                cut = self._cut_tangent(row, state, durations, parameters, controls, previous)
                by_parameters[..., row] = torch.einsum('bis,sb->bi', result.by_durations, cut)
        return replace(self._by_interval(result, ends, inputs.steps), by_parameters=by_parameters)

    def sensitivities(self, state, durations, parameters=None, controls=None):
        """
        Return the `Sensitivities` of every instant by initial state and parameters.

        Forward mode; arguments as in `rollout`. Estimated delays are not offered here: take
        `jacobian` or autograd.
        """
        if len(self._rows) < len(self.names):
            raise ConfigError('sensitivities know no delays; use jacobian or autograd')
        with torch.no_grad():
            inputs, ends = self._prepare(state, durations, parameters, controls, None)
            result = self._backend.sensitivities(inputs)
        instants = torch.cat([ends.new_zeros(1), ends + 1])
        return replace(
            result,
            states=result.states[instants],
            outputs=result.outputs[instants],
            d_states=result.d_states[:, instants],
            d_outputs=result.d_outputs[:, instants],
        )

    def _by_interval(self, result, ends, steps):
        """Add up the derivatives by the steps that make up one interval."""
        if len(ends) == steps or self._has_delay():
            return result
        interval = torch.searchsorted(ends, torch.arange(steps))
        counts = torch.bincount(interval).to(result.by_durations)
        shape = list(result.by_durations.shape)
        durations = result.by_durations.new_zeros(*shape[:2], len(ends))
        durations.index_add_(2, interval, result.by_durations)
        controls = result.by_controls.new_zeros(
            *shape[:2], len(ends), result.by_controls.shape[-1]
        )
        controls.index_add_(2, interval, result.by_controls)
        return replace(result, by_durations=durations / counts, by_controls=controls)

    def _has_delay(self):
        """Tell whether any command acts late, or may."""
        return any(name in self.names or self._values[name] != 0 for name in self._delays)

    def _cut_tangent(self, row, state, durations, parameters, controls, previous):
        """Return the derivative of the steps' durations by one delay, [steps, B]."""
        parameters = self.nominal() if parameters is None else batched(parameters, 2)
        parameters = parameters.detach().expand(-1, batched(state, 2).shape[-1])
        unit = torch.zeros_like(parameters)
        unit[row] = 1.0
        with dual_level():
            dual = forward_ad.make_dual(parameters.clone(), unit)
            inputs, _ = self._prepare(state, durations, dual, controls, previous)
            tangent = forward_ad.unpack_dual(inputs.durations).tangent
        return torch.zeros_like(inputs.durations) if tangent is None else tangent

    def _prepare(self, state, durations, parameters, controls, previous):
        """Return the `RolloutInputs` of the steps, and the last step of every interval."""
        state = batched(state, 2)
        durations = batched(durations, 2)
        parameters = self.nominal() if parameters is None else batched(parameters, 2)
        size = self._system.control_size
        if controls is None:
            controls = durations.new_zeros(len(durations), size, 1)
        controls = batched(controls, 3)
        wanted = {
            'state': (state, self.model.state_size),
            'durations': (durations, len(durations)),
            'parameters': (parameters, len(self.names)),
            'controls': (controls, len(durations), size),
        }
        check_shapes(state.shape[-1], **wanted)
        ends = None
        if self._has_delay():
            count = len(self._delays)
            wrenches = controls[:, count:]
            if previous is not None:
                previous = batched(previous, 3)
                check_shapes(state.shape[-1], previous=(previous, len(previous), count))
            owners, delays = delays_of(self._delays, self.names, self._values, parameters)
            durations, controls, ends = delay_commands(
                durations, controls[:, :count], delays, owners, previous
            )
            interval = torch.searchsorted(ends, torch.arange(len(durations)))
            wide = wrenches[interval].expand(-1, -1, controls.shape[-1])
            controls = torch.cat([controls, wide], 1)
        plan = plan_steps(durations, controls, self.max_step)
        if self.model.contacts and plan.durations.numel():
            warn_of_long_steps(self.model, plan.durations.detach().max().item())
        rows = parameters if len(self._rows) == len(self.names) else parameters[self._rows]
        ends = plan.ends if ends is None else plan.ends[ends]
        return RolloutInputs(state, rows, plan.controls, plan.durations), ends
