package healthhub;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A client of the health hub in one file: give records, follow, take deliveries, ask, answer commands, be a plugin.
 *
 * Needs Java 17, JNA and libzmq 4.3 (Debian: libjna-java, libzmq5). Debian's JeroMQ 0.3.6 has neither CURVE nor PLAIN nor
 * Unix sockets, so it can reach a hub only at a door that is `insecure`. JSON is Map, List, String, Long, Double,
 * Boolean and null; records are maps with the members of Docs/Samples.md. Calls wait until the hub has answered, however
 * long it is away; a refusal of the hub is a Refusal. Nothing is kept on disk: if a call did not return, give its
 * records again, which is harmless. One thread uses a HealthHub. A confined plugin needs
 * `readable = ["/etc/java-17-openjdk"]` in hub.conf: there Debian keeps the files that a JVM reads at its start.
 */
public final class HealthHub implements AutoCloseable {
    /** `code` is the hub's (Protocol §9.1), or `protocol` if its answer was invalid; `body` is the whole ERROR. */
    public static final class Refusal extends RuntimeException {
        private static final long serialVersionUID = 1;
        public final String code, reason;
        public final transient Map<String, Object> body;

        public Refusal(String code, String reason, Map<String, Object> body) {
            super(code + ": " + reason);
            this.code = code;
            this.reason = reason;
            this.body = body;
        }

        public Refusal(String code, String reason) {
            this(code, reason, Map.of());
        }
    }

    /**
     * Thrown by `deliver` of a sink if its target is away: the hub pauses the subscription for this many seconds
     * (0.1 to 604,800). Then all records of the delivery come again.
     */
    public static final class Pause extends RuntimeException {
        private static final long serialVersionUID = 1;
        public final double seconds;

        public Pause(double seconds, String reason) {
            super(reason == null ? "the target is away" : reason);
            this.seconds = seconds;
        }
    }

    /** A command from a person to a plugin. `isCancelled` turns true when the person cancels it. */
    public static final class Command {
        public final String name;
        public final Map<String, Object> args;
        public final boolean isDryRun;
        public boolean isCancelled;
        private final long id;

        private Command(long id, String name, Map<String, Object> args, boolean isDryRun) {
            this.id = id;
            this.name = name;
            this.args = args;
            this.isDryRun = isDryRun;
        }
    }

    /** Takes a version of a record, null if all must be deleted, and the place to continue from. Returns whether to go on. */
    public interface Change {
        boolean take(Map<String, Object> record, String place);
    }

    /** The hub's address and the program's identity. Null members come from HUB_KEY, or HUB_DOOR, HUB_FEED, HUB_INSTANCE. */
    public static final class Options {
        public String instance, plugin, version = "1.0", door, feed, key, token;
        public Map<String, Object> members = Map.of();
    }

    private static final class Giving {
        final List<byte[]> texts = new ArrayList<>();
        final List<Object> groups = new ArrayList<>();
        final List<Map<String, Object>> results = new ArrayList<>();
        boolean isBackfill;
        int next;
        Refusal error;
    }

    private static final class Question {
        String verb;
        Map<String, Object> body, answer;
        long id;
        double due;
        Refusal error;
    }

    private record Paused(double till, String reason) {}

    private record Item(Map<String, Object> body, int size, long session, Command command) {}

    /** The functions of libzmq that this file uses. */
    private static final class ZMQ {
        static {
            String name = "libzmq.so.5";
            try {
                com.sun.jna.NativeLibrary.getInstance(name);
            } catch (UnsatisfiedLinkError error) {
                name = "zmq"; // the library that JNA finds under this name
            }
            Native.register(ZMQ.class, name);
        }

        static native Pointer zmq_ctx_new();
        static native int zmq_ctx_term(Pointer context);
        static native Pointer zmq_socket(Pointer context, int kind);
        static native int zmq_setsockopt(Pointer socket, int option, byte[] value, long size);
        static native int zmq_connect(Pointer socket, String address);
        static native int zmq_close(Pointer socket);
        static native int zmq_send(Pointer socket, byte[] data, long size, int flags);
        static native int zmq_msg_init(Pointer message);
        static native int zmq_msg_recv(Pointer message, Pointer socket, int flags);
        static native Pointer zmq_msg_data(Pointer message);
        static native int zmq_msg_more(Pointer message);
        static native int zmq_msg_close(Pointer message);
        static native int zmq_poll(Pointer items, int count, long milliseconds);
        static native int zmq_socket_monitor(Pointer socket, String address, int events);
        static native int zmq_errno();
        static native String zmq_strerror(int number);
    }

