"""Problems of known truth: what the estimator is tested and evaluated on."""
