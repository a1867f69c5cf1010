"""The node that suggests the next motion: docs/consumers.md."""
