#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the documents name exists, and what exists is named.
. "$(dirname "$0")/../t/lib.sh"
cd "$ROOT" || exit 1

is 'docs/api.md names every address of the routes table' \
    "$(sed -nE 's/^ *\{METHOD_[A-Z]+, "([^"]+)".*/\1/p' server/routes.c | sort -u |
        while read -r path; do grep -qF "$path\`" docs/api.md || echo "$path"; done)" ''
# shellcheck disable=SC2016 # backquotes of Markdown
is 'docs/api.md names no address that is not there' \
    "$(grep -oE '`((GET|POST) )?/(v1[^` ?]*|[a-z]+z?)`' docs/api.md | tr -d '`' | sed -E 's/^(GET|POST) //' |
        sort -u | while read -r path; do grep -qF "\"$path\"" server/routes.c || echo "$path"; done)" ''
# Paths in the README: in backquotes or in the flow picture, with a room in front.
is 'every file that the README and docs name is there' \
    "$(grep -ohP '\b(core|server|evaluator|cli|sql|problems|arch|static|tests|docs|dev\.d)/[\w./*-]*[\w*/](?![\w<])' \
        README.md docs/*.md | sort -u | while read -r path; do
            # shellcheck disable=SC2086 # may be a pattern
            ls -d $path >/dev/null 2>&1 || echo "$path"
        done)" ''
is 'the two commands stand on the first screen of the README' \
    "$(head -n 12 README.md | grep -cE '^\./dev (up|test) ')" 2
is 'the README has every recipe' \
    "$(for thing in problem architecture endpoint verdict; do
        grep -qE "^\*\*An? $thing\*\*" README.md || echo "$thing"
    done)" ''
is 'every error has one sentence without capital or full stop' \
    "$(sed -nE 's/^ERROR\([^"]*"[^"]*", *[0-9]+, *"([^"]*)"\).*/\1/p' core/errors.def | grep -E '^[A-Z][a-z]|\.$')" ''
done_testing
