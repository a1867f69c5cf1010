"""From model, sensors and unknown parameters to what an estimator sees."""
