"""Both estimators on the same recordings: ours, and `mujoco.sysid`."""
