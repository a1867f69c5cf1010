"""
What is known of a robot, in one file: kept, continued in another process, and joined.

A zip archive of `header.json` and of arrays as `.npy`; docs/posterior_files.md lists both.
`numpy.load` opens it. Nothing in it is ever run: no pickle is written, and none is read.
"""

from dataclasses import asdict, dataclass, replace
import json
import os
from pathlib import Path
import zipfile

import numpy as np

from ..errors import DataError, OutputError
from ..estimation.merging import merge
from ..estimation.mixture import Mixture
from ..estimation.noise import NoiseScales
from ..estimation.protocol import Gaussian
from ..files import damage_as_error, opened_archive, read_array, words_of
from ..records import CombinationFinding, Findings, ParameterFinding
from ..version import __version__
from .encoding import Decoder, Encoder, OtherVersionError, require_kinds, UnknownSortError
from .identity import Recording, require_same

FORMAT, VERSION = 'sim2real_estimator posterior', 3
# In version 1 the stamps of frames were written one by one, up to version 2 events were texts:
# everything in these files is read but the run.
_READABLE = (1, 2, VERSION)
_HEADER = 'header.json'
_DISTRIBUTIONS = ('log_weights', 'means', 'roots', 'prior_mean', 'prior_root')
# The same content gives the same file: an archive would else have the time of day in it.
_EPOCH = (1980, 1, 1, 0, 0, 0)
# Of a header; that of an arm of seven joints has less than a MB [bytes].
_LARGEST_HEADER = 256 << 20
# By which weights may miss one, after many updates.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Posterior:
    """
    All that a file holds.

    identity: of `identity.describe`; mixture: of the parameters, without a state; prior: before
    all `recordings`; config: the settings as YAML; findings: verdicts and numbers for people; run:
    what it takes to go on, plain values and records. The last two are None where several
    recordings were merged, or another version has saved the file. noise_prior: `NoiseScales`
    before all recordings, of sensors whose noise is unknown; obstacle: why there is no run to go
    on with, where another version has saved it.
    """

    identity: dict
    mixture: Mixture
    prior: Gaussian
    recordings: tuple
    config: str = ''
    findings: Findings | None = None
    run: dict | None = None
    noise_prior: NoiseScales | None = None
    obstacle: str = ''


def save(path, posterior):
    """Write a file, all of it or nothing: whoever reads meanwhile finds the old one or the new."""
    encoder = Encoder()
    noises = posterior.mixture.noises, posterior.noise_prior
    content = encoder.encode((posterior.findings, posterior.run, noises))
    nodes, arrays = encoder.tables()
    header = {
        'format': FORMAT,
        'version': VERSION,
        'package': __version__,
        'identity': posterior.identity,
        'recordings': [asdict(recording) for recording in posterior.recordings],
        'config': posterior.config,
        'content': content,
        'nodes': nodes,
    }
    mixture, prior = posterior.mixture, posterior.prior
    distributions = (
        mixture.log_weights,
        mixture.means,
        mixture.parameter_roots(),
        prior.mean,
        prior.root,
    )
    _replace(path, header, {**dict(zip(_DISTRIBUTIONS, distributions)), **arrays})


def load(path):
    """Return the `Posterior` of a file; what is wrong with it is a DataError."""
    header, arrays = _read(Path(path))
    try:
        with damage_as_error(path, 'save it again'):
            posterior = _decoded(header, arrays)
            _require_sound(posterior)
            return posterior
    except (OtherVersionError, UnknownSortError) as error:
        raise DataError(f'{path}: {error}; it was not written by this version') from error


def _decoded(header, arrays):
    """Return the `Posterior` of a header and the arrays."""
    found = {name: arrays.pop(name) for name in _DISTRIBUTIONS}
    decoder, content = Decoder(header['nodes'], arrays), header['content']
    # The parts are decoded one by one: of a run there may be nothing that can be read.
    if not isinstance(content, list):
        content = decoder.decode(content)
    findings, run, (noises, noise_prior) = content
    noises, noise_prior = map(decoder.decode, (noises, noise_prior))
    findings = _findings_of(decoder, findings)
    run, obstacle = _run_of(header['version'], decoder, run)
    means, state = found['means'], np.zeros((0, found['means'].shape[1]))
    return Posterior(
        header['identity'],
        Mixture(found['log_weights'], state, means, found['roots'], noises=noises),
        Gaussian(found['prior_mean'], found['prior_root']),
        tuple(Recording(**recording) for recording in header['recordings']),
        header['config'],
        findings,
        run,
        noise_prior,
        obstacle,
    )


