"""What makes a set of links and joints a robot that can be simulated."""

import math
from numbers import Real

from ..errors import ModelError
from .actuators import AbstractActuator
from .inertia_checks import check_resistance, infeasible_inertias
from .joints import AbstractJoint
from .suggestions import suggestions

# Numbers of a joint that would feed energy into the robot.
NEVER_NEGATIVE = ('damping', 'friction', 'armature', 'stiffness')
_UNIT_TOLERANCE = 1e-6


def check_model(model):
    """Raise a ModelError that names the file, the element and a remedy if `model` is unusable."""
    _check_names(model)
    _check_families(model)
    _check_connections(model)
    _check_loops(model)
    _check_single_root(model)
    for link in model.links:
        _check_link_numbers(model, link)
    for joint in model.joints:
        _check_joint_numbers(model, joint)
        _check_axes(model, joint)
        _check_rotation(model, joint)
        _check_actuator(model, joint)
    joints = {joint.name: joint for joint in model.joints}
    for joint in model.joints:
        if joint.mimic is not None:
            _check_mimic(model, joint, joints)
    _check_couplings(model, joints)
    _check_contacts(model)
    _check_inertias(model)
    check_resistance(model)


def _check_names(model):
    if not model.links:
        raise ModelError(f'{model.source}: the robot has no links; describe at least one')
    for what, items in (('link', model.links), ('joint', model.joints)):
        seen = set()
        for item in items:
            if not isinstance(item.name, str) or not item.name.strip():
                raise ModelError(
                    f'{model.source}: a {what} has the name {item.name!r}; every '
                    f'{what} needs a name'
                )
            if item.name in seen:
                raise ModelError(
                    f"{model.source}: {what} '{item.name}': two {what}s have this "
                    'name; rename one of them'
                )
            seen.add(item.name)


def _check_families(model):
    for joint in model.joints:
        if not isinstance(joint.kind, AbstractJoint):
            raise _joint_error(
                model,
                joint,
                f'its kind {joint.kind!r} is no joint type',
                "make it by JOINTS, for example JOINTS['revolute']((0, 0, 1))",
            )
        if not isinstance(joint.actuator, AbstractActuator):
            raise _joint_error(
                model,
                joint,
                f'its actuator {joint.actuator!r} is no actuator',
                "take one from ACTUATORS, for example ACTUATORS['effort']",
            )


def _check_connections(model):
    names = {link.name for link in model.links}
    parent_joints = {}
    for joint in model.joints:
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in names:
                raise _joint_error(
                    model,
                    joint,
                    f"its {end} link '{link}' does not exist",
                    f'describe that link or use: {suggestions(link, names)}',
                )
        if joint.child in parent_joints:
            raise ModelError(
                f"{model.source}: link '{joint.child}': it is the child of joint "
                f"'{parent_joints[joint.child]}' and of joint '{joint.name}', but every link of "
                'a tree hangs on one joint; remove one of them, or split the link where the '
                'loop is to be cut'
            )
        parent_joints[joint.child] = joint.name


def _check_loops(model):
    parents = {joint.child: joint.parent for joint in model.joints}
    cleared = set()
    for link in parents:
        path = []
        while link in parents and link not in cleared:
            if link in path:
                ring = [*path[path.index(link) :], link]
                raise ModelError(
                    f"{model.source}: link '{link}': it hangs on itself through "
                    f'{" <- ".join(ring)}; the links must form a tree, so '
                    'remove a joint of this loop'
                )
            path.append(link)
            link = parents[link]
        cleared.update(path)


def _check_single_root(model):
    children = {joint.child for joint in model.joints}
    roots = [link.name for link in model.links if link.name not in children]
    if len(roots) > 1:
        names = ', '.join(f"'{name}'" for name in roots)
        raise ModelError(
            f'{model.source}: links {names}: all of them are roots, as no joint has '
            'them as child, but a tree has one; join the others to it, by fixed '
            'joints if need be, or remove them'
        )


