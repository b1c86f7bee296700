"""One file per engine that can answer as a policy."""
