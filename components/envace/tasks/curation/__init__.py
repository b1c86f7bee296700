"""From the records of the sources to train and held-out tasks."""