def _check_link_numbers(model, link):
    if link.inertial is None:
        return
    groups = (
        ('mass', (link.inertial.mass,), 1),
        ('centre', link.inertial.centre, 3),
        ('inertia', link.inertial.inertia, 6),
    )
    for name, values, size in groups:
        if not _are_finite(values, size):
            raise ModelError(
                f"{model.source}: link '{link.name}': its {name} {values} is not "
                f'{_count(size)}; correct it'
            )


def _check_joint_numbers(model, joint):
    if not _are_finite(joint.origin, 3):
        raise _joint_error(
            model, joint, f'its origin {joint.origin} is not {_count(3)}', 'correct it'
        )
    numbers = {**vars(joint.physics), 'reduction': joint.reduction}
    numbers.update(
        {f'{name} limit': value for name, value in vars(joint.limits).items() if value is not None}
    )
    if joint.mimic is not None:
        numbers['mimic multiplier'] = joint.mimic.multiplier
        numbers['mimic offset'] = joint.mimic.offset
    for name, value in numbers.items():
        if not _are_finite((value,), 1):
            raise _joint_error(
                model, joint, f'its {name} {value} is not {_count(1)}', 'correct it'
            )
    for name in NEVER_NEGATIVE:
        if numbers[name] < 0:
            raise _joint_error(
                model,
                joint,
                f'its {name} {numbers[name]:g} is negative, which '
                'would feed energy into the robot',
                'give zero or more',
            )
    if joint.reduction == 0:
        raise _joint_error(
            model, joint, 'its reduction is zero', 'give the motor turns per joint turn'
        )
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is not None and upper is not None and lower > upper:
        raise _joint_error(
            model,
            joint,
            f'its lower limit {lower:g} is above its upper limit {upper:g}',
            'swap or correct them',
        )


def _check_axes(model, joint):
    for group in joint.kind.groups:
        for axis in group.axes:
            values = tuple(axis)
            length = math.hypot(*values) if _are_finite(values, 3) else math.nan
            if not abs(length - 1) <= _UNIT_TOLERANCE:
                raise _joint_error(
                    model,
                    joint,
                    f'its axis {values} has the length {length:g} and not 1',
                    'give the direction it turns about or slides along, for example 0 0 1',
                )


def _check_rotation(model, joint):
    rows = joint.rotation.rows
    entries = [x for row in rows for x in row]
    if _are_finite(entries, 9):
        products = (rows[0].cross(rows[1]) - rows[2], rows[1].cross(rows[2]) - rows[0])
        errors = [*products[0], *products[1], rows[0].dot(rows[0]) - 1, rows[0].dot(rows[1])]
        if max(abs(error) for error in errors) <= _UNIT_TOLERANCE:
            return
    raise _joint_error(
        model,
        joint,
        f'its rotation {rows} is no rotation matrix',
        'give three orthogonal unit rows, right-handed; Rotation.from_roll_pitch_yaw does so',
    )


def _check_actuator(model, joint):
    actuator = joint.actuator
    if joint.is_fixed and actuator.takes_command:
        raise _joint_error(
            model,
            joint,
            f"it is fixed, yet has the actuator '{actuator.type_name}'",
            "make it movable or its actuator 'passive'",
        )
    positive = {parameter.name: parameter.positive for parameter in actuator.parameters}
    if actuator.takes_command:
        positive['delay'] = False
    for name, value in joint.actuator_values:
        what = f"its actuator '{actuator.type_name}'"
        if name not in positive:
            raise _joint_error(
                model,
                joint,
                f"{what} has no parameter '{name}'",
                f'it has: {suggestions(name, positive)}',
            )
        if not _are_finite((value,), 1):
            raise _joint_error(
                model, joint, f'{what}: {name} {value} is not {_count(1)}', 'correct it'
            )
        if positive[name] and value <= 0:
            raise _joint_error(
                model,
                joint,
                f'{what}: {name} {value:g} is not positive',
                'give '
                f"a positive value, e.g. ('{actuator.type_name}', "
                f"{{'{name}': {abs(value) or 1.0:g}}}), and turn the sign of the "
                'commands if the motor turns the other way',
            )


