<?php
// A client of the health hub in one file: give records, follow, take deliveries, ask, answer commands, be a plugin.
//
// Needs PHP 8.1 with the extension zmq over libzmq 4.3 (Debian: php-cli, php-zmq). A confined plugin cannot read /etc/php: its first line
// is #!/usr/bin/env -S php -n -d extension=zmq, or hub.conf has readable = ["/etc/php"] for it. Records are
// objects or arrays with the members of Docs/Samples.md; the hub's answers are objects, so that {} stays {}. Calls
// wait until the hub has answered, however long it is away; a refusal of the hub is a HubError. Nothing is kept on disk:
// if a call did not return, give its records again, which is harmless.
declare(strict_types=1);

namespace HealthHub;

ini_set('serialize_precision', '-1'); // numbers are printed so that they read back the same

// `hubCode` is the hub's (Protocol §9.1), or `protocol` if its answer was invalid; `body` is the whole ERROR.
class HubError extends \Exception
{
    public function __construct(public string $hubCode, public string $reason, public ?object $body = null)
    {
        parent::__construct("$hubCode: $reason");
    }
}

// The settings are wrong, and a person has to correct them: exit code 78 of a plugin.
class SettingsError extends \Exception
{
}

// A command from a person to a plugin. `cancelled` turns true when the person cancels it.
class Command
{
    public bool $cancelled = false;

    public function __construct(public int $id, public string $name, public object $args, public bool $dryRun, public string $session)
    {
    }
}

// Thrown by `deliver` of a sink if its target is away: the hub pauses the subscription for this many seconds
// (0.1 to 604,800). Then all records of the delivery come again.
class Pause extends \Exception
{
    public function __construct(public float $seconds, public string $reason = 'the target is away')
    {
        parent::__construct($reason);
    }
}

class Delivery
{
    public function __construct(public string $want, public int $number, public array $records, public int $size, public string $session)
    {
    }
}

// Records that are being sent.
class Giving
{
    public array $results = [];
    public int $next = 0;
    public ?HubError $error = null;

    public function __construct(public array $texts, public array $groups, public bool $backfill)
    {
    }
}

function encode(mixed $value): string
{
    try {
        return json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION);
    } catch (\JsonException $error) {
        throw new HubError('json', $error->getMessage());
    }
}

// A session with the hub, through its restarts.
class Hub
{
    private \ZMQContext $context;
    private \ZMQSocket $door, $handshakes;
    private string $instance, $address;
    private ?string $feed;
    private array $proof = [];
    // Events of libzmq's monitor.
    private const SUCCEEDED = 0x1000, FAILED_AUTH = 0x4000;
    private array $hello;
    private ?object $welcome = null;
    private ?HubError $failure = null;
    private bool $open = false, $stopping = false, $over = false, $launched, $stdin;
    private float $greeted = -1e9, $heard = 0, $pinged = 0, $hold = 0;
    private int $number = 0, $sessions = 0, $records = 0, $bytes = 0;
    private ?Giving $giving = null;
    private ?object $question = null; // verb, body, id, due, answer, error
    private array $sent = [], $inbox = [], $wants = [], $again = [], $pauses = [], $commands = [], $deliver = [], $carry = [];

