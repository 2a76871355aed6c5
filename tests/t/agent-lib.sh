# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For tests of agent runs: a table of what each turn is to come to, and the replay answers that make it so.
#
# One letter a turn, eight turns a trajectory, four trajectories a variant, three variants:
#   P passes   N wrong numbers   C does not compile   R faults   D never ends
#   E no code block   X cut off   L its plan is wrong
AGENT_TABLE='ECNPPNPP CCNNPPPP XXCRNPPN NNNNNNNN
PPPPPPPP LCNPNPNP DRNPRPCP CCCCCCCC
ELXPPPCP NPNPNPNP RDDNPPPP CNPPPPPP'

# agent_label LETTER: core/labels.def
agent_label()
{
    case $1 in
    P) echo correct ;; N) echo numerical ;; C) echo compile ;; R) echo runtime ;;
    D) echo timeout ;; E) echo extraction ;; X) echo cut ;; L) echo plan ;;
    esac
}

# agent_turns: "trajectory n LETTER" of all 96, one a line.
agent_turns()
{
    printf '%s\n' "$AGENT_TABLE" | tr ' ' '\n' | awk '{
        for (i = 1; i <= length($0); i++) print NR - 1, i - 1, substr($0, i, 1) }'
}

# agent_kernel_told VERDICT SPEEDUP EXECUTED: a source of which fake-evaluator.pl says that.
agent_kernel_told()
{
    printf '//turn %s %s %s \n' "$1" "$2" "$3"
    cat <<'END'
extern "C" __global__ void k(const void *A, const void *B, void *C) {}
/*ptxbench-launch
{"launches": [{"kernel": "k", "grid": [1], "block": [32], "args": [{"tensor": "A"}, {"tensor": "B"}, {"tensor": "C"}]}]}
*/
END
}

# agent_kernel_real LETTER: naive.ptx, spoilt as the letter says.
agent_kernel_real()
{
    ak_file=$ROOT/problems/gemm/examples/naive.ptx
    case $1 in
    P) cat "$ak_file" ;;
    N) sed 's/mov.f32         %sum, 0f00000000;/mov.f32         %sum, 0f3f800000;/' "$ak_file" ;;
    C) sed 's/mov.f32         %sum, 0f00000000;/mov.f33         %sum, 0f00000000;/' "$ak_file" ;;
    R) sed 's/setp.ge.u32     %outside, %row, %m;/mov.pred        %outside, 0;/
            s/setp.ge.or.u32  %outside, %column, %n, %outside;/add.u32         %row, %row, %m;/' "$ak_file" ;;
    D) sed 's/    @%outside ret;/    setp.eq.u32     %outside, %t2, 0;\n    @%outside bar.sync 1, 512;/' "$ak_file" ;;
    esac
}

# agent_answer LETTER KERNEL-COMMAND…: one answer of a model, on stdout. The fences differ: all of them are read.
# shellcheck disable=SC2016 # fences, not commands
agent_answer()
{
    aa_letter=$1
    shift
    case $aa_letter in
    E) printf 'I would use a warp-specialised pipeline here, but cannot write it yet.\n' ;;
    X) printf 'Here it is:\n\n```cpp\n' && agent_kernel_told PASSED 1 true ;;
    L) printf '```cuda\n' && agent_kernel_told PASSED 1 true | sed 's/"grid": \[1\]/"grid": [0]/' && printf '```\n' ;;
    N) printf 'Fixed:\n~~~c++\n' && "$@" && printf '~~~\nIt should be faster now.\n' ;;
    *) printf 'First a sketch:\n```cpp\n__global__ void sketch();\n```\nThe kernel:\n\n```cu \n' && "$@" && printf '```\n' ;;
    esac
}

# replay_file TRAJECTORY N [DELAY_MS]: stores standard input as the answer of that turn.
replay_file()
{
    rf_folder=$TMP/replay/$(($1 / 4))/$1
    mkdir -p "$rf_folder"
    cat >"$rf_folder/$2.md"
    [ -z "${3:-}" ] || printf '{"delay_ms": %s}\n' "$3" >"$rf_folder/$2.json"
}

# providers_file: one provider that plays back what replay_file stored.
providers_file()
{
    cat >"$TMP/providers.json" <<END
{"providers": {"told": {"format": "replay", "folder": "$TMP/replay", "concurrency": 16,
               "models": {"replay-1": {"context": 200000, "max_output": 32000}}}}}
END
}

# agent_start [OPTION…]: sets AGENT_PID.
agent_start()
{
    [ -s "$TMP/providers.json" ] || providers_file
    "$BIN/ptxbench-agent" --database "$DATABASE" --providers "$TMP/providers.json" "$@" >>"$TMP/agent.log" 2>&1 &
    AGENT_PID=$!
    T_CHILDREN="$T_CHILDREN $AGENT_PID "
}

# run_start MEMBERS: posts a run of gemm on cpu with these members beside the usual; prints its id.
run_start()
{
    jq -n --argjson more "$1" '{problem: "gemm", arch: "sm_90a", device: "cpu", provider: "told", model: "replay-1",
        variants: ["parameters", "templates", "contract"], trajectories: 4, turns: 8} + $more' >"$TMP/run.json"
    curl -sS --max-time 60 -H 'Content-Type: application/json' --data-binary "@$TMP/run.json" \
        "$URL/v1/runs" >"$TMP/run.out"
    jq -r '.id // empty' "$TMP/run.out"
}

run_done()
{
    [ "$(sql "SELECT state FROM runs WHERE id = '$1'")" = done ]
}

# run_show ID: where it stands, for a failure's report.
run_show()
{
    sql "SELECT n, state, reason, detail FROM trajectories WHERE run_id = '$1' ORDER BY n"
    sql "SELECT trajectory, n, try, state, extraction FROM steps WHERE run_id = '$1' AND state NOT IN ('done') ORDER BY 1, 2, 3"
    sql "SELECT id, kind, lane, state, attempt, error, run_after - now() FROM jobs WHERE finished_at IS NULL OR error IS NOT NULL LIMIT 20"
    tail -n 5 "$TMP/agent.log" "$TMP/worker.log"
}
