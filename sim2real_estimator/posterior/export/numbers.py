"""Numbers as text: all digits, so that who loads them gets the same numbers."""


def word(value):
    """Return a number."""
    # Adding zero makes -0 the same as 0.
    return repr(float(value) + 0.0)


def words(values):
    """Return several numbers, a blank between two."""
    return ' '.join(word(value) for value in values)
