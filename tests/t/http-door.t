#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whom the server speaks to, and what every answer has: routing, methods, hosts, origins, framing, limits, sweeps.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start --host bench.example --verbose

# --- routing ---
is 'an unknown address is 404' "$(http GET /v1/nothing)" 404
is 'its body is a problem with a code' "$(json .code)" not_found
like 'its type is problem+json' "$(header content-type)" '^application/problem\+json'
is 'a capture of the wrong type is 404, not 500' "$(http GET /v1/submissions/abc)" 404
is 'a well-formed id of nothing is 404' "$(http GET /v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b)" 404
is 'a wrong method is 405' "$(http DELETE /v1/submissions)" 405
is '405 says what is allowed' "$(header allow)" 'POST, GET, HEAD, OPTIONS'
is 'OPTIONS is 204' "$(http OPTIONS /v1/problems)" 204
is 'OPTIONS says what is allowed' "$(header allow)" 'GET, HEAD, OPTIONS'
is 'HEAD is like GET' "$(http HEAD /v1/problems -I)" 200
is 'HEAD of a command is 405' "$(http HEAD /v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b/cancel -I)" 405
is 'an unknown query parameter is 400' "$(http GET '/v1/submissions?limits=3')" 400
like 'and names those there are' "$(json .detail)" 'limits.*cursor limit'
is 'a parameter given twice is 400' "$(http GET '/v1/submissions?limit=3&limit=4')" 400
is 'a limit out of range is 400' "$(http GET '/v1/submissions?limit=201')" 400
is 'a cursor that is none is 400' "$(http GET '/v1/submissions?cursor=1')" 400
is 'a broken escape is 400' "$(http GET '/v1/problems/%zz')" 400
is 'a NUL in the address is 400' "$(http GET '/v1/problems/gemm%00')" 400
is 'a long address is 400' "$(http GET "/v1/problems/$(printf '%04096d' 0)")" 400
like 'a path out of the page folder leads nowhere' "$(raw 'GET /../core/err.c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')" '^HTTP/1.1 404'
like 'nor does an escaped one' "$(raw 'GET /..%%2fcore%%2ferr.c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')" '^HTTP/1.1 404'

# --- the page ---
is 'the page is served' "$(http GET /)" 200
like 'as HTML' "$(header content-type)" '^text/html'
etag=$(header etag)
is 'with a tag that saves sending it again' "$(http GET / -H "If-None-Match: $etag")" 304
is 'another tag does not' "$(http GET / -H 'If-None-Match: "other"')" 200
like 'scripts only from here' "$(header content-security-policy)" "default-src 'self'"
is 'types are not guessed' "$(header x-content-type-options)" nosniff

# --- request ids ---
http GET /healthz -H 'X-Request-Id: abc-123' >/dev/null
is 'a request id comes back' "$(header x-request-id)" abc-123
http GET /healthz -H 'X-Request-Id: a b<c>' >/dev/null
like 'one that does not fit is replaced' "$(header x-request-id)" '^[0-9a-f-]{36}$'

# --- hosts and origins ---
is 'an unknown host is 421' "$(http GET /healthz -H 'Host: evil.example')" 421
is 'a configured one is served' "$(http GET /healthz -H 'Host: bench.example')" 200
is 'localhost with a port is served' "$(http GET /healthz -H "Host: localhost:$PORT")" 200
is 'a foreign origin is 403' "$(http GET /healthz -H 'Origin: http://evil.example')" 403
is 'with its own code' "$(json .code)" foreign_origin
is 'a null origin is 403' "$(http POST "/v1/submissions?$PTX_QUERY" -H 'Origin: null' --data-binary "@$PTX_FILE")" 403
is 'nothing was stored by it' "$(sql 'SELECT count(*) FROM submissions')" 0
is 'the own origin is served' "$(http GET /healthz -H "Origin: $URL")" 200
like 'no host at all is refused' "$(raw 'GET /healthz HTTP/1.1\r\n\r\n')" '^HTTP/1.1 400'

