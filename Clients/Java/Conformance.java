import healthhub.HealthHub;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin. */
public final class Conformance {
    private static final PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.UTF_8);

    private static final Map<String, Object> MANIFEST = HealthHub.object(HealthHub.read("""
        {"name": "conformance-java", "summary": "Gives weights when it is asked to.", "version": "1.0", "protocol": [1],
         "writes": ["weight"], "checksSettings": true,
         "settings": [{"name": "label", "type": "string", "required": true, "help": "Begins the key of each record."}],
         "commands": [{"name": "add", "help": "Gives weights.", "args": [{"name": "count", "type": "integer", "minimum": 1,
            "maximum": 1000000, "required": true, "help": "How many."}]}]}"""));

    private static void run(HealthHub hub) {
        if (HealthHub.object(hub.welcome().get("settings")).get("label").equals("gone")) {
            System.exit(69);
        }
        hub.command("add", command -> {
            Object label = HealthHub.object(hub.welcome().get("settings")).get("label");
            List<Map<String, Object>> records = new ArrayList<>();
            for (long n = 0; n < (Long) command.args.get("count"); n++) {
                records.add(Map.of("type", "weight", "value", 60 + n % 100 / 8.0, "unit", "kg", "start", "2026-01-05T06:00:00+01:00", "key", label + "-" + n));
            }
            return Map.of("stored", hub.give(records).stream().filter(result -> result.get("result").equals("stored")).count());
        });
        hub.serve(-1);
        System.err.println("stopped");
    }

    private static void say(Map<String, Object> value) {
        out.print(HealthHub.write(value) + "\n");
    }

    private static void play(HealthHub hub, String what, String argument, String place) throws IOException {
        switch (what) {
            case "give" -> {
                BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
                List<Map<String, Object>> records = new ArrayList<>();
                do {
                    records.clear();
                    for (String line; records.size() < Integer.parseInt(argument) && (line = input.readLine()) != null;) {
                        records.add(HealthHub.object(HealthHub.read(line)));
                    }
                    List<Map<String, Object>> results = hub.give(records);
                    for (int n = 0; n < results.size(); n++) {
                        results.get(n).put("key", records.get(n).get("key"));
                        say(results.get(n));
                    }
                    out.flush();
                } while (!records.isEmpty());
            }
            case "follow" -> hub.follow(List.of(argument), place, (record, at) -> {
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("place", at);
                line.put("record", record);
                say(line);
                out.flush();
                return true;
            });
            case "sink" -> {
                hub.sink(Map.of("want", "all", "types", List.of(argument), "start", "beginning"), records -> {
                    if (place != null) {
                        say(Map.of("paused", records.size()));
                        out.flush();
                        throw new HealthHub.Pause(Double.parseDouble(place), "the target is away");
                    }
                    List<Map<String, Object>> results = new ArrayList<>();
                    for (Map<String, Object> record : records) {
                        say(Map.of("record", record));
                        results.add(Map.of("result", "delivered", "receipt", "line " + record.get("number")));
                    }
                    out.flush();
                    return results;
                });
                hub.serve(-1);
            }
            case "query" -> {
                Map<String, Object> question = HealthHub.object(HealthHub.read(argument));
                if (question.get("want").equals("statistics")) {
                    hub.statistics(question, Conformance::say);
                } else {
                    hub.records(question, Conformance::say);
                }
                out.flush();
            }
            case "calls" -> {
                for (Object call : (List<?>) HealthHub.read(argument)) {
                    String name = (String) ((List<?>) call).get(0);
                    Map<String, Object> body = HealthHub.object(((List<?>) call).get(1));
                    try {
                        say(Map.of("answer", switch (name) {
                            case "live" -> hub.live(body);
                            case "event" -> hub.event(body);
                            case "token" -> hub.token(body);
                            default -> hub.putToken(body);
                        }));
                    } catch (HealthHub.Refusal error) {
                        say(Map.of("error", error.code));
                    }
                    out.flush();
                }
            }
            default -> throw new IllegalArgumentException(what);
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].startsWith("--")) {
            System.exit(HealthHub.plugin(arguments, MANIFEST, Conformance::run, settings -> settings.get("label").equals("bad")
                ? List.of(Map.of("setting", "label", "reason", "the label is not to be bad")) : List.of()));
        }
        try (HealthHub hub = new HealthHub()) {
            play(hub, arguments[0], arguments[1], arguments.length > 2 ? arguments[2] : null);
        } catch (HealthHub.Refusal error) {
            System.err.println(error.getMessage());
            System.exit(error.code.equals("protocol") ? 76 : 77);
        }
    }
}