    // Defaults: `key` is the file that HUB_KEY names; door, feed and instance are its own, or those of HUB_DOOR,
    // HUB_FEED and HUB_INSTANCE. `members` are more of HELLO, such as `writes`. `plugin` is the source of all records.
    public function __construct(
        ?string $instance = null, ?string $plugin = null, string $version = '1.0', ?string $door = null, ?string $feed = null,
        ?string $key = null, array $members = [], ?string $token = null
    ) {
        $path = $key ?? ($door ? null : (getenv('HUB_KEY') ?: null));
        $keys = $path ? json_decode(file_get_contents($path)) : null;
        $this->instance = $instance ?? $keys?->instance ?? (getenv('HUB_INSTANCE')
            ?: throw new HubError('instance', 'no instance: give one, or set HUB_INSTANCE'));
        $door ??= $keys?->door ?? (getenv('HUB_DOOR') ?: throw new HubError('door', 'no door: eval "$(hub status --env)" sets HUB_DOOR'));
        $this->feed = $feed ?? ($keys ? $keys->feed ?? null : (getenv('HUB_FEED') ?: null));
        if ($token !== null) {
            $this->proof = [\ZMQ::SOCKOPT_PLAIN_USERNAME => $this->instance, \ZMQ::SOCKOPT_PLAIN_PASSWORD => $token];
        } elseif ($keys) {
            $this->proof = [\ZMQ::SOCKOPT_CURVE_SERVERKEY => $keys->serverKey, \ZMQ::SOCKOPT_CURVE_PUBLICKEY => $keys->publicKey,
                \ZMQ::SOCKOPT_CURVE_SECRETKEY => $keys->secretKey];
        }
        $this->hello = ['protocol' => [1], 'instance' => $this->instance, 'plugin' => $plugin ?? $this->instance, 'version' => $version, ...$members];
        $this->launched = $this->stdin = $token !== null;
        $this->context = new \ZMQContext(1, false);
        $this->address = $door;
        $this->door = $this->socket(\ZMQ::SOCKET_DEALER, $door);
    }

    private function socket(int $kind, string $address, array $topics = []): \ZMQSocket
    {
        $socket = new \ZMQSocket($this->context, $kind);
        $options = [\ZMQ::SOCKOPT_LINGER => 0, \ZMQ::SOCKOPT_RECONNECT_IVL => 50, \ZMQ::SOCKOPT_RECONNECT_IVL_MAX => 1000,
            \ZMQ::SOCKOPT_SNDHWM => 10000, \ZMQ::SOCKOPT_RCVHWM => 10000];
        if ($kind === \ZMQ::SOCKET_DEALER) {
            // ZeroMQ must not queue messages for an absent hub: the next session repeats every open request.
            $options[\ZMQ::SOCKOPT_IMMEDIATE] = 1;
        }
        foreach ($options + $this->proof as $option => $value) {
            $socket->setSockOpt($option, $value);
        }
        foreach ($topics as $topic) {
            $socket->setSockOpt(\ZMQ::SOCKOPT_SUBSCRIBE, $topic);
        }
        if ($kind === \ZMQ::SOCKET_DEALER) {
            // Without it a log-in that the hub refuses, such as with a key that was revoked, looks like a hub that is away.
            $socket->monitor('inproc://handshakes', self::SUCCEEDED | self::FAILED_AUTH);
            $this->handshakes = new \ZMQSocket($this->context, \ZMQ::SOCKET_PAIR);
            $this->handshakes->connect('inproc://handshakes');
        }
        return $socket->connect($address);
    }

    public function __destruct()
    {
        if (isset($this->handshakes)) {
            $this->door->monitor('inproc://nobody', 0); // libzmq's end waits for a reader, so there must be none
        }
    }

    // The hub's WELCOME (Protocol §4.2), with `settings` and `epoch`; waits for the first.
    public function welcome(): object
    {
        $this->wait(fn () => $this->welcome !== null);
        return $this->welcome;
    }

    // Whether the hub has told this program to end.
    public function isStopping(): bool
    {
        return $this->launched && ($this->stopping || !$this->stdin);
    }

    // Returns when the hub has them on its disk: an object for each record, in their order, whose `result` is `stored` or
    // `duplicate` with `number` and `seq`, or `rejected` with `code` and `reason`. The records of a group must be adjacent.
    public function give(array $records, bool $backfill = false): array
    {
        $giving = $this->giving = new Giving(
            array_map(encode(...), $records), array_map(fn ($record) => ((array) $record)['group'] ?? null, $records), $backfill);
        try {
            $this->wait(fn () => $giving->error || count($giving->results) === count($giving->texts));
        } finally {
            $this->giving = null;
            $this->sent = [];
        }
        return $giving->error ? throw $giving->error : $giving->results;
    }

    // Publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session, for which
    // the call waits, it returns false if the hub is away.
    public function live(array $body): bool
    {
        return $this->tell('LIVE', $body);
    }

    // Publishes an event, the body of EVENT (Protocol §5.2), such as ['event' => 'disconnected']; otherwise as `live`.
    public function event(array $body): bool
    {
        return $this->tell('EVENT', $body);
    }

    private function tell(string $verb, array $body): bool
    {
        $this->welcome();
        if ($this->open) {
            $this->say($verb, $body);
        }
        return $this->open;
    }

    // The hub's answer to TOKEN (Protocol §11): ['account' => 'me', 'for' => 'use'], `refresh` or `release`.
    public function token(array $body): object
    {
        return $this->ask($body, 'TOKEN');
    }

    // Returns when the hub has the token on its disk: ['account' => 'me', 'expect' => 3, 'token' => […]]. HubError `field`:
    // it has another version than `expect`. `lost`: the session ended before the answer, `token` has the result.
    public function putToken(array $body): object
    {
        return $this->ask($body, 'TOKEN-PUT');
    }

    // One RESULT, a page, of QUERY with these members (Protocol §8.1).
    public function ask(array $body, string $verb = 'QUERY'): object
    {
        $question = $this->question = (object) ['verb' => $verb, 'body' => $body, 'id' => null, 'due' => 0.0, 'answer' => null, 'error' => null];
        try {
            $this->wait(fn () => $question->answer || $question->error);
        } finally {
            $this->question = null;
        }
        return $question->error ? throw $question->error : $question->answer;
    }

    // Records over all pages: foreach ($hub->records(['types' => ['weight']]) as $record)
    public function records(array $question): \Generator
    {
        return $this->pages(['want' => 'records'] + $question, 'records', fn ($page) => $page);
    }

    // Intervals of statistics over all pages (Protocol §8.4).
    public function statistics(array $question): \Generator
    {
        return $this->pages(['want' => 'statistics'] + $question, 'intervals', fn ($page) => $page->statistics);
    }

    private function pages(array $question, string $name, callable $part): \Generator
    {
        do {
            $page = $part($this->ask($question));
            foreach ($page->$name as $one) {
                yield $one;
            }
            $question['next'] = $page->next ?? null;
        } while (isset($page->next));
    }

    // Yields `$place => $record`: the newest version of each record since `place` and new versions, each once. Keep the
    // place with what you make of the record in one transaction. It replaces what you have under its `number`; one of the
    // kind `retraction` withdraws it. If the record is null, delete all: the hub has a new epoch, whose records follow. The
    // feed only wakes the client; records come from the door, each once. Ends when the hub stops this plugin.
    public function follow(?array $types, ?string $place = null): \Generator
    {
        $topics = ['hub/pulse/'];
        foreach (['sample', 'retraction'] as $name) {
            foreach ($types ?? [null] as $type) {
                $topics[] = $type === null ? "$name/" : "$name/$type/";
            }
        }
        $place ??= $this->welcome()->epoch . '-0';
        $bell = $this->feed ? $this->socket(\ZMQ::SOCKET_SUB, $this->feed, $topics) : null;
        $more = true;
        while (!$this->isStopping()) {
            $sessions = $this->sessions;
            if ($more) {
                try {
                    $page = $this->ask(['want' => 'records', 'since' => $place] + ($types === null ? [] : ['types' => $types]));
                } catch (HubError $error) {
                    if ($error->hubCode === 'stopping') {
                        return;
                    }
                    if ($error->hubCode !== 'epoch') {
                        throw $error;
                    }
                    $place = $error->body->epoch . '-0';
                    yield $place => null;
                    continue;
                }
                $cursor = $this->member($page, 'RESULT.cursor', 'is_string');
                foreach ($this->member($page, 'RESULT.records', 'is_array') as $record) {
                    yield explode('-', $cursor)[0] . '-' . $record->seq => $record;
                }
                [$place, $more] = [$cursor, isset($page->next)];
                continue;
            }
            $this->turn($bell ? null : 1.0, $bell);
            $this->check();
            $more = !$bell || $sessions !== $this->sessions;
            while ($bell && ($frames = $bell->recvMulti(\ZMQ::MODE_DONTWAIT))) {
                $pulse = $frames[0] === 'hub/pulse/' ? json_decode($frames[2]) : null;
                $more = $more || !$pulse || "$pulse->epoch-$pulse->head" !== $place;
            }
        }
    }

