"""The experiments of the papers behind this package, run again with it."""
