# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What has to be installed. Everything is probed for itself, so that a machine which has it from
# somewhere else is fine; the package names are those of Debian 12.

# when (up: always; test: for ./dev test; bench: for ./dev bench), probe, Debian package
PACKAGES='
up    command:cc             build-essential
up    command:cmake          cmake
up    command:ninja          ninja-build
up    command:pkg-config     pkg-config
up    module:libmicrohttpd   libmicrohttpd-dev
up    module:libpq           libpq-dev
up    module:jansson         libjansson-dev
up    module:libcurl         libcurl4-openssl-dev
up    module:libcrypto       libssl-dev
up    module:zlib           zlib1g-dev
up    module:libseccomp      libseccomp-dev
up    module:cmocka          libcmocka-dev
up    postgres:              postgresql
up    command:psql           postgresql-client
up    command:setpriv        util-linux
up    command:curl           curl
up    file:/etc/ssl/certs/ca-certificates.crt ca-certificates
test  command:git            git
test  command:jq             jq
test  command:perl           perl
test  command:pgrep          procps
test  command:openssl        openssl
test  command:clang          clang
test  command:clang-format   clang-format
test  fuzzer:                libclang-rt-dev
test  command:shellcheck     shellcheck
bench command:git            git
bench command:jq             jq
bench command:perl           perl
bench command:wrk            wrk
bench command:openssl        openssl
'

# probe KIND:NAME: is it there?
probe()
{
    local name=${1#*:}
    case $1 in
    command:*) command -v "$name" >/dev/null ;;
    module:*) command -v pkg-config >/dev/null && pkg-config --exists "$name" ;;
    file:*) [ -e "$name" ] ;;
    postgres:) [ -n "$(cluster_bindir)" ] ;;
    fuzzer:) compgen -G "$(clang --print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-*.a" >/dev/null ;;
    esac
}

# packages_missing WHEN: names, on one line.
packages_missing()
{
    local when probed package missing=''
    while read -r when probed package; do
        if [ -n "$when" ] && { [ "$when" = up ] || [ "$when" = "$1" ]; } && ! probe "$probed"; then
            missing="$missing $package"
        fi
    done <<<"$PACKAGES"
    printf '%s' "${missing# }"
}

# packages_install WHEN: as root installs what is missing; otherwise prints the line that would, and ends.
packages_install()
{
    local missing log=$ROOT/build/log/apt.log
    missing=$(packages_missing "$1")
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null; then
        die "not installed: $missing (names of Debian 12 packages; install what gives the same)"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        say "Not installed yet: $missing" >&2
        say "Run this, then the same command again:" >&2
        say "" >&2
        say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
        exit 1
    fi
    say "Installing: $missing"
    export DEBIAN_FRONTEND=noninteractive
    step 'apt-get update' "$log" apt-get update -q || die 'could not fetch the package lists'
    # shellcheck disable=SC2086 # a list of names
    step 'apt-get install' "$log" apt-get install -q -y --no-install-recommends $missing ||
        die 'could not install the packages'
    missing=$(packages_missing "$1")
    [ -z "$missing" ] || die "still not usable after the installation: $missing"
}