    // A subscription that the hub remembers (Protocol §10.1); `serve` calls `deliver` with a delivery's records. It
    // returns the answer, for each such as ['result' => 'delivered', 'receipt' => '17']. A Pause
    // that it throws stops the deliveries for a while; anything else that it throws is a retry of these records.
    public function sink(array $want, callable $deliver): void
    {
        $want += ['credit' => ['records' => 1000, 'bytes' => 1 << 20]];
        $this->deliver[$want['want']] = $deliver;
        $this->wants[$want['want']] = $want;
        if ($this->open) {
            $this->say('WANT', $want);
        }
    }

    // `serve` calls `carry` with a Command when a person asks for it. It returns the result; a HubError is its failure.
    public function command(string $name, callable $carry): void
    {
        $this->carry[$name] = $carry;
    }

    public function progress(Command $command, float $done, ?float $total = null, ?string $text = null): void
    {
        if ($this->isNow($command->session) && isset($this->commands[$command->id])) {
            $this->say('PROGRESS', array_filter(['id' => $command->id, 'done' => $done, 'total' => $total, 'text' => $text], fn ($one) => $one !== null));
        }
        $this->turn(0);
    }

    // Delivers and carries out commands until the hub stops this plugin, or for `seconds`; returns whether to go on.
    public function serve(?float $seconds = null): bool
    {
        $till = $seconds === null ? INF : $this->clock() + $seconds;
        while (!$this->isStopping() && $this->clock() < $till) {
            while ($this->inbox && !$this->isStopping()) {
                $this->work(array_shift($this->inbox));
            }
            $this->turn(min(1.0, $till - $this->clock()));
            $this->check();
        }
        return !$this->isStopping();
    }

    // Says BYE and ends.
    public function close(): void
    {
        $this->open ? $this->say('BYE', new \stdClass()) : $this->over = true;
        $till = $this->clock() + 1;
        while (!$this->over && !$this->failure && $this->clock() < $till) {
            $this->turn(0.05);
        }
    }

    private function clock(): float
    {
        return hrtime(true) / 1e9;
    }

    private function check(): void
    {
        if ($this->failure) {
            throw $this->failure;
        }
    }

    private function wait(callable $isSo): void
    {
        $this->turn(0);
        while (!$isSo()) {
            $this->check();
            if ($this->isStopping()) {
                throw new HubError('stopping', 'the hub stops this program; what was not stored is given again');
            }
            $this->turn(null);
        }
    }

    private function work(Delivery|Command $item): void
    {
        if ($item instanceof Delivery) {
            $pause = [];
            try {
                [$until, $reason] = $this->pauses[$item->want] ?? [0, ''];
                if ($this->clock() < $until) {
                    throw new Pause($until - $this->clock(), $reason); // also for deliveries that were already in transit
                }
                $results = ($this->deliver[$item->want])($item->records);
            } catch (Pause $error) {
                $this->pauses[$item->want] = [$this->clock() + $error->seconds, $error->reason];
                $pause = ['pause' => max(100, (int) (1000 * $error->seconds))];
                $results = array_fill(0, count($item->records), ['result' => 'retry', 'after' => $pause['pause'], 'reason' => $error->reason]);
            } catch (HubError $error) {
                throw $error;
            } catch (\Exception $error) {
                $results = array_fill(0, count($item->records), ['result' => 'retry', 'after' => 60000, 'reason' => get_class($error)]);
            }
            if (count($results) !== count($item->records)) {
                throw new HubError('field', "$item->want: " . count($item->records) . ' records were delivered, ' . count($results) . ' results came');
            }
            if ($this->isNow($item->session)) { // in a new session the hub repeats deliveries without an answer
                $this->say('DONE', ['want' => $item->want, 'delivery' => $item->number, 'results' => array_values($results),
                    'credit' => ['records' => count($results), 'bytes' => $item->size]] + $pause);
            }
        } else {
            if ($item->cancelled) {
                $answer = ['outcome' => 'cancelled'];
            } elseif (!isset($this->carry[$item->name])) {
                $answer = ['outcome' => 'failed', 'code' => 'command', 'reason' => "there is no command $item->name"];
            } else {
                try {
                    $answer = ['outcome' => 'done', 'result' => ($this->carry[$item->name])($item)];
                } catch (HubError $error) {
                    $answer = ['outcome' => 'failed', 'code' => $error->hubCode, 'reason' => $error->reason];
                }
            }
            if ($this->isNow($item->session) && isset($this->commands[$item->id])) {
                unset($this->commands[$item->id]);
                $this->say('OUTCOME', ['id' => $item->id] + $answer);
            }
        }
        $this->turn(0);
    }

