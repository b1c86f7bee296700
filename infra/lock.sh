#!/bin/sh
# Writes requirements/lock.txt anew: every version for Python 3.11, without a torch build's local
# suffix and without the CUDA packages, which uv adds where it installs a CUDA build. Writes
# requirements/tau2.lock too: requirements/tau2.in with the hash of every file, since data comes from it.
set -eu
cd "$(dirname "$0")/.."
UV_FIND_LINKS="${UV_FIND_LINKS:-${PIP_FIND_LINKS:-}}" UV_TORCH_BACKEND="${UV_TORCH_BACKEND:-cpu}"
export UV_FIND_LINKS UV_TORCH_BACKEND
if [ -n "$UV_FIND_LINKS" ]; then unset UV_TORCH_BACKEND; fi

compile() { # source options...: the lock of a source, without what differs between machines
    .venv/bin/uv pip compile --quiet --python-version 3.11 --no-annotate --no-header \
        --no-emit-index-url --no-emit-find-links "$@"
}

compile pyproject.toml --extra train --extra scale --extra dev "$@" | sed 's/+cpu$//' >requirements/lock.txt.new
UV_FIND_LINKS='' compile requirements/tau2.in --no-deps --universal --generate-hashes >requirements/tau2.lock.new
mv requirements/lock.txt.new requirements/lock.txt
mv requirements/tau2.lock.new requirements/tau2.lock
