"""Labels on joints: what resists their motion."""

from .shapes import text

_SPACE = 'joints'
_QUANTITIES = ('damping', 'friction', 'armature', 'stiffness')
# In parts of the robot's size.
_HEIGHT, _ASIDE = 0.04, 0.08


def joint_markers(view):
    """Return a text at every joint of which something is estimated, in its child's frame."""
    markers = []
    for number, joint in enumerate(view.parameters.model.joints):
        names = [f'{joint.name}.{quantity}' for quantity in _QUANTITIES]
        found = [each for each in view.findings if each.name in names]
        lines = [f'{each.name.rpartition(".")[2]} {view.words(each)}' for each in found]
        if lines:
            position = (_ASIDE * view.size * x for x in _axis(joint))
            color = view.look_of_owner(joint.name).color()
            words = '\n'.join((joint.name, *lines))
            markers.append(
                text(_SPACE, number, joint.child, position, _HEIGHT * view.size, words, color)
            )
    return markers


def _axis(joint):
    """Return the first axis of a joint, along which a label hides nothing of a flat robot."""
    return joint.kind.groups[0].axes[0]