    private static final int PAIR = 0, SUB = 2, DEALER = 5, DONTWAIT = 1, SNDMORE = 2;
    // Events of a socket's monitor.
    private static final int SUCCEEDED = 0x1000, FAILED_AUTH = 0x4000;
    private final Pointer context = ZMQ.zmq_ctx_new(), door, handshakes;
    private final String address;
    private final Memory message = new Memory(64), items = new Memory(64);
    private final Map<Integer, String> proof = new LinkedHashMap<>();
    private final Map<String, Object> hello = new LinkedHashMap<>();
    private final InputStream input = new FileInputStream(FileDescriptor.in);
    private final boolean isLaunched;
    private final String feed;
    private final TreeMap<Long, int[]> sent = new TreeMap<>();
    private final ArrayDeque<Item> inbox = new ArrayDeque<>();
    private final Map<String, Map<String, Object>> wants = new LinkedHashMap<>();
    private final Map<String, Double> again = new HashMap<>();
    private final Map<String, Paused> pauses = new HashMap<>();
    private final Map<Long, Command> commands = new HashMap<>();
    private final Map<String, Function<List<Map<String, Object>>, List<Map<String, Object>>>> deliver = new HashMap<>();
    private final Map<String, Function<Command, Object>> carry = new HashMap<>();
    private Map<String, Object> welcome;
    private Giving giving;
    private Question question;
    private Refusal failure;
    private boolean isOpen, isStopping, isOver, hasInput;
    private double greeted = -1e9, heard, pinged, hold;
    private long number, sessions, records, bytes;

    public HealthHub() {
        this(new Options());
    }

    public HealthHub(Options options) {
        String path = options.key != null ? options.key : options.door != null ? null : System.getenv("HUB_KEY");
        Map<String, Object> keys = Map.of();
        if (path != null) {
            try {
                keys = object(read(Files.readString(Path.of(path))));
            } catch (IOException error) {
                throw new Refusal("key", path + ": " + error.getMessage());
            }
            proof.put(50, (String) keys.get("serverKey"));
            proof.put(48, (String) keys.get("publicKey"));
            proof.put(49, (String) keys.get("secretKey"));
        }
        String instance = first(options.instance, keys.get("instance"), System.getenv("HUB_INSTANCE"));
        address = first(options.door, keys.get("door"), System.getenv("HUB_DOOR"));
        feed = first(options.feed, keys.get("feed"), path == null ? System.getenv("HUB_FEED") : null);
        if (instance == null || address == null) {
            throw new Refusal("door", "no " + (instance == null ? "instance: give one, or set HUB_INSTANCE"
                : "door: eval \"$(hub status --env)\" sets HUB_DOOR"));
        }
        isLaunched = hasInput = options.token != null;
        if (isLaunched) {
            proof.clear();
            proof.put(45, instance);
            proof.put(46, options.token);
        }
        hello.putAll(Map.of("protocol", List.of(1), "instance", instance, "version", options.version,
            "plugin", options.plugin == null ? instance : options.plugin));
        hello.putAll(options.members);
        door = socket(DEALER, address, List.of());
        handshakes = socket(PAIR, "inproc://handshakes", List.of());
    }

    private static String first(Object a, Object b, Object c) {
        Object value = a != null ? a : b != null ? b : c;
        return value == null || value.equals("") ? null : (String) value;
    }

    private Pointer socket(int kind, String address, List<String> topics) {
        Pointer socket = ZMQ.zmq_socket(context, kind);
        // Linger, delays before it connects again, limits of the queues. ZMQ_IMMEDIATE: ZeroMQ must not queue messages for
        // an absent hub; the next session repeats every open request.
        int[][] options = {{17, 0}, {18, 50}, {21, 1000}, {23, 10000}, {24, 10000}, {39, kind == DEALER ? 1 : 0}};
        for (int[] option : options) {
            set(socket, option[0], new byte[] {(byte) option[1], (byte) (option[1] >> 8), 0, 0});
        }
        proof.forEach((option, text) -> set(socket, option, bytes(text)));
        topics.forEach(topic -> set(socket, 6, bytes(topic)));
        if (kind == DEALER) {
            // Without it a log-in that the hub refuses, such as with a key that was revoked, looks like a hub that is away.
            ZMQ.zmq_socket_monitor(socket, "inproc://handshakes", SUCCEEDED | FAILED_AUTH);
        }
        if (ZMQ.zmq_connect(socket, address) != 0) {
            throw new Refusal("socket", address + ": " + ZMQ.zmq_strerror(ZMQ.zmq_errno()));
        }
        return socket;
    }

