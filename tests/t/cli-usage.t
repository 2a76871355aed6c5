#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the command line says without any service: help, wrong options, exit codes.
. "$(dirname "$0")/lib.sh"
CLI=$BIN/ptxbench

exits 'help succeeds' 0 "$CLI" help
commands=$(sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$TMP/out")
rows=$(grep -c '^COMMAND(' "$ROOT/cli/commands.def")
is 'help lists every row of the table of commands' "$(printf '%s\n' "$commands" | wc -l | tr -d ' ')" "$rows"
is 'and no command twice' "$(printf '%s\n' "$commands" | sort | uniq -d)" ''
is 'help explains every exit code of a verdict' \
    "$(grep -cE '^ +[0-9]+ [A-Z_]{4,} ' "$TMP/out")" "$(grep -c '^VERDICT(' "$ROOT/core/verdicts.def")"
exits 'no command at all is a usage error' 64 "$CLI"
exits 'an unknown command is a usage error' 64 "$CLI" frobnicate
like 'which names it' "$(cat "$TMP/err")" 'no command frobnicate'
exits 'the version can be asked for like an option' 0 "$CLI" --version
like 'and begins with the name' "$(head -n 1 "$TMP/out")" '^ptxbench [0-9]+\.[0-9]+'

for command in $commands; do
    exits "$command --help succeeds" 0 "$CLI" "$command" --help
    like "and begins with the usage of $command" "$(head -n 1 "$TMP/out")" "^usage: ptxbench $command"
    exits "$command refuses an option it does not have" 64 "$CLI" "$command" --frobnicate
    like 'and says which' "$(cat "$TMP/err")" 'frobnicate'
done

id=01234567-89ab-7def-8123-456789abcdef
exits 'a service that is not there is a failure' 1 "$CLI" queue --server http://127.0.0.1:1
like 'which names the address' "$(cat "$TMP/err")" 'cannot reach http://127.0.0.1:1'
exits 'an address that is no URL is refused' 1 "$CLI" queue --server localhost:8080
exits 'an id that is none is refused before any request' 1 "$CLI" show ../../etc/passwd
exits 'show needs an id' 64 "$CLI" show
exits 'show takes one id' 64 "$CLI" show "$id" "$id"
exits 'a file that is not there is a failure' 1 "$CLI" submit "$TMP/none.cu"
like 'which names the file' "$(cat "$TMP/err")" 'none\.cu'
printf 'abc\377def' >"$TMP/latin.cu"
exits 'a source that is not UTF-8 is refused here' 1 "$CLI" submit "$TMP/latin.cu"
exits 'a time that is no number is a usage error' 64 "$CLI" submit --wait --timeout soon "$TMP/latin.cu"

exits 'eval on a device that is not there is a failure' 1 \
    "$CLI" eval --device abacus "$ROOT/problems/gemm/examples/naive.cu"
like 'which names it' "$(cat "$TMP/err")" "no device 'abacus' here"

PTXBENCH_TOKEN=secret-secret-secret
export PTXBENCH_TOKEN
exits 'a token does not travel over plain http to another host' 1 \
    "$CLI" queue --server http://example.org
like 'and the reason is given' "$(cat "$TMP/err")" 'use https'
unlike 'without showing the token' "$(cat "$TMP/out" "$TMP/err")" 'secret-secret'
exits 'nor to a host that only looks local' 1 "$CLI" queue --server http://127.0.0.1.example.org
exits 'nor past a user name' 1 "$CLI" queue --server http://localhost:x@example.org
done_testing
