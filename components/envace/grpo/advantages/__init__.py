"""One file per advantage estimator."""
