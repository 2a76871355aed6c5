#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ptxbench run` against a server with an agent that plays answers back and a worker that is told its verdicts: from
# the first command to a run that was extended, exported and taken in again.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
. "$T_DIR/agent-lib.sh"
CLI=$BIN/ptxbench
PTXBENCH_ARCH=sm_90a
PTXBENCH_PROBLEM=gemm
export PTXBENCH_ARCH PTXBENCH_PROBLEM

db_start
server_start
agent_answer E true | replay_file 0 0
agent_answer P agent_kernel_told PASSED 1.1 true | replay_file 0 1
agent_answer N agent_kernel_told INCORRECT_NUMERICAL - null | replay_file 1 0
agent_answer P agent_kernel_told PASSED 0.5 false | replay_file 1 1
fake_worker
agent_start

exits 'a dry run succeeds' 0 "$CLI" run start --dry-run -d cpu --provider told -m replay-1 --variants contract
like 'and counts the tokens of the prompt' "$(cat "$TMP/out")" '^ +0 +contract +[0-9]{4,} +[0-9a-f]{64}$'
is 'and stores nothing' "$(sql 'SELECT count(*) FROM runs')" 0
exits 'a run with faults is refused' 1 "$CLI" run start -d cpu --provider told -m replay-1 --turns 1000 --history none
like 'all of them are named: the turns' "$(cat "$TMP/err")" '\$\.turns'
like 'and the history' "$(cat "$TMP/err")" '\$\.history'

exits 'a run is started and watched to its end' 0 timeout 120 "$CLI" run start -d cpu --provider told -m replay-1 \
    --variants contract --trajectories 2 --turns 2 --target 5 --name 'by hand' --watch
id=$(head -n 1 "$TMP/err")
like 'its id is said first' "$id" '^[0-9a-f-]{36}$'
like 'an answer without a kernel is told' "$(cat "$TMP/out")" '^t0 n0 feedback extraction'
like 'a wrong one' "$(cat "$TMP/out")" '^t1 n0 feedback numerical'
like 'a right one with its speedup' "$(cat "$TMP/out")" '^t0 n1 feedback correct 1\.1$'
like 'submissions have ids' "$(cat "$TMP/out")" '^t1 n1 submitted submission [0-9a-f-]{36}$'
like 'trajectories end' "$(cat "$TMP/out")" '^t1 trajectory done turns$'
like 'the table is that of the run' "$(cat "$TMP/out")" '^0 +contract +turns +1\.100 +extract +ok 1\.100\*$'
like 'both rows of it' "$(cat "$TMP/out")" '^1 +contract +turns +0\.500 +wrong +ok 0\.500$'
like 'and below it what was called, and the best' "$(cat "$TMP/out")" '^4 calls .* best 1\.100 \(t0 n1\)$'

exits 'it is in the list' 0 "$CLI" run list --model replay-1 --state 'done'
like 'by its name' "$(cat "$TMP/out")" "^$id +done +- +by hand "
exits 'its steps are shown' 0 "$CLI" run show "$id" --trajectory 0
like 'what the answer held' "$(cat "$TMP/out")" '^ *0 +0 +done .* extraction .* no_block '
exits 'its turns too' 0 "$CLI" run show "$id" --trajectory 0 --turn 1
like 'with the answer' "$(cat "$TMP/out")" '^The kernel:$'
like 'and the feedback' "$(cat "$TMP/out")" '^--- feedback ---$'
exits 'messages are those that were sent' 0 "$CLI" run messages "$id" 0 1 --json
is 'by their hash' "$(jq -r .sha256 "$TMP/out")" \
    "$(sql "SELECT encode(request_sha, 'hex') FROM llm_calls WHERE run_id = '$id' AND trajectory = 0 AND n = 1")"
exits 'as text they begin with the system message' 0 "$CLI" run messages "$id" 0 1
is 'of four' "$(grep -cE '^--- (system|user|assistant) ---$' "$TMP/out")" 4

exits 'a note can be added to a turn' 0 "$CLI" run supervise "$id" 0 1 'well done'
is 'and is kept' "$(sql "SELECT supervision FROM steps WHERE run_id = '$id' AND trajectory = 0 AND n = 1")" 'well done'
exits 'a run that is done cannot be cancelled' 1 "$CLI" run cancel "$id"
exits 'it can be exported' 0 "$CLI" run export "$id" -o "$TMP/run.jsonl"
is 'a trajectory a line' "$(jq -r '.trajectory_format' "$TMP/run.jsonl" | sort | uniq -c | tr -s ' ')" ' 2 mini-swe-agent-1.1'
exits 'and taken in again' 0 "$CLI" run import --json "$TMP/run.jsonl"
copy=$(jq -r .id "$TMP/out")
exits 'as a run that is done' 0 "$CLI" run show "$copy"
like 'with its turns' "$(cat "$TMP/out")" '^1 .* wrong +ok 0\.500$'

exits 'a run can be extended' 0 "$CLI" run extend "$id" --turns 3
like 'and goes on' "$(cat "$TMP/out")" "^running  $id"
exits 'where the provider has no more answers it ends with 21' 21 timeout 120 "$CLI" run watch "$id"
like 'and says so' "$(cat "$TMP/out")" "^done: provider  $id"
agent_answer P agent_kernel_told PASSED 1.3 true | replay_file 0 2
agent_answer X true | replay_file 1 2
exits 'once it has, the run is resumed' 0 "$CLI" run resume "$id"
exits 'and ends by itself' 0 timeout 120 "$CLI" run watch --json "$id"
is 'with a new best' "$(jq -c '[.best.trajectory, .best.n, .best.speedup]' "$TMP/out")" '[0,2,1.3]'

exits 'a run that nobody serves waits' 0 "$CLI" run start -d cpu --provider nobody -m m --variants contract \
    --trajectories 1 --json
waiting=$(jq -r .id "$TMP/out")
exits 'and shows as not done' 75 "$CLI" run show "$waiting"
like 'with the lane that nobody serves' "$(cat "$TMP/out")" 'nobody serves llm/nobody'
exits 'and is cancelled' 0 "$CLI" run cancel "$waiting"
exits 'which a watcher tells by 11' 11 "$CLI" run watch "$waiting"
exits 'what the database holds is sound' 0 "$CLI" fsck
done_testing
