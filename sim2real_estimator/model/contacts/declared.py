"""Pairs of links that can touch, made from how they are declared."""

from ...errors import ModelError
from ..suggestions import suggestions
from .collision_shapes import HalfSpace
from .hunt_crossley import HuntCrossley
from .pairs import ContactPair, GROUND, meeting

LAWS = {
    'hunt_crossley': HuntCrossley(),
}
# What is said of a pair besides the parameters of its law.
_WORDS = ('between', 'law', 'shapes')
_DEFAULT_LAW = 'hunt_crossley'
# Of a link of which no mass is known [kg].
_USUAL_MASS = 1.0


def with_declared_contacts(model, wishes, shapes_of):
    """
    Return a copy of a model in which links can touch.

    wishes: name of a pair -> {'between': two links, or one and 'ground'; 'law': an entry of
    LAWS; 'shapes': {link or 'ground': shapes in its frame in place of those described; those of
    the ground are in the frame of the base link}; and any parameter of the law: its value};
    shapes_of: function from the name of a link to the shapes that its description gives it.
    """
    return model.with_contacts(_pair(model, *item, shapes_of) for item in wishes.items())


def _pair(model, name, wish, shapes_of):
    where = f"{model.source}: contact '{name}'"
    law_name = wish.get('law', _DEFAULT_LAW)
    if law_name not in LAWS:
        raise ModelError(f"{where}: there is no law '{law_name}'; choose one of {', '.join(LAWS)}")
    law, between = LAWS[law_name], tuple(wish.get('between', ()))
    if len(between) != 2 or between[0] == between[1]:
        raise ModelError(
            f'{where}: between is {list(between)}; name two different links, or a link and '
            f"'{GROUND}'"
        )
    links = [_link_of(model, end, where) for end in between]
    if model.attachments[links[0]].body == model.attachments[links[1]].body:
        raise ModelError(
            f'{where}: {between[0]} and {between[1]} are welded together, so they never meet; '
            'name links that move relative to each other'
        )
    shapes, own_shapes = [], dict(wish.get('shapes', {}))
    for end, link in zip(between, links):
        found = own_shapes.pop(end, None)
        if found is None:
            is_ground = end == GROUND and link != GROUND
            found = (HalfSpace(),) if is_ground else shapes_of(link)
        if not found:
            raise ModelError(
                f"{where}: link '{end}' has no <collision> with a shape; add one to the robot "
                f'description, or give it under shapes: {{{end}: ...}}'
            )
        shapes.append(tuple(found))
    if own_shapes:
        raise ModelError(
            f"{where}: shapes names '{next(iter(own_shapes))}', which is not one of "
            f'{between[0]} and {between[1]}; take it out'
        )
    _require_meetings(where, between, shapes)
    return ContactPair(name, *links, *shapes, law, _values(model, where, law, links, wish))


def _link_of(model, end, where):
    """Return the name of a link; the base link for the ground."""
    names = [link.name for link in model.links]
    if end in names:
        return end
    if end == GROUND:
        return model.base
    raise ModelError(
        f"{where}: there is no link '{end}'; name one, or '{GROUND}': {suggestions(end, names)}"
    )


def _require_meetings(where, between, shapes):
    """Raise a ModelError where a shape of one link can touch none of the other."""
    for own, others, end, other_end in (
        (shapes[0], shapes[1], *between),
        (shapes[1], shapes[0], *reversed(between)),
    ):
        for shape in own:
            if all(meeting(shape, other) is None for other in others):
                raise ModelError(
                    f'{where}: a {type(shape).__name__} of {end} cannot touch what {other_end} '
                    'has; there are points (corners of a box, rims, vertices) or a sphere on a '
                    'half-space, a sphere on a sphere, and a sphere on a box. Give simpler '
                    f'shapes under shapes: {{{end}: ...}}'
                )


def _values(model, where, law, links, wish):
    """Return (name, value) of the law's parameters, those that depend on the mass included."""
    masses = [
        inertial.mass
        for link in links
        if (inertial := model.link(link).inertial) and model.attachments[link].body >= 0
    ]
    values = law.usual_values(min((m for m in masses if m > 0), default=_USUAL_MASS))
    names = [parameter.name for parameter in law.parameters]
    for key, value in wish.items():
        if key in _WORDS:
            continue
        if key not in names:
            raise ModelError(
                f"{where}: '{law.name}' has no parameter '{key}'; {suggestions(key, names)}"
            )
        lowest = 0 if key in law.may_be_zero else None
        if not (value > 0 or value == lowest):
            words = 'zero or more' if lowest == 0 else 'a value above zero'
            raise ModelError(f'{where}: {key} is {value}; give {words}')
        values[key] = float(value)
    return tuple(values.items())
