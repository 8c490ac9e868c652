/* The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin. */
#define _GNU_SOURCE
#define HEALTH_HUB_IMPLEMENTATION
#include "health_hub.h"

static const char *const manifest =
    "{\"name\":\"conformance-c\",\"summary\":\"Gives weights when it is asked to.\",\"version\":\"1.0\",\"protocol\":[1],"
    "\"writes\":[\"weight\"],\"checksSettings\":true,"
    "\"settings\":[{\"name\":\"label\",\"type\":\"string\",\"required\":true,\"help\":\"Begins the key of each record.\"}],"
    "\"commands\":[{\"name\":\"add\",\"help\":\"Gives weights.\",\"args\":[{\"name\":\"count\",\"type\":\"integer\",\"minimum\":1,"
    "\"maximum\":1000000,\"required\":true,\"help\":\"How many.\"}]}]}";

static void object(hh_text settings, hh_buffer *objections) {
    if (hh_is(hh_get(settings, "label"), "bad")) hh_print(objections, "{\"setting\":\"label\",\"reason\":\"the label is not to be bad\"}");
}

static void count_stored(void *user, size_t n, hh_text result) {
    (void)n;
    *(int *)user += hh_is(hh_get(result, "result"), "stored");
}

static int add(void *user, hh_text args, int is_dry_run, hh_buffer *answer) {
    hh_hub *hub = (hh_hub *)user;
    (void)is_dry_run;
    long long count = 0;
    hh_buffer label = {NULL, 0, 0};
    hh_integer(hh_get(args, "count"), &count);
    hh_string(hh_get(hh_get(hh_welcome(hub), "settings"), "label"), &label);
    hh_buffer *texts = (hh_buffer *)calloc((size_t)count, sizeof *texts);
    hh_text *records = (hh_text *)calloc((size_t)count, sizeof *records);
    for (long long n = 0; n < count; n++) {
        hh_print(&texts[n], "{\"type\":\"weight\",\"value\":%.3f,\"unit\":\"kg\",\"start\":\"2026-01-05T06:00:00+01:00\",\"key\":\"%s-%lld\"}",
            60 + (double)(n % 100) / 8, label.data, n);
        records[n].data = texts[n].data;
        records[n].size = texts[n].size;
    }
    int stored = 0, result = hh_give(hub, records, (size_t)count, 0, count_stored, &stored);
    if (result) hh_print(answer, "%s", hh_reason(hub));
    else hh_print(answer, "{\"stored\":%d}", stored);
    for (long long n = 0; n < count; n++) free(texts[n].data);
    free(texts);
    free(records);
    free(label.data);
    return result;
}

static int run(hh_hub *hub) {
    if (hh_is(hh_get(hh_get(hh_welcome(hub), "settings"), "label"), "gone")) return 69;
    hh_command(hub, "add", add, hub);
    hh_serve(hub, -1);
    fprintf(stderr, "stopped\n");
    return 0;
}

static void print_result(void *user, size_t n, hh_text result) {
    hh_text key = hh_get(((hh_text *)user)[n], "key");
    printf("{\"key\":%.*s,%.*s\n", (int)key.size, key.data, (int)result.size - 1, result.data + 1);
}

static void print_line(void *user, size_t n, hh_text json) {
    (void)user, (void)n;
    printf("%.*s\n", (int)json.size, json.data);
}

static int follow(void *user, hh_text record, const char *place) {
    (void)user;
    printf("{\"place\":\"%s\",\"record\":%.*s}\n", place, record.data ? (int)record.size : 4, record.data ? record.data : "null");
    return fflush(stdout);
}

static void deliver(void *user, hh_text records, hh_buffer *results) {
    hh_text record;
    if (user) {
        size_t count = 0;
        for (size_t place = 0; hh_next(records, &place, &record);) count++;
        printf("{\"paused\":%zu}\n", count);
        fflush(stdout);
        hh_print(results, "{\"pause\":%.0f,\"reason\":\"the target is away\"}", 1000 * atof((const char *)user));
        return;
    }
    for (size_t place = 0; hh_next(records, &place, &record);) {
        hh_text number = hh_get(record, "number");
        printf("{\"record\":%.*s}\n", (int)record.size, record.data);
        hh_print(results, "%s{\"result\":\"delivered\",\"receipt\":\"line %.*s\"}", results->size ? "," : "[", (int)number.size, number.data);
    }
    hh_put(results, "]", 1);
    fflush(stdout);
}

static void call(hh_hub *hub, hh_text call) {
    hh_text name, body, answer = {NULL, 0};
    size_t place = 0;
    int said = -1;
    hh_next(call, &place, &name);
    hh_next(call, &place, &body);
    char *text = strndup(body.data, body.size);
    if (hh_is(name, "live")) said = hh_live(hub, text);
    else if (hh_is(name, "event")) said = hh_event(hub, text);
    else answer = hh_is(name, "token") ? hh_token(hub, text) : hh_put_token(hub, text);
    if (*hh_code(hub)) printf("{\"error\":\"%s\"}\n", hh_code(hub));
    else if (said >= 0) printf("{\"answer\":%s}\n", said ? "true" : "false");
    else printf("{\"answer\":%.*s}\n", (int)answer.size, answer.data);
    fflush(stdout);
    free(text);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    if (!strncmp(what, "--", 2)) return hh_plugin(argc, argv, manifest, run, object);
    hh_hub *hub = hh_open(NULL);
    if (!strcmp(what, "give")) {
        size_t count, most = (size_t)atol(argument);
        hh_text *records = (hh_text *)calloc(most, sizeof *records);
        do {
            char *line = NULL;
            size_t room = 0;
            ssize_t size;
            for (count = 0; count < most && (size = getline(&line, &room, stdin)) > 0; count++, line = NULL, room = 0) {
                records[count].data = line;
                records[count].size = (size_t)size - (line[size - 1] == '\n');
            }
            free(line);
            int is_refused = hh_give(hub, records, count, 0, print_result, records);
            fflush(stdout);
            for (size_t n = 0; n < count; n++) free((void *)(size_t)records[n].data);
            if (is_refused) break;
        } while (count);
        free(records);
    } else if (!strcmp(what, "follow")) {
        hh_buffer types = {NULL, 0, 0};
        hh_print(&types, "[\"%s\"]", argument);
        hh_follow(hub, types.data, argc > 3 ? argv[3] : NULL, follow, NULL);
        free(types.data);
    } else if (!strcmp(what, "sink")) {
        hh_buffer want = {NULL, 0, 0};
        hh_print(&want, "{\"want\":\"all\",\"types\":[\"%s\"],\"start\":\"beginning\"}", argument);
        hh_sink(hub, want.data, deliver, argc > 3 ? argv[3] : NULL);
        hh_serve(hub, -1);
        free(want.data);
    } else if (!strcmp(what, "query")) {
        hh_ask(hub, argument, print_line, NULL);
    } else if (!strcmp(what, "calls")) {
        hh_text calls = {argument, strlen(argument)}, one;
        for (size_t place = 0; hh_next(calls, &place, &one);) call(hub, one);
    }
    int code = !*hh_code(hub) ? 0 : strcmp(hh_code(hub), "protocol") ? 77 : 76;
    if (code) fprintf(stderr, "%s: %s\n", hh_code(hub), hh_reason(hub));
    hh_close(hub);
    return code;
}
