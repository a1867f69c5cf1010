"""From recordings to a result that a person can read and a simulator can load."""
