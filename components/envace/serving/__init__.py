"""The promoted policy behind an OpenAI-compatible endpoint."""