    private function isNow(string $session): bool
    {
        return $this->open && $this->welcome->session === $session;
    }

    private function say(string $verb, array|object $body): void
    {
        $this->send($verb, encode($body));
    }

    private function send(string $verb, string $text): void
    {
        if ($this->door->sendMulti([$verb, $text], \ZMQ::MODE_DONTWAIT) === false) {
            $this->open = false; // no connection: try again soon
            $this->greeted = $this->clock() - 1.9;
        }
    }

    // Sends due messages, waits for an event, and handles it.
    private function turn(?float $seconds, ?\ZMQSocket $bell = null): void
    {
        $due = $this->workOff($this->clock());
        $this->sleep(min($due, $seconds ?? INF), array_filter([$this->door, $this->handshakes, $bell]));
        while (($frames = $this->handshakes->recvMulti(\ZMQ::MODE_DONTWAIT)) !== false) {
            $this->hearHandshake(unpack('S', $frames[0])[1]);
        }
        for ($n = 0; !$this->failure && $n < 100 && ($frames = $this->door->recvMulti(\ZMQ::MODE_DONTWAIT)) !== false; $n++) {
            try {
                $this->hear($frames);
            } catch (HubError $error) {
                $this->refuse($error);
            }
        }
        $this->workOff($this->clock());
    }

    // Until one of the sockets or stdin can be read. Not by ZMQPoll: the extension gives every socket the same id in a poll
    // set, so that one of them counts. libzmq's descriptor changes only with the socket's state, so it is checked first.
    private function sleep(float $seconds, array $sockets): void
    {
        $isReady = fn (\ZMQSocket $socket) => $socket->getSockOpt(\ZMQ::SOCKOPT_EVENTS) & \ZMQ::POLL_IN;
        $till = $this->clock() + $seconds;
        do {
            $left = array_filter($sockets, $isReady) ? 0 : max(0, min(3600, $till - $this->clock()));
            $streams = array_map(fn ($socket) => $socket->getSockOpt(\ZMQ::SOCKOPT_FD), $sockets);
            if ($this->stdin) {
                $streams['stdin'] = STDIN;
            }
            $none = null;
            if (!@stream_select($streams, $none, $none, (int) $left, (int) (1e6 * fmod($left, 1)))) {
                return; // nothing in time, or a signal
            }
            if (isset($streams['stdin'])) {
                $this->stdin = (string) fread(STDIN, 4096) !== '';
                return;
            }
        } while ($left > 0 && !array_filter($sockets, $isReady));
    }

    private function hearHandshake(int $kind): void
    {
        if ($kind === self::SUCCEEDED && $this->open) {
            $this->say('PING', new \stdClass()); // the hub may have been restarted and not know the session
        } elseif ($kind === self::FAILED_AUTH) {
            $what = isset($this->proof[\ZMQ::SOCKOPT_PLAIN_PASSWORD]) ? 'this launch token' : "the key of $this->instance (any more): hub keys list shows the keys";
            $this->refuse(new HubError('forbidden', "the hub at $this->address does not know $what"));
        }
    }

