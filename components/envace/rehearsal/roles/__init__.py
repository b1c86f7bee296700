"""One file per role of the policy: what it is shown."""
