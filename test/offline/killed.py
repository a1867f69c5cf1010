"""
Identifies a recording, and is killed on the way.

Arguments: bag, output, after how many checkpoints; 0: not at all.
"""

import os
import signal
import sys

import swinging
import torch

from sim2real_estimator import identify
from sim2real_estimator.offline.identification import checkpoint, run


def main(bag, output, kills):
    """Identify, with a checkpoint at every opportunity."""
    torch.set_num_threads(1)
    checkpoint._PERIOD = checkpoint._RATIO = 0.0
    run._MESSAGES = 40
    write, left = checkpoint.Checkpoint.write, [int(kills)]

    def write_and_die(self, *arguments):
        write(self, *arguments)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.Checkpoint.write = write_and_die
    identify(bag, swinging.config(), output, held_out=0)


if __name__ == '__main__':
    main(*sys.argv[1:])