    private function refuse(HubError $error): void
    {
        $this->failure ??= $error;
        $this->open = false;
    }

    // Returns the seconds until the next message is due.
    private function workOff(float $now): float
    {
        if ($this->failure || $this->over) {
            return 1.0;
        }
        if (!$this->open) {
            if ($now - $this->greeted >= 2) {
                $this->greeted = $now;
                $this->say('HELLO', $this->hello);
            }
            return max(0.01, $this->greeted + 2 - $now);
        }
        $beat = $this->welcome->heartbeat;
        if ($now - $this->heard > $beat->timeout / 1000) {
            $this->open = false;
            $this->greeted = -1e9;
            return 0.0;
        }
        // If a call waits for an answer, check sooner whether the hub has been restarted.
        $interval = $this->sent || $this->question?->id ? min(1.0, $beat->interval / 1000) : $beat->interval / 1000;
        if ($now - max($this->heard, $this->pinged) >= $interval) {
            $this->pinged = $now;
            $this->say('PING', new \stdClass());
        }
        $due = max($this->heard, $this->pinged) + $interval;
        foreach ($this->again as $name => $moment) {
            if ($now >= $moment) {
                unset($this->again[$name]);
                $this->say('WANT', $this->wants[$name]);
            } else {
                $due = min($due, $moment);
            }
        }
        if ($now >= $this->hold) {
            $this->fill();
        } else {
            $due = min($due, $this->hold);
        }
        if ($this->question && !$this->question->id && !$this->question->error) {
            if ($now >= $this->question->due) {
                $this->question->id = ++$this->number;
                $this->say($this->question->verb, ['id' => $this->number] + $this->question->body);
            } else {
                $due = min($due, $this->question->due);
            }
        }
        return max(0.0, $due - $now);
    }

    // Sends as much as credit and limits allow; the records of a group in one batch.
    private function fill(): void
    {
        $giving = $this->giving;
        $limits = $this->welcome->limits;
        while ($giving && !$giving->error && $giving->next < count($giving->texts)) {
            $from = $till = $giving->next;
            $size = 100; // for the batch's other members
            while ($till < count($giving->texts)) {
                $stop = $till;
                $more = $size;
                do {
                    $more += strlen($giving->texts[$stop++]) + 1;
                } while ($giving->groups[$till] !== null && $stop < count($giving->texts) && $giving->groups[$stop] === $giving->groups[$till]);
                if ($stop - $from > $limits->batchRecords || $more > $limits->frameBytes) {
                    if ($till === $from) {
                        $giving->error = new HubError('size', "records $from to " . ($stop - 1) . ", $more bytes, belong together and do not fit into a"
                            . " batch of $limits->batchRecords records and $limits->frameBytes bytes");
                    }
                    break;
                }
                if ($stop - $from > $this->records || $more > $this->bytes) {
                    break;
                }
                [$till, $size] = [$stop, $more];
            }
            if ($till === $from) {
                return; // more credit comes with STORED
            }
            $text = '{"batch":' . ++$this->number . ($giving->backfill ? ',"backfill":true' : '') . ',"records":['
                . implode(',', array_slice($giving->texts, $from, $till - $from)) . ']}';
            $this->sent[$this->number] = [$from, $till];
            $giving->next = $till;
            $this->records -= $till - $from;
            $this->bytes -= strlen($text);
            $this->send('SAMPLES', $text);
            if (!$this->open) {
                return;
            }
        }
    }

    // The member at VERB.a.b of a body, of this kind, or an error that names it.
    private function member(object $body, string $path, callable $isKind): mixed
    {
        $value = $body;
        foreach (array_slice(explode('.', $path), 1) as $name) {
            $value = is_object($value) ? $value->$name ?? null : null;
        }
        return $isKind($value) ? $value : throw new HubError(
            'protocol', "the hub's $path is not what " . substr($isKind, 3) . ' means: is this a hub, and how old is it?');
    }

