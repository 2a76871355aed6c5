# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Runs steps on a machine with a GPU: what tests/gpu/all and tests/gpu/attention share. Source it with STEPS_NAME
# set, define steps(), which prints "name seconds command" lines, and call run_steps "$@".
#
# Programs come from what tests/gpu/pack has packed, if it has, else from build/release/bin; $PTXBENCH_BIN says
# otherwise. A line per step: ok, failed, timeout, skipped (it says why in its log) or missing (there is no such
# program); then the figures, as a table. Into $OUT (default: a new folder below /tmp): $STEPS_NAME.log, what
# every step said; results.jsonl, a line per step and per figure, as tests/gpu/results keeps them; steps.tar.gz,
# files that steps have left. A failed step stops nothing. All of it ends within $BUDGET_S seconds.
# Exit status: 0 if every step is ok or skipped.
set -u
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BIN=$ROOT/build/gpu-pack/bin
[ -x "$BIN/gpu_keeper" ] || BIN=$ROOT/build/release/bin
BIN=${PTXBENCH_BIN:-$BIN}
OUT=${OUT:-$(mktemp -d /tmp/ptxbench-gpu.XXXXXX)}
BUDGET_S=${BUDGET_S:-530}
export PTXBENCH_BIN="$BIN" PTXBENCH_HOME="${PTXBENCH_HOME:-$ROOT}"
cd "$ROOT" || exit 1
mkdir -p "$OUT"
LOG=$OUT/$STEPS_NAME.log RESULTS=$OUT/results.jsonl
TMP=$(mktemp -d) || exit 1
STEP_LOG=$TMP/log
mkdir "$TMP/out"
: >"$LOG"
: >"$RESULTS"
trap 'rm -rf "$TMP"' EXIT

commit()
{
    git rev-parse --short HEAD 2>/dev/null || echo unknown
}

DATE=$(date -u +%Y-%m-%dT%H:%M:%SZ)
COMMIT=${PTXBENCH_COMMIT:-$(commit)}
DEVICE=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
DRIVER=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)

# Unit of a figure, by its name.
unit()
{
    case $1 in
        *deviation*) echo '|ln ratio|' ;;
        *share* | repeat_cv.*) echo share ;;
        speedup.* | baseline_vs_pytorch.*) echo x ;;
        strict_excess.*) echo 'relative L2' ;;
        baseline_ms.*) echo ms ;;
        *seconds* | *_s) echo s ;;
        *_ms) echo ms ;;
        *_us) echo us ;;
        *tflops*) echo TFLOP/s ;;
        *) echo count ;;
    esac
}

# record NAME VALUE UNIT COMMAND
record()
{
    printf '{"date":"%s","commit":"%s","device":"%s","driver":"%s","command":"%s","name":"%s","value":%s,"unit":"%s"}\n' \
        "$DATE" "$COMMIT" "$DEVICE" "$DRIVER" "$4" "$1" "$2" "$3" >>"$RESULTS"
}

# Figures of a log: lines "some.name number", maybe behind "# ", maybe with a unit behind.
figures()
{
    sed -nE 's/^(# )?([a-z][a-z0-9_]*(\.[A-Za-z0-9_]+)+) (-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?)( .*)?$/\2 \4/p' "$1"
}

# run_step NAME SECONDS COMMAND…: sets `state`.
run_step()
{
    step=$1 limit=$2
    shift 2
    if [ ! -x "$1" ]; then
        state=missing
        echo "there is no $1" >"$STEP_LOG"
        return
    fi
    OUT=$TMP/out timeout -k 5 "$limit" "$@" >"$STEP_LOG" 2>&1
    case $? in
        0) state=ok ;;
        77) state=skipped ;;
        124 | 137) state=timeout ;;
        *) state=failed ;;
    esac
    grep -qE '^1\.\.0 # SKIP' "$STEP_LOG" && state=skipped
}

run_steps()
{
    start=$(date +%s)
    failures=0
    steps | {
        while read -r name seconds command; do
            if [ $# -gt 0 ]; then
                case " $* " in *" $name "*) ;; *) continue ;; esac
            fi
            left=$((BUDGET_S - $(date +%s) + start))
            [ "$seconds" -le "$left" ] || seconds=$left
            began=$(date +%s)
            if [ "$left" -le 5 ]; then
                state=timeout
                echo "no time was left for it" >"$STEP_LOG"
            else
                # shellcheck disable=SC2086 # a command and its arguments
                run_step "$name" "$seconds" $command </dev/null
            fi
            took=$(($(date +%s) - began))
            good=$(grep -cE '^ok ' "$STEP_LOG")
            bad=$(grep -cE '^not ok ' "$STEP_LOG")
            case $state in ok | skipped) ;; *) failures=$((failures + 1)) ;; esac
            printf '%-8s %-14s %4d s  %d passed, %d failed\n' "$state" "$name" "$took" "$good" "$bad"
            grep -E '^(not ok |Bail out)' "$STEP_LOG" | cut -c 1-160 | sed 's/^/         /' | head -n 12
            { echo "==== $name: $state after $took s: $command"; cat "$STEP_LOG"; } >>"$LOG"
            printf '{"date":"%s","commit":"%s","step":"%s","state":"%s","seconds":%d,"passed":%d,"failed":%d}\n' \
                "$DATE" "$COMMIT" "$name" "$state" "$took" "$good" "$bad" >>"$RESULTS"
            figures "$STEP_LOG" | while read -r figure value; do
                # shellcheck disable=SC2001 # a path in the middle
                record "$figure" "$value" "$(unit "$figure")" "$(echo "$command" | sed "s|$BIN/||")"
            done
        done
        [ -z "$(ls "$TMP/out")" ] || tar -czf "$OUT/steps.tar.gz" -C "$TMP/out" .
        echo
        echo "$DEVICE, driver $DRIVER, commit $COMMIT, $(($(date +%s) - start)) s in all"
        sed -nE 's/.*"name":"([^"]+)","value":([^,]+),"unit":"([^"]+)".*/\1 \2 \3/p' "$RESULTS" |
            awk '{ printf "%-52s %14s %s\n", $1, $2, $3 }'
        echo "$failures steps neither passed nor were skipped; $LOG, $RESULTS"
        [ "$failures" -eq 0 ]
    }
}
