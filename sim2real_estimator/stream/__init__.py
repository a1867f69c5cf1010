"""From samples in order of arrival to frames in order of time."""
