#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Figures of the page in Chromium, as its journeys (tests/web) find them: board.first_view_kib, what a first visit
# transfers; web.first_paint_ms; web.board_1000_ms, a board of 1,000 entries from the click to the last row;
# web.journeys, how many pass.
out=$(sh "$(dirname "$0")/../web/web.t") || printf '%s\n' "$out" | grep '^not ok' >&2
printf '%s\n' "$out" | sed -nE 's/^# ((web|board)\.[a-z0-9_]+ [0-9.]+ [A-Za-z]+)$/\1/p'
