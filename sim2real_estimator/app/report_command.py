"""The command `sim2real-estimator report`."""

from pathlib import Path

from .export_command import posterior_in, require_free


def add_report(commands):
    """Add the command that writes the report of a saved posterior."""
    report = commands.add_parser('report', help='write what a posterior knows as an HTML page')
    report.add_argument('posterior', type=Path, help='saved posterior')
    report.add_argument('-o', '--output', type=Path, required=True, help='file to write')
    report.add_argument(
        '--config', type=Path, help='settings of the estimation (those in the posterior)'
    )
    report.add_argument('--force', action='store_true', help='overwrite the file')
    report.set_defaults(run=_report)


def _report(chosen):
    """Write the report of a saved posterior."""
    require_free(chosen.output, chosen.force)
    # Imported here, so that `--help` answers at once.
    from ..offline.identification.result import identification_of
    from ..posterior.export import opened
    from ..posterior.export.text_files import replace_file
    from ..posterior.report import report_text

    problem, posterior = opened(posterior_in(chosen.posterior), chosen.config)
    replace_file(chosen.output, report_text(identification_of(problem, posterior)))
    print(f'written: {chosen.output}')
    return 0
