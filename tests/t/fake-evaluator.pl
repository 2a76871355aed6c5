#!/usr/bin/env perl
# SPDX-License-Identifier: Apache-2.0
# Stands in for an evaluation (ptxbench-worker --evaluator): reads the two frames and does what the first
# word of the source says. Frames: u32 kind, u32 length, little-endian, then the bytes (core/frame.h).
use strict;
use warnings;

my ($REQUEST, $SOURCE, $EVENT, $RESULT, $PTX, $CUBIN, $LOG) = 1 .. 7;
binmode $_ for *STDIN, *STDOUT;
$| = 1;

sub get {
    my ($kind) = @_;
    read(STDIN, my $header, 8) == 8 or exit 3;
    my ($got, $len) = unpack 'VV', $header;
    $got == $kind or exit 4;
    my $data = '';
    while (length $data < $len) {
        read(STDIN, $data, $len - length $data, length $data) or exit 5;
    }
    return $data;
}

sub put {
    my ($kind, $data) = @_;
    print pack('VV', $kind, length $data), $data;
}

sub report { put($RESULT, qq({"schema":1,"verdict":"$_[0]","detail":"$_[1]","device_model":"ptxvm","epoch":1})) }

get($REQUEST);
my ($word, $argument, @more) = split ' ', get($SOURCE), 5;

# What a GPU would have said of it: //turn VERDICT SPEEDUP|- EXECUTED (true, false, null).
sub turn {
    my ($verdict, $speedup, $executed) = @_;
    my $timed = $speedup eq '-' ? '' : qq(,"speedup":{"value":$speedup,"ci95":[$speedup,$speedup]},"candidate_us":10);
    put($RESULT, qq({"schema":1,"verdict":"$verdict","detail":"as told","device_model":"ptxvm","epoch":1,)
        . qq("target":{"executed":$executed,"tensor_share":null}$timed}));
}
my %act = (
    pass   => sub { put($PTX, '.version 8.0'); put($LOG, 'fine'); report('PASSED', '') },
    events => sub { put($EVENT, qq({"kind":"progress","done":$_,"total":$argument})) for 1 .. $argument; report('PASSED', '') },
    big    => sub { put($CUBIN, 'x' x (12 << 20)); report('PASSED', '') },
    huge   => sub { put($CUBIN, 'x' x (17 << 20)); report('PASSED', '') },
    infra  => sub { report('INFRA_ERROR', 'the disk is on fire') },
    unsupported => sub { report('INFRA_ERROR', 'unsupported_instruction: wgmma.fence, line 7') },
    sleep  => sub { put($EVENT, qq({"kind":"stage","stage":"check","state":"started","pid":$$})); sleep $argument; report('PASSED', '') },
    crash  => sub { kill 'SEGV', $$; sleep 1 },
    leave  => sub { exit 7 },
    noise  => sub { print 'this is no frame at all' x 100 },
    empty  => sub { put($RESULT, '{}') },
    secret => sub { report('PASSED', join ' ', sort keys %ENV) },
    '//turn' => sub { turn($argument, @more) },
    keeper => sub { # is descriptor 3 a connection to a keeper?
        my $there = open my $line, '+<&=', 3;
        report('PASSED', $there && -S $line ? 'connected' : 'not connected');
    },
    blame  => sub { put($RESULT, '{"schema":1,"verdict":"INFRA_ERROR","detail":"it hangs","stages":[{},{},{"state":"failed"}]}') },
    grandchild => sub {
        my $pid = fork();
        if (!$pid) { sleep 60; exit 0 }
        put($EVENT, qq({"kind":"stage","stage":"check","state":"started","pid":$pid}));
        sleep $argument;
    },
);
($act{$word} or sub { exit 6 })->();
