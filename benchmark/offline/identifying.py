"""`identify` in a process of its own: what it took is printed as JSON."""

import json
from pathlib import Path
import resource
import subprocess
import sys

_ROOT = Path(__file__).resolve().parents[2]
_KIB = 1024.0


def identified(bag, config, output=None):
    """
    Identify a recording on one thread in another process, and return what that took, by name.

    output: folder for the result, None: nothing is written. 'reading', 'estimating', 'data' [s];
    'messages' of the recording; 'peak' of the memory [MiB]; 'components' of the posterior.
    """
    command = [sys.executable, '-m', 'offline.identifying', str(bag), str(config)]
    found = subprocess.run(
        command + ([str(output)] if output else []),
        cwd=_ROOT / 'benchmark',
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(found.stdout.splitlines()[-1])


def main():
    """Identify; arguments: recording, config, and perhaps the folder of the result."""
    sys.path.insert(0, str(_ROOT))
    from peers.timing import set_torch_threads

    from sim2real_estimator import identify  # after the path is set

    set_torch_threads(1)  # which importing the package may have changed
    found = identify(*sys.argv[1:], held_out=0)
    told = {
        **found.timings,
        'messages': sum(topic.messages for topic in found.bags[0].topics),
        'peak': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB,
        'components': found.posterior.mixture.size,
    }
    print(json.dumps(told))


if __name__ == '__main__':
    main()
