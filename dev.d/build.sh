# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Builds by preset, and the copy that unprivileged processes run.

# build_preset NAME [TARGET…]: configures build/NAME and builds these, all without any.
build_preset()
{
    step "build ($1)" "$ROOT/build/log/build-$1.log" build_preset_quietly "$@"
}

build_preset_quietly()
{
    local preset=$1 target targets=()
    shift
    for target in "$@"; do
        targets+=(--target "$target")
    done
    cd "$ROOT" && cmake --preset "$preset" &&
        cmake --build "build/$preset" --parallel "${JOBS:-$(jobs_default)}" "${targets[@]}"
}

# The release is for running: programs, no tests.
build_release()
{
    build_preset release programs "$@"
}

# The modules of the page, `test`: and what its tests need.
page_modules()
{
    local without='without its modules the page is the plain board at /board'
    if ! command -v npm >/dev/null && [ ! -e "$ROOT/static/vendor/preact.js" ]; then
        say "  npm is not installed: $without"
        return 0
    fi
    step 'modules of the page' "$ROOT/build/log/page.log" "$ROOT/static/vendor.sh" "$@" || say "  $without"
}

# A tree that another user owns cannot be built in: said here, rather than by the compiler.
tree_writable()
{
    mkdir -p "$ROOT/build" 2>/dev/null || true
    [ -w "$ROOT/build" ] ||
        die "cannot write to $ROOT/build; was the tree cloned by another user ($(stat -c %U "$ROOT"))?"
}

# Programs and data to APP, the old copy replaced at once at the end.
app_install()
{
    local new=$APP.new part
    rm -rf "$new"
    mkdir -p "$new/bin" "$new/share"
    for part in "$ROOT"/build/release/bin/ptx*; do
        install -m 0755 "$part" "$new/bin/"
    done
    for part in problems arch sql static published; do
        [ ! -d "$ROOT/$part" ] || cp -rL "$ROOT/$part" "$new/share/"
    done
    # The keeper of a GPU compiles its own kernels when it starts.
    install -d "$new/share/evaluator/cuda"
    install -m 0644 "$ROOT"/evaluator/cuda/kernels_*.cu "$new/share/evaluator/cuda/"
    chmod -R u+rwX,go=rX "$new"
    rm -rf "$APP"
    mv "$new" "$APP"
}
