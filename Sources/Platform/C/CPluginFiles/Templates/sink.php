#!/usr/bin/env -S php -n -d extension=zmq
<?php
// The plugin @NAME@ of a health hub: writes each record of the type @TYPE@ into a file. README.md says how.
//
// The program keeps no state: the hub knows which records were delivered, and repeats those without an answer.
declare(strict_types=1);

require __DIR__ . '/HealthHub.php';

use HealthHub\{Hub, Pause};

const MANIFEST = [
    'name' => '@NAME@', 'summary' => 'Writes records of @TYPE@ into a folder.', 'version' => '1.0',
    'reads' => ['@TYPE@'], 'sink' => new stdClass(),
    'settings' => [
        ['name' => 'folder', 'type' => 'path', 'required' => true, 'access' => 'folder',
            'help' => 'The folder of the records, a file of one line for each.'],
    ],
];

// The file's name, made from the record's identity: the same for all its versions and its retraction.
function fileOf(object $record): string
{
    $source = $record->source;
    $identity = implode("\n", [$source->plugin, $source->device ?? '', $source->account ?? '', $record->key]);
    return substr(hash('sha256', $identity), 0, 32) . '.json';
}

// Writes the record into the folder, or removes it for a retraction; a repetition changes nothing. Returns whether it is on the disk.
function store(string $folder, object $record): bool
{
    $path = "$folder/" . fileOf($record);
    if ($record->kind === 'retraction') {
        return !file_exists($path) || unlink($path);
    }
    $line = HealthHub\encode($record) . "\n";
    $file = fopen("$path.new", 'wb');
    return $file && fwrite($file, $line) === strlen($line) && fsync($file) && fclose($file) && rename("$path.new", $path);
}

function run(Hub $hub): void
{
    $folder = $hub->welcome()->settings->folder;
    $hub->sink(['want' => 'records', 'types' => ['@TYPE@'], 'start' => 'beginning'], function (array $records) use ($folder) {
        $isStored = array_map(fn ($record) => store($folder, $record), $records);
        $areNamesStored = ($names = fopen($folder, 'rb')) && fsync($names);
        if (!$areNamesStored || in_array(false, $isStored, true)) {
            throw new Pause(60, 'the folder cannot be written'); // the hub pauses the subscription, then repeats these records
        }
        return array_map(fn () => ['result' => 'delivered'], $records);
    });
    $hub->serve();
}

exit(HealthHub\plugin(MANIFEST, run(...)));
