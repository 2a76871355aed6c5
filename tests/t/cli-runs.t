#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ptxbench run` without a database: its command lines, what it asks a service for, and what it makes of the answers.
. "$(dirname "$0")/lib.sh"
CLI=$BIN/ptxbench
ID=01234567-89ab-7def-8123-456789abcdef
SUBMISSION=01234567-89ab-7def-8123-0000000000aa

# --- command lines ----------------------------------------------------------------------------------

exits 'run lists its subcommands' 0 "$CLI" run --help
subcommands=$(sed -n '/^subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$TMP/out")
is 'all eleven' "$(printf '%s\n' "$subcommands" | wc -l | tr -d ' ')" 11
for sub in $subcommands; do
    exits "run $sub --help succeeds" 0 "$CLI" run "$sub" --help
    like "and begins with the usage of run $sub" "$(head -n 1 "$TMP/out")" "^usage: ptxbench run $sub"
    exits "run $sub refuses an option it does not have" 64 "$CLI" run "$sub" --frobnicate
    like 'and says which, of which subcommand' "$(cat "$TMP/err")" "^ptxbench run $sub: .*frobnicate"
done
exits 'run without a subcommand is a usage error' 64 "$CLI" run
exits 'and so is one that there is not' 64 "$CLI" run frobnicate
like 'which is named' "$(cat "$TMP/err")" 'no subcommand frobnicate'

NOWHERE=http://127.0.0.1:1
for line in 'start --turns many' 'start --turns 0' 'start --target fast' 'start --budget-usd nan' \
    "extend $ID" "extend --turns 0 $ID" "resume --budget-tokens few $ID" "show --turn 1 $ID" \
    "show --trajectory -1 $ID" "watch --timeout soon $ID" "messages $ID" "messages $ID one" \
    "messages $ID 0 two" "supervise $ID 0 1" "supervise $ID 0 last text" "export" "import"; do
    # shellcheck disable=SC2086
    exits "run $line is a usage error" 64 "$CLI" run $line
done
for line in 'show ../../etc' 'watch x' 'cancel x' 'resume x' 'extend --turns 9 x' 'messages x 0' \
    'supervise x 0 0 text' 'export x'; do
    # shellcheck disable=SC2086
    exits "an id that is none is refused before any request: run $line" 1 "$CLI" run $line -s "$NOWHERE"
    like 'in words' "$(cat "$TMP/err")" 'is not the id of a run'
done
exits 'a file that is not there is a failure' 1 "$CLI" run start --file "$TMP/none.json"
like 'which names it' "$(cat "$TMP/err")" 'none\.json'
echo '[1]' >"$TMP/list.json"
exits 'a file that holds no object is a failure' 1 "$CLI" run start --file "$TMP/list.json"
exits 'a file to import that is not there is one too' 1 "$CLI" run import "$TMP/none.jsonl"

# --- a service of files -----------------------------------------------------------------------------

mkdir "$TMP/fake"
perl "$T_DIR/fake-runs.pl" "$TMP/fake" >"$TMP/fake.out" 2>"$TMP/fake.log" &
T_CHILDREN="$T_CHILDREN $! "
wait_for 10 grep -q LISTENING "$TMP/fake.out" || bail 'the service of files did not start'
PTXBENCH_SERVER=http://127.0.0.1:$(sed 's/LISTENING //' "$TMP/fake.out")
export PTXBENCH_SERVER

# answers METHOD PATH STATUS TEXT
answers()
{
    printf '%s\n%s' "$3" "$4" >"$TMP/fake/$1$(printf '%s' "$2" | tr / _)"
}

# asked: the last request, "METHOD PATH BODY".
asked()
{
    tail -n 1 "$TMP/fake/log"
}

RUN=/v1/runs/$ID
answers POST /v1/runs 201 "{\"id\":\"$ID\",\"rev\":0,\"state\":\"running\"}"
exits 'a run can be started' 0 "$CLI" run start -p gemm -a sm_90a -d cpu --provider replay -m m1 --variants a,b, \
    --trajectories 2 --turns 3 --target 1.5 --history latest-pair --feedback paper --temperature 0.25 --top-p 0.5 \
    --effort high --max-output 4096 --budget-tokens 100000 --budget-usd 2.5 --private --name 'my run' --condition c \
    --workload small
is 'and prints state and id' "$(cat "$TMP/out")" "running  $ID"
is 'after every option was sent where it belongs' "$(asked | sed 's/^POST //' | cut -d ' ' -f 2- | jq -cS .)" \
    "$(jq -cSn '{problem: "gemm", arch: "sm_90a", device: "cpu", provider: "replay", model: "m1", variants: ["a", "b"],
        trajectories: 2, turns: 3, target_speedup: 1.5, history: "latest-pair", feedback: "paper",
        params: {temperature: 0.25, top_p: 0.5, effort: "high", max_tokens: 4096},
        budget: {tokens: 100000, usd: 2.5}, visibility: "private", name: "my run", condition: "c", workload: "small"}')"

