"""
Domain randomization in MuJoCo: one compiled model, another robot of the posterior each time.

    pip install mujoco
    python examples/randomize_mujoco.py results/arm/posterior.npz

Masses, principal axes of inertia, damping, dry friction, rotors and gears of each draw are written
into the live model; nothing is compiled again.
"""

import sys

import mujoco
import numpy as np

from sim2real_estimator.posterior.draws import (
    apply_draw,
    described,
    draw_robots,
    DrawSettings,
    mjcf_of,
)
from sim2real_estimator.posterior.export import opened

SECONDS, COUNT = 0.5, 20


def main(path):
    """Let draws of a saved posterior fall from the same pose, and print where they end."""
    problem, posterior = opened(path)
    draws = draw_robots(problem, posterior.mixture, DrawSettings('posterior', COUNT), seed=0)
    model = mujoco.MjModel.from_xml_string(mjcf_of(described(problem, posterior), draws, 0))
    data, scratch, ends = mujoco.MjData(model), mujoco.MjData(model), []
    for k in range(COUNT):
        left = apply_draw(model, draws[k], scratch)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = 0.7
        while data.time < SECONDS:
            mujoco.mj_step(model, data)
        ends.append(data.qpos.copy())
    print(f'{COUNT} robots, {draws.kind}, seed {draws.seed}, {draws.method}')
    print(f'no place in MuJoCo: {", ".join(left) or "nothing"}')
    for joint, mean, sd in zip(range(model.nq), np.mean(ends, 0), np.std(ends, 0)):
        print(f'q[{joint}] after {SECONDS} s: {mean:.4f} +- {sd:.4f}')


if __name__ == '__main__':
    main(sys.argv[1])
