#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The modules of the page that need no browser.
. "$(dirname "$0")/../t/lib.sh"
command -v node >/dev/null || skip_all 'node is not installed'
[ -e "$ROOT/static/vendor/preact.js" ] || skip_all 'static/vendor is not there: static/vendor.sh fetches it'
modules_status=0
node "$T_DIR/modules.mjs" || modules_status=$?
T_DONE=1
exit "$modules_status"