    private static void set(Pointer socket, int option, byte[] value) {
        if (ZMQ.zmq_setsockopt(socket, option, value, value.length) != 0) {
            throw new Refusal("socket", "option " + option + ": " + ZMQ.zmq_strerror(ZMQ.zmq_errno()));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The hub's WELCOME (Protocol §4.2), with `settings` and `epoch`; waits for the first. */
    public Map<String, Object> welcome() {
        await(() -> welcome != null);
        return welcome;
    }

    /** Whether the hub has told this program to end. */
    public boolean isStopping() {
        return isLaunched && (isStopping || !hasInput);
    }

    /**
     * Returns when the hub has them on its disk: a map for each record, in their order, whose `result` is `stored` or
     * `duplicate` with `number` and `seq`, or `rejected` with `code` and `reason`. The records of a group must be adjacent.
     */
    public List<Map<String, Object>> give(List<? extends Map<String, Object>> records, boolean isBackfill) {
        Giving mine = new Giving();
        for (Map<String, Object> record : records) {
            mine.texts.add(bytes(write(record)));
            mine.groups.add(record.get("group"));
        }
        mine.isBackfill = isBackfill;
        giving = mine;
        try {
            await(() -> mine.error != null || mine.results.size() == mine.texts.size());
        } finally {
            giving = null;
            sent.clear();
        }
        if (mine.error != null) {
            throw mine.error;
        }
        return mine.results;
    }

    public List<Map<String, Object>> give(List<? extends Map<String, Object>> records) {
        return give(records, false);
    }

    /**
     * Publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session, for
     * which the call waits, it returns false if the hub is away.
     */
    public boolean live(Map<String, Object> body) {
        return tell("LIVE", body);
    }

    /** Publishes an event, the body of EVENT (Protocol §5.2), such as {event: disconnected}; otherwise as `live`. */
    public boolean event(Map<String, Object> body) {
        return tell("EVENT", body);
    }

    private boolean tell(String verb, Map<String, Object> body) {
        welcome();
        if (isOpen) {
            say(verb, body);
        }
        return isOpen;
    }

    /** The hub's answer to TOKEN (Protocol §11): {account: me, for: use}, `refresh` or `release`. */
    public Map<String, Object> token(Map<String, Object> body) {
        return ask(body, "TOKEN");
    }

    /**
     * Returns when the hub has the token on its disk: {account: me, expect: 3, token: {…}}. Refusal `field`: it has another
     * version than `expect`. `lost`: the session ended before the answer, `token` has the result.
     */
    public Map<String, Object> putToken(Map<String, Object> body) {
        return ask(body, "TOKEN-PUT");
    }

    /** One RESULT, a page, of QUERY with these members (Protocol §8.1). */
    public Map<String, Object> ask(Map<String, Object> body) {
        return ask(body, "QUERY");
    }

    private Map<String, Object> ask(Map<String, Object> body, String verb) {
        Question mine = new Question();
        mine.verb = verb;
        mine.body = body;
        question = mine;
        try {
            await(() -> mine.answer != null || mine.error != null);
        } finally {
            question = null;
        }
        if (mine.error != null) {
            throw mine.error;
        }
        return mine.answer;
    }

    /** Records over all pages of a question. */
    public void records(Map<String, Object> question, Consumer<Map<String, Object>> take) {
        pages(question, "records", take);
    }

    /** Intervals of statistics over all pages of a question (Protocol §8.4). */
    public void statistics(Map<String, Object> question, Consumer<Map<String, Object>> take) {
        pages(question, "statistics", take);
    }

    private void pages(Map<String, Object> question, String want, Consumer<Map<String, Object>> take) {
        Map<String, Object> asked = new LinkedHashMap<>(question);
        asked.put("want", want);
        do {
            Map<String, Object> answer = ask(asked);
            Map<String, Object> page = want.equals("records") ? answer : object(answer.get(want));
            for (Object one : (List<?>) page.get(want.equals("records") ? want : "intervals")) {
                take.accept(object(one));
            }
            asked.put("next", page.get("next"));
        } while (asked.get("next") != null);
    }

    /**
     * Calls `take` with the newest version of each record since `place` (null: from the first) and with new versions,
     * each once. Keep the place with what you make of the record, in one transaction. A record replaces what you have under
     * its `number`; one of the kind `retraction` withdraws it. If the record is null, delete all records: the hub
     * has a new epoch, whose records follow. The feed only wakes the client; records come from the door, each once.
     * Returns when `take` returns false or the hub stops this plugin. `types` are ids, null for all.
     */
    public void follow(List<String> types, String place, Change take) {
        List<String> topics = new ArrayList<>(List.of("hub/pulse/"));
        for (String name : List.of("sample/", "retraction/")) {
            if (types == null) {
                topics.add(name);
            } else {
                types.forEach(type -> topics.add(name + type + "/"));
            }
        }
        String at = place != null ? place : welcome().get("epoch") + "-0";
        Pointer bell = feed == null ? null : socket(SUB, feed, topics);
        try {
            boolean hasMore = true;
            while (!isStopping()) {
                long before = sessions;
                if (!hasMore) {
                    turn(bell == null ? 1 : 3600, bell);
                    check();
                    hasMore = bell == null || before != sessions;
                    for (List<byte[]> frames; bell != null && (frames = receive(bell)) != null;) {
                        boolean isPulse = text(frames.get(0)).equals("hub/pulse/");
                        Map<String, Object> pulse = isPulse ? object(read(text(frames.get(2)))) : null;
                        hasMore |= !isPulse || !(pulse.get("epoch") + "-" + pulse.get("head")).equals(at);
                    }
                    continue;
                }
                Map<String, Object> page;
                try {
                    Map<String, Object> asked = new LinkedHashMap<>(Map.of("want", "records", "since", at));
                    if (types != null) {
                        asked.put("types", types);
                    }
                    page = ask(asked);
                } catch (Refusal error) {
                    if (error.code.equals("stopping")) {
                        return;
                    }
                    if (!error.code.equals("epoch")) {
                        throw error;
                    }
                    at = error.body.get("epoch") + "-0";
                    if (!take.take(null, at)) {
                        return;
                    }
                    continue;
                }
                String cursor = member(page, "RESULT.cursor", String.class);
                for (Object record : member(page, "RESULT.records", List.class)) {
                    at = cursor.split("-")[0] + "-" + object(record).get("seq");
                    if (!take.take(object(record), at)) {
                        return;
                    }
                }
                at = cursor;
                hasMore = page.containsKey("next");
            }
        } finally {
            if (bell != null) {
                ZMQ.zmq_close(bell);
            }
        }
    }

    /**
     * A subscription that the hub remembers (Protocol §10.1). `serve` calls `deliver` with a delivery's records. It
     * returns the answer, a map for each such as {result: delivered, receipt: 17}. A Pause that it
     * throws stops the deliveries for a while; anything else is a retry of these records.
     */
    public void sink(Map<String, Object> want, Function<List<Map<String, Object>>, List<Map<String, Object>>> deliver) {
        Map<String, Object> body = new LinkedHashMap<>(Map.of("credit", Map.of("records", 1000, "bytes", 1 << 20)));
        body.putAll(want);
        this.deliver.put((String) body.get("want"), deliver);
        wants.put((String) body.get("want"), body);
        if (isOpen) {
            say("WANT", body);
        }
    }

    /** `serve` calls `carry` when a person asks for the command. It returns the result; a Refusal is its failure. */
    public void command(String name, Function<Command, Object> carry) {
        this.carry.put(name, carry);
    }

    /** Delivers and carries out commands until the hub stops this plugin, or for `seconds` if that is not negative. */
    public boolean serve(double seconds) {
        double till = seconds < 0 ? Double.MAX_VALUE : now() + seconds;
        while (!isStopping() && now() < till) {
            while (!inbox.isEmpty() && !isStopping()) {
                work(inbox.remove());
                turn(0, null);
            }
            turn(Math.min(3600, till - now()), null);
            check();
        }
        return !isStopping();
    }

    /** Says BYE and ends. */
    @Override
    public void close() {
        if (isOpen) {
            say("BYE", Map.of());
        } else {
            isOver = true;
        }
        for (double till = now() + 1; !isOver && failure == null && now() < till;) {
            turn(0.05, null);
        }
        ZMQ.zmq_socket_monitor(door, null, 0); // before its reader is closed, for which libzmq would wait
        ZMQ.zmq_close(handshakes);
        ZMQ.zmq_close(door);
        ZMQ.zmq_ctx_term(context);
    }

    private static double now() {
        return System.nanoTime() / 1e9;
    }

    private void check() {
        if (failure != null) {
            throw failure;
        }
    }

    private void await(BooleanSupplier isSo) {
        turn(0, null);
        while (!isSo.getAsBoolean()) {
            check();
            if (isStopping()) {
                throw new Refusal("stopping", "the hub stops this program; what was not stored is given again");
            }
            turn(3600, null);
        }
    }

    private void work(Item item) {
        Map<String, Object> answer = new LinkedHashMap<>();
        if (item.command == null) {
            String want = (String) item.body.get("want");
            List<Map<String, Object>> delivered = new ArrayList<>(), results;
            ((List<?>) item.body.get("records")).forEach(record -> delivered.add(object(record)));
            long pause = 0;
            try {
                Paused paused = pauses.get(want);
                if (paused != null && now() < paused.till) {
                    throw new Pause(paused.till - now(), paused.reason); // also for deliveries that were already in transit
                }
                results = deliver.get(want).apply(delivered);
            } catch (Pause error) {
                pause = Math.max(100, (long) (1000 * error.seconds));
                pauses.put(want, new Paused(now() + error.seconds, error.getMessage()));
                results = new ArrayList<>();
                for (int n = 0; n < delivered.size(); n++) {
                    results.add(Map.of("result", "retry", "after", pause, "reason", error.getMessage()));
                }
            } catch (Refusal error) {
                throw error;
            } catch (RuntimeException error) {
                results = new ArrayList<>();
                for (int n = 0; n < delivered.size(); n++) {
                    results.add(Map.of("result", "retry", "after", 60000, "reason", error.getClass().getName()));
                }
            }
            if (results.size() != delivered.size()) {
                throw new Refusal("field", want + ": " + delivered.size() + " records were delivered, " + results.size() + " results came");
            }
            answer.putAll(Map.of("want", want, "delivery", item.body.get("delivery"), "results", results,
                "credit", Map.of("records", results.size(), "bytes", item.size)));
            if (pause > 0) {
                answer.put("pause", pause);
            }
        } else {
            Command command = item.command;
            answer.put("id", command.id);
            if (command.isCancelled) {
                answer.put("outcome", "cancelled");
            } else if (!carry.containsKey(command.name)) {
                answer.putAll(Map.of("outcome", "failed", "code", "command", "reason", "there is no command " + command.name));
            } else {
                try {
                    answer.put("result", carry.get(command.name).apply(command));
                    answer.put("outcome", "done");
                } catch (Refusal error) {
                    answer.putAll(Map.of("outcome", "failed", "code", error.code, "reason", error.reason));
                }
            }
            commands.remove(command.id);
        }
        if (isOpen && item.session == sessions) { // in a new session the hub repeats deliveries without an answer
            say(item.command == null ? "DONE" : "OUTCOME", answer);
        }
    }

    private void say(String verb, Map<String, Object> body) {
        send(verb, bytes(write(body)));
    }

    private void send(String verb, byte[] body) {
        byte[] word = bytes(verb);
        if (ZMQ.zmq_send(door, word, word.length, DONTWAIT | SNDMORE) < 0 || ZMQ.zmq_send(door, body, body.length, DONTWAIT) < 0) {
            isOpen = false; // no connection: try again soon
            greeted = now() - 1.9;
        }
    }

    /** The frames of a message that is here, or null. */
    private List<byte[]> receive(Pointer socket) {
        List<byte[]> frames = new ArrayList<>();
        while (true) {
            ZMQ.zmq_msg_init(message);
            int size = ZMQ.zmq_msg_recv(message, socket, DONTWAIT);
            if (size < 0) {
                return null;
            }
            frames.add(ZMQ.zmq_msg_data(message).getByteArray(0, size));
            boolean hasMore = ZMQ.zmq_msg_more(message) == 1;
            ZMQ.zmq_msg_close(message);
            if (!hasMore) {
                return frames;
            }
        }
    }

    private static String text(byte[] frame) {
        return new String(frame, StandardCharsets.UTF_8);
    }

    /** Sends due messages, waits for an event, and handles it. */
    private void turn(double seconds, Pointer bell) {
        double due = Math.min(seconds, workOff(now()));
        int count = 1, inputItem = -1;
        items.clear();
        items.setPointer(0, door);
        items.setPointer(16, handshakes);
        if (hasInput) {
            inputItem = ++count;
        }
        if (bell != null) {
            items.setPointer(16L * ++count, bell);
        }
        for (int n = 0; n <= count; n++) {
            items.setShort(16L * n + 12, (short) 1);
        }
        ZMQ.zmq_poll(items, count + 1, (long) Math.ceil(Math.max(0, due) * 1000));
        try {
            if (inputItem > 0 && items.getShort(16L * inputItem + 14) != 0 && input.read() < 0) {
                hasInput = false;
            }
        } catch (IOException error) {
            hasInput = false;
        }
        List<byte[]> frames;
        while ((frames = receive(handshakes)) != null) {
            hearHandshake(java.nio.ByteBuffer.wrap(frames.get(0)).order(java.nio.ByteOrder.nativeOrder()).getShort());
        }
        for (int n = 0; n < 100 && failure == null && (frames = receive(door)) != null; n++) {
            try {
                hear(frames);
            } catch (Refusal error) {
                refuse(error);
            }
        }
        workOff(now());
    }

    private void refuse(Refusal error) {
        failure = failure == null ? error : failure;
        isOpen = false;
    }

    private void hearHandshake(int kind) {
        if (kind == SUCCEEDED && isOpen) {
            say("PING", Map.of()); // the hub may have been restarted and not know the session
        } else if (kind == FAILED_AUTH) {
            String what = isLaunched ? "this launch token" : "the key of " + hello.get("instance") + " (any more): hub keys list shows the keys";
            refuse(new Refusal("forbidden", "the hub at " + address + " does not know " + what));
        }
    }

    private double beat(String name) {
        return member(welcome, "WELCOME.heartbeat." + name, Long.class) / 1000.0;
    }

    /** Returns the seconds until the next message is due. */
    private double workOff(double now) {
        if (failure != null || isOver) {
            return 1;
        }
        if (!isOpen) {
            if (now - greeted >= 2) {
                greeted = now;
                say("HELLO", hello);
            }
            return Math.max(0.01, greeted + 2 - now);
        }
        if (now - heard > beat("timeout")) {
            isOpen = false;
            greeted = -1e9;
            return 0;
        }
        // If a call waits for an answer, check sooner whether the hub has been restarted.
        boolean waits = !sent.isEmpty() || question != null && question.id != 0;
        double interval = waits ? Math.min(1, beat("interval")) : beat("interval");
        if (now - Math.max(heard, pinged) >= interval) {
            pinged = now;
            say("PING", Map.of());
        }
        double due = Math.max(heard, pinged) + interval;
        for (String name : List.copyOf(again.keySet())) {
            if (now >= again.get(name)) {
                again.remove(name);
                say("WANT", wants.get(name));
            } else {
                due = Math.min(due, again.get(name));
            }
        }
        if (now >= hold) {
            fill();
        } else {
            due = Math.min(due, hold);
        }
        if (question != null && question.id == 0 && question.error == null) {
            if (now >= question.due) {
                Map<String, Object> body = new LinkedHashMap<>(question.body);
                body.values().removeIf(value -> value == null);
                body.put("id", question.id = ++number);
                say(question.verb, body);
            } else {
                due = Math.min(due, question.due);
            }
        }
        return Math.max(0, due - now);
    }

    /** Sends as much as credit and limits allow; the records of a group in one batch. */
    private void fill() {
        Giving mine = giving;
        long most = member(welcome, "WELCOME.limits.batchRecords", Long.class), frame = member(welcome, "WELCOME.limits.frameBytes", Long.class);
        while (mine != null && isOpen && mine.error == null && mine.next < mine.texts.size()) {
            int from = mine.next, till = from;
            long size = 100; // for the batch's other members
            while (till < mine.texts.size()) {
                int stop = till;
                long more = size;
                do {
                    more += mine.texts.get(stop++).length + 1;
                } while (mine.groups.get(till) != null && stop < mine.texts.size() && mine.groups.get(till).equals(mine.groups.get(stop)));
                if (stop - from > most || more > frame) {
                    if (till == from) {
                        mine.error = new Refusal("size", "records " + from + " to " + (stop - 1) + ", " + more + " bytes, belong together and do not fit"
                            + " into a batch of " + most + " records and " + frame + " bytes");
                    }
                    break;
                }
                if (stop - from > records || more > bytes) {
                    break;
                }
                till = stop;
                size = more;
            }
            if (till == from) {
                return; // more credit comes with STORED
            }
            java.io.ByteArrayOutputStream text = new java.io.ByteArrayOutputStream((int) size);
            text.writeBytes(bytes("{\"batch\":" + ++number + (mine.isBackfill ? ",\"backfill\":true" : "") + ",\"records\":["));
            for (int n = from; n < till; n++) {
                if (n > from) {
                    text.write(',');
                }
                text.writeBytes(mine.texts.get(n));
            }
            text.writeBytes(bytes("]}"));
            sent.put(number, new int[] {from, till});
            mine.next = till;
            records -= till - from;
            bytes -= text.size();
            send("SAMPLES", text.toByteArray());
        }
    }

    /** The member at VERB.a.b of a body, of this kind, or a Refusal that names it. */
    private static <Kind> Kind member(Map<String, Object> body, String path, Class<Kind> kind) {
        Object value = body;
        String[] names = path.split("\\.");
        for (int n = 1; n < names.length; n++) {
            value = value instanceof Map<?, ?> map ? map.get(names[n]) : null;
        }
        if (!kind.isInstance(value)) {
            throw new Refusal("protocol", "the hub's " + path + " is not a " + kind.getSimpleName() + ": is this a hub, and how old is it?");
        }
        return kind.cast(value);
    }

    private void hear(List<byte[]> frames) {
        if (frames.size() != 2) {
            throw new Refusal("protocol", "the hub sent a message of " + frames.size() + " frames; a verb and a body are two");
        }
        String verb = text(frames.get(0));
        if (!List.of("WELCOME", "STORED", "RESULT", "TOKEN", "DELIVER", "COMMAND", "PING", "PONG", "STOP", "BYE", "ERROR").contains(verb)) {
            return; // a verb of a newer protocol
        }
        Object value;
        try {
            value = read(text(frames.get(1)));
        } catch (Refusal error) {
            throw new Refusal("protocol", "the hub's " + verb + " is not JSON: " + error.reason);
        }
        if (!(value instanceof Map)) {
            throw new Refusal("protocol", "the hub's " + verb + " is not a JSON object");
        }
        Map<String, Object> body = object(value);
        heard = now();
        switch (verb) {
            case "WELCOME" -> hearWelcome(body);
            case "STORED" -> hearStored(body);
            case "RESULT", "TOKEN" -> {
                if (question != null && question.id == member(body, verb + ".id", Long.class)) {
                    question.answer = body;
                }
            }
            case "DELIVER" -> {
                member(body, "DELIVER.want", String.class);
                member(body, "DELIVER.delivery", Long.class);
                member(body, "DELIVER.records", List.class);
                inbox.add(new Item(body, frames.get(1).length, sessions, null));
            }
            case "COMMAND" -> {
                long id = member(body, "COMMAND.id", Long.class);
                if (body.containsKey("command")) {
                    Map<String, Object> args = body.get("args") instanceof Map ? object(body.get("args")) : Map.of();
                    commands.put(id, new Command(id, member(body, "COMMAND.command", String.class), args, Boolean.TRUE.equals(body.get("dryRun"))));
                    inbox.add(new Item(body, 0, sessions, commands.get(id)));
                } else if (Boolean.TRUE.equals(body.get("cancel")) && commands.containsKey(id)) {
                    commands.get(id).isCancelled = true;
                }
            }
            case "PING" -> send("PONG", frames.get(1));
            case "STOP" -> isStopping = true;
            case "BYE" -> {
                isOpen = false;
                isOver = true;
            }
            case "ERROR" -> hearError(body);
            default -> { }
        }
    }

    private void hearWelcome(Map<String, Object> body) {
        String session = member(body, "WELCOME.session", String.class);
        member(body, "WELCOME.epoch", String.class);
        for (String path : List.of("limits.batchRecords", "limits.frameBytes", "heartbeat.interval", "heartbeat.timeout", "credit.records", "credit.bytes")) {
            member(body, "WELCOME." + path, Long.class);
        }
        boolean isAnother = welcome == null || !session.equals(welcome.get("session"));
        welcome = body;
        isOpen = true;
        if (!isAnother) {
            return;
        }
        sessions++;
        isStopping = false;
        hold = 0;
        records = member(body, "WELCOME.credit.records", Long.class);
        bytes = member(body, "WELCOME.credit.bytes", Long.class);
        rewind();
        if (question != null && question.id != 0 && question.verb.equals("TOKEN-PUT")) {
            question.error = new Refusal("lost", "the session ended before the hub answered: ask which token it has");
        } else if (question != null) {
            question.id = 0;
        }
        inbox.clear();
        commands.values().forEach(command -> command.isCancelled = true);
        commands.clear();
        wants.values().forEach(want -> say("WANT", want));
    }

    private void hearStored(Map<String, Object> body) {
        int[] range = sent.remove(member(body, "STORED.batch", Long.class));
        earn(body);
        if (range == null) {
            return; // it was sent again since then
        }
        List<?> results = member(body, "STORED.results", List.class);
        if (results.size() != range[1] - range[0]) {
            throw new Refusal("protocol", "STORED.results has " + results.size() + " results for " + (range[1] - range[0]) + " records");
        }
        for (int n = 0; n < results.size(); n++) {
            Object word = results.get(n) instanceof Map<?, ?> result ? result.get("result") : null;
            if (word == null || !List.of("stored", "duplicate", "rejected").contains(word)) {
                throw new Refusal("protocol", "STORED.results[" + n + "].result is none of stored, duplicate, rejected");
            }
        }
        results.forEach(result -> giving.results.add(object(result)));
    }

    private void hearError(Map<String, Object> body) {
        String code = member(body, "ERROR.code", String.class);
        Object ref = body.get("ref");
        double after = now() + (body.get("after") instanceof Number wait ? wait.doubleValue() : 1000) / 1000;
        Refusal error = new Refusal(code, String.valueOf(body.get("reason")), body);
        earn(body);
        if (code.equals("hello-first")) {
            if (isOpen) {
                isOpen = false;
                greeted = -1e9;
            }
        } else if (body.containsKey("want")) {
            if (!code.equals("store")) {
                throw error;
            }
            again.put((String) body.get("want"), after);
        } else if (Boolean.TRUE.equals(body.get("closed"))) {
            throw error;
        } else if (ref instanceof Long batch && sent.containsKey(batch)) {
            if (code.equals("store") || code.equals("stopping")) {
                // The hub also refuses the batches after it, in their order: send all of them again.
                hold = code.equals("store") ? after : Double.MAX_VALUE;
                isStopping |= code.equals("stopping");
                rewind();
            } else {
                giving.error = error;
            }
        } else if (question != null && question.id != 0 && ref instanceof Long id && id == question.id) {
            if (code.equals("store") || code.equals("busy")) {
                question.id = 0;
                question.due = after;
            } else {
                question.error = error;
            }
        } else if (!code.equals("store") && !code.equals("stopping")) {
            System.err.println("the hub says: " + error.getMessage());
        }
    }

    private void earn(Map<String, Object> body) {
        if (body.get("credit") instanceof Map) {
            records += member(body, "STORED.credit.records", Long.class);
            bytes += member(body, "STORED.credit.bytes", Long.class);
        }
    }

    private void rewind() {
        if (giving != null && !sent.isEmpty()) {
            giving.next = sent.firstEntry().getValue()[0];
        }
        sent.clear();
    }

    /**
     * The main function of a program that the hub starts (Protocol §13); returns its exit code. `objections` returns
     * the faults of settings, maps of `setting` and `reason`; null if the manifest's schema is sufficient.
     */
    public static int plugin(String[] arguments, Map<String, Object> manifest, Consumer<HealthHub> run,
        Function<Map<String, Object>, List<Map<String, Object>>> objections) {
        String argument = arguments.length == 1 ? arguments[0] : "";
        try {
            InputStream input = new FileInputStream(FileDescriptor.in);
            if (argument.equals("--describe")) {
                System.out.println(write(manifest));
                return 0;
            }
            if (argument.equals("--check-settings")) {
                Map<String, Object> settings = object(read(text(new java.io.BufferedInputStream(input).readAllBytes())));
                System.out.println(write(Map.of("objections", objections == null ? List.of() : objections.apply(settings))));
                return 0;
            }
            if (!argument.equals("--run")) {
                System.err.println(manifest.get("name") + ": the hub starts it with --run; --describe prints what it is");
                return 64;
            }
            StringBuilder token = new StringBuilder();
            for (int one; (one = input.read()) != '\n'; token.append((char) one)) {
                if (one < 0) {
                    return 75;
                }
            }
            Options options = new Options();
            options.plugin = (String) manifest.get("name");
            options.version = (String) manifest.get("version");
            options.token = token.toString().strip();
            options.members = new LinkedHashMap<>(manifest);
            options.members.keySet().retainAll(List.of("reads", "writes", "declares"));
            try (HealthHub hub = new HealthHub(options)) {
                hub.welcome();
                run.accept(hub);
            } catch (Refusal error) {
                if (!error.code.equals("stopping")) {
                    throw error;
                }
            }
            return 0;
        } catch (Refusal error) {
            System.err.println(error.getMessage());
            return error.code.equals("protocol") ? 76 : 77;
        } catch (IOException error) {
            System.err.println(error.getMessage());
            return 75;
        }
    }

    /** A JSON object. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> object(Object value) {
        if (!(value instanceof Map)) {
            throw new Refusal("json", "it is not a JSON object");
        }
        return (Map<String, Object>) value;
    }

    /** JSON of maps, lists, strings, numbers, booleans and null. */
    public static String write(Object value) {
        StringBuilder text = new StringBuilder();
        write(value, text);
        return text.toString();
    }

    private static void write(Object value, StringBuilder text) {
        if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                text.append(separator);
                write(entry.getKey(), text);
                text.append(':');
                write(entry.getValue(), text);
                separator = ",";
            }
            text.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            String separator = "[";
            for (Object one : list) {
                text.append(separator);
                write(one, text);
                separator = ",";
            }
            text.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof String string) {
            text.append('"');
            for (int n = 0; n < string.length(); n++) {
                char one = string.charAt(n);
                if (one == '"' || one == '\\') {
                    text.append('\\').append(one);
                } else if (one < ' ') {
                    text.append(String.format("\\u%04x", (int) one));
                } else {
                    text.append(one);
                }
            }
            text.append('"');
        } else if (value instanceof Double real && (real.isNaN() || real.isInfinite())) {
            throw new Refusal("json", "there is not JSON for " + real);
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            text.append(value);
        } else {
            throw new Refusal("json", "there is not JSON for a " + value.getClass().getName());
        }
    }

