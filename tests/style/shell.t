#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../t/lib.sh"
command -v shellcheck >/dev/null || skip_all 'shellcheck is not installed'
cd "$ROOT" || exit 1
scripts=$(find . \( -name build -o -name .git -o -name node_modules \) -prune -o -type f \
    \( -perm -100 -o -name '*.sh' -o -name '*.t' \) -print |
    xargs grep -lIE '^#! ?/(usr/)?bin/(env )?(ba)?sh|^# shellcheck shell=' -- | sort)
for file in $scripts; do
    ok "shellcheck finds nothing in $file" shellcheck -x --source-path=SCRIPTDIR "$file"
done
done_testing
