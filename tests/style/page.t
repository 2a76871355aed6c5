#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the sources of the page and of its tests have and have not.
. "$(dirname "$0")/../t/lib.sh"
cd "$ROOT" || exit 1

scripts()
{
    find static tests/web -name '*.js' -o -name '*.mjs' | grep -v '^static/vendor/' | sort
}

is 'every script says its licence in the first line and what it is for in the second' \
    "$(for f in $(scripts); do
        [ "$(sed -n 1p "$f")" = '// SPDX-License-Identifier: Apache-2.0' ] && sed -n 2p "$f" | grep -qE '^// .{10}' || echo "$f"
    done)" ''
is 'no line is longer than 120 columns, tests apart' \
    "$(for f in $(scripts | grep '^static/'); do LC_ALL=C.UTF-8 awk -v f="$f" 'length > 120 { print f ":" NR }' "$f"; done)" ''
is 'no file is longer than 450 lines' "$(scripts | xargs wc -l | awk '$2 != "total" && $1 > 450')" ''
is 'text never becomes markup or code' \
    "$(scripts | grep '^static/' | xargs grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc')" ''
is 'the page asks nobody but its own server' "$(grep -nE 'https?://' static/*.html static/*.css static/*.js static/views/*.js | grep -v w3.org)" ''
is 'index.html has no script and no style of its own' "$(grep -nE '<script>|<style|[ "]style=|[ "]on[a-z]+=' static/index.html)" ''
is 'no module of npm is in the repository' "$(git ls-files static/vendor node_modules 2>/dev/null)" ''
is 'the lock file names no host' "$(grep -nE '"resolved"|https?://' package-lock.json)" ''
if command -v node >/dev/null; then
    is 'every script parses' "$(for f in $(scripts); do
        cp "$f" "$TMP/script.mjs"
        node --check "$TMP/script.mjs" >/dev/null 2>&1 || echo "$f"
    done)" ''
else
    skip 1 'node is not installed'
fi
# The addresses that the server gives the page to are those that the page knows.
# shellcheck disable=SC2016 # regular expressions
is 'server/files.c and static/shell.js agree on the views' \
    "$(sed -n '/^static const char \*const views/,/^};/s/^ *"\(.*\)",$/\1/p' server/files.c | sed 's/:uuid/U/g; s/:name/N/g; s/:int/I/g' | sort | tr '\n' ' ')" \
    "$(sed -nE 's#^ *\[/\^(.*)\$/, .*#\1#p; s#^ *\[new RegExp\(`\^(.*)\$`\), .*#\1#p' static/shell.js | sed 's#\\/#/#g; s/(\[a-z0-9_\]+)/N/; s/(\[0-9\]+)/I/; s/\${uuid}/U/g' | sort | tr '\n' ' ')"
done_testing