# --- framing and content ---
like 'two lengths that differ are 400 and the end' \
    "$(raw 'POST /v1/submissions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd')" '^HTTP/1.1 400'
two=$(raw 'POST /v1/submissions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
like 'length and chunks together are 400' "$two" '^HTTP/1.1 400'
unlike 'and what follows is not read as a request' "$two" 'alive'
unlike 'and the connection is closed' "$two" 'still open'
is 'an encoded body is 415' "$(http POST "/v1/submissions?$PTX_QUERY" -H 'Content-Encoding: gzip' --data-binary "@$PTX_FILE")" 415
is 'a multipart body is 415' "$(http POST "/v1/submissions?$PTX_QUERY" -F "source=@$PTX_FILE")" 415
head -c 8388609 /dev/zero | tr '\0' ' ' >"$TMP/large"
is 'a body of the limit + 1 is 413' "$(http POST "/v1/submissions?$PTX_QUERY" --data-binary "@$TMP/large")" 413
is 'also when nobody asks first' "$(http POST "/v1/submissions?$PTX_QUERY" -H 'Expect:' --data-binary "@$TMP/large")" 413
is 'also in chunks' "$(http POST "/v1/submissions?$PTX_QUERY" -H 'Expect:' -H 'Transfer-Encoding: chunked' --data-binary "@$TMP/large")" 413
is 'its code is too_large' "$(json .code)" too_large
is 'a body where none is taken is 413' "$(http POST /v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b/cancel --data x)" 413
heap()
{
    perl -MIO::Socket::INET -e '
        my ($port, $n, $size, %got) = (shift, 36, 8 << 20);
        my @all;
        my $most = " " x ($size - 1);
        for (1 .. $n) {
            my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die;
            push @all, $s;
            print $s "POST /v1/submissions HTTP/1.1\r\nHost: localhost\r\nContent-Length: $size\r\n\r\n$most";
            $s->flush;
        }
        sleep 1;
        for my $s (@all) { print $s " "; $s->flush; sysread($s, my $answer, 16); $got{substr $answer, 9, 3}++; }
        print join " ", map { "$_:$got{$_}" } sort keys %got;' "$PORT"
}
like 'bodies beyond 256 MiB in all are 503, the rest is judged' "$(heap)" '^422:(3[0-2]|2[0-9]) 503:[1-9][0-9]?$'
is 'the server is well after all that' "$(http GET /readyz)" 200

# --- several requests on one connection ---
two=$(raw 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
is 'two requests at once on a connection get two answers' "$(printf '%s\n' "$two" | grep -c '^HTTP/1.1 200')" 2

# --- slow clients ---
slow()
{
    perl -MIO::Socket::INET -MTime::HiRes=time,sleep -e '
        my ($port, $start) = (shift, time);
        my @all = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die } 1 .. 50;
        $SIG{PIPE} = "IGNORE";
        my $head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
        my $open = 50;
        for (my $i = 0; $i < 80 && $open; $i++) {
            my $byte = $i < length $head ? substr($head, $i, 1) : "x";
            for my $s (@all) {
                next unless $s;
                my $sent = syswrite($s, $byte);
                if (!defined $sent) { $s = undef; $open--; }
            }
            sleep 0.25;
        }
        printf "%d open after %.0f s\n", $open, time - $start;' "$PORT"
}
slow >"$TMP/slow" &
slow_pid=$!
sleep 3
is 'others are served while 50 clients trickle' "$(http GET /readyz)" 200
wait "$slow_pid"
like 'headers that trickle are cut after ten seconds' "$(cat "$TMP/slow")" '^0 open after (9|1[0-4]) s'
unlike 'a token is never logged' "$(cat "$TMP/server.log")" 'Bearer|ptxb_'
done_testing
