"""One file per place that metrics go to."""