    private function hear(array $frames): void
    {
        if (count($frames) !== 2) {
            throw new HubError('protocol', 'the hub sent a message of ' . count($frames) . ' frames; a verb and a body are two');
        }
        [$verb, $text] = $frames;
        if (!in_array($verb, ['WELCOME', 'STORED', 'RESULT', 'TOKEN', 'DELIVER', 'COMMAND', 'PING', 'PONG', 'STOP', 'BYE', 'ERROR'], true)) {
            return; // a verb of a newer protocol
        }
        try {
            $body = json_decode($text, false, 128, JSON_THROW_ON_ERROR);
        } catch (\JsonException $error) {
            throw new HubError('protocol', "the hub's $verb is not JSON: " . $error->getMessage());
        }
        if (!is_object($body)) {
            throw new HubError('protocol', "the hub's $verb is not a JSON object");
        }
        $this->heard = $this->clock();
        match ($verb) {
            'WELCOME' => $this->hearWelcome($body),
            'STORED' => $this->hearStored($body),
            'RESULT', 'TOKEN' => $this->question?->id === $this->member($body, "$verb.id", 'is_int') ? $this->question->answer = $body : null,
            'DELIVER' => $this->inbox[] = new Delivery($this->member($body, 'DELIVER.want', 'is_string'), $this->member($body, 'DELIVER.delivery', 'is_int'),
                $this->member($body, 'DELIVER.records', 'is_array'), strlen($text), $this->welcome->session),
            'COMMAND' => $this->hearCommand($body),
            'PING' => $this->send('PONG', $text),
            'PONG' => null,
            'STOP' => $this->stopping = true,
            'BYE' => [$this->open, $this->over] = [false, true],
            'ERROR' => $this->hearError($body),
        };
    }

    private function hearWelcome(object $body): void
    {
        $session = $this->member($body, 'WELCOME.session', 'is_string');
        $this->member($body, 'WELCOME.epoch', 'is_string');
        foreach (['limits.batchRecords', 'limits.frameBytes', 'credit.records', 'credit.bytes', 'heartbeat.interval', 'heartbeat.timeout'] as $path) {
            $this->member($body, "WELCOME.$path", 'is_int');
        }
        $isAnother = $this->welcome?->session !== $session;
        $this->welcome = $body;
        $this->open = true;
        if (!$isAnother) {
            return;
        }
        $this->sessions++;
        $this->stopping = false;
        $this->hold = 0;
        [$this->records, $this->bytes] = [$body->credit->records, $body->credit->bytes];
        $this->rewind();
        if ($this->question?->verb === 'TOKEN-PUT' && $this->question->id) {
            $this->question->error = new HubError('lost', 'the session ended before the hub answered: ask which token it has');
        } elseif ($this->question) {
            $this->question->id = null;
        }
        $this->inbox = [];
        foreach ($this->commands as $command) {
            $command->cancelled = true;
        }
        $this->commands = [];
        foreach ($this->wants as $want) {
            $this->say('WANT', $want);
        }
    }

    private function hearStored(object $body): void
    {
        $batch = $this->member($body, 'STORED.batch', 'is_int');
        $this->earn($body);
        if (!isset($this->sent[$batch])) {
            return; // it was sent again since then
        }
        [$from, $till] = $this->sent[$batch];
        unset($this->sent[$batch]);
        $results = $this->member($body, 'STORED.results', 'is_array');
        if (count($results) !== $till - $from) {
            throw new HubError('protocol', 'STORED.results has ' . count($results) . ' results for ' . ($till - $from) . ' records');
        }
        foreach ($results as $n => $result) {
            if (!in_array($result->result ?? null, ['stored', 'duplicate', 'rejected'], true)) {
                throw new HubError('protocol', "STORED.results[$n].result is none of stored, duplicate, rejected");
            }
            $this->giving->results[] = $result;
        }
    }

