#!/bin/sh
# Writes requirements/lock.txt anew: every version for Python 3.11, without a torch build's local
# suffix and without the CUDA packages, which uv adds where it installs a CUDA build.
set -eu
cd "$(dirname "$0")/.."
UV_FIND_LINKS="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}" UV_TORCH_BACKEND="${UV_TORCH_BACKEND:-cpu}"
export UV_FIND_LINKS UV_TORCH_BACKEND
if [ -n "$UV_FIND_LINKS" ]; then unset UV_TORCH_BACKEND; fi
.venv/bin/uv pip compile pyproject.toml --extra train --extra dev --python-version 3.11 \
    --no-annotate --no-header --no-emit-index-url --no-emit-find-links --quiet "$@" |
    sed 's/+cpu$//' >requirements/lock.txt.new
mv requirements/lock.txt.new requirements/lock.txt
