#!/usr/bin/env perl
# The plugin @NAME@ of a health hub: gives @TYPE@ from a text file. README.md describes the file.
#
# The program keeps no state between starts: the hub answers `duplicate` for records that it already has.
use v5.26;
use utf8;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use FindBin;
use lib $FindBin::RealBin;
use HealthHub;

my $manifest = {
    name => '@NAME@', summary => 'Gives @TYPE@ from a text file.', version => '1.0', writes => ['@TYPE@'],
    checksSettings => JSON::PP::true,
    settings => [
        { name => 'file', type => 'path', required => JSON::PP::true, help => 'The readings, a line for each: @LINE@.' },
        { name => 'every', type => 'integer', minimum => 1, maximum => 3600, default => 5,
            help => 'Seconds from one look at the file to the next.' },
    ],
};

# Never log a person's values.
sub note ($text) { print STDERR "$text\n" }

sub objections ($settings) {
    return [] unless -d $settings->{file};
    return [{ setting => 'file', reason => 'this is a folder; name the file with the readings' }];
}

# The record of a line, or undef. Its key is its time, so a line that is read again is the same record.
sub record ($line) {
    my @words = split ' ', $line;
    return undef unless @words == 2 || @words == 3;
    my ($start, $value) = @words[0, -1];
@quantity|    return undef unless $value =~ /\A-?[0-9]{1,15}([.][0-9]{1,15})?\z/;
@quantity|    my $made = { type => '@TYPE@', value => 0 + $value, unit => '@UNIT@', start => $start, key => $start };
@category|    my $made = { type => '@TYPE@', value => $value, start => $start, key => $start };
    $made->{end} = $words[1] if @words == 3;
    return $made;
}

# Records of the file behind byte `place`, and the place to continue from: the whole lines of the next 64 KiB.
sub look ($path, $place) {
    return ([], 0) unless -e $path;
    open my $file, '<:raw', $path or die HealthHub::SettingsError->new("$path cannot be read: $!");
    $place = 0 if -s $file < $place; # the file was rewritten from its beginning
    seek $file, $place, 0;
    read $file, my $data, 65_536;
    my $size = 1 + rindex $data, "\n"; # an unfinished line waits
    $size = length $data if $size == 0 && length $data == 65_536; # never a reading
    my ($start, @records) = ($place);
    for my $line (split /\n/, substr $data, 0, $size) {
        my $at = $start;
        $start += 1 + length $line;
        next unless $line =~ /\S/;
        utf8::decode($line);
        my $made = record($line);
        if ($made) { push @records, $made } else { note("the line at byte $at is left out: it is not a reading") }
    }
    return (\@records, $place + $size);
}

sub run ($hub) {
    my $settings = $hub->welcome->{settings};
    my ($place, $pause) = (0, 0);
    while ($hub->serve($pause)) {
        my ($records, $next) = look($settings->{file}, $place);
        my $results = $hub->give($records); # returns when the hub has them on its disk
        for my $n (0 .. $#$results) {
            note("$records->[$n]{key}: $results->[$n]{reason}") if $results->[$n]{result} eq 'rejected';
        }
        $pause = $next == $place ? $settings->{every} : 0;
        $place = $next;
    }
}

exit HealthHub::plugin($manifest, \&run, \&objections);
