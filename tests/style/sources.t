#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What every source file has and has not.
. "$(dirname "$0")/../t/lib.sh"
cd "$ROOT" || exit 1
ROOMS='core server evaluator agent cli tests'

sources()
{
    # shellcheck disable=SC2086 # a list of rooms
    find $ROOMS -name '*.[ch]' -not -path '*/corpus/*' | sort
}

is 'every C file says its licence in the first line' \
    "$(for f in $(sources); do head -n 1 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"; done)" ''
is 'every header, and every C file without one, says what it is for in its second line' \
    "$(for f in $(sources); do
        [ -e "${f%.c}.h" ] && [ "${f%.h}" = "$f" ] && continue
        sed -n 2p "$f" | grep -qE '^( \*|//|/\*) .{10}' || echo "$f"
    done)" ''
is 'a .c file includes its own header first' \
    "$(for f in $(sources | grep '\.c$'); do
        own=${f%.c}.h
        [ -e "$own" ] || continue
        first=$(grep -m 1 -E '^ *# *include' "$f")
        [ "$first" = "#include \"$own\"" ] || echo "$f"
    done)" ''
is 'no line is longer than 120 columns, tests apart' \
    "$(for f in $(sources | grep -v '^tests/'); do LC_ALL=C.UTF-8 awk -v f="$f" 'length > 120 { print f ":" NR }' "$f"; done)" ''
is 'no tab and no space at the end of a line' "$(sources | xargs grep -nE '	| +$')" ''
is 'no file is longer than 600 lines' "$(sources | xargs wc -l | awk '$2 != "total" && $1 > 600')" ''
is 'no note to self is left' "$(sources | xargs grep -nE '\b(TODO|FIXME|XXX|NEEDSWORK)\b')" ''
is 'no typedef of a struct' "$(sources | xargs grep -nE '^ *typedef +struct')" ''
done_testing
