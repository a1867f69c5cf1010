"""
Arrays in, a robot out: a notebook as a script, whose cells begin with `# %%`.

    python examples/identify_arrays.py

A double pendulum is moved by servos, and its torques are measured; what it weighs is other than
its description says. Replace `t`, `q`, `tau` and `URDF` by your own.
"""

# %% The robot description, as it is before anything is measured.
from pathlib import Path

import numpy as np

from sim2real_estimator import identify_arrays, load_urdf, Parameters
from sim2real_estimator.dynamics.rnea import inverse_dynamics
from sim2real_estimator.model.robot import realize

URDF = Path(__file__).resolve().parents[1] / 'config' / 'double_pendulum.urdf'
model = load_urdf(URDF)
print(Parameters(model))

# %% Measurements: 30 s at 200 Hz. The real lower link is heavier by 0.25 kg, joints rub.
TRUTH = {'lower.mass': 1.05, 'lower.com.z': -0.24}
FRICTION, DAMPING = np.array([0.15, 0.06]), np.array([0.08, 0.04])
generator = np.random.default_rng(7)
t = np.arange(0, 30, 0.005)
rates, phases = np.array([[1.3, 2.9], [1.7, 3.7]]), np.array([[0.0, 1.0], [2.0, 0.5]])
waves = t[:, None, None] * rates + phases
q, v, a = (
    0.6 * np.sum(wave, axis=2)
    for wave in (np.sin(waves), rates * np.cos(waves), -(rates**2) * np.sin(waves))
)
robot = realize(Parameters(model), TRUTH)
rows = zip(q.tolist(), v.tolist(), a.tolist())
tau = np.array([inverse_dynamics(robot, *row) for row in rows], dtype=float)
tau += FRICTION * np.sign(v) + DAMPING * v
q = q + 5e-5 * generator.standard_normal(q.shape)
tau = tau + 0.02 * generator.standard_normal(tau.shape)

# %% Identify. The last fifth is kept back, and predicted.
found = identify_arrays(t, q, tau, model=URDF, priors={'upper.mass': (1.0, 0.05)})
print(found)

# %% What was found, with what certainty, and what is true.
truth = {**TRUTH, 'shoulder.friction': FRICTION[0], 'elbow.friction': FRICTION[1]}
for name, true in truth.items():
    print(
        f'{name:18} {found.mean[name]:7.4f} +- {found.sd[name]:.4f}   '
        f'in truth {true:7.4f}   {found.verdicts[name]}'
    )

# %% Torques that were kept back, in parts of their size: the description, and the estimate.
print({name: round(found.held_out.torque_error(name), 3) for name in ('nominal', 'mean')})