echo '{"problem": "gemm", "arch": "sm_90a", "turns": 4, "params": {"top_p": 0.5, "effort": "low"}}' >"$TMP/run.json"
exits 'a file and options can be mixed' 0 env PTXBENCH_PROBLEM=other "$CLI" run start -f "$TMP/run.json" \
    --provider replay -m m1 --turns 2 --effort high --json
is 'options go before the file, the environment behind it' \
    "$(asked | sed 's/^POST //' | cut -d ' ' -f 2- | jq -cS '[.problem, .turns, .params]')" \
    '["gemm",2,{"effort":"high","top_p":0.5}]'
is '--json prints the answer' "$(jq -r .id "$TMP/out")" "$ID"
exits 'what neither says comes from the environment' 0 env PTXBENCH_ARCH=sm_100a "$CLI" run start -p gemm
is 'such as the architecture' "$(asked | sed 's/^POST //' | cut -d ' ' -f 2- | jq -r .arch)" sm_100a

answers POST /v1/runs 503 '{"code":"busy","detail":"come again"}'
: >"$TMP/fake/log"
exits 'a service that is busy is a failure' 1 "$CLI" run start -p gemm
like 'for its own reason' "$(cat "$TMP/err")" '^ptxbench run start: come again'
is 'and is asked once: a run costs money' "$(wc -l <"$TMP/fake/log" | tr -d ' ')" 1
answers POST /v1/runs 200 '{"valid":true,"run":{},"messages":[{"variant":0,"name":"contract","tokens":31234,"sha256":"ab12"}]}'
exits 'a dry run succeeds' 0 "$CLI" run start --dry-run -p gemm
like 'says so to the service' "$(asked)" '^POST /v1/runs\?dry_run=1 '
like 'and prints what each variant is sent' "$(cat "$TMP/out")" '^ +0 +contract +31234 +ab12$'

# --- a run that is done, in each way ----------------------------------------------------------------

# document STATE REASON: the run as JSON; two trajectories, three turns.
document()
{
    jq -cn --arg id "$ID" --arg state "$1" --arg reason "$2" --arg s "$SUBMISSION" '
        {id: $id, name: "first \u001b[31mrun", owner: "ada", state: $state, reason: (if $reason == "" then null else $reason end),
         rev: 7, problem: "gemm", workload: "small", arch: "sm_90a", device: "cpu", provider: "replay", model: "m1",
         variants: [{variant: 0, name: "contract", tokens: 10}, {variant: 1, name: "hint", tokens: 20}],
         turns: 3, target_speedup: 1.2, budget: {tokens: 200000, usd: 5}, done: ($state == "done"),
         spent: {calls: 4, tokens_in: 12345, tokens_out: 678, usd: 1.234},
         best: {trajectory: 1, n: 1, speedup: 0.8714, submission: $s},
         grid: [{trajectory: 0, variant: 0, state: "done", reason: "context", at: null,
                 turns: [{n: 0, try: 0, label: "compile", correct: false, inst: null, speedup: null},
                         {n: 1, try: 1, label: "infra", correct: false, inst: null, speedup: null, counted: false}]},
                {trajectory: 1, variant: 1, state: $state, reason: (if $state == "done" then "turns" else null end),
                 at: (if $state == "done" then null else {n: 2, try: 0, state: "evaluate"} end),
                 turns: [{n: 0, try: 0, label: "correct", correct: true, inst: false, speedup: 0.5},
                         {n: 1, try: 0, label: "correct", correct: true, inst: true, speedup: 0.8714, submission: $s}]}]}'
}

