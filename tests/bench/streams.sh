#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls of models under way at one time in one process, over TLS, each answered by a stream of 256 KiB:
# agent.streams_peak_mib        memory of the process at its most; fails above 64 MiB
# agent.streams_start_mib       of it, before the first call
# agent.streams_mib_received, agent.streams_seconds, agent.streams_at_once
#   usage: tests/bench/streams.sh [CALLS]
. "$(dirname "$0")/../t/lib.sh"
. "$(dirname "$0")/../t/provider-lib.sh"
provider_start
providers_of_fake 300 60 long >"$TMP/providers.json"
"$BIN/bench_streams" "$TMP/providers.json" openai_chat-tls long "${1:-48}" || bail 'not all of it went well'
T_DONE=1
