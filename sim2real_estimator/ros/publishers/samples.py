"""The topic `~/samples`: draws of the physical parameters, for domain randomization."""

from .cloud import cloud_message, read_cloud


def samples_message(names, values, stamp_ns):
    """Return draws [P, N] of parameters as PointCloud2: a FLOAT64 field each, a point per draw."""
    return cloud_message(dict(zip(names, values)), stamp_ns)


def read_samples(message):
    """Return name -> draws [N] of a message; entries of the same index belong together."""
    return read_cloud(message)
