"""The process beside the node in which the estimator runs, and the pipes to it."""
