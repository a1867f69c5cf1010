"""The real-time priority of the node's thread, which receives messages."""

import os

_USUAL = 'as usual'
_REMEDY = (
    'allow it by a line such as "@realtime - rtprio 99" in /etc/security/limits.conf for your '
    'group, by LimitRTPRIO=99 in a systemd unit or by --cap-add=sys_nice of a container; or set '
    'node.realtime_priority to 0'
)


class RealTime:
    """Runs the calling thread with SCHED_FIFO until closed; `words` describes how it runs."""

    def __init__(self, priority, logger):
        """Set the priority, 0: leave the thread as it is; a refusal is logged as a warning."""
        self.words, self._before = _USUAL, None
        if not priority:
            return
        try:
            before = os.sched_getscheduler(0), os.sched_getparam(0)
            # Processes that this thread starts, the worker above all, must not inherit it.
            os.sched_setscheduler(
                0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority)
            )
        except (AttributeError, OSError) as error:  # only Linux has all of them
            reason = getattr(error, 'strerror', None) or error
            self.words = f'{_USUAL}: SCHED_FIFO {priority} was refused'
            logger.warning(f'SCHED_FIFO {priority} is refused ({reason}): {_REMEDY}')
        else:
            self.words, self._before = f'SCHED_FIFO {priority}', before

    def close(self):
        """Run the thread as before."""
        if self._before:
            policy, parameters = self._before
            # Without privileges the flag cannot be cleared, nor need it be.
            os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, parameters)
            self._before = None
