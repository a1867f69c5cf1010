"""Where the numbers come from."""

from ..blocks import Folded, Section, Table
from ..words import seconds


def origin(found):
    """Return the section of what it takes to get the same again."""
    known, identity = found.provenance, found.posterior.identity
    rows = [
        ('made', known.created),
        ('program', f'sim2real_estimator {known.package}'.strip()),
        ('backend', known.backend),
        ('robot', f'SHA-256 {known.model_hash}'),
        ('estimator', f'{identity["estimator"]["name"]}, seed {known.seed}'),
    ]
    rows += [
        (
            f'recording {bag.name}',
            f'BLAKE2b {bag.digest}, {seconds(bag.end_ns - bag.begin_ns)}',
        )
        for bag in found.bags
    ]
    if len(found.bags) > 1:
        how = 'independent, joined at the end' if found.is_merged else 'one after the other'
        rows.append(('recordings are', how))
    rows += [(name, version) for name, version in known.libraries.items()]
    rows = [(what, value) for what, value in rows if value]
    caption = 'With the same recordings, settings, seed and versions the numbers are the same.'
    blocks = (
        Table(caption, ('what', 'value'), tuple(rows), texts=(0, 1)),
        Folded('Settings', known.config),
    )
    return Section('Where the numbers come from', blocks)
