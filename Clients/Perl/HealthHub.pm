# A client of the health hub in one file: give records, follow, take deliveries, ask, answer commands, be a plugin.
#
# Needs Perl 5.26, FFI::Platypus and libzmq 4.3 (Debian: libffi-platypus-perl, libzmq5). Records are hashes with the members
# of Docs/Samples.md; texts are characters, a scalar that was only ever a number is given as one, with all its digits.
# Calls wait until the hub has answered, however long it is away; they die with a HealthHub::Error if the hub refuses.
# Nothing is kept on disk: if a call did not return, give its records again, which is harmless.
package HealthHub;
use v5.26;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
our $VERSION = '1.3.0';
use B ();
use JSON::PP ();
use List::Util qw(min max);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use FFI::CheckLib ();
use FFI::Platypus 1.00;
use FFI::Platypus::DL ();
use FFI::Platypus::Memory qw(malloc);
use FFI::Platypus::Buffer qw(buffer_to_scalar);

use constant {
    PAIR => 0, SUB => 2, DEALER => 5, DONTWAIT => 1, SNDMORE => 2, POLLIN => 1,
    SUBSCRIBE => 6, LINGER => 17, RECONNECT_IVL => 18, RECONNECT_IVL_MAX => 21, SNDHWM => 23, RCVHWM => 24, IMMEDIATE => 39,
    PLAIN_USERNAME => 45, PLAIN_PASSWORD => 46, CURVE_PUBLICKEY => 48, CURVE_SECRETKEY => 49, CURVE_SERVERKEY => 50,
    # Events of a socket's monitor.
    SUCCEEDED => 0x1000, FAILED_AUTH => 0x4000,
};

