"""
Files that somebody else has written, read as a whole without trusting them.

A name may be that of a pipe or of a device without an end, an archive may unpack to more than
there is memory, and a damaged file may raise anything from deep inside a library.
"""

from contextlib import contextmanager
import math
from pathlib import Path
import stat
import zipfile

from .errors import DataError, EstimatorError

# Of a file that is read as a whole [bytes]: descriptions of robots with thousands of links have a
# few MB, settings less; posteriors and tables are arrays.
LARGEST_TEXT, LARGEST_SETTINGS, LARGEST_ARRAYS = 64 << 20, 4 << 20, 2 << 30
# Of what a library says about a damaged file, which may quote all of it.
_MOST_WORDS = 200


def require_file(path, largest, kind=DataError):
    """
    Raise an error of a kind where a path is a pipe or a device, or has more bytes than `largest`.

    A folder and a missing file are left to whoever opens it.
    """
    try:
        found = Path(path).stat()
    except OSError:
        return
    except ValueError as error:
        raise kind(f'{path!r}: is no name of a file ({error}); give the path of a file') from error
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise kind(f'{path}: is a pipe or a device; write what comes from it into a file first')
    if found.st_size > largest:
        raise kind(
            f'{path}: has {found.st_size >> 20} MB, and at most {largest >> 20} MB are read; '
            'see whether it is the right file'
        )


@contextmanager
def damage_as_error(path, remedy, kind=DataError):
    """Turn whatever a damaged file raises into an error of a kind; remedy: what to do about it."""
    try:
        yield
    except EstimatorError:
        raise
    except MemoryError as error:
        raise kind(f'{path}: is larger than the memory; {remedy}') from error
    except Exception as error:
        raise kind(f'{path}: is cut off or damaged ({words_of(error)}); {remedy}') from error


def words_of(error):
    """Return what an error says in one line that is not too long."""
    text = ' '.join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MOST_WORDS else f'{text[:_MOST_WORDS]}...'


def require_unpackable(path, archive, largest=LARGEST_ARRAYS):
    """Raise a DataError where the members of an open `ZipFile` unpack to more than `largest`."""
    size = sum(member.file_size for member in archive.infolist())
    if size > largest:
        raise DataError(
            f'{path}: unpacks to {size >> 20} MB, and at most {largest >> 20} MB are read; '
            'see whether it is the right file'
        )


def read_array(archive, name):
    """
    Return an array of an open `ZipFile`; a ValueError where it is not as large as it says.

    One of Python objects is refused, since reading it could run code.
    """
    from numpy.lib import format as npy  # imports numpy, which `--help` need not wait for

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with archive.open(name) as member:
        version = npy.read_magic(member)
        if version not in headers:
            raise ValueError(f'version {version} of its format is not known')
        shape, _, kind = headers[version](member)
        if math.prod(shape) * kind.itemsize > archive.getinfo(name).file_size:
            raise ValueError('it says that it is larger than it is')
    with archive.open(name) as member:
        return npy.read_array(member, allow_pickle=False)


def opened_archive(path):
    """Return the `ZipFile` of a path, which unpacks to no more than is reasonable."""
    require_file(path, LARGEST_ARRAYS)
    archive = zipfile.ZipFile(path)
    try:
        require_unpackable(path, archive)
    except BaseException:
        archive.close()
        raise
    return archive