    private function hearCommand(object $body): void
    {
        $id = $this->member($body, 'COMMAND.id', 'is_int');
        if (isset($body->command)) {
            $this->inbox[] = $this->commands[$id] = new Command(
                $id, $this->member($body, 'COMMAND.command', 'is_string'), $body->args ?? new \stdClass(), ($body->dryRun ?? false) === true, $this->welcome->session);
        } elseif (($body->cancel ?? false) && isset($this->commands[$id])) {
            $this->commands[$id]->cancelled = true;
        }
    }

    private function hearError(object $body): void
    {
        $code = $this->member($body, 'ERROR.code', 'is_string');
        $ref = $body->ref ?? null;
        $after = $this->clock() + ($body->after ?? 1000) / 1000;
        $error = new HubError($code, (string) ($body->reason ?? ''), $body);
        $this->earn($body);
        if ($code === 'hello-first') {
            if ($this->open) {
                $this->open = false;
                $this->greeted = -1e9;
            }
        } elseif (isset($body->want)) {
            if ($code !== 'store') {
                throw $error;
            }
            $this->again[$body->want] = $after;
        } elseif ($body->closed ?? false) {
            throw $error;
        } elseif ($ref !== null && isset($this->sent[$ref])) {
            if ($code === 'store' || $code === 'stopping') {
                // The hub also refuses the batches after it, in their order: send all of them again.
                $this->hold = $code === 'store' ? $after : INF;
                $this->stopping = $this->stopping || $code === 'stopping';
                $this->rewind();
            } else {
                $this->giving->error = $error;
            }
        } elseif ($ref !== null && $this->question?->id === $ref) {
            if ($code === 'store' || $code === 'busy') {
                [$this->question->id, $this->question->due] = [null, $after];
            } else {
                $this->question->error = $error;
            }
        } elseif ($code !== 'store' && $code !== 'stopping') {
            fwrite(STDERR, 'the hub says: ' . $error->getMessage() . "\n");
        }
    }

    private function earn(object $body): void
    {
        if (isset($body->credit)) {
            $this->records += $this->member($body, 'STORED.credit.records', 'is_int');
            $this->bytes += $this->member($body, 'STORED.credit.bytes', 'is_int');
        }
    }

    private function rewind(): void
    {
        if ($this->giving && $this->sent) {
            $this->giving->next = min(array_column($this->sent, 0));
        }
        $this->sent = [];
    }
}

// The main function of a program that the hub starts (Protocol §13): exit(HealthHub\plugin($manifest, function (Hub $hub) {…}))
// `objections` is called with settings, and returns their faults: [['setting' => …, 'reason' => …]].
function plugin(array $manifest, callable $run, ?callable $objections = null): int
{
    $arguments = array_slice($_SERVER['argv'], 1);
    if ($arguments === ['--describe']) {
        echo encode($manifest), "\n";
        return 0;
    }
    if ($arguments === ['--check-settings']) {
        echo encode(['objections' => $objections ? $objections(json_decode(stream_get_contents(STDIN))) : []]), "\n";
        return 0;
    }
    if ($arguments !== ['--run']) {
        fwrite(STDERR, "{$manifest['name']}: the hub starts it with --run; --describe prints what it is\n");
        return 64;
    }
    stream_set_read_buffer(STDIN, 0); // the program later waits for the end of stdin
    $token = '';
    while (!str_ends_with($token, "\n")) {
        $byte = fread(STDIN, 1);
        if ($byte === false || $byte === '') {
            return 75;
        }
        $token .= $byte;
    }
    try {
        $hub = new Hub(plugin: $manifest['name'], version: $manifest['version'], token: rtrim($token),
            members: array_intersect_key($manifest, ['reads' => 0, 'writes' => 0, 'declares' => 0]));
        try {
            $hub->welcome();
            $run($hub);
        } catch (HubError $error) {
            if ($error->hubCode !== 'stopping') {
                throw $error;
            }
        }
        $hub->close();
        return 0;
    } catch (SettingsError $error) {
        fwrite(STDERR, $error->getMessage() . "\n");
        return 78;
    } catch (HubError $error) {
        fwrite(STDERR, $error->getMessage() . "\n");
        return $error->hubCode === 'protocol' ? 76 : 77;
    }
}
