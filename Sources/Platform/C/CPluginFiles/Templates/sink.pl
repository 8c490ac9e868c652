#!/usr/bin/env perl
# The plugin @NAME@ of a health hub: writes each record of the type @TYPE@ into a file. README.md says how.
#
# The program keeps no state: the hub knows which records were delivered, and repeats those without an answer.
use v5.26;
use utf8;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use Digest::SHA qw(sha256_hex);
use FindBin;
use IO::Handle;
use lib $FindBin::RealBin;
use HealthHub;

my $manifest = {
    name => '@NAME@', summary => 'Writes records of @TYPE@ into a folder.', version => '1.0', reads => ['@TYPE@'], sink => {},
    settings => [
        { name => 'folder', type => 'path', required => JSON::PP::true, access => 'folder',
            help => 'The folder of the records, a file of one line for each.' },
    ],
};

# The file's name, made from the record's identity: the same for all its versions and its retraction.
sub file_of ($record) {
    my $identity = join "\n", (map { $record->{source}{$_} // '' } qw(plugin device account)), $record->{key};
    utf8::encode($identity);
    return substr(sha256_hex($identity), 0, 32) . '.json';
}

# Writes the record into the folder, or removes it for a retraction; a repetition changes nothing. Returns whether it is on the disk.
sub store ($folder, $record) {
    my $path = "$folder/" . file_of($record);
    return !-e $path || unlink $path if $record->{kind} eq 'retraction';
    open my $file, '>:raw', "$path.new" or return 0;
    return print($file HealthHub::encode($record), "\n") && $file->flush && $file->sync && close($file) && rename "$path.new", $path;
}

sub run ($hub) {
    my $folder = $hub->welcome->{settings}{folder};
    $hub->sink({ want => 'records', types => ['@TYPE@'], start => 'beginning' }, sub ($records) {
        my @stored = map { store($folder, $_) } @$records;
        open my $names, '<', $folder;
        my $are_names_stored = $names && $names->sync;
        # The hub pauses the subscription, then repeats these records.
        die HealthHub::Pause->new(60, 'the folder cannot be written') if !$are_names_stored || grep { !$_ } @stored;
        return [map { { result => 'delivered' } } @stored];
    });
    $hub->serve;
}

exit HealthHub::plugin($manifest, \&run);