{
    # The library's name on Linux and on other systems, and any version in the usual folders; the first that opens.
    my @names = ('libzmq.so.5', 'libzmq.so', 'libzmq.5.dylib', FFI::CheckLib::find_lib(lib => 'zmq'));
    my ($library) = grep { FFI::Platypus::DL::dlopen($_, FFI::Platypus::DL::RTLD_PLATYPUS_DEFAULT()) } @names;
    my $ffi = FFI::Platypus->new(api => 1, lib => $library // die "there is no libzmq under the names @names (Debian: libzmq5)\n");
    $ffi->attach(zmq_ctx_new => [] => 'opaque');
    $ffi->attach(zmq_ctx_term => ['opaque'] => 'int');
    $ffi->attach(zmq_socket => ['opaque', 'int'] => 'opaque');
    $ffi->attach(zmq_setsockopt => ['opaque', 'int', 'string', 'size_t'] => 'int');
    $ffi->attach(zmq_connect => ['opaque', 'string'] => 'int');
    $ffi->attach(zmq_close => ['opaque'] => 'int');
    $ffi->attach(zmq_send => ['opaque', 'string', 'size_t', 'int'] => 'int');
    $ffi->attach(zmq_msg_init => ['opaque'] => 'int');
    $ffi->attach(zmq_msg_recv => ['opaque', 'opaque', 'int'] => 'int');
    $ffi->attach(zmq_msg_data => ['opaque'] => 'opaque');
    $ffi->attach(zmq_msg_more => ['opaque'] => 'int');
    $ffi->attach(zmq_msg_close => ['opaque'] => 'int');
    $ffi->attach(zmq_poll => ['opaque', 'int', 'long'] => 'int');
    $ffi->attach(zmq_socket_monitor => ['opaque', 'string', 'int'] => 'int');
    $ffi->attach(zmq_errno => [] => 'int');
    $ffi->attach(zmq_strerror => ['int'] => 'string');
    $ffi->attach([memcpy => 'fill'] => ['opaque', 'string', 'size_t'] => 'opaque');
}

package HealthHub::Error {
    use overload '""' => sub { "$_[0]{code}: $_[0]{reason}" }, fallback => 1;

    # `code` is the hub's (Protocol §9.1), or `protocol` if its answer was invalid; `body` is the whole ERROR.
    sub throw ($class, $code, $reason, $body = {}) { die bless { code => $code, reason => $reason, body => $body }, $class }
}

# The settings are wrong in a way that a person has to mend: die HealthHub::SettingsError->new("…"), exit code 78.
package HealthHub::SettingsError {
    use overload '""' => sub { $_[0]{reason} }, fallback => 1;
    sub new ($class, $reason) { bless { reason => $reason }, $class }
}

# Thrown by `deliver` of a sink if its target is away: die HealthHub::Pause->new(60, "…"). The hub pauses the
# subscription for this many seconds (0.1 to 604,800). Then all records of the delivery come again.
package HealthHub::Pause {
    use overload '""' => sub { $_[0]{reason} }, fallback => 1;
    sub new ($class, $seconds, $reason = 'the target is away') { bless { seconds => $seconds, reason => $reason }, $class }
}

package HealthHub;

sub fail ($code, $reason, $body = {}) { HealthHub::Error->throw($code, $reason, $body) }

sub now () { clock_gettime(CLOCK_MONOTONIC) }

my %escape = ('"' => '\\"', '\\' => '\\\\', "\n" => '\\n', "\r" => '\\r', "\t" => '\\t');

sub text ($value) {
    return 'null' unless defined $value;
    if (my $kind = ref $value) {
        return '{' . join(',', map { text("$_") . ':' . text($value->{$_}) } sort keys %$value) . '}' if $kind eq 'HASH';
        return '[' . join(',', map { text($_) } @$value) . ']' if $kind eq 'ARRAY';
        return $value ? 'true' : 'false' if JSON::PP::is_bool($value);
        fail('json', "there is not JSON for a $kind");
    }
    my $flags = B::svref_2object(\$value)->FLAGS;
    if ($flags & (B::SVf_IOK | B::SVf_NOK) && !($flags & B::SVf_POK)) {
        return "$value" if $flags & B::SVf_IOK;
        fail('json', "there is not JSON for $value") if $value != $value || $value == 9**9**9 || $value == -9**9**9;
        # Perl prints fifteen digits, which is not always the number.
        for my $digits (15 .. 17) {
            my $text = sprintf "%.${digits}g", $value;
            return $text if $text == $value;
        }
    }
    return '"' . $value =~ s/(["\\\x00-\x1f])/$escape{$1} \/\/ sprintf '\\u%04x', ord $1/ger . '"';
}

# Compact JSON, as bytes.
sub encode ($value) {
    my $text = text($value);
    utf8::encode($text);
    return $text;
}

sub decode ($bytes) { JSON::PP->new->utf8->allow_nonref->decode($bytes) }

# A session with the hub, through its restarts. Defaults of the options: `key` is the file that HUB_KEY names; `door`,
# `feed` and `instance` are its own, or those of HUB_DOOR, HUB_FEED and HUB_INSTANCE. `members` are more of HELLO, such as
# `writes`; `plugin` is the source of all records.
sub new ($class, %options) {
    my $path = $options{key} // ($options{door} ? undef : $ENV{HUB_KEY});
    my $keys = {};
    if (defined $path) {
        open my $file, '<', $path or fail('key', "$path: $!");
        local $/;
        $keys = decode(<$file>);
    }
    my $instance = $options{instance} // $keys->{instance} // $ENV{HUB_INSTANCE} // fail('instance', 'no instance: give one, or set HUB_INSTANCE');
    my $door = $options{door} // $keys->{door} // $ENV{HUB_DOOR} // fail('door', 'no door: eval "$(hub status --env)" sets HUB_DOOR');
    my %proof;
    if (defined $options{token}) {
        %proof = (PLAIN_USERNAME, $instance, PLAIN_PASSWORD, $options{token});
    } elsif (defined $path) {
        %proof = (CURVE_SERVERKEY, $keys->{serverKey}, CURVE_PUBLICKEY, $keys->{publicKey}, CURVE_SECRETKEY, $keys->{secretKey});
    }
    my $self = bless {
        feed => $options{feed} // (defined $path ? $keys->{feed} : $ENV{HUB_FEED}), proof => \%proof, context => zmq_ctx_new(),
        hello => { protocol => [1], instance => $instance, plugin => $options{plugin} // $instance, version => $options{version} // '1.0',
            %{ $options{members} // {} } },
        launched => defined $options{token}, stdin => defined $options{token}, message => malloc(64), items => malloc(64),
        address => $door,
        greeted => -1e9, heard => 0, pinged => 0, hold => 0, number => 0, sessions => 0, sent => {}, inbox => [], wants => {}, again => {},
        commands => {}, deliver => {}, carry => {}, pauses => {},
    }, $class;
    $self->{door} = $self->_socket(DEALER, $door);
    $self->{handshakes} = $self->_socket(PAIR, 'inproc://handshakes');
    return $self;
}

sub _socket ($self, $kind, $address, @topics) {
    my $socket = zmq_socket($self->{context}, $kind);
    my $set = sub ($option, $value) {
        zmq_setsockopt($socket, $option, $value, length $value) == 0 or fail('socket', "option $option: " . zmq_strerror(zmq_errno()));
    };
    $set->(@$_) for map { [$_->[0], pack 'i', $_->[1]] } [LINGER, 0], [RECONNECT_IVL, 50], [RECONNECT_IVL_MAX, 1000], [SNDHWM, 10_000], [RCVHWM, 10_000];
    # ZeroMQ must not queue messages for an absent hub: the next session repeats every open request.
    $set->(IMMEDIATE, pack 'i', 1) if $kind == DEALER;
    $set->($_, $self->{proof}{$_}) for keys %{ $self->{proof} };
    $set->(SUBSCRIBE, $_) for @topics;
    # Without it a log-in that the hub refuses, such as with a key that was revoked, looks like a hub that is away.
    zmq_socket_monitor($socket, 'inproc://handshakes', SUCCEEDED | FAILED_AUTH) if $kind == DEALER;
    zmq_connect($socket, $address) == 0 or fail('socket', "$address: " . zmq_strerror(zmq_errno()));
    return $socket;
}

# The hub's WELCOME (Protocol §4.2), with `settings` and `epoch`; waits for the first.
sub welcome ($self) {
    $self->_wait(sub { $self->{welcome} });
    return $self->{welcome};
}

# Whether the hub has told this program to end.
sub is_stopping ($self) { $self->{launched} && ($self->{stopping} || !$self->{stdin}) }

# Returns when the hub has them on its disk: a hash for each record, in their order, whose `result` is `stored` or
# `duplicate` with `number` and `seq`, or `rejected` with `code` and `reason`. The records of a group must be adjacent.
sub give ($self, $records, %options) {
    my $giving = { texts => [map { encode($_) } @$records], groups => [map { $_->{group} } @$records], next => 0, results => [], %options };
    local $self->{giving} = $giving;
    local $self->{sent} = {};
    $self->_wait(sub { $giving->{error} || @{ $giving->{results} } == @{ $giving->{texts} } });
    die $giving->{error} if $giving->{error};
    return $giving->{results};
}

# Publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session, for which the
# call waits, it returns false if the hub is away.
sub live ($self, $body) { $self->_tell(LIVE => $body) }

# Publishes an event, the body of EVENT (Protocol §5.2), such as {event => 'disconnected'}; otherwise as `live`.
sub event ($self, $body) { $self->_tell(EVENT => $body) }

sub _tell ($self, $verb, $body) {
    $self->welcome;
    $self->_say($verb, $body) if $self->{open};
    return !!$self->{open};
}

# The hub's answer to TOKEN (Protocol §11): {account => 'me', for => 'use'}, `refresh` or `release`.
sub token ($self, $body) { $self->ask($body, 'TOKEN') }

# Returns when the hub has the token on its disk: {account => 'me', expect => 3, token => {…}}. Error `field`: it has another
# version than `expect`. `lost`: the session ended before the answer, `token` has the result.
sub put_token ($self, $body) { $self->ask($body, 'TOKEN-PUT') }

# One RESULT, a page, of QUERY with these members (Protocol §8.1).
sub ask ($self, $body, $verb = 'QUERY') {
    my $question = { verb => $verb, body => $body, due => 0 };
    local $self->{question} = $question;
    $self->_wait(sub { $question->{answer} || $question->{error} });
    die $question->{error} if $question->{error};
    return $question->{answer};
}

# Calls `take` with each record over all pages: $hub->records({types => ['weight']}, sub ($record) {…})
sub records ($self, $question, $take) { $self->_pages({ %$question, want => 'records' }, 'records', sub ($page) { $page }, $take) }

# Calls `take` with each interval of statistics over all pages (Protocol §8.4).
sub statistics ($self, $question, $take) { $self->_pages({ %$question, want => 'statistics' }, 'intervals', sub ($page) { $page->{statistics} }, $take) }

sub _pages ($self, $question, $name, $part, $take) {
    while (1) {
        my $page = $part->($self->ask($question));
        $take->($_) for @{ $page->{$name} };
        $question = { %$question, next => $page->{next} // return };
    }
}

# Calls `take` with the newest version of each record since `place` and with new versions, each once: the record, and the
# place to go on from, kept with what was made of the record in one transaction. It replaces what you have under its
# `number`; one of the kind `retraction` withdraws it. If the record is undef, delete all records: the hub has a new
# epoch, whose records follow. The feed only wakes the client; records come from the door, each once. Returns when the hub
# stops this plugin.
sub follow ($self, $types, $place, $take) {
    my @topics = ('hub/pulse/');
    for my $name ('sample', 'retraction') { push @topics, $types ? map { "$name/$_/" } @$types : "$name/" }
    $place //= $self->welcome->{epoch} . '-0';
    my $bell = $self->{feed} ? $self->_socket(SUB, $self->{feed}, @topics) : undef;
    my $more = 1;
    my $done = eval {
        until ($self->is_stopping) {
            my $sessions = $self->{sessions};
            if ($more) {
                my $page = eval { $self->ask({ want => 'records', since => $place, $types ? (types => $types) : () }) };
                if (my $error = !$page && $@) {
                    last if ref $error && $error->{code} eq 'stopping';
                    die $error unless ref $error && $error->{code} eq 'epoch';
                    $take->(undef, $place = "$error->{body}{epoch}-0");
                    next;
                }
                my $cursor = _member($page, 'RESULT.cursor', '');
                my ($epoch) = split /-/, $cursor;
                $take->($_, $place = "$epoch-$_->{seq}") for @{ _member($page, 'RESULT.records', 'ARRAY') };
                ($place, $more) = ($cursor, exists $page->{next});
                next;
            }
            $self->_turn($bell ? undef : 1, $bell);
            die $self->{failure} if $self->{failure};
            $more = !$bell || $sessions != $self->{sessions};
            while ($bell && (my $frames = $self->_receive($bell))) {
                my $pulse = $frames->[0] eq 'hub/pulse/' && decode($frames->[2]);
                $more ||= !$pulse || "$pulse->{epoch}-$pulse->{head}" ne $place;
            }
        }
        1;
    };
    my $error = $@;
    zmq_close($bell) if $bell;
    die $error unless $done;
}

# A subscription that the hub remembers (Protocol §10.1); `serve` calls `deliver` with a delivery's records. It
# returns the answer, an array of a hash for each such as {result => 'delivered', receipt => '17'}. A
# HealthHub::Pause that it dies with stops the deliveries for a while; any other death is a retry of these records.
sub sink ($self, $want, $deliver) {
    $want = { credit => { records => 1000, bytes => 1 << 20 }, %$want };
    $self->{deliver}{ $want->{want} } = $deliver;
    $self->{wants}{ $want->{want} } = $want;
    $self->_say(WANT => $want) if $self->{open};
}

# `serve` calls `carry` with a hash of `name`, `args`, `dry_run` and `cancelled` when a person asks for it. It returns the
# result; a HealthHub::Error is its failure.
sub command ($self, $name, $carry) { $self->{carry}{$name} = $carry }

sub progress ($self, $command, $done, %more) {
    $self->_say(PROGRESS => { id => 0 + $command->{id}, done => $done, %more }) if $self->_is_now($command) && $self->{commands}{ $command->{id} };
    $self->_turn(0);
}

# Delivers and carries out commands until the hub stops this plugin, or for `seconds`; returns whether to go on.
sub serve ($self, $seconds = undef) {
    my $till = defined $seconds ? now() + $seconds : 9**9**9;
    while (!$self->is_stopping && now() < $till) {
        $self->_work(shift @{ $self->{inbox} }) while @{ $self->{inbox} } && !$self->is_stopping;
        $self->_turn(defined $seconds ? $till - now() : undef);
        die $self->{failure} if $self->{failure};
    }
    return !$self->is_stopping;
}

# Says BYE and ends.
sub close ($self) {
    $self->{open} ? $self->_say(BYE => {}) : ($self->{over} = 1);
    my $till = now() + 1;
    $self->_turn(0.05) until $self->{over} || $self->{failure} || now() > $till;
    zmq_socket_monitor($self->{door}, undef, 0); # before its reader is closed, for which libzmq would wait
    zmq_close($_) for @$self{qw(door handshakes)};
    zmq_ctx_term($self->{context});
}

sub _wait ($self, $is_so) {
    $self->_turn(0);
    until ($is_so->()) {
        die $self->{failure} if $self->{failure};
        fail('stopping', 'the hub stops this program; what was not stored is given again') if $self->is_stopping;
        $self->_turn(undef);
    }
}

sub _work ($self, $item) {
    if (exists $item->{delivery}) {
        my @records = @{ $item->{records} };
        my ($till, $reason) = @{ $self->{pauses}{ $item->{want} } // [0] };
        my %pause;
        my $results = eval {
            die HealthHub::Pause->new($till - now(), $reason) if now() < $till; # also for deliveries that were already in transit
            $self->{deliver}{ $item->{want} }->(\@records);
        };
        if (!$results && ref $@ && $@->isa('HealthHub::Pause')) {
            $self->{pauses}{ $item->{want} } = [now() + $@->{seconds}, $@->{reason}];
            %pause = (pause => max(100, int(1000 * $@->{seconds})));
            $results = [map { { result => 'retry', after => $pause{pause}, reason => $@->{reason} } } @records];
        }
        if (!$results) {
            die $@ if ref $@ && $@->isa('HealthHub::Error');
            warn $@;
            $results = [map { { result => 'retry', after => 60_000, reason => 'the program failed' } } @records];
        }
        fail('field', "$item->{want}: " . @records . ' records were delivered, ' . @$results . ' results came') if @$results != @records;
        # In a new session the hub repeats deliveries without an answer.
        $self->_say(DONE => { want => $item->{want}, delivery => 0 + $item->{delivery}, results => $results,
            credit => { records => scalar @records, bytes => $item->{size} }, %pause }) if $self->_is_now($item);
    } else {
        my $answer = { outcome => 'cancelled' };
        if (!$self->{carry}{ $item->{name} }) {
            $answer = { outcome => 'failed', code => 'command', reason => "there is no command $item->{name}" };
        } elsif (!$item->{cancelled}) {
            my $result;
            if (eval { $result = $self->{carry}{ $item->{name} }->($item); 1 }) {
                $answer = { outcome => 'done', result => $result };
            } else {
                die $@ unless ref $@ && $@->isa('HealthHub::Error');
                $answer = { outcome => 'failed', code => $@->{code}, reason => $@->{reason} };
            }
        }
        $self->_say(OUTCOME => { id => 0 + $item->{id}, %$answer }) if $self->_is_now($item) && delete $self->{commands}{ $item->{id} };
    }
    $self->_turn(0);
}

sub _is_now ($self, $item) { $self->{open} && $self->{welcome}{session} eq $item->{session} }

sub _say ($self, $verb, $body) { $self->_send($verb, encode($body)) }

sub _send ($self, $verb, $text) {
    return if zmq_send($self->{door}, $verb, length $verb, DONTWAIT | SNDMORE) >= 0 && zmq_send($self->{door}, $text, length $text, DONTWAIT) >= 0;
    ($self->{open}, $self->{greeted}) = (0, now() - 1.9); # no connection: try again soon
}

# The frames of a message that is here, or undef.
sub _receive ($self, $socket) {
    my ($message, @frames) = ($self->{message});
    while (1) {
        zmq_msg_init($message);
        my $size = zmq_msg_recv($message, $socket, DONTWAIT);
        return undef if $size < 0;
        push @frames, $size ? buffer_to_scalar(zmq_msg_data($message), $size) : '';
        my $more = zmq_msg_more($message);
        zmq_msg_close($message);
        return \@frames unless $more;
    }
}

# Sends due messages, waits for an event, and handles it.
sub _turn ($self, $seconds, $bell = undef) {
    my $due = $self->_work_off(now());
    $due = min($due, $seconds) if defined $seconds;
    my @watched = ($self->{door}, $self->{handshakes}, $self->{stdin} ? 0 : (), $bell // ());
    my $items = pack '(Jiss)*', map { ($_, 0, POLLIN, 0) } @watched;
    fill($self->{items}, $items, length $items);
    zmq_poll($self->{items}, scalar @watched, max(0, int(1000 * $due + 0.999)));
    if ($self->{stdin}) {
        vec(my $ready = '', 0, 1) = 1;
        $self->{stdin} = sysread STDIN, my $rest, 4096 if select $ready, undef, undef, 0;
    }
    while (my $frames = $self->_receive($self->{handshakes})) { $self->_hear_handshake(unpack 'S', $frames->[0]) }
    for (1 .. 100) {
        my $frames = !$self->{failure} && $self->_receive($self->{door}) or last;
        eval { $self->_hear(@$frames); 1 } or do {
            die $@ unless ref $@;
            ($self->{failure}, $self->{open}) = ($@, 0);
        };
    }
    $self->_work_off(now());
}

sub _hear_handshake ($self, $kind) {
    if ($kind == SUCCEEDED) {
        $self->_say(PING => {}) if $self->{open}; # the hub may have been restarted and not know the session
        return;
    }
    my $reason = "the hub at $self->{address} does not know " . ($self->{launched} ? 'this launch token'
        : "the key of $self->{hello}{instance} (any more): hub keys list shows the keys");
    $self->{failure} //= bless { code => 'forbidden', reason => $reason, body => {} }, 'HealthHub::Error';
    $self->{open} = 0;
}

# Returns the seconds until the next message is due.
sub _work_off ($self, $now) {
    return 1 if $self->{failure} || $self->{over};
    if (!$self->{open}) {
        if ($now - $self->{greeted} >= 2) {
            $self->{greeted} = $now;
            $self->_say(HELLO => $self->{hello});
        }
        return max(0.01, $self->{greeted} + 2 - $now);
    }
    my ($beat, $question) = ($self->{welcome}{heartbeat}, $self->{question});
    if ($now - $self->{heard} > $beat->{timeout} / 1000) {
        ($self->{open}, $self->{greeted}) = (0, -1e9);
        return 0;
    }
    # If a call waits for an answer, check sooner whether the hub has been restarted.
    my $interval = $beat->{interval} / 1000;
    $interval = min(1, $interval) if %{ $self->{sent} } || $question && $question->{id};
    if ($now - max($self->{heard}, $self->{pinged}) >= $interval) {
        $self->{pinged} = $now;
        $self->_say(PING => {});
    }
    my $due = max($self->{heard}, $self->{pinged}) + $interval;
    for my $name (keys %{ $self->{again} }) {
        if ($now >= $self->{again}{$name}) {
            delete $self->{again}{$name};
            $self->_say(WANT => $self->{wants}{$name});
        } else {
            $due = min($due, $self->{again}{$name});
        }
    }
    if ($now >= $self->{hold}) { $self->_fill } else { $due = min($due, $self->{hold}) }
    if ($question && !$question->{id} && !$question->{error}) {
        if ($now >= $question->{due}) {
            $question->{id} = ++$self->{number};
            $self->_say($question->{verb}, { %{ $question->{body} }, id => 0 + $question->{id} });
        } else {
            $due = min($due, $question->{due});
        }
    }
    return max(0, $due - $now);
}

# Sends as much as credit and limits allow; the records of a group in one batch.
sub _fill ($self) {
    my $giving = $self->{giving} or return;
    my ($texts, $groups, $limits) = (@$giving{qw(texts groups)}, $self->{welcome}{limits});
    while (!$giving->{error} && $giving->{next} < @$texts) {
        my $from = my $till = $giving->{next};
        my $size = 100; # for the batch's other members
        while ($till < @$texts) {
            my ($stop, $more) = ($till, $size);
            do { $more += 1 + length $texts->[$stop++] } while defined $groups->[$till] && $stop < @$texts && ($groups->[$stop] // '') eq $groups->[$till];
            if ($stop - $from > $limits->{batchRecords} || $more > $limits->{frameBytes}) {
                $giving->{error} = eval { fail('size', "records $from to @{[$stop - 1]}, $more bytes, belong together and do not fit into a batch of "
                    . "$limits->{batchRecords} records and $limits->{frameBytes} bytes") } || $@ if $till == $from;
                last;
            }
            last if $stop - $from > $self->{records} || $more > $self->{bytes};
            ($till, $size) = ($stop, $more);
        }
        return if $till == $from; # more credit comes with STORED
        my $batch = ++$self->{number};
        my $text = qq({"batch":$batch,) . ($giving->{backfill} ? '"backfill":true,' : '') . '"records":[' . join(',', @$texts[$from .. $till - 1]) . ']}';
        $self->{sent}{$batch} = [$from, $till];
        $giving->{next} = $till;
        $self->{records} -= $till - $from;
        $self->{bytes} -= length $text;
        $self->_send(SAMPLES => $text);
        return unless $self->{open};
    }
}

# The member at VERB.a.b of a body, of this kind (ARRAY, HASH, `0` a number, or a text), or an error that names it.
sub _member ($body, $path, $kind) {
    my $value = $body;
    (undef, my @names) = split /\./, $path;
    $value = ref $value eq 'HASH' ? $value->{$_} : undef for @names;
    my $is_number = defined $value && !ref $value && text($value) =~ /^-?\d+$/;
    return $value if defined $value && ($kind eq '0' ? $is_number : ref $value eq $kind && !$is_number);
    fail('protocol', "the hub's $path is not " . ($kind eq '0' ? 'an integer' : $kind || 'a text') . ': is this a hub, and how old is it?');
}

my %verbs = map { ($_ => 1) } qw(WELCOME STORED RESULT TOKEN DELIVER COMMAND PING PONG STOP BYE ERROR);

sub _hear ($self, @frames) {
    fail('protocol', 'the hub sent a message of ' . @frames . ' frames; a verb and a body are two') if @frames != 2;
    my ($verb, $text) = @frames;
    my $hear = $verbs{$verb} && $self->can('_hear_' . lc $verb) or return; # a verb of a newer protocol
    my $body = eval { decode($text) };
    fail('protocol', "the hub's $verb is not JSON: $@") if $@;
    fail('protocol', "the hub's $verb is not a JSON object") if ref $body ne 'HASH';
    $self->{heard} = now();
    $self->$hear($body, $text);
}

sub _hear_pong { }
sub _hear_ping ($self, $body, $text) { $self->_send(PONG => $text) }
sub _hear_stop ($self, @) { $self->{stopping} = 1 }
sub _hear_bye ($self, @) { ($self->{open}, $self->{over}) = (0, 1) }

sub _hear_result ($self, $body, @) { $self->_answer($body, 'RESULT.id') }
sub _hear_token ($self, $body, @) { $self->_answer($body, 'TOKEN.id') }

sub _answer ($self, $body, $path) {
    my $id = _member($body, $path, '0');
    $self->{question}{answer} = $body if $self->{question} && ($self->{question}{id} // 0) == $id;
}

sub _hear_deliver ($self, $body, $text) {
    push @{ $self->{inbox} }, { want => _member($body, 'DELIVER.want', ''), delivery => _member($body, 'DELIVER.delivery', '0'),
        records => _member($body, 'DELIVER.records', 'ARRAY'), size => length $text, session => $self->{welcome}{session} };
}

sub _hear_command ($self, $body, @) {
    my $id = _member($body, 'COMMAND.id', '0');
    if (exists $body->{command}) {
        push @{ $self->{inbox} }, $self->{commands}{$id} = { id => $id, name => _member($body, 'COMMAND.command', ''), args => $body->{args} // {},
            dry_run => !!$body->{dryRun}, cancelled => 0, session => $self->{welcome}{session} };
    } elsif ($body->{cancel} && $self->{commands}{$id}) {
        $self->{commands}{$id}{cancelled} = 1;
    }
}

sub _hear_welcome ($self, $body, @) {
    my $session = _member($body, 'WELCOME.session', '');
    _member($body, 'WELCOME.epoch', '');
    _member($body, "WELCOME.$_", '0') for qw(limits.batchRecords limits.frameBytes credit.records credit.bytes heartbeat.interval heartbeat.timeout);
    my $is_another = !$self->{welcome} || $self->{welcome}{session} ne $session;
    @$self{qw(welcome open)} = ($body, 1);
    return unless $is_another;
    $self->{sessions}++;
    @$self{qw(stopping hold records bytes)} = (0, 0, @{ $body->{credit} }{qw(records bytes)});
    $self->_rewind;
    if ($self->{question} && delete $self->{question}{id} && $self->{question}{verb} eq 'TOKEN-PUT') {
        $self->{question}{error} = bless { code => 'lost', reason => 'the session ended before the hub answered: ask which token it has',
            body => {} }, 'HealthHub::Error';
    }
    $self->{inbox} = [];
    $_->{cancelled} = 1 for values %{ $self->{commands} };
    $self->{commands} = {};
    $self->_say(WANT => $_) for values %{ $self->{wants} };
}

sub _hear_stored ($self, $body, @) {
    my $sent = delete $self->{sent}{ _member($body, 'STORED.batch', '0') };
    $self->_earn($body);
    return unless $sent; # it was sent again since then
    my ($count, $results) = ($sent->[1] - $sent->[0], _member($body, 'STORED.results', 'ARRAY'));
    fail('protocol', 'STORED.results has ' . @$results . " results for $count records") if @$results != $count;
    for my $n (0 .. $#$results) {
        fail('protocol', "STORED.results[$n].result is none of stored, duplicate, rejected")
            unless ref $results->[$n] eq 'HASH' && ($results->[$n]{result} // '') =~ /^(stored|duplicate|rejected)$/;
    }
    push @{ $self->{giving}{results} }, @$results;
}

sub _hear_error ($self, $body, @) {
    my ($code, $ref, $after) = (_member($body, 'ERROR.code', ''), $body->{ref} // 'none', now() + ($body->{after} // 1000) / 1000);
    my $error = bless { code => $code, reason => $body->{reason} // '', body => $body }, 'HealthHub::Error';
    $self->_earn($body);
    if ($code eq 'hello-first') {
        ($self->{open}, $self->{greeted}) = (0, -1e9) if $self->{open};
    } elsif (exists $body->{want}) {
        die $error if $code ne 'store';
        $self->{again}{ $body->{want} } = $after;
    } elsif ($body->{closed}) {
        die $error;
    } elsif ($self->{sent}{$ref}) {
        if ($code eq 'store' || $code eq 'stopping') {
            # The hub also refuses the batches after it, in their order: send all of them again.
            $self->{hold} = $code eq 'store' ? $after : 9**9**9;
            $self->{stopping} ||= $code eq 'stopping';
            $self->_rewind;
        } else {
            $self->{giving}{error} = $error;
        }
    } elsif ($self->{question} && ($self->{question}{id} // '') eq $ref) {
        if ($code eq 'store' || $code eq 'busy') {
            @{ $self->{question} }{qw(id due)} = (undef, $after);
        } else {
            $self->{question}{error} = $error;
        }
    } elsif ($code ne 'store' && $code ne 'stopping') {
        print STDERR "the hub says: $error\n";
    }
}

sub _earn ($self, $body) {
    return unless ref $body->{credit};
    $self->{$_} += _member($body, "STORED.credit.$_", '0') for qw(records bytes);
}

sub _rewind ($self) {
    $self->{giving}{next} = min(map { $_->[0] } values %{ $self->{sent} }) if $self->{giving} && %{ $self->{sent} };
    $self->{sent} = {};
}

# The main function of a program that the hub starts (Protocol §13): exit HealthHub::plugin(\%manifest, sub ($hub) {…})
# `objections` is called with settings, and returns their faults: [{setting => …, reason => …}].
sub plugin ($manifest, $run, $objections = undef) {
    my $argument = @ARGV == 1 ? $ARGV[0] : '';
    $| = 1;
    if ($argument eq '--describe') {
        print encode($manifest), "\n";
        return 0;
    }
    if ($argument eq '--check-settings') {
        my $settings = decode(do { local $/; <STDIN> });
        print encode({ objections => $objections ? $objections->($settings) : [] }), "\n";
        return 0;
    }
    if ($argument ne '--run') {
        print STDERR "$manifest->{name}: the hub starts it with --run; --describe prints what it is\n";
        return 64;
    }
    my $token = '';
    while ($token !~ /\n/) { sysread STDIN, $token, 1, length $token or return 75 }
    chomp $token;
    return 0 if eval {
        my $hub = HealthHub->new(plugin => $manifest->{name}, version => $manifest->{version}, token => $token,
            members => { map { ($_ => $manifest->{$_}) } grep { $manifest->{$_} } qw(reads writes declares) });
        if (!eval { $hub->welcome; $run->($hub); 1 }) {
            die $@ unless ref $@ && $@->isa('HealthHub::Error') && $@->{code} eq 'stopping';
        }
        $hub->close;
        1;
    };
    die $@ unless ref $@;
    print STDERR "$@\n";
    return $@->isa('HealthHub::SettingsError') ? 78 : $@->{code} eq 'protocol' ? 76 : 77;
}

1;
