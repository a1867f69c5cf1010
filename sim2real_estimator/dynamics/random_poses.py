"""Random poses of a robot."""


def random_pose(model, generator):
    """Return positions [nq], a list, each independent joint turned from its neutral ones."""
    positions = []
    for moving in model.moving_joints:
        if moving.is_independent:
            kind = moving.joint.kind
            turn = generator.standard_normal(kind.velocity_size).tolist()
            positions += kind.advance(kind.neutral(), turn, 1.0)
    return positions