def _check_mimic(model, joint, joints):
    if joint.kind.velocity_size != 1:
        raise _joint_error(
            model,
            joint,
            f'it mimics, but as a {joint.kind.type_name} joint has not one degree of freedom',
            'remove the mimic',
        )
    if joint.actuator.takes_command:
        raise _joint_error(
            model,
            joint,
            f"it follows joint '{joint.mimic.source}', so it takes no command",
            "make its actuator 'passive' and drive that joint",
        )
    followed, follower = [joint.name], joint
    while follower.mimic is not None:
        source = follower.mimic.source
        if source not in joints:
            raise _joint_error(
                model,
                joint,
                f"it mimics joint '{source}', which does not exist",
                f'mimic one that does: {suggestions(source, joints)}',
            )
        followed.append(source)
        if source in followed[:-1]:
            raise _joint_error(
                model,
                joint,
                f'its mimics go round in a circle: {" -> ".join(followed)}',
                'let one of these joints lead',
            )
        if joints[source].kind.velocity_size != 1:
            raise _joint_error(
                model,
                joint,
                f"it mimics joint '{source}', which is "
                f'{joints[source].kind.type_name} and has not one degree of freedom',
                'mimic a revolute, continuous or prismatic joint, or make this one fixed too',
            )
        follower = joints[source]


def _check_couplings(model, joints):
    seen = set()
    for pair in model.couplings:
        for name in pair:
            if name not in joints:
                raise ModelError(
                    f"{model.source}: the coupling of joint '{pair[0]}' with '{pair[1]}': there "
                    f"is no joint '{name}'; couple one that exists: {suggestions(name, joints)}"
                )
        joint, other = (joints[name] for name in pair)
        for each in (joint, other):
            if each.kind.velocity_size != 1 or each.mimic is not None:
                raise _joint_error(
                    model,
                    each,
                    f"it is coupled ('{joint.name}' with '{other.name}'), but has not one degree "
                    'of freedom of its own',
                    'couple revolute, continuous or prismatic joints that follow no other',
                )
        if joint.kind.groups[0].is_rotation != other.kind.groups[0].is_rotation:
            raise _joint_error(
                model,
                joint,
                f"it is coupled with joint '{other.name}', but one of them turns and the other "
                'slides, so that their velocities have no sum',
                'couple two that turn, or two that slide',
            )
        if joint is other or frozenset(pair) in seen:
            raise _joint_error(
                model,
                joint,
                f"it is coupled with '{other.name}', "
                + ('which is itself' if joint is other else 'and so is that with it'),
                'name each pair of different joints once',
            )
        seen.add(frozenset(pair))


def _check_contacts(model):
    taken = {'world'} | {each.name for each in (*model.links, *model.joints)}
    for pair in model.contacts:
        if pair.name in taken or not pair.name.strip():
            raise ModelError(
                f"{model.source}: contact '{pair.name}': its parameters would share names with a "
                'link, a joint or another contact; choose another name'
            )
        taken.add(pair.name)
        for name in (pair.first, pair.second):
            model.link(name)


def _check_inertias(model):
    problems = [] if model.accepts_infeasible_inertia else infeasible_inertias(model)
    if problems:
        more = f' ({len(problems) - 1} more of this kind)' if problems[1:] else ''
        raise ModelError(
            f'{problems[0]}; correct it (kg, and kg m^2 about the centre of mass), '
            f"or accept it by load_urdf(..., inertia_check='warn'){more}"
        )


def _joint_error(model, joint, problem, remedy):
    return ModelError(f"{model.source}: joint '{joint.name}': {problem}; {remedy}")


def _are_finite(values, size):
    """Tell whether `values` are `size` finite numbers."""
    return len(values) == size and all(
        isinstance(value, Real) and math.isfinite(value) for value in values
    )


def _count(size):
    """Return the words for `size` finite numbers."""
    return 'a finite number' if size == 1 else f'{size} finite numbers'
