# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench [TOPIC…]: figures of this machine. A bench is tests/bench/bench_<topic>.c or
# tests/bench/<topic>.sh; it prints one figure a line: "name value unit", or a JSON object of these. Each
# becomes one JSON object in tests/bench/results/<topic>.jsonl; the newest line of a name counts.

cmd_bench()
{
    local file topic status=0
    local -A programs=()
    local -a benches
    packages_install bench
    tree_writable
    mapfile -t benches < <(find "$ROOT/tests/bench" -name 'bench_*.c' -exec basename {} .c \;)
    build_release "${benches[@]}" fake-provider || die 'the build failed'
    for file in "$ROOT"/tests/bench/bench_*.c "$ROOT"/tests/bench/*.sh; do
        topic=$(basename "$file")
        topic=${topic#bench_}
        programs[${topic%.*}]=$file
    done
    [ $# -gt 0 ] || set -- "${!programs[@]}"
    for topic in "$@"; do
        [ -n "${programs[$topic]:-}" ] || die "there is no bench $topic; there are: ${!programs[*]}"
        bench_one "$topic" "${programs[$topic]}" || status=1
    done
    return "$status"
}

bench_one()
{
    local topic=$1 out=$ROOT/build/log/bench-$1.out
    local results=$ROOT/tests/bench/results/$topic.jsonl
    local -a run=(sh "$2")
    case $2 in *.c) run=("$ROOT/build/release/bin/bench_$topic") ;; esac
    step "bench ($topic)" "$out" env PTXBENCH_BIN="$ROOT/build/release/bin" "${run[@]}" || return 1
    mkdir -p "$(dirname "$results")"
    sed -nE 's/^([a-z][a-zA-Z0-9_.]*) (-?[0-9][0-9.e+-]*) ([^ ]+)$/{"name":"\1","value":\2,"unit":"\3"}/; /^\{.*\}$/p' "$out" |
        jq -c --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --arg commit "$(bench_commit)" \
            --arg device "$(bench_device)" --arg command "./dev bench $topic" \
            '{date: $date, commit: $commit, device: $device, driver: null, command: $command,
              name: .name, value: .value, unit: .unit}' | tee -a "$results"
}

bench_commit()
{
    local dirty=''
    # the results of the topics before this one are no change of what is measured
    git -C "$ROOT" diff --quiet HEAD -- . ':!tests/*/results/*' 2>/dev/null || dirty=+changes
    printf '%s%s' "$(git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)" "$dirty"
}

bench_device()
{
    printf '%s, %s cores' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" "$(nproc)"
}
