# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench [TOPIC…]: figures of this machine. A bench is build/release/bin/bench_<topic> or
# tests/bench/<topic>.sh; it prints one figure a line, "name value unit". Each becomes one JSON object
# in tests/bench/results/<topic>.jsonl; the newest line of a name counts.

cmd_bench()
{
    local topic program status=0
    local -A programs=()
    packages_install test
    tree_writable
    build_preset release || die 'the build failed'
    for program in "$ROOT"/build/release/bin/bench_* "$ROOT"/tests/bench/*.sh; do
        [ -x "$program" ] || continue
        topic=$(basename "$program" .sh)
        programs[${topic#bench_}]=$program
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
    local topic=$1 program=$2 out=$ROOT/build/log/bench-$1.out
    local results=$ROOT/tests/bench/results/$topic.jsonl
    step "bench ($topic)" "$out" env PTXBENCH_BIN="$ROOT/build/release/bin" "$program" || return 1
    mkdir -p "$(dirname "$results")"
    grep -E '^[a-z][a-z0-9_.]* -?[0-9.]+(e[-+]?[0-9]+)? [^ ]+$' "$out" | while read -r name value unit; do
        jq -cn --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --arg commit "$(bench_commit)" \
            --arg device "$(bench_device)" --arg name "$name" --argjson value "$value" --arg unit "$unit" \
            --arg command "./dev bench $topic" \
            '{date: $date, commit: $commit, device: $device, driver: null, command: $command,
              name: $name, value: $value, unit: $unit}' | tee -a "$results"
    done
}

bench_commit()
{
    local dirty=''
    git -C "$ROOT" diff --quiet HEAD 2>/dev/null || dirty=+changes
    printf '%s%s' "$(git -C "$ROOT" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)" "$dirty"
}

bench_device()
{
    printf '%s, %s cores' "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)" "$(nproc)"
}
