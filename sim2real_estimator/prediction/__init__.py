"""One robot as an estimator sees it: frames predicted and linearized."""
