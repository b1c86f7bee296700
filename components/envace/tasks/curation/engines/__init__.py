"""Where parts of a source are examined: one file per engine."""
