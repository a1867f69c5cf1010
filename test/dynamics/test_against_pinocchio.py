"""Our dynamics against what Pinocchio computed for random trees; reference/ has the numbers."""

import gzip
import json
from pathlib import Path

from comparison import (
    acceleration_error,
    condition,
    errors,
    relative_error,
    TOLERANCE,
    WELL_CONDITIONED,
)
import pytest
import torch
from trees import build_model

from sim2real_estimator.dynamics.aba import forward_dynamics
from sim2real_estimator.dynamics.rnea import inverse_dynamics
from sim2real_estimator.model.joints import JOINTS
from sim2real_estimator.model.parameters import Parameters
from sim2real_estimator.model.robot import realize
from sim2real_estimator.spatial.motion import Force
from sim2real_estimator.spatial.vector import Vec3

REFERENCE = Path(__file__).parent / 'reference' / 'random_trees.json.gz'
ENTRIES = json.loads(gzip.decompress(REFERENCE.read_bytes()))
BATCHED = [entry for entry in ENTRIES if len(entry['cases']) > 1]


def name_of(entry):
    return entry['spec']['name']


@pytest.mark.parametrize('entry', ENTRIES, ids=name_of)
def test_all_quantities_agree(entry):
    robot = realize(Parameters(build_model(entry['spec'])), {})

    for case in entry['cases']:
        found = errors(robot, case['state'], case['answers'])
        assert max(found.values()) < TOLERANCE, found


def test_the_reference_covers_what_it_should():
    specs = [entry['spec'] for entry in ENTRIES]
    joints = [joint for spec in specs for joint in spec['joints']]
    conditions = [condition(case['answers']) for entry in ENTRIES for case in entry['cases']]
    sizes = {sum(joint['type'] != 'fixed' for joint in spec['joints']) for spec in specs}

    assert len(specs) >= 50
    assert {joint['type'] for joint in joints} == set(JOINTS)
    assert {2, 12} <= sizes
    assert any('armature' in joint for joint in joints)
    assert sum('mimic' in joint for joint in joints) >= 8
    assert any('regressor' in case['answers'] for entry in ENTRIES for case in entry['cases'])
    assert min(conditions) < 1e4
    assert sum(number > WELL_CONDITIONED for number in conditions) >= 5


def batch_of(cases, name):
    """Return one tensor [B] per entry of a list in the states."""
    return list(torch.tensor([case['state'][name] for case in cases], dtype=torch.float64).T)


def batched_wrenches(cases):
    """Return body index to a Force of tensors [B]."""
    wrenches = torch.tensor([c['state']['wrenches'] for c in cases], dtype=torch.float64)
    return {
        index: Force(Vec3(*wrench[:3]), Vec3(*wrench[3:]))
        for index, wrench in enumerate(wrenches.permute(1, 2, 0))
    }


@pytest.mark.parametrize('is_dense', [False, True], ids=['constants', 'tensors'])
@pytest.mark.parametrize('entry', BATCHED, ids=name_of)
def test_batches_of_tensors_agree(entry, is_dense):
    cases = entry['cases']
    parameters, values = Parameters(build_model(entry['spec'])), {}
    if is_dense:
        # Also structural zeros become numbers: nothing may depend on their being left out.
        ones = torch.ones(len(cases), dtype=torch.float64)
        values = {name: ones * parameters[name].nominal for name in parameters}
    robot = realize(parameters, values)
    q, v, effort, acceleration = (
        batch_of(cases, name) for name in ('q', 'v', 'effort', 'acceleration')
    )
    wrenches = batched_wrenches(cases)

    accelerations = torch.stack(forward_dynamics(robot, q, v, effort, wrenches), 1)
    efforts = torch.stack(inverse_dynamics(robot, q, v, acceleration, wrenches), 1)

    for k, case in enumerate(cases):
        answers = case['answers']
        assert acceleration_error(accelerations[k], case['state'], answers) < TOLERANCE
        assert relative_error(efforts[k], answers['effort']) < TOLERANCE
