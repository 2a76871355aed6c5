#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/whole/agent-chaos.t as a figure: how often agent, worker and server were killed during one run of 96 turns
# (agent.chaos_kills), and in how many lines its end state differs from an undisturbed one (agent.chaos_differences).
FIGURES=$(mktemp) || exit 1
trap 'rm -f "$FIGURES"' EXIT
CHAOS_RESULTS=$FIGURES sh "$(dirname "$0")/../whole/agent-chaos.t" >&2 || exit 1
cat "$FIGURES"