for end in running::75 done::0 done:cancelled:11 done:budget:20 done:provider:21 done:infra:10; do
    state=${end%%:*} code=${end##*:} reason=${end#*:}
    reason=${reason%:*}
    answers GET "$RUN" 200 "$(document "$state" "$reason")"
    exits "show of a run that is $state${reason:+ by $reason} ends with $code" "$code" "$CLI" run show "$ID"
    like 'and says so first' "$(head -n 1 "$TMP/out")" "^$state${reason:+: $reason}  $ID"
done
answers GET "$RUN" 200 "$(document done '')"
exits 'a run is shown' 0 "$CLI" run show "$ID"
unlike 'a hostile name does not reach the terminal' "$(cat "$TMP/out")" "$(printf '\033')"
like 'a row has its variant, reason, best and turns' "$(cat "$TMP/out")" \
    '^1 +hint +turns +0\.871 +ok 0\.500 +ok 0\.871\*$'
like 'another one its labels' "$(cat "$TMP/out")" '^0 +contract +context +- +compile +infra$'
like 'below it what was spent, of what' "$(cat "$TMP/out")" \
    '^4 calls  tokens 12\.3k in, 678 out of 200\.0k  .1\.23 of .5\.00  best 0\.871 \(t1 n1\)$'
answers GET "$RUN" 200 "$(document running '' | jq -c '.grid[0].turns[0].label = "new_label"')"
exits 'a label of a later version is shown as it is' 75 "$CLI" run show "$ID"
like 'cut to the column' "$(cat "$TMP/out")" ' new_label '

# --- watching ---------------------------------------------------------------------------------------

# event SEQ KIND JSON
event()
{
    printf 'id: %s\nevent: %s\ndata: %s\n\n' "$1" "$2" "$3"
}

events()
{
    event 8 turn '{"trajectory":1,"n":2,"try":0}'
    event 9 tokens '{"trajectory":1,"n":2,"text":1200,"reasoning":300}'
    event 10 answer '{"trajectory":1,"n":2,"finish":"stop","tokens_out":1000,"usd":0.5}'
    event 11 submitted "{\"trajectory\":1,\"n\":2,\"submission\":\"$SUBMISSION\"}"
    event 12 stage "{\"trajectory\":1,\"n\":2,\"stage\":\"compile\",\"state\":\"started\"}"
    event 13 feedback '{"trajectory":1,"n":2,"try":0,"counted":true,"label":"correct","correct":true,"inst":true,"speedup":0.9}'
    event 14 trajectory '{"trajectory":1,"state":"done","reason":"turns","detail":"no turn is left"}'
    event 15 nonsense '[1]'
}

# watched REASON: prepares a run that ends so while it is watched.
watched()
{
    answers GET "$RUN" 200 "$(document running '')"
    mv "$TMP/fake/GET_v1_runs_$ID" "$TMP/fake/begun"
    answers GET "$RUN" 200 "$(document done "$1")"
    mv "$TMP/fake/GET_v1_runs_$ID" "$TMP/fake/GET_v1_runs_$ID.then"
    mv "$TMP/fake/begun" "$TMP/fake/GET_v1_runs_$ID"
    answers GET "$RUN/events" 200 "$(events)

$(event 16 state "{\"state\":\"done\",\"reason\":$2}")

"
}

watched '' null
exits 'a watched run ends with its exit code' 0 "$CLI" run watch "$ID"
like 'every event was a line: what was called' "$(cat "$TMP/out")" '^t1 n2 turn$'
like 'what was answered' "$(cat "$TMP/out")" '^t1 n2 answer stop tokens 1000 usd 0\.5$'
like 'what was submitted' "$(cat "$TMP/out")" "^t1 n2 submitted submission $SUBMISSION\$"
like 'what came of it' "$(cat "$TMP/out")" '^t1 n2 feedback correct 0\.9$'
like 'and how the trajectory ended' "$(cat "$TMP/out")" '^t1 trajectory done turns: no turn is left$'
unlike 'but not every few tokens' "$(cat "$TMP/out")" 'tokens 1200|^t1 n2 tokens'
like 'behind them the run' "$(cat "$TMP/out")" "^done  $ID"
unlike 'without a single control character' "$(cat "$TMP/out")" "$(printf '\033')"
watched budget '"budget"'
exits 'a watched run that runs out of budget ends with 20' 20 "$CLI" run watch "$ID"
watched '' null
exits 'with --json only the document is printed' 0 "$CLI" run watch --json "$ID"
is 'which is one' "$(jq -r .state "$TMP/out")" 'done'
answers GET "$RUN" 200 "$(document running '')"
answers GET "$RUN/events" 404 '{"code":"not_found","detail":"no stream"}'
started=$(date +%s)
exits 'watching ends when its time is up' 75 "$CLI" run watch --timeout 2 "$ID"
ok 'and not much later' [ $(($(date +%s) - started)) -le 6 ]

if command -v script >/dev/null; then
    watched cancelled '"cancelled"'
    TERM=xterm script -qec "stty rows 12 cols 70; '$CLI' run watch $ID" /dev/null </dev/null >"$TMP/terminal" 2>&1
    is 'on a terminal the exit code is the same' $? 11
    tr -d '\r' <"$TMP/terminal" | sed "s/$(printf '\033')\\[/<ESC>/g" >"$TMP/screen"
    like 'the table is drawn again in place' "$(cat "$TMP/screen")" '^<ESC>6A'
    like 'with how much of the answer has come' "$(cat "$TMP/screen")" '~1\.5k'
    like 'with the stage that is under way' "$(cat "$TMP/screen")" '<ESC>33mcompile<ESC>0m|<ESC>33mqueued<ESC>0m'
    like 'with the new best in colour' "$(cat "$TMP/screen")" '<ESC>32mok 0\.900\*<ESC>0m'
    like 'with dollars added' "$(cat "$TMP/screen")" '5 calls .* 1\.7k out .*1\.73'
    unlike 'and no line for an event' "$(cat "$TMP/screen")" '^t1 n2'
else
    skip 7 'script(1) is not installed'
fi

# --- the others -------------------------------------------------------------------------------------

answers GET /v1/runs 200 "{\"items\":[$(document 'done' budget | jq -c 'del(.grid)')],\"next\":null}"
exits 'runs are listed' 0 "$CLI" run list --model 'm 1' --state 'done' --cursor abc
like 'by the filters given' "$(asked)" '^GET /v1/runs\?model=m%201&state=done&cursor=abc '
like 'with state, reason, model and best' "$(cat "$TMP/out")" "^$ID +done +budget .* m1 .* 0\.871"

answers GET "$RUN/trajectories/1" 200 '{"run":"x","trajectory":1,"variant":1,"variant_name":"hint","state":"done","reason":"turns",
  "detail":null,"steps":[{"n":0,"try":0,"state":"done","counted":false,"label":"infra","call":{"answer":"old"}},
  {"n":0,"try":1,"state":"done","counted":true,"label":"correct","speedup":0.5,"inst":true,"extraction":"kernel",
   "submission":"s","feedback_text":"Correct.\nGo on.","supervision":"use wgmma","call":{"finish":"stop","tokens_in":5,"tokens_out":7,
   "usd":0.25,"answer":"line one\nline two","reasoning":"hm"}}]}'
