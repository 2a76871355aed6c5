# SPDX-License-Identifier: Apache-2.0
# A service of files for cli-runs.t: answers METHOD /a/b?query with the file DIR/METHOD_a_b, whose first line is the
# status. Once a stream (DIR/GET_a_events) was read, the file DIR/GET_a.then takes the place of DIR/GET_a.
# DIR/log has a line per request: method, path with query, body. Prints the port.
#   usage: perl fake-runs.pl DIR
use strict;
use warnings;
use File::Copy qw(move);
use IO::Socket::INET;

my $dir = shift or die "usage: fake-runs.pl DIR\n";
my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8, ReuseAddr => 1) or die "listen: $!";
$| = 1;
print 'LISTENING ', $listen->sockport, "\n";

sub slurp
{
    open(my $f, '<', shift) or return undef;
    local $/;
    return scalar <$f>;
}

while (my $s = $listen->accept) {
    my ($method, $path) = (<$s> // '') =~ m{^(\S+) (\S+) HTTP} or next;
    my ($length, $line) = (0);
    while (defined($line = <$s>) && $line !~ /^\r?$/) {
        $length = $1 if $line =~ /^Content-Length: (\d+)/i;
    }
    read($s, my $body = '', $length) if $length;
    open(my $log, '>>', "$dir/log") or die;
    print $log join(' ', $method, $path, $body // ''), "\n";
    close $log;
    my ($file) = "$method$path" =~ /^([^?]*)/;
    $file = "$dir/" . $file =~ tr{/}{_}r;
    my $answer = slurp($file) // "404\n" . '{"code":"not_found","detail":"nothing here"}';
    my ($status, $text) = $answer =~ /^(\d+)\n(.*)$/s;
    my $stream = $path =~ m{/events$};
    print $s "HTTP/1.1 $status Fine\r\nConnection: close\r\nContent-Type: ",
        $stream ? 'text/event-stream' : 'application/json', "\r\n",
        $stream ? '' : 'Content-Length: ' . length($text) . "\r\n", "\r\n", $text;
    close $s;
    if ($stream) {
        (my $run = $file) =~ s{_events$}{};
        move("$run.then", $run) if -e "$run.then";
    }
}
