"""
An event term for Isaac Lab that gives every environment another robot of the posterior.

UNTESTED: written for Isaac Lab 2.x by its documentation, and checked for syntax only. Tell us
what does not run.

    sim2real-estimator draw results/arm -o draws.jsonl --count 4096

    randomize_robot = EventTerm(
        func=randomize_from_draws,
        mode='reset',
        params={'asset_cfg': SceneEntityCfg('robot'), 'path': 'draws.jsonl'},
    )
"""

from functools import cache

import torch

from sim2real_estimator.posterior.draws import read_draws


@cache
def _draws(path):
    return read_draws(path)[1]


def randomize_from_draws(env, env_ids, asset_cfg, path):
    """Write draws of a file into the robots of some environments, masses to joints."""
    asset, view = env.scene[asset_cfg.name], env.scene[asset_cfg.name].root_physx_view
    ids = torch.arange(env.scene.num_envs) if env_ids is None else env_ids.cpu()
    draws = _draws(path)
    chosen = [draws[k] for k in torch.randint(len(draws), (len(ids),)).tolist()]
    masses, inertias, coms = view.get_masses(), view.get_inertias(), view.get_coms()
    for link in chosen[0].bodies:
        body = asset.body_names.index(link)
        for row, draw in zip(ids.tolist(), chosen):
            mass, com, (xx, yy, zz, xy, xz, yz) = draw.bodies[link]
            masses[row, body] = mass
            # The inertia is in the axes of the link; the quaternion x, y, z, w is the identity.
            coms[row, body] = torch.tensor([*com, 0.0, 0.0, 0.0, 1.0])
            inertias[row, body] = torch.tensor([xx, xy, xz, xy, yy, yz, xz, yz, zz])
    view.set_masses(masses, ids)
    view.set_coms(coms, ids)
    view.set_inertias(inertias, ids)
    for word, write in (
        ('friction', asset.write_joint_friction_coefficient_to_sim),
        ('armature', asset.write_joint_armature_to_sim),
    ):
        for place, joint in enumerate(asset.joint_names):
            name = f'{joint}.{word}'
            if name in chosen[0].values:
                column = torch.tensor([[draw.values[name]] for draw in chosen])
                write(column.to(asset.device), joint_ids=[place], env_ids=ids.to(asset.device))
