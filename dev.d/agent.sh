# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The agent of ./dev up: with the providers of this host, or with one that plays an example back.

PROVIDERS='' # the file

# providers_find: sets PROVIDERS. One that was named must be there; without any there is the example.
providers_find()
{
    local file
    if [ -n "${PTXBENCH_PROVIDERS:-}" ]; then
        PROVIDERS=$(readlink -m "$PTXBENCH_PROVIDERS")
        providers_readable "$PROVIDERS" || die "the user $SERVICE_USER cannot read $PROVIDERS (PTXBENCH_PROVIDERS)"
        return
    fi
    for file in "${XDG_CONFIG_HOME:-${HOME:-}/.config}/ptxbench/providers.json" /etc/ptxbench/providers.json; do
        if [ -e "$file" ] && providers_readable "$file"; then
            PROVIDERS=$file
            return
        fi
        [ ! -e "$file" ] || say "  $file is not used: the user $SERVICE_USER cannot read it"
    done
    providers_example
}

providers_readable()
{
    (cd / && as_user "$SERVICE_USER" KILL test -r "$1")
}

# Eight answers as a model might give them: words without code, a wrong kernel, and then one that is right.
providers_example()
{
    local turn folder=$APP/replay kernel=$ROOT/problems/gemm/examples/naive.ptx
    mkdir -p "$folder"
    printf 'I would begin with one thread for each element of C.\n' >"$folder/0.md"
    {
        printf 'Here it is:\n\n```ptx\n'
        sed 's/mov.f32  *%sum, 0f00000000;/mov.f32 %sum, 0f3f800000;/' "$kernel"
        printf '```\n'
    } >"$folder/1.md"
    for ((turn = 2; turn < 8; turn++)); do
        {
            printf 'The sum began with 1. Now it begins with 0:\n\n```ptx\n'
            cat "$kernel"
            printf '```\n'
        } >"$folder/$turn.md"
    done
    PROVIDERS=$APP/providers.json
    cat >"$PROVIDERS" <<TEXT
{"providers": {"replay": {"format": "replay", "folder": "$folder",
                          "models": {"example": {"context": 200000, "max_output": 32000}}}}}
TEXT
    chmod -R u+rwX,go=rX "$folder" "$PROVIDERS"
}

# Names of the variables that hold keys, one a line.
provider_keys()
{
    { grep -oE '"key_env"[[:space:]]*:[[:space:]]*"[A-Za-z_][A-Za-z0-9_]*"' "$PROVIDERS" || true; } |
        sed 's/.*"\([^"]*\)"$/\1/'
}

# Becomes the agent. Its environment is cut down in place: on a command line keys could be seen.
agent_run()
{
    local name keep
    keep=" $(provider_keys | tr '\n' ' ') https_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR "
    while read -r name; do
        case $keep in *" $name "*) ;; *) unset "$name" ;; esac
    done < <(compgen -e)
    export PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 PTXBENCH_HOME="$APP/share" PTXBENCH_BIN="$APP/bin"
    PTXBENCH_DATABASE=$(cluster_conninfo "$RUN/pg")
    export PTXBENCH_DATABASE
    cd / || exit 1
    # Less than ./dev down gives it.
    as_user "$SERVICE_USER" TERM "$APP/bin/ptxbench-agent" --providers "$PROVIDERS" --grace-ms 10000
}

agents_found()
{
    case $PROVIDERS in
    "$APP"/*) echo "provider replay, model example, answers from files; yours: PTXBENCH_PROVIDERS" ;;
    *) echo "providers of $PROVIDERS" ;;
    esac
}
