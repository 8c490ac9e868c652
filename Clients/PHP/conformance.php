#!/usr/bin/env -S php -n -d extension=zmq
<?php
// The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin.
declare(strict_types=1);

require __DIR__ . '/HealthHub.php';

use HealthHub\{Command, Hub, HubError, Pause};

const MANIFEST = [
    'name' => 'conformance-php', 'summary' => 'Gives weights when it is asked to.', 'version' => '1.0', 'protocol' => [1],
    'writes' => ['weight'], 'checksSettings' => true,
    'settings' => [['name' => 'label', 'type' => 'string', 'required' => true, 'help' => 'Begins the key of each record.']],
    'commands' => [['name' => 'add', 'help' => 'Gives weights.', 'args' => [
        ['name' => 'count', 'type' => 'integer', 'minimum' => 1, 'maximum' => 1000000, 'required' => true, 'help' => 'How many.']]]],
];

function say(mixed $value): void
{
    if (@fwrite(STDOUT, HealthHub\encode($value) . "\n") === false) {
        exit(0);
    }
}

function run(Hub $hub): void
{
    if ($hub->welcome()->settings->label === 'gone') {
        exit(69);
    }
    $hub->command('add', function (Command $command) use ($hub) {
        $label = $hub->welcome()->settings->label;
        $results = $hub->give(array_map(fn ($n) => ['type' => 'weight', 'value' => 60 + $n % 100 / 8, 'unit' => 'kg',
            'start' => '2026-01-05T06:00:00+01:00', 'key' => "$label-$n"], range(0, $command->args->count - 1)));
        return ['stored' => count(array_filter($results, fn ($result) => $result->result === 'stored'))];
    });
    $hub->serve();
    fwrite(STDERR, "stopped\n");
}

[$what, $argument, $place] = array_slice($argv, 1) + ['', '', null];
if (str_starts_with($what, '--')) {
    exit(HealthHub\plugin(MANIFEST, run(...), fn ($settings) => $settings->label === 'bad'
        ? [['setting' => 'label', 'reason' => 'the label is not to be bad']] : []));
}
try {
    $hub = new Hub();
    if ($what === 'give') {
        do {
            $records = [];
            while (count($records) < (int) $argument && ($line = fgets(STDIN)) !== false) {
                $records[] = json_decode($line);
            }
            foreach ($hub->give($records) as $n => $result) {
                say(['key' => $records[$n]->key] + (array) $result);
            }
        } while ($records);
    } elseif ($what === 'follow') {
        foreach ($hub->follow([$argument], $place) as $place => $record) {
            say(['place' => $place, 'record' => $record]);
        }
    } elseif ($what === 'sink') {
        $hub->sink(['want' => 'all', 'types' => [$argument], 'start' => 'beginning'], function (array $records) use ($place) {
            if ($place !== null) {
                say(['paused' => count($records)]);
                throw new Pause((float) $place, 'the target is away');
            }
            foreach ($records as $record) {
                say(['record' => $record]);
            }
            return array_map(fn ($record) => ['result' => 'delivered', 'receipt' => "line $record->number"], $records);
        });
        $hub->serve();
    } elseif ($what === 'query') {
        $question = (array) json_decode($argument);
        foreach ($question['want'] === 'statistics' ? $hub->statistics($question) : $hub->records($question) as $answer) {
            say($answer);
        }
    } elseif ($what === 'calls') {
        foreach (json_decode($argument) as [$name, $body]) {
            try {
                say(['answer' => $hub->$name((array) $body)]);
            } catch (HubError $error) {
                say(['error' => $error->hubCode]);
            }
        }
    }
    $hub->close();
} catch (HubError $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit($error->hubCode === 'protocol' ? 76 : 77);
}
