#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the modules that the page is made of into static/vendor/, as package-lock.json pins them. Afterwards
# nothing is fetched any more; without npm or network the API and the plain board at /board still work.
#   static/vendor.sh          what the page needs
#   static/vendor.sh test     and what tests/web needs
set -eu
cd "$(dirname "$0")/.."

# file in node_modules, name in static/vendor
FILES='
htm/preact/standalone.module.js             preact.js
uplot/dist/uPlot.esm.js                     uplot.js
uplot/dist/uPlot.min.css                    uplot.css
@highlightjs/cdn-assets/es/core.min.js      highlight.js
@highlightjs/cdn-assets/es/languages/cpp.min.js  highlight-cpp.js
htm/LICENSE                                 htm.license.txt
uplot/LICENSE                               uplot.license.txt
@highlightjs/cdn-assets/LICENSE             highlight.license.txt
'
# What says that all of it is there, from this lock file.
STAMP=static/vendor/lock.sha256
LOCK=$(sha256sum <package-lock.json)

if [ "${1:-}" = test ]; then
    wanted='' needs=node_modules/playwright-core
else
    wanted=--omit=dev needs=static/vendor/preact.js
fi
if [ -e "$needs" ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$LOCK" ]; then
    exit 0
fi
if ! command -v npm >/dev/null; then
    echo "npm is not installed: no page, but the API and the plain board at /board" >&2
    exit 1
fi
# shellcheck disable=SC2086 # may be nothing
npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --loglevel=error $wanted
rm -rf static/vendor
mkdir -p static/vendor
printf '%s\n' "$FILES" | while read -r from to; do
    [ -z "$from" ] || cp "node_modules/$from" "static/vendor/$to"
done
echo "$LOCK" >"$STAMP"
