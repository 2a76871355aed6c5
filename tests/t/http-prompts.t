#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prompts over HTTP and on the command line: the same text, with sizes, and what is said of names that do not exist.
. "$(dirname "$0")/lib.sh"
CLI=$BIN/ptxbench
db_start && server_start
preview='/v1/prompts/preview?arch=sm_90a&problem=gemm'

is 'a prompt is 200' "$(http GET "$preview")" 200
is 'of the variant contract by default' "$(json .variant)" contract
is 'for the problem'"'"'s own workload' "$(json .workload)" m8192_n7168_k5120
is 'with its components in order' "$(json '[.components[].component] | join(" ")')" \
    'parameters templates contract problem output_format'
is 'whose tokens add up' "$(json '.tokens == ([.components[].tokens] | add)')" true
is 'and are called an estimate' "$(json .estimated)" true
is 'the text is that of the components' "$(json '.text == ([.components[].text] | join("\n"))')" true
is 'plain text on request' "$(http GET "$preview" -H 'Accept: text/plain')" 200
cp "$TMP/body" "$TMP/plain"
exits 'the command line prints one too' 0 "$CLI" prompt
ok 'which is the same' cmp -s "$TMP/plain" "$TMP/out"
exits 'a variant and a workload can be chosen' 0 "$CLI" prompt --variant gemm-warps --workload small --arch sm_90a
like 'which shows' "$(cat "$TMP/out")" 'Workload small: M = 512'
like 'and is in the text' "$(cat "$TMP/out")" 'Hint: warps with one job each'
exits 'sizes instead of the text' 0 "$CLI" prompt --sizes --arch sm_100a
like 'of each component' "$(cat "$TMP/out")" '^templates +[0-9]+$'
like 'and of all, as an estimate' "$(cat "$TMP/out")" '^all +[0-9]+ tokens \(estimate\)$'
printf '{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}' >"$TMP/tokenizer.json"
exits 'tokens can be counted' 0 "$CLI" prompt --sizes --tokenizer "$TMP/tokenizer.json"
unlike 'and are not called an estimate then' "$(cat "$TMP/out")" estimate
exits 'a tokenizer that is none is a failure' 1 "$CLI" prompt --tokenizer "$ROOT/README.md"

http GET '/v1/prompts?arch=sm_100a' >/dev/null
like 'the variants are listed' "$(json '[.items[].name] | join(" ")')" 'complete.*gemm-pair'
exits 'on the command line too' 0 "$CLI" prompt --list --arch sm_100a
like 'with what they are for' "$(cat "$TMP/out")" '^gemm-pair +gemm$'
for query in 'arch=sm_80&problem=gemm' 'arch=sm_90a&problem=none' 'arch=sm_90a&problem=gemm&workload=none' \
    'arch=sm_90a&problem=gemm&variant=none' 'arch=sm_90a&problem=gemm&variant=..%2F..%2Farch'; do
    is "a name that is not there is 404: $query" "$(http GET "/v1/prompts/preview?$query")" 404
done
is 'an architecture is needed' "$(http GET /v1/prompts/preview?problem=gemm)" 400
is 'for the list too' "$(http GET /v1/prompts)" 400
exits 'and fails on the command line' 1 "$CLI" prompt --variant none
like 'by name' "$(cat "$TMP/err")" "no prompt variant 'none' for sm_90a"
done_testing
