#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The files of the page as they are served, and the board as a plain page.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start

# --- files ---
is 'a module is served' "$(http GET /app.js)" 200
like 'as a script' "$(header content-type)" '^text/javascript'
plain=$(header etag)
is 'whole, where nothing else is asked for' "$(cmp "$TMP/body" "$ROOT/static/app.js" && echo same)" same
is 'and compressed, where the client can read that' "$(http GET /app.js -H 'Accept-Encoding: br, gzip') $(header content-encoding)" \
    '200 gzip'
is 'which is the same file' "$(gzip -dc <"$TMP/body" | cmp - "$ROOT/static/app.js" && echo same)" same
gzip=$(header etag)
is 'with a tag of its own' "$(test "$gzip" != "$plain" && echo differs)" differs
is 'that saves sending it again' "$(http GET /app.js -H 'Accept-Encoding: gzip' -H "If-None-Match: $gzip")" 304
is 'gzip;q=0 is no' "$(http GET /app.js -H 'Accept-Encoding: gzip;q=0') $(header content-encoding)" '200 '
like 'caches are told' "$(header vary)" 'Accept-Encoding'
is 'a file of a folder is served' "$(http GET /published/tables.json) $(json '.source | length > 0')" '200 true'
is 'so is a list of the examples' "$(http GET /examples.json) $(json '.gemm | index("naive.ptx") != null')" '200 true'
is 'and an example' "$(http GET /problems/gemm/examples/naive.ptx) $(cmp "$TMP/body" "$ROOT/problems/gemm/examples/naive.ptx" && echo same)" '200 same'
is 'an oracle is not' "$(http GET /problems/gemm/oracle.cu)" 404
is 'nor one that problems share' "$(http GET /problems/common/attention.cu)" 404
is 'a script of the shell is not' "$(http GET /vendor.sh)" 404

# --- the paper's cells, where the facts that they are made of are at hand ---
CELLS=$ROOT/../shared/data/published_cells.csv
if [ -e "$CELLS" ]; then
    sed 1d "$CELLS" | awk -F, -v OFS=, '{ print $1, $3, $7, $8, $10, $11, $12, $13, $14, $15 }' | sort >"$TMP/want"
    jq -r '. as $file | .items[] as $c | $c.at[] | [($file.devices[] | select(.name == $c.device_model) | .title),
            ($file.problems[] | select(.name == $c.problem) | .title), .turns, .of, .correct, .target, .correct_percent, .target_percent,
            .best // "", .best_target // ""] | map(tostring) | join(",")' "$ROOT/published/tables.json" |
        awk -F, -v OFS=, '{ for (i = 9; i <= 10; i++) if ($i != "") $i = sprintf("%.3f", $i); print }' | sort >"$TMP/got"
    is "all 279 rows of the paper's tables are those of the published cells" \
        "$(wc -l <"$TMP/got") $(diff "$TMP/got" "$TMP/want" && echo same)" '279 same'
else
    skip 1 'the published cells are not here'
fi
is 'every row of a table has a cell' "$(jq '[.tables[] as $t | $t.rows[] as $r | select([.items[] | select(.model == $r.model
    and .condition == $r.condition)] | length == 0) | $r] | length' "$ROOT/published/tables.json")" 0

# --- the addresses of views ---
http GET / >/dev/null
cp "$TMP/body" "$TMP/index.html"
for view in /fast-p /turns /tables /submissions /submit /problems /problems/gemm /system \
    /submissions/01a22971-c52b-75bd-b28d-feb012af546b \
    /submissions/01a22971-c52b-75bd-b28d-feb012af546b/diff/01a22971-c52b-75bd-b28d-feb012af546b '/?problem=gemm'; do
    is "the page answers at $view" "$(http GET "$view") $(cmp "$TMP/body" "$TMP/index.html" && echo same)" '200 same'
done
for nothing in /nothing /submissions/1 /problems/gemm/1 /views /vendor; do
    is "and not at $nothing" "$(http GET "$nothing")" 404
done

browser='Accept: text/html,application/xhtml+xml,*/*;q=0.8'
is 'a browser gets the page there, which says so' \
    "$(http GET /nothing -H "$browser") $(cmp "$TMP/body" "$TMP/index.html" && echo same)" '404 same'
is 'a program gets a problem' "$(http GET /nothing) $(json .code)" '404 not_found'
is 'so does a browser below /v1' "$(http GET /v1/nothing -H "$browser") $(json .code)" '404 not_found'
is 'a form that is sent to nothing is told that, too' "$(http POST /nothing -H "$browser" -d x)" 404

# --- the paper's tables without scripts ---
is 'the tables of the paper are a plain page' "$(http GET /published)" 200
like 'is HTML, too' "$(header content-type)" '^text/html'
like 'with the cells of Table 1' "$(tr -d '\n' <"$TMP/body")" \
    'Gemini 3.1 Pro</th><td>33.3 / 60.4 / 56.2<small>\(33.3 / 62.5 / 59.4\)</small></td>'
like 'speedups' "$(cat "$TMP/body")" '0.782 / 1.012 / 1.012<small>'
like 'dashes where nothing qualifies' "$(cat "$TMP/body")" '– / 22.9 / 25.0<small>\(8.3 / 25.0 / 26.0\)'

# --- the board without scripts ---
is 'the plain board needs no query' "$(http GET /board)" 200
like 'is HTML' "$(header content-type)" '^text/html'
like 'says that nothing is there' "$(cat "$TMP/body")" 'No entry yet'
is 'a query that names nothing is 400' "$(http GET '/board?problem=nothing')" 400
fake_worker
post_ptx 'label=%3Cb%3E%26%22x%22&method=m'
fake_claim
fake_finish
like 'an entry stands there with its text escaped' "$(http GET '/board?problem=gemm&workload=small&arch=sm_90a' && cat "$TMP/body")" \
    '&lt;b&gt;&amp;&quot;x&quot;</a></td><td>m</td>'
like 'leads to its submission' "$(cat "$TMP/body")" "href=\"/submissions/$ID\""
etag=$(header etag)
is 'has a tag' "$(http GET '/board?problem=gemm&workload=small&arch=sm_90a' -H "If-None-Match: $etag")" 304

# --- answers of the API, from 4 KiB on ---
is 'a small answer is not compressed' "$(http GET '/v1/submissions?limit=200' -H 'Accept-Encoding: gzip') $(header content-encoding)" \
    '200 '
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    post_ptx "label=number-$n"
done
is 'once it is large' "$(http GET '/v1/submissions?limit=200' -H 'Accept-Encoding: gzip') $(header content-encoding)" '200 gzip'
is 'and is the same' "$(gzip -dc <"$TMP/body" | jq '.items | length')" 13
is 'only for those who ask' "$(http GET '/v1/submissions?limit=200') $(header content-encoding) $(json '.items | length')" '200  13'
done_testing
