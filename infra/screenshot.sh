#!/bin/sh
# Writes docs/images/prefect.png: the page of the deployment, with its schedule and its runs.
# Run it after `make up` and `make retrain`. Needs Chromium (Debian: apt-get install chromium).
set -eu
cd "$(dirname "$0")/.."
api=${PREFECT_API_URL:-http://127.0.0.1:4200/api}
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
id=$(.venv/bin/python - "$api/deployments/name/retrain/weekly" <<'PYTHON'
import json, sys, urllib.request
sys.stdout.write(json.load(urllib.request.urlopen(sys.argv[1]))["id"])
PYTHON
)
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$profile" --window-size=1400,900 --virtual-time-budget=40000 \
    --screenshot=docs/images/prefect.png "${api%/api}/deployments/deployment/$id" 2>/dev/null
