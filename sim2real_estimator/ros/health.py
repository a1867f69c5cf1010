"""The diagnostics of the node on `/diagnostics`, with names and levels as in REP 107."""

from collections import Counter

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

_NANO = 1e9
# The start of the worker takes a while; a backlog beyond this share of what fits is more.
_MUCH = 0.1
# Verdicts that deserve a warning.
_ALARMS = frozenset(('changed', 'misfit', 'out of prior'))
_LOST = 'messages are lost on the way: they come faster than they are read; publish fewer'
_GIVEN_UP = 'worker after worker has died; clean up and configure again'
_RELIEVED = 'too slow: frames are longer until it has caught up; lower frames.max_rate'


class Health:
    """Composes diagnostics, with counts since the message before instead of totals."""

    def __init__(self, node_name):
        """Take the node's name, which begins the name of every status."""
        self._node_name, self._before = node_name, {}

    def message(self, now, elapsed, state, session, description=None):
        """
        Return the DiagnosticArray.

        now: rclpy's time, of the robot; elapsed: real seconds since the message before; state:
        of the life cycle, in a word; session: the `Session`, None where nothing is configured;
        description: the `Description`, None where the robot does not come by a topic.
        """
        statuses = [self._node(state, session)]
        if description:
            statuses.append(self._robot(description))
        if session:
            statuses += [
                self._input(each, elapsed, session.news.troubles(each)) for each in session.inputs
            ]
            sources = [source.name for each in session.inputs for source in each.sources]
            statuses += [self._source(name, session) for name in sources]
            statuses += [
                self._worker(session),
                self._estimate(session, now.nanoseconds),
                self._saving(session),
            ]
            if session.worker.report and session.worker.report.findings:
                statuses.append(self._verdicts(session.worker.report.findings))
        return DiagnosticArray(header=_header(now), status=statuses)

    def _node(self, state, session):
        """Return the status of the node."""
        level, text, values = DiagnosticStatus.OK, state, {'state': state}
        if session and session.has_given_up:
            level, text = DiagnosticStatus.ERROR, f'{state}: {_GIVEN_UP}'
        elif session and not session.is_enabled:
            text = f'{state}, but not enabled: what comes in is ignored'
        if session:
            values['enabled'] = session.is_enabled
            values['scheduling'] = session.real_time.words
        return self._status('node', level, text, values)

    def _robot(self, description):
        """Return the status of the robot description."""
        level = DiagnosticStatus.WARN if description.trouble else DiagnosticStatus.OK
        if description.is_refused:
            level = DiagnosticStatus.ERROR
        values = {
            'topic': description.topic,
            'malformed': description.malformed,
            'incompatible QoS': description.mismatches,
        }
        return self._status('robot', level, description.trouble or 'in use', values)

    def _saving(self, session):
        """Return the status of saving the posterior."""
        error = session.saving.error
        level = DiagnosticStatus.ERROR if error else DiagnosticStatus.OK
        values = {'folder': session.saving.folder if session.config.saving.folder else ''}
        return self._status('saving', level, error or 'no trouble', values)

    def _input(self, each, elapsed, troubles):
        """Return the status of a topic, with its troubles as texts."""
        new = self._since(('input', each.topic), each.received)
        level, text = DiagnosticStatus.OK, 'messages come in'
        if each.mismatches:
            level, text = DiagnosticStatus.WARN, 'a publisher has an incompatible QoS'
        if not new:
            level, text = (
                DiagnosticStatus.WARN,
                'no messages; ' + (text if each.mismatches else 'see whether somebody publishes'),
            )
        if self._since(('lost', each.topic), each.lost):
            level, text = DiagnosticStatus.WARN, _LOST
        if troubles:
            level, text = DiagnosticStatus.WARN, '; '.join(troubles)
        values = {
            'publishers': ', '.join(each.publishers()),
            'rate [1/s]': f'{new / elapsed:.1f}',
            'messages': each.received,
            'lost on the way': each.lost,
            'incompatible QoS': each.mismatches,
        }
        return self._status(f'input {each.topic}', level, text, values)

    def _source(self, name, session):
        """Return the outcomes of the samples of a sensor or of a source of efforts."""
        worker, ignored = session.worker, session.ignored[name]
        dropped = worker.backlog.dropped[name]
        level, text = DiagnosticStatus.OK, 'counted by what became of them'
        if self._since(('dropped', name), dropped):
            level, text = DiagnosticStatus.WARN, 'messages dropped: the worker is too slow'
        counts = worker.report.counts.get(name, {}) if worker.report else {}
        if self._since(('skipped', name), counts.get('skipped', 0)):
            level, text = DiagnosticStatus.WARN, 'data skipped: the estimator is too slow'
        values = {**counts, 'dropped': dropped, 'ignored': ignored}
        return self._status(f'samples of {name}', level, text, values)

    def _worker(self, session):
        """Return the status of the worker process."""
        worker, tally = session.worker, session.tally
        report = worker.report
        level, text = DiagnosticStatus.OK, 'running' if report else 'starting'
        if worker.waiting > _MUCH * worker.backlog.capacity:
            level, text = DiagnosticStatus.WARN, 'too slow; lower frames.max_rate'
        if report and (self._since('reliefs', report.reliefs) or report.is_relieved):
            level, text = DiagnosticStatus.WARN, _RELIEVED
        if worker.death:
            level, text = DiagnosticStatus.ERROR, f'{worker.death}; configure again'
        values = {
            'pid': worker.pid,
            'backlog [messages]': worker.waiting,
            'deaths': session.deaths,
            'messages lost by deaths': session.lost,
            'messages at risk': session.at_risk,
        }
        if report:
            updates = self._since('updates', report.updates)
            busy = self._since('busy', report.busy)
            values |= {
                'backend': report.backend,
                'messages taken': report.taken,
                'updates': report.updates,
                'samples waiting': report.samples,
                'data waiting [s]': f'{report.lag:.3f}',
                'mean update time [ms]': f'{1e3 * busy / updates:.3f}' if updates else '',
                'longest update time [ms]': f'{1e3 * tally.longest:.3f}',
            }
        return self._status('worker', level, text, values)

    def _estimate(self, session, now_ns):
        """Return the status of the estimate."""
        worker, tally = session.worker, session.tally
        estimate = worker.report.estimate if worker.report else None
        if estimate is None:
            return self._status('estimate', DiagnosticStatus.OK, 'none yet', {'stage': 'prior'})
        values = {
            'stage': estimate.report.stage,
            'data age [s]': f'{(now_ns - estimate.stamp_ns) / _NANO:.3f}',
            'NIS': f'{estimate.report.nis:.3f}',
            'NIS degrees of freedom': estimate.report.degrees,
            'events': ', '.join(dict.fromkeys(map(str, tally.events))),
        }
        level, text = DiagnosticStatus.OK, 'see the topic ~/estimate'
        if worker.report.findings.obstacle:
            level, text = DiagnosticStatus.WARN, worker.report.findings.obstacle
        return self._status('estimate', level, text, values)

    def _verdicts(self, findings):
        """Return the verdict of every parameter."""
        level = DiagnosticStatus.OK
        if _ALARMS.intersection(findings.verdicts):
            level = DiagnosticStatus.WARN
        numbers = Counter(findings.verdicts)
        text = ', '.join(f'{number} {word}' for word, number in numbers.most_common())
        values = {each.name: each.verdict_text for each in findings.parameters}
        values |= {
            'information [nats]': f'{findings.information:.1f}',
            'dimensions known from data': findings.observed,
            'no data tell': '; '.join(findings.null_directions),
        }
        return self._status('verdicts', level, text, values)

    def _since(self, key, total):
        """Return the increase of a total since the message before."""
        before, self._before[key] = self._before.get(key, 0), total
        # Another worker counts from zero.
        return total - before if total >= before else total

    def _status(self, task, level, text, values):
        return DiagnosticStatus(
            name=f'{self._node_name}: {task}',
            level=level,
            message=text,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )


class Tally:
    """Sums over the reports of the worker between two diagnostics."""

    def __init__(self):
        """Begin at zero."""
        self.longest, self.events = 0.0, []

    def add(self, report):
        """Add a `Report`."""
        self.longest = max(self.longest, report.longest)
        self.events += report.events


def _header(now):
    header = DiagnosticArray().header
    header.stamp = now.to_msg()
    return header