def _findings_of(decoder, findings):
    """Return the `Findings`, None where another version has saved them."""
    try:
        return decoder.decode(findings)
    except OtherVersionError:
        return None


def _run_of(version, decoder, run):
    """Return (what it takes to go on, why there is nothing of the kind); version: of the file."""
    if run is not None and version != VERSION:
        return None, f'another version has saved it: version {version} of the format'
    try:
        return decoder.decode(run), ''
    except OtherVersionError as error:
        return None, f'another version has saved it: {error}'


def joined(posteriors):
    """
    Return the `Posterior` of several recordings of one robot; their prior counts once.

    What they know of the robot's state is left out, and so is what it takes to go on.
    """
    first, *others = posteriors
    for other in others:
        require_same(other.identity, first.identity, 'the other file')
        require_same_prior(other, first.prior, first.noise_prior)
    recordings = [recording for posterior in posteriors for recording in posterior.recordings]
    starts = [recording.first for recording in recordings]
    if len(set(starts)) < len(starts):
        twice = next(r for r in recordings if starts.count(r.first) > 1)
        raise DataError(
            f'the recording that begins at {twice.begin_ns} ns is in two of the posteriors, and '
            'would count twice; leave one of them out'
        )
    mixtures = [posterior.mixture for posterior in posteriors]
    mixture = merge(mixtures, first.prior, first.noise_prior)
    return replace(first, mixture=mixture, recordings=tuple(recordings), findings=None, run=None)


def require_same_prior(posterior, prior, noise_prior=None):
    """Raise a DataError where a posterior began from another prior."""
    if noise_prior is not None:
        before, now = posterior.noise_prior.logs(), noise_prior.logs()
        if not np.allclose(before, now, rtol=1e-9, atol=1e-12):
            raise DataError(
                'the prior of the noise of sensors was another one; use the settings that the '
                'posterior has been estimated with'
            )
    for k, label in enumerate(posterior.identity['coordinates']):
        before = posterior.prior.mean[k], np.linalg.norm(posterior.prior.root[k])
        now = prior.mean[k], np.linalg.norm(prior.root[k])
        if not np.allclose(before, now, rtol=1e-9, atol=1e-12):
            raise DataError(
                f"the prior of '{label}' was {before[0]:.6g} +- {before[1]:.6g} and is "
                f'{now[0]:.6g} +- {now[1]:.6g} here; use the settings that the posterior has '
                'been estimated with'
            )


def _replace(path, header, arrays):
    """Write header and arrays to a file beside the path, and put it in its place."""
    path = Path(path)
    # Of this process only: others may be writing to the same path.
    beside = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        try:
            with beside.open('wb') as file:
                _write(file, header, arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f'{path}: cannot be written ({error}); choose another place') from error


def _write(file, header, arrays):
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps(header, allow_nan=False)
        archive.writestr(_entry(_HEADER), text)
        for name, array in arrays.items():
            with archive.open(_entry(f'{name}.npy'), 'w') as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def _entry(name):
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _read(path):
    """Return (header, name -> array)."""
    try:
        with opened_archive(path) as archive, damage_as_error(path, 'save it again'):
            header = _checked_header(path, archive)
            names = [name for name in archive.namelist() if name.endswith('.npy')]
            return header, {name[:-4]: _array(path, archive, name) for name in names}
    except OSError as error:
        raise DataError(f'{path}: cannot be read ({error}); give a saved posterior') from error
    except zipfile.BadZipFile as error:
        with path.open('rb') as file:
            is_archive = file.read(2) == b'PK'
        what = f'is cut off or damaged ({error}); save it again' if is_archive else _STRANGE
        raise DataError(f'{path}: {what}') from error
    except (NotImplementedError, ValueError) as error:
        raise DataError(f'{path}: is damaged ({words_of(error)}); save it again') from error


_STRANGE = 'is not a saved posterior; give a file that `save` has written'