exits 'the steps of a trajectory are shown' 0 "$CLI" run show "$ID" --trajectory 1
like 'every try of a turn' "$(cat "$TMP/out")" '^ *0 +1 +done +yes +correct +0\.500 +yes +kernel +stop +5 +7 +0\.250 +s$'
exits 'a turn is shown' 0 "$CLI" run show "$ID" --trajectory 1 --turn 0
like 'its last try' "$(cat "$TMP/out")" '^line two$'
unlike 'and no other' "$(cat "$TMP/out")" '^old$'
like 'with what the model was told' "$(cat "$TMP/out")" '^Go on\.$'
like 'and what was added to that' "$(cat "$TMP/out")" '^use wgmma$'
exits 'a turn that is not there is a failure' 1 "$CLI" run show "$ID" --trajectory 1 --turn 5
exits 'the JSON of a turn is its step' 0 "$CLI" run show "$ID" --trajectory 1 --turn 0 --json
is 'alone' "$(jq -r .try "$TMP/out")" 1

answers GET "$RUN/trajectories/0/messages" 200 '{"messages":[{"role":"system","content":"Rules."},{"role":"user","content":"Go.\n"}],"sha256":"ab","tokens":9}'
exits 'messages are printed' 0 "$CLI" run messages "$ID" 0 3
like 'those of the turn' "$(asked)" "^GET $RUN/trajectories/0/messages\?n=3 "
is 'one after the other' "$(cat "$TMP/out")" "--- system ---
Rules.
--- user ---
Go."
exits 'those of the next call need no turn' 0 "$CLI" run messages "$ID" 0
like 'and none is sent' "$(asked)" "^GET $RUN/trajectories/0/messages "

