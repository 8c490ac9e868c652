#!/usr/bin/env -S php -n -d extension=zmq
<?php
// The plugin @NAME@ of a health hub: gives @TYPE@ from a text file. README.md describes the file.
//
// The program keeps no state between starts: the hub answers `duplicate` for records that it already has.
declare(strict_types=1);

require __DIR__ . '/HealthHub.php';

use HealthHub\Hub;

const MANIFEST = [
    'name' => '@NAME@', 'summary' => 'Gives @TYPE@ from a text file.', 'version' => '1.0', 'writes' => ['@TYPE@'],
    'checksSettings' => true,
    'settings' => [
        ['name' => 'file', 'type' => 'path', 'required' => true, 'help' => 'The readings, a line for each: @LINE@.'],
        ['name' => 'every', 'type' => 'integer', 'minimum' => 1, 'maximum' => 3600, 'default' => 5,
            'help' => 'Seconds from one look at the file to the next.'],
    ],
];

// Never log a person's values.
function say(string $text): void
{
    fwrite(STDERR, "$text\n");
}

function objections(object $settings): array
{
    return is_dir($settings->file)
        ? [['setting' => 'file', 'reason' => 'this is a folder; name the file with the readings']] : [];
}

// The record of a line, or null. Its key is its time, so a line that is read again is the same record.
function record(string $line): ?array
{
    $words = preg_split('/[ \t]+/', $line);
    if (count($words) < 2 || count($words) > 3) {
        return null;
    }
    $value = end($words);
@quantity|    if (!preg_match('/^-?[0-9]{1,15}([.][0-9]{1,15})?$/D', $value)) {
@quantity|        return null;
@quantity|    }
@quantity|    $made = ['type' => '@TYPE@', 'value' => (float) $value, 'unit' => '@UNIT@', 'start' => $words[0], 'key' => $words[0]];
@category|    $made = ['type' => '@TYPE@', 'value' => $value, 'start' => $words[0], 'key' => $words[0]];
    return count($words) === 3 ? $made + ['end' => $words[1]] : $made;
}

// Records of the file behind byte `$place`, and the place to continue from: the whole lines of the next 64 KiB.
function look(string $path, int $place): array
{
    if (!file_exists($path) || !($file = fopen($path, 'rb'))) {
        return [[], 0];
    }
    if (fstat($file)['size'] < $place) {
        $place = 0; // the file was rewritten from its beginning
    }
    fseek($file, $place);
    $data = (string) fread($file, 65536);
    fclose($file);
    $end = strrpos($data, "\n"); // an unfinished line waits
    $size = $end === false ? (strlen($data) === 65536 ? 65536 : 0) : $end + 1; // a longer line is never a reading
    $records = [];
    $start = $place;
    foreach (explode("\n", substr($data, 0, $size)) as $line) {
        $at = $start;
        $start += strlen($line) + 1;
        $line = trim($line);
        if ($line === '') {
            continue;
        }
        $made = preg_match('//u', $line) ? record($line) : null;
        if ($made) {
            $records[] = $made;
        } else {
            say("the line at byte $at is left out: it is not a reading");
        }
    }
    return [$records, $place + $size];
}

function run(Hub $hub): void
{
    $settings = $hub->welcome()->settings;
    $place = $pause = 0;
    while ($hub->serve($pause)) {
        [$records, $next] = look($settings->file, $place);
        foreach ($hub->give($records) as $n => $result) { // returns when the hub has them on its disk
            if ($result->result === 'rejected') {
                say("{$records[$n]['key']}: $result->reason");
            }
        }
        $pause = $next === $place ? $settings->every : 0;
        $place = $next;
    }
}

exit(HealthHub\plugin(MANIFEST, run(...), objections(...)));
