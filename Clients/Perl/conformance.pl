#!/usr/bin/env perl
# The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin.
use v5.26;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use FindBin;
use lib $FindBin::RealBin;
use HealthHub;

$| = 1;
my $manifest = {
    name => 'conformance-perl', summary => 'Gives weights when it is asked to.', version => '1.0', protocol => [1],
    writes => ['weight'], checksSettings => JSON::PP::true,
    settings => [{ name => 'label', type => 'string', required => JSON::PP::true, help => 'Begins the key of each record.' }],
    commands => [{ name => 'add', help => 'Gives weights.', args => [
        { name => 'count', type => 'integer', minimum => 1, maximum => 1_000_000, required => JSON::PP::true, help => 'How many.' }] }],
};

sub say_json ($value) { print HealthHub::encode($value), "\n" }

sub run ($hub) {
    exit 69 if $hub->welcome->{settings}{label} eq 'gone';
    $hub->command(add => sub ($command) {
        my $label = $hub->welcome->{settings}{label};
        my $results = $hub->give([map { { type => 'weight', value => 60 + $_ % 100 / 8, unit => 'kg',
            start => '2026-01-05T06:00:00+01:00', key => "$label-$_" } } 0 .. $command->{args}{count} - 1]);
        return { stored => scalar grep { $_->{result} eq 'stored' } @$results };
    });
    $hub->serve;
    print STDERR "stopped\n";
}

my ($what, $argument, $place) = @ARGV;
if ($what =~ /^--/) {
    exit HealthHub::plugin($manifest, \&run, sub ($settings) {
        $settings->{label} eq 'bad' ? [{ setting => 'label', reason => 'the label is not to be bad' }] : [] });
}

sub play ($hub) {
    if ($what eq 'give') {
        while (1) {
            my @records;
            while (@records < $argument && defined(my $line = <STDIN>)) { push @records, HealthHub::decode($line) }
            last unless @records;
            my $results = $hub->give(\@records);
            say_json({ key => $records[$_]{key}, %{ $results->[$_] } }) for 0 .. $#records;
        }
    } elsif ($what eq 'follow') {
        $hub->follow([$argument], $place, sub ($record, $place) {
            say_json({ place => $place, record => $record });
        });
    } elsif ($what eq 'sink') {
        $hub->sink({ want => 'all', types => [$argument], start => 'beginning' }, sub ($records) {
            if (defined $place) {
                say_json({ paused => scalar @$records });
                die HealthHub::Pause->new($place, 'the target is away');
            }
            say_json({ record => $_ }) for @$records;
            return [map { { result => 'delivered', receipt => "line $_->{number}" } } @$records];
        });
        $hub->serve;
    } elsif ($what eq 'query') {
        my $question = HealthHub::decode($argument);
        my $ask = delete $question->{want};
        $hub->$ask($question, \&say_json);
    } elsif ($what eq 'calls') {
        for my $call (@{ HealthHub::decode($argument) }) {
            my ($name, $body) = @$call;
            $name =~ s/putToken/put_token/;
            my $answer = eval { $hub->$name($body) };
            $answer = $answer ? JSON::PP::true : JSON::PP::false if defined $answer && !ref $answer;
            say_json(defined $answer ? { answer => $answer } : { error => $@->{code} });
        }
    }
    $hub->close;
}

eval { play(HealthHub->new); 1 } or do {
    die $@ unless ref $@;
    print STDERR "$@\n";
    exit($@->{code} eq 'protocol' ? 76 : 77);
};
