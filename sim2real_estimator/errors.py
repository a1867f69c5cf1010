"""The errors a user can meet; each says what was wrong, where, and what to do."""


class EstimatorError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(EstimatorError):
    """A setting or an argument that cannot be used."""


class ModelError(EstimatorError):
    """A robot description that cannot be simulated as it stands."""


class DataError(EstimatorError):
    """A recording or an array that does not fit what it is said to be."""


class OutputError(DataError):
    """Something that cannot be written where it should be; what was there before still is."""


class ProcessError(EstimatorError):
    """A process that did not do what it was started for."""
