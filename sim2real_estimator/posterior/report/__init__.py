"""
What an identification found, as one HTML file that a stranger understands: docs/report.md.

`sections/` holds a file for each part of it and the table of all, `templates/` what it looks like.
"""

from .page import report_text, write_report

__all__ = ['report_text', 'write_report']
