# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For tests and benches that call models: bin/fake-provider with certificates made for the day, and a providers
# file that names it. Source it after lib.sh.

KEY='sk-fake-Zq7Xv2Lm9Rt4'

# pl_make NAME SUBJECT_ALT_NAME DAYS [AUTHORITY]: a certificate with its key in $TMP/NAME.pem. DAYS -1 has passed.
pl_make()
{
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMP/$1.key" -out "$TMP/$1.csr" \
        -subj "/CN=$1" -addext "subjectAltName=$2" &&
        openssl x509 -req -in "$TMP/$1.csr" -CA "$TMP/${4:-trusted}.crt" -CAkey "$TMP/${4:-trusted}.key" \
            -copy_extensions copy -days "$3" -out "$TMP/$1.crt" &&
        cat "$TMP/$1.crt" "$TMP/$1.key" >"$TMP/$1.pem"
}

# pl_authority NAME: one that may sign.
pl_authority()
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMP/$1.key" -out "$TMP/$1.crt" \
        -subj "/CN=$1" -days 2
}

# Starts the fake. Its ports: plain, proxy (the same), tls (trusted), expired, name (of another host), stranger
# (signed by nobody known). Sets PROVIDER_PID; what it was asked stands in $TMP/requests.
provider_start()
{
    {
        pl_authority trusted && pl_authority nobody && pl_make tls IP:127.0.0.1,DNS:localhost 2 &&
            pl_make expired IP:127.0.0.1 -1 && pl_make name DNS:example.com 2 && pl_make stranger IP:127.0.0.1 2 nobody
    } >"$TMP/openssl.log" 2>&1 || bail 'cannot make certificates'
    : >"$TMP/requests"
    "$BIN/fake-provider" "$TMP/requests" plain proxy "tls=$TMP/tls.pem" "expired=$TMP/expired.pem" "name=$TMP/name.pem" \
        "stranger=$TMP/stranger.pem" >"$TMP/ports" 2>"$TMP/provider.log" &
    PROVIDER_PID=$!
    T_CHILDREN="$T_CHILDREN $PROVIDER_PID "
    wait_for 10 grep -q '^stranger ' "$TMP/ports" || bail 'the fake of providers did not start'
    export SSL_CERT_FILE="$TMP/trusted.crt" FAKE_KEY="$KEY"
    unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
}

# port_of NAME
port_of()
{
    sed -n "s/^$1 //p" "$TMP/ports"
}

# providers_of_fake TIMEOUT_S STALL_S MODEL…: prints one with the providers FORMAT-PORT, such as anthropic-tls, each
# with these models.
providers_of_fake()
{
    pf_timeout=$1 pf_stall=$2
    shift 2
    printf '%s\n' "$@" | jq -Rn --rawfile ports "$TMP/ports" --argjson timeout "$pf_timeout" \
        --argjson stall "$pf_stall" '
        ([inputs | {(.): {context: 200000, max_output: 4096, price: {input: 2, cached: 0.2, output: 10}}}] | add) as $models |
        {providers: ([($ports | split("\n")[] | select(. != "") | split(" ")) as [$name, $port] |
            ("openai_chat", "openai_responses", "anthropic", "gemini") as $format |
            {("\($format)-\($name)"): {format: $format, key_env: "FAKE_KEY", timeout_s: $timeout, stall_s: $stall, models: $models,
                url: "\(if $name == "plain" or $name == "proxy" then "http" else "https" end)://127.0.0.1:\($port)/v1"}}] | add)}'
}
