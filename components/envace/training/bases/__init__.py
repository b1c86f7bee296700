"""Base policies: where the weights come from that everything starts with.

`build(config, cache, folder, tasks)` makes a Hugging Face folder at `folder`, whole or not at all,
and returns it.
"""
