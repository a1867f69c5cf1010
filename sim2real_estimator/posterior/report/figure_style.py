"""Colours, sizes and words that all figures share."""

from ...observability.looks import LOOKS

# Okabe and Ito: told apart by all eyes, and in grey.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    '#0072B2',
    '#E69F00',
    '#009E73',
    '#D55E00',
    '#CC79A7',
    '#56B4E9',
)
GREY, LIGHT, BLACK = '#666666', '#D9D9D9', '#222222'
# What each predictor is called and drawn with: words, colour, line.
PREDICTORS = {
    'nominal': ('robot description', ORANGE, '--'),
    'mean': ('estimate', BLUE, '-'),
    'draws': ('draws of the posterior', SKY, '-'),
}
# Verdict -> (colour, marker, sign in tables).
VERDICTS = {verdict.value: (look.web, look.marker, look.sign) for verdict, look in LOOKS.items()}
MEANINGS = {
    'identified': 'the data tell it, use it',
    'prior-assisted': 'the data narrow it, what was believed before still counts',
    'prior-only': 'the data say next to nothing of it: another motion or sensor is needed',
    'aliased': 'only a combination with the parameters named is known',
    'ambiguous': 'several separate answers fit',
    'out of prior': 'far from what was believed, at a limit, or what no robot has: check both',
    'changed': 'it changed a moment ago, or may have',
    'misfit': 'a unit, a sign or the robot description is wrong: repair that first',
}
# Width of the page [inch at 100 dpi].
WIDTH = 10.8


def class_of(verdict):
    """Return the class of a verdict's word in the style sheet."""
    return verdict.replace(' ', '-')
