#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dependencies point down: who may include whom, and who may know which library. A room is a folder.
. "$(dirname "$0")/../t/lib.sh"
cd "$ROOT" || exit 1

# includes ROOM: "file: header" for every #include "…" of the sources of a room (and of rooms in it).
includes()
{
    find "$1" -name '*.[ch]' -exec grep -HoE '^ *# *include +["<][^">]+' {} + | sed -E 's/ *# *include +["<]//'
}

# only ROOM ALLOWED: what a room includes of our own headers is in these rooms.
only()
{
    is "$1/ includes nothing but $2" "$(includes "$1" | grep -E ':(core|server|evaluator|agent|cli)/' |
        grep -vE ":($2)/" | grep -vE "${3:-^$}")" ''
}

# knows LIBRARY HEADERS FILES: only these files include these system headers.
knows()
{
    is "only $3 know $1" "$(for room in core server evaluator agent cli; do includes "$room"; done |
        grep -E ":($2)" | cut -d : -f 1 | sort -u | grep -vE "^($3)$")" ''
}

only core/db 'core'
only core 'core' 'core/db/'
is 'core/ outside core/db includes no core/db' \
    "$(includes core | grep -v '^core/db/' | grep ':core/db/')" ''
only server 'core|server'
only evaluator 'core|evaluator'
only evaluator/ptxvm 'core|evaluator/ptxvm'
only agent 'core|agent'
only cli 'core|evaluator|cli'

knows libmicrohttpd 'microhttpd' 'server/http\.c|server/exchange\.[ch]'
knows libpq 'libpq' 'core/db/.*'
knows libcurl 'curl/' 'cli/client\.c|agent/fetch\.c'
knows libseccomp 'seccomp\.h|linux/seccomp' 'evaluator/sandbox[a-z_]*\.c'
knows CUDA 'cuda|nvrtc|cublas' 'evaluator/cuda/.*'

is 'SQL stands in core/db and sql/ only' \
    "$(grep -rnE '"[^"]*\b(SELECT .* FROM|INSERT INTO|UPDATE [a-z]+ SET|DELETE FROM)\b' \
        --include='*.[ch]' core server evaluator agent cli | grep -v '^core/db/')" ''
is 'only the worker, the server and the command line talk to the database' \
    "$(includes evaluator | grep ':core/db/' | cut -d : -f 1 | sort -u |
        grep -vE '^evaluator/(main_)?worker[a-z_]*\.[ch]$')" ''
is 'evaluator/ has the rooms ptxvm, cuda and tool' \
    "$(find evaluator -mindepth 1 -type d | grep -vE '^evaluator/(ptxvm|cuda|tool)$')" ''
is 'only the program ptxvm knows the room of its commands' \
    "$(for room in core server evaluator agent cli; do includes "$room"; done | grep ':evaluator/tool/' |
        cut -d : -f 1 | sort -u | grep -vE '^evaluator/(tool/.*|main_ptxvm\.c)$')" ''
done_testing
