"""The first seconds: fits of a growing batch from many starts."""
