"""A fan of motions that the posterior holds possible in the time to come."""

from .shapes import line, plain

_GREY = (0.85, 0.85, 0.85)
_BRIGHT, _FAINT = 0.9, 0.3
# In parts of the robot's size.
_WIDE, _THIN = 0.008, 0.003


def future_markers(view):
    """Return a line for the end of every link and every draw; the first is the likeliest one."""
    markers = []
    for link, paths in view.paths.items():
        for number, path in enumerate(paths):
            width, alpha = (_THIN, _FAINT) if number else (_WIDE, _BRIGHT)
            space, base = f'future of {link}', view.parameters.model.base
            color = plain(_GREY, alpha)
            markers.append(line(space, number, base, path, width * view.size, color))
    return markers
