#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Journeys through the page in Chromium, against a live server, a worker for the device cpu, and results of a
# GPU that seed.sql makes up. Screenshots of every page are left in <build>/web.
. "$(dirname "$0")/../t/lib.sh"
command -v node >/dev/null || skip_all 'node is not installed'
for web_module in node_modules/playwright-core node_modules/axe-core static/vendor/preact.js; do
    [ -e "$ROOT/$web_module" ] || skip_all "$web_module is not there: static/vendor.sh test fetches it"
done
for web_chromium in chromium chromium-browser google-chrome; do
    CHROMIUM=$(command -v "$web_chromium") && break
done
[ -n "${CHROMIUM:-}" ] || skip_all 'chromium is not installed'
db_start && server_start --queued-limit 5000 && worker_start
psql -qX -v ON_ERROR_STOP=1 -v report="$(jq -c . "$T_DIR/report.json")" -f "$T_DIR/seed.sql" "$DATABASE" \
    >"$TMP/seed.log" 2>&1 || bail 'cannot make up results'
psql -qX -v ON_ERROR_STOP=1 -f "$T_DIR/seed_runs.sql" "$DATABASE" >"$TMP/seed_runs.log" 2>&1 || bail 'cannot make up runs'

OUT="$BUILD/web"
mkdir -p "$OUT"
export CHROMIUM OUT URL PORT DATABASE BIN ROOT TMP SERVER_PID
web_status=0
node "$T_DIR/journeys.mjs" || web_status=$?
T_DONE=1
exit "$web_status"
