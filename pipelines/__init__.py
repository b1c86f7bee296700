"""The stages, the flows and the command line; run from the checkout, never packaged."""
