# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# ./dev test: builds by preset, ctest, and the count over individual tests.

# kind, preset whose programs it uses, what ctest runs there. dev has the sanitizers; fuzz is clang, so that
# its warnings count too.
TESTS='
style  dev      ^style/
unit   dev      ^(unit|fuzz)/
t      dev      ^t/
fuzz   fuzz     ^fuzz/
whole  release  ^whole/
web    release  ^web/
'

# ./dev test                everything
# ./dev test t unit/expr    these kinds; of one kind those whose name begins so
cmd_test()
{
    local kind preset pattern wanted failed=() logs=() status=0
    local -A ready=()
    [ $# -gt 0 ] || set -- style unit t fuzz whole web
    for wanted in "$@"; do
        grep -q "^${wanted%%/*} " <<<"$TESTS" || die "there are no tests of kind ${wanted%%/*}; see dev.d/test.sh"
    done
    packages_install test
    tree_writable
    mkdir -p "$ROOT/build/test"
    # Kinds come in the table's order: what is quick to fail first.
    while read -r kind preset pattern; do
        for wanted in "$@"; do
            if [ -z "$kind" ] || [ "${wanted%%/*}" != "$kind" ]; then
                continue
            fi
            [ "$wanted" = "$kind" ] || pattern="^$wanted"
            if [ -z "${ready[$preset]:-}" ]; then
                ready[$preset]=yes
                build_for_tests "$preset" || ready[$preset]=no
                [ "${ready[$preset]}" = yes ] || failed+=(--failed "build ($preset)")
            fi
            [ "${ready[$preset]}" = yes ] || continue
            run_ctest "$kind" "$preset" "$pattern"
            logs+=("$ROOT/build/test/$kind.log")
        done
    done <<<"$TESTS"
    say ''
    "$ROOT/tests/summary" "${failed[@]}" "${logs[@]}" || status=$?
    return "$status"
}

build_for_tests()
{
    if [ "$1" = release ]; then
        page_modules test
        build_release fake-keeper
    else
        build_preset "$1"
    fi
}

# run_ctest KIND PRESET PATTERN: leaves ctest's full log in build/test/KIND.log; what failed is told
# once, by the summary.
run_ctest()
{
    local folder=$ROOT/build/$2
    rm -f "$folder/Testing/Temporary/LastTest.log"
    step "tests ($1)" "$ROOT/build/log/test-$1.log" \
        ctest --test-dir "$folder" -R "$3" --parallel "${JOBS:-$(jobs_default)}" --timeout 900 || true
    cp "$folder/Testing/Temporary/LastTest.log" "$ROOT/build/test/$1.log" 2>/dev/null ||
        : >"$ROOT/build/test/$1.log"
}
