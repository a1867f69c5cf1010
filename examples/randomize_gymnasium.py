"""
A wrapper for gymnasium that puts another robot of the posterior into MuJoCo at every reset.

    pip install gymnasium mujoco
    sim2real-estimator draw results/arm -o draws.jsonl --mjcf arm.xml
    python examples/randomize_gymnasium.py arm.xml draws.jsonl

It works around any environment whose `unwrapped.model` is a `mujoco.MjModel` with the names of the
draws, such as those made of `gymnasium.envs.mujoco.MujocoEnv`.
"""

import sys

import gymnasium
import mujoco
import numpy as np

from sim2real_estimator.posterior.draws import apply_draw, read_draws


class Randomized(gymnasium.Wrapper):
    """Draws a robot at each reset, by the environment's own generator, and says which one."""

    def __init__(self, env, path):
        """Take an environment and the file of draws."""
        super().__init__(env)
        self._draws = read_draws(path)[1]
        self._scratch = mujoco.MjData(env.unwrapped.model)

    def reset(self, *, seed=None, options=None):
        """Reset with another robot; `info['draw']` is its index."""
        _, info = self.env.reset(seed=seed, options=options)
        draw = self._draws[self.unwrapped.np_random.integers(len(self._draws))]
        apply_draw(self.unwrapped.model, draw, self._scratch)
        observation, _ = self.env.reset(options=options)
        return observation, {**info, 'draw': draw.index}


class Arm(gymnasium.Env):
    """A bare environment: motors in, positions and velocities out, reward for little motion."""

    def __init__(self, path):
        """Take the MJCF of the robot."""
        self.model = mujoco.MjModel.from_xml_path(path)
        self.data = mujoco.MjData(self.model)
        size = self.model.nq + self.model.nv
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,))
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.model.nu,))

    def reset(self, *, seed=None, options=None):
        """Start at rest."""
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        return self._observation(), {}

    def step(self, action):
        """Hold the motors for ten steps of the simulation."""
        self.data.ctrl[:] = action
        mujoco.mj_step(self.model, self.data, 10)
        return self._observation(), -float(np.square(self.data.qvel).sum()), False, False, {}

    def _observation(self):
        return np.concatenate([self.data.qpos, self.data.qvel]).astype(np.float32)


if __name__ == '__main__':
    env = Randomized(Arm(sys.argv[1]), sys.argv[2])
    for episode in range(5):
        _, info = env.reset(seed=7 if episode == 0 else None)
        rewards = [env.step(env.action_space.sample())[1] for _ in range(20)]
        print(f'episode {episode}: robot {info["draw"]}, reward {sum(rewards):.3f}')