def _checked_header(path, archive):
    """Return the header; refuse that of another format or of a later version."""
    if _HEADER not in archive.namelist():
        raise DataError(f'{path}: {_STRANGE}')
    if archive.getinfo(_HEADER).file_size > _LARGEST_HEADER:
        raise DataError(f'{path}: {_STRANGE}')
    content = archive.read(_HEADER)
    try:
        header = json.loads(content)
        name, version = header['format'], header['version']
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise DataError(f'{path}: {_STRANGE} ({words_of(error)})') from error
    if name != FORMAT:
        raise DataError(f"{path}: is a file of '{name}'; give one of '{FORMAT}'")
    if version not in _READABLE:
        raise DataError(
            f'{path}: has version {version} of the format, written by version '
            f"'{header.get('package')}' of the package; this one reads versions up to {VERSION}: "
            'install the version that wrote it'
        )
    return header


def _array(path, archive, name):
    """Return one array."""
    with damage_as_error(f'{path}: {name}', 'save it again'):
        return read_array(archive, name)


def _require_sound(posterior):
    """Raise a DataError where the content of a file is that of no posterior."""
    identity, recordings = posterior.identity, posterior.recordings
    mixture, prior = posterior.mixture, posterior.prior
    labels = identity['coordinates']
    kinds = {'model_hash': str, 'model': dict, 'parameters': list, 'coordinates': list}
    kinds |= {'state_size': int, 'estimator': dict}
    shapes = {
        'log_weights': (mixture.log_weights, (len(mixture.log_weights),)),
        'means': (mixture.means, (len(labels), mixture.size)),
        'roots': (mixture.roots, (mixture.size, len(labels), mixture.roots.shape[-1])),
        'prior_mean': (prior.mean, (len(labels),)),
        'prior_root': (prior.root, (len(labels), prior.root.shape[-1])),
    }
    for name, kind in kinds.items():
        _require(isinstance(identity[name], kind), f'its {name} is {identity[name]!r:.40}')
    for name in ('parameters', 'coordinates'):
        _require(all(map(_is_name, identity[name])), f'its {name} are no names')
    _require('base link' in identity['model'], 'its model has no base link')
    estimator = identity['estimator']
    _require({'name', 'seed'} <= set(estimator), 'its estimator has no name and seed')
    for name, (array, shape) in shapes.items():
        _require(array.dtype == float and array.shape == shape, f'{name} has the wrong shape')
        _require(np.isfinite(array).all(), f'{name} has numbers that are not finite')
    _require(mixture.size > 0, 'it has no component')
    _require(abs(np.exp(mixture.log_weights).sum() - 1) < _ROUNDING, 'weights do not sum to one')
    for name, roots in (('roots', mixture.roots), ('prior_root', prior.root)):
        with np.errstate(over='ignore'):
            variances = np.square(roots).sum(-1)
        is_sound = np.isfinite(variances).all() and (variances > 0).all()
        _require(is_sound, f'{name} has variances that are zero or not finite')
    for each in recordings:
        kinds_fit = isinstance(each.first, str) and type(each.begin_ns) is type(each.end_ns) is int
        _require(kinds_fit and abs(each.begin_ns) < 2**63 > abs(each.end_ns), 'it has odd times')
    _require(isinstance(posterior.config, str), 'its config is no text')
    require_kinds(posterior.findings, Findings)
    if posterior.findings:
        _require_listable(posterior.findings)
    for noises in (mixture.noises, posterior.noise_prior):
        require_kinds(noises, NoiseScales)


def _require_listable(findings):
    """Raise an error where what findings list are other things than they should be."""
    for name, kind in (
        ('parameters', ParameterFinding),
        ('combinations', CombinationFinding),
        ('null_directions', str),
        ('unknown_efforts', str),
    ):
        _require(all(isinstance(each, kind) for each in getattr(findings, name)), f'odd {name}')
    for each in findings.parameters:
        _require(all(map(_is_name, (each.name, *each.aliases))), 'odd names')
        np.asarray(each.quantiles, float)
    np.asarray([weight for weight, _ in findings.modes], float)


def _is_name(value):
    """Return whether a value is a text that a terminal shows as it is."""
    return isinstance(value, str) and value.isprintable()


def _require(is_so, what):
    if not is_so:
        raise ValueError(what)