answers POST "$RUN/cancel" 200 "{\"id\":\"$ID\",\"state\":\"done\",\"rev\":8}"
exits 'a run can be cancelled' 0 "$CLI" run cancel "$ID"
is 'its new state is printed' "$(cat "$TMP/out")" "done  $ID"
answers POST "$RUN/resume" 200 "{\"id\":\"$ID\",\"state\":\"running\",\"rev\":9}"
exits 'a run can be resumed' 0 "$CLI" run resume "$ID"
is 'with the budget that it has' "$(asked)" "POST $RUN/resume {}"
exits 'or with another' 0 "$CLI" run resume "$ID" --budget-tokens 0 --budget-usd 7.5
is 'which is sent' "$(asked)" "POST $RUN/resume {\"budget\":{\"tokens\":0,\"usd\":7.5}}"
answers POST "$RUN/extend" 409 '{"code":"conflict","detail":"nothing to do"}'
exits 'a run with nothing to extend is a failure' 1 "$CLI" run extend "$ID" --turns 12 --target 2
is 'after turns and target were sent' "$(asked)" "POST $RUN/extend {\"target_speedup\":2.0,\"turns\":12}"
like 'and the reason is given' "$(cat "$TMP/err")" 'nothing to do'
answers POST "$RUN/trajectories/1/supervision" 200 "{\"id\":\"$ID\",\"state\":\"running\",\"rev\":9}"
printf 'two\nlines' >"$TMP/text"
exits 'a text can be added to a turn' 0 "$CLI" run supervise "$ID" 1 2 - <"$TMP/text"
is 'byte for byte' "$(asked)" "POST $RUN/trajectories/1/supervision {\"n\":2,\"text\":\"two\\nlines\"}"

printf '200\n{"trajectory":0}\n{"trajectory":1}\n' >"$TMP/fake/GET_v1_runs_${ID}_export"
printf '{"trajectory":0}\n{"trajectory":1}\n' >"$TMP/lines"
exits 'a run can be exported' 0 "$CLI" run export "$ID" -o "$TMP/exported"
ok 'byte for byte' cmp "$TMP/exported" "$TMP/lines"
exits 'a file that cannot be written is a failure' 1 "$CLI" run export "$ID" -o /dev/full
like 'for its reason' "$(cat "$TMP/err")" 'could not write /dev/full: No space'
ok 'and a device stays where it is' [ -c /dev/full ]
answers GET "$RUN/trajectories/1/export" 200 '{"messages":[]}'
exits 'so can one trajectory' 0 "$CLI" run export "$ID" --trajectory 1
is 'to standard output' "$(cat "$TMP/out")" '{"messages":[]}'
answers POST /v1/runs/import 201 "{\"id\":\"$ID\",\"trajectories\":2,\"turns\":5}"
exits 'a run can be imported' 0 "$CLI" run import "$TMP/lines"
like 'and what came of it is printed' "$(cat "$TMP/out")" "$ID trajectories 2 turns 5"
is 'its bytes were sent as they are' "$(tail -n 3 "$TMP/fake/log")" "POST /v1/runs/import $(cat "$TMP/lines")"
exits 'with what another agent does not tell' 0 "$CLI" run import -p gemm -a sm_90a --model 'm 2' "$TMP/lines"
like 'in the query' "$(cat "$TMP/fake/log")" '^POST /v1/runs/import\?problem=gemm&arch=sm_90a&model=m%202 '
done_testing