    /** What `write` takes, of a JSON text; whole numbers as Long, others as Double. */
    public static Object read(String text) {
        Reader reader = new Reader(text);
        Object value = reader.value(0);
        reader.blank();
        if (reader.at < text.length()) {
            throw reader.wrong();
        }
        return value;
    }

    private static final class Reader {
        final String text;
        int at;

        Reader(String text) {
            this.text = text;
        }

        Refusal wrong() {
            return new Refusal("json", "not JSON at character " + at);
        }

        void blank() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
        }

        boolean has(String word) {
            blank();
            boolean is = text.startsWith(word, at);
            at += is ? word.length() : 0;
            return is;
        }

        Object value(int depth) {
            if (depth > 128) {
                throw wrong();
            }
            if (has("{")) {
                Map<String, Object> map = new LinkedHashMap<>();
                while (!has("}")) {
                    if (!map.isEmpty() && !has(",") || !has("\"")) {
                        throw wrong();
                    }
                    String name = string();
                    if (!has(":")) {
                        throw wrong();
                    }
                    map.put(name, value(depth + 1));
                }
                return map;
            }
            if (has("[")) {
                List<Object> list = new ArrayList<>();
                while (!has("]")) {
                    if (!list.isEmpty() && !has(",")) {
                        throw wrong();
                    }
                    list.add(value(depth + 1));
                }
                return list;
            }
            if (has("\"")) {
                return string();
            }
            if (has("true")) {
                return true;
            }
            if (has("false")) {
                return false;
            }
            if (has("null")) {
                return null;
            }
            int start = at;
            while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            String digits = text.substring(start, at);
            if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?")) {
                throw wrong();
            }
            return digits.matches("-?[0-9]{1,18}") ? (Object) Long.valueOf(digits) : (Object) Double.valueOf(digits);
        }

        String string() {
            StringBuilder string = new StringBuilder();
            while (true) {
                if (at >= text.length() || text.charAt(at) < ' ') {
                    throw wrong();
                }
                char one = text.charAt(at++);
                if (one == '"') {
                    return string.toString();
                }
                if (one != '\\') {
                    string.append(one);
                    continue;
                }
                int escape = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at++)) : -1;
                try {
                    if (escape == 8) {
                        string.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                        at += 4;
                    } else {
                        string.append("\"\\/\b\f\n\r\t".charAt(escape));
                    }
                } catch (IndexOutOfBoundsException | NumberFormatException error) {
                    throw wrong();
                }
            }
        }
    }
}
