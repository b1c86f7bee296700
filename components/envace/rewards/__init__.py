"""One file per reward of an episode."""
