/* A client of the health hub in one file: give records, follow, take deliveries, ask, answer commands, be a plugin.

   Needs libzmq 4.3 (Debian: libzmq3-dev). In one C or C++ file of the program, before the others include it as it is:

       #define HEALTH_HUB_IMPLEMENTATION
       #include "health_hub.h"        (cc program.c -lzmq -lm)

   Records are JSON texts with the members of Docs/Samples.md; the hub's answers are slices of JSON, which hh_get,
   hh_next, hh_integer and hh_string read. Numbers and texts pass as they are spelled. Calls wait until the hub has
   answered, however long it is away, and return 0, or -1 if the hub refuses: hh_code and hh_reason give the reason, and
   then you must close the hub. (If it refused only hh_give or hh_ask, you can go on.) Nothing is kept on disk: if a
   call did not return, give its records again, which is harmless. One thread uses an hh_hub. If there is no memory, the
   program is aborted. */
#ifndef HEALTH_HUB_H
#define HEALTH_HUB_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hh_hub hh_hub;
/* A view of bytes that another object owns, without a final zero; `data` is NULL if it is empty. */
typedef struct { const char *data; size_t size; } hh_text;
/* A text that grows; it is always ended by a zero. */
typedef struct { char *data; size_t size, room; } hh_buffer;

/* NULL means the default: `key` is the file that HUB_KEY names; `door`, `feed` and `instance` are its own, or those of
   HUB_DOOR, HUB_FEED and HUB_INSTANCE. `plugin` is the source of all records. `members` are more of HELLO, such as
   "\"writes\":[\"weight\"]". `token` is that of a launched plugin. */
typedef struct { const char *instance, *plugin, *version, *door, *feed, *key, *members, *token; } hh_options;

hh_hub *hh_open(const hh_options *options); /* never NULL: hh_code says whether it could be opened */
void hh_close(hh_hub *hub);                 /* says BYE */
const char *hh_code(hh_hub *hub);           /* "" if there is no error; the hub's (Protocol 9.1), or `protocol` */
const char *hh_reason(hh_hub *hub);
int hh_is_stopping(hh_hub *hub);            /* whether the hub has told this program to end */
hh_text hh_welcome(hh_hub *hub);            /* WELCOME, with `settings` and `epoch`; waits for the first */

/* Returns when the hub has them on its disk; `take` is called for each in its order, with {"result":"stored" or
   "duplicate","number","seq"} or {"result":"rejected","code","reason"}. The records of a group must be adjacent. */
typedef void (*hh_take)(void *user, size_t n, hh_text json);
int hh_give(hh_hub *hub, const hh_text *records, size_t count, int is_backfill, hh_take take, void *user);
/* The records, or the intervals of statistics, over all pages of this question (Protocol 8.1, 8.4), an object. */
int hh_ask(hh_hub *hub, const char *question, hh_take take, void *user);
/* `take` is called with the newest version of each record since `place` (NULL: from the first) and with new versions,
   each once, and with the place to go on from: keep it with what you make of the record, in one transaction. It replaces
   what you have under its `number`; a `kind` of `retraction` withdraws it. If its data is NULL, delete all records: the hub
   has a new epoch, whose records follow. The feed only wakes the client; records come from the door, each once. `types` is
   an array such as ["weight"], NULL for all. Returns when `take` does not return 0, or the hub stops this plugin. */
typedef int (*hh_change)(void *user, hh_text record, const char *place);
int hh_follow(hh_hub *hub, const char *types, const char *place, hh_change take, void *user);

/* Publish a live value, the body of LIVE, and an event, the body of EVENT (Protocol 5.2). They have no answer and
   are not kept: after the first session, for which the calls wait, they return 0 if the hub is away, otherwise 1. */
int hh_live(hh_hub *hub, const char *body);
int hh_event(hh_hub *hub, const char *body);
/* The hub's answer to TOKEN (Protocol 11), {"account":"me","for":"use"}, `refresh` or `release`; it stays until the next
   question, and is empty if the hub refuses. hh_put_token, {"account":"me","expect":3,"token":{}}, returns when the hub
   has the token on its disk. `field`: it has another version than `expect`. `lost`: the session ended before the answer,
   hh_token has the result. */
hh_text hh_token(hh_hub *hub, const char *body);
hh_text hh_put_token(hh_hub *hub, const char *body);

/* A subscription that the hub remembers (Protocol 10.1), an object with `want` and `start`. hh_serve calls `deliver` with
   an array of records; it appends an array with a result for each, such as {"result":"delivered","receipt":"17"}. If its
   target is away it appends {"pause":60000,"reason":"..."}: the hub pauses the subscription for this many
   milliseconds (100 to 604800000), then delivers all records of the delivery again. */
typedef void (*hh_deliver)(void *user, hh_text records, hh_buffer *results);
void hh_sink(hh_hub *hub, const char *want, hh_deliver deliver, void *user);
/* hh_serve calls `carry` when a person asks for the command. It returns 0 and appends the result, a JSON value, or
   returns -1 and appends why it failed, as text. */
typedef int (*hh_carry)(void *user, hh_text args, int is_dry_run, hh_buffer *answer);
void hh_command(hh_hub *hub, const char *name, hh_carry carry, void *user);
int hh_serve(hh_hub *hub, double seconds); /* until the hub stops this plugin, or for `seconds` if >= 0 */

/* The main function of a program that the hub starts (Protocol 13); returns its exit code. `run` returns 0 when it is to
   end well, or an exit code. `object` (or NULL) appends the faults of settings: {"setting":"file","reason":"..."},... */
int hh_plugin(int argc, char **argv, const char *manifest, int (*run)(hh_hub *hub),
    void (*object)(hh_text settings, hh_buffer *objections));

hh_text hh_get(hh_text object, const char *name);            /* the member's value, or nothing */
int hh_next(hh_text array, size_t *place, hh_text *element); /* whether there is another; *place begins as 0 */
int hh_integer(hh_text value, long long *number);            /* whether it is one */
int hh_string(hh_text value, hh_buffer *text);               /* whether it is one; appends it without its escapes */
int hh_is(hh_text value, const char *text);                  /* whether it is this text, of letters and the like */
int hh_valid(hh_text json);                                  /* whether it is one JSON value */
void hh_put(hh_buffer *buffer, const char *data, size_t size);
void hh_print(hh_buffer *buffer, const char *format, ...);
void hh_quote(hh_buffer *buffer, const char *text);          /* appends it as a JSON text */

#ifdef __cplusplus
}
#endif
#endif

#ifdef HEALTH_HUB_IMPLEMENTATION
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

/* ---- Texts and JSON ---- */

static void *hh_need(void *memory) {
    if (!memory) abort();
    return memory;
}

void hh_put(hh_buffer *buffer, const char *data, size_t size) {
    if (buffer->size + size + 1 > buffer->room) {
        buffer->room = 2 * (buffer->size + size) + 64;
        buffer->data = (char *)hh_need(realloc(buffer->data, buffer->room));
    }
    if (size) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = 0;
}

void hh_print(hh_buffer *buffer, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    char *text = (char *)hh_need(malloc((size_t)size + 1));
    vsnprintf(text, (size_t)size + 1, format, again);
    hh_put(buffer, text, (size_t)size);
    free(text);
    va_end(again);
    va_end(arguments);
}

static hh_text hh_of(const char *data, size_t size) {
    hh_text text;
    text.data = data;
    text.size = size;
    return text;
}

static hh_text hh_all(const hh_buffer *buffer) { return hh_of(buffer->data, buffer->size); }

static const char *hh_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

static const char *hh_digits(const char *at, const char *end) {
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at > start ? at : NULL;
}

/* The end of the value that begins here, or NULL if it is not valid. */
static const char *hh_value(const char *at, const char *end, int depth) {
    at = hh_blank(at, end);
    if (at >= end || depth > 128) return NULL;
    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++) {
            if ((unsigned char)*at < 0x20) return NULL;
            if (*at == '\\' && ++at < end) {
                if (*at == 'u') {
                    for (int n = 0; n < 4; n++) if (++at >= end || !strchr("0123456789abcdefABCDEF", *at)) return NULL;
                } else if (!strchr("\"\\/bfnrt", *at)) return NULL;
            }
        }
        return at < end ? at + 1 : NULL;
    }
    if (*at == '{' || *at == '[') {
        char close = *at == '{' ? '}' : ']';
        at = hh_blank(at + 1, end);
        if (at < end && *at == close) return at + 1;
        for (;;) {
            if (close == '}') {
                at = hh_blank(at, end);
                if (at >= end || *at != '"' || !(at = hh_value(at, end, depth + 1))) return NULL;
                at = hh_blank(at, end);
                if (at >= end || *at++ != ':') return NULL;
            }
            if (!(at = hh_value(at, end, depth + 1))) return NULL;
            at = hh_blank(at, end);
            if (at >= end) return NULL;
            if (*at == close) return at + 1;
            if (*at++ != ',') return NULL;
        }
    }
    const char *words[] = {"true", "false", "null"};
    for (int n = 0; n < 3; n++) {
        size_t size = strlen(words[n]);
        if ((size_t)(end - at) >= size && !memcmp(at, words[n], size)) return at + size;
    }
    if (*at == '-') at++;
    if (at < end && *at == '0') at++;
    else if (!(at = hh_digits(at, end))) return NULL;
    if (at < end && *at == '.' && !(at = hh_digits(at + 1, end))) return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = hh_digits(at, end);
    }
    return at;
}

int hh_valid(hh_text json) {
    const char *end = json.data + json.size;
    const char *at = json.data ? hh_value(json.data, end, 0) : NULL;
    return at && hh_blank(at, end) == end;
}

/* The next member or element of a container that is valid; `name` gets a member's name, with its quotes. */
static int hh_step(hh_text container, size_t *place, hh_text *name, hh_text *value) {
    const char *end = container.data + container.size, *at = hh_blank(container.data, end);
    if (!container.data || at >= end || *at != (name ? '{' : '[')) return 0;
    at = hh_blank(*place ? container.data + *place : at + 1, end);
    if (at < end && *at == ',') at = hh_blank(at + 1, end);
    if (at >= end || *at == '}' || *at == ']') return 0;
    const char *stop = hh_value(at, end, 0);
    if (!stop) return 0;
    if (name) {
        *name = hh_of(at, (size_t)(stop - at));
        at = hh_blank(hh_blank(stop, end) + 1, end);
        if (!(stop = hh_value(at, end, 0))) return 0;
    }
    *value = hh_of(at, (size_t)(stop - at));
    *place = (size_t)(stop - container.data);
    return 1;
}

int hh_next(hh_text array, size_t *place, hh_text *element) { return hh_step(array, place, NULL, element); }

int hh_is(hh_text value, const char *text) {
    size_t size = strlen(text);
    return value.data && value.size == size + 2 && value.data[0] == '"' && !memcmp(value.data + 1, text, size);
}

hh_text hh_get(hh_text object, const char *name) {
    hh_text key, value, found = hh_of(NULL, 0);
    size_t place = 0;
    while (hh_step(object, &place, &key, &value)) if (hh_is(key, name)) found = value;
    return found;
}

int hh_integer(hh_text value, long long *number) {
    char digits[24];
    if (!value.data || value.size >= sizeof digits || (*value.data != '-' && (*value.data < '0' || *value.data > '9'))) return 0;
    memcpy(digits, value.data, value.size);
    digits[value.size] = 0;
    char *end;
    *number = strtoll(digits, &end, 10);
    return !*end;
}

int hh_string(hh_text value, hh_buffer *text) {
    if (!value.data || value.size < 2 || *value.data != '"') return 0;
    const char *names = "\"\\/bfnrt", *means = "\"\\/\b\f\n\r\t";
    for (const char *at = value.data + 1, *end = value.data + value.size - 1; at < end; at++) {
        if (*at != '\\') {
            hh_put(text, at, 1);
        } else if (*++at != 'u') {
            hh_put(text, means + (strchr(names, *at) - names), 1);
        } else {
            unsigned point = 0, low = 0;
            sscanf(at + 1, "%4x", &point);
            at += 4;
            if (point >= 0xD800 && point < 0xDC00 && end - at > 6 && at[1] == '\\' && at[2] == 'u' && sscanf(at + 3, "%4x", &low) == 1) {
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
                at += 6;
            }
            char bytes[4];
            size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
            for (size_t n = size; n-- > 1; point >>= 6) bytes[n] = (char)(0x80 | (point & 0x3F));
            bytes[0] = (char)(size == 1 ? point : (0xF00 >> size & 0xFF) | point);
            hh_put(text, bytes, size);
        }
    }
    hh_put(text, "", 0);
    return 1;
}

void hh_quote(hh_buffer *buffer, const char *text) {
    hh_put(buffer, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') hh_put(buffer, "\\", 1);
        if ((unsigned char)*text < 0x20) hh_print(buffer, "\\u%04x", *text);
        else hh_put(buffer, text, 1);
    }
    hh_put(buffer, "\"", 1);
}

/* ---- The session ---- */

typedef struct { long long batch; size_t from, till; } hh_sent;
typedef struct hh_handler { struct hh_handler *next; char *name; hh_buffer want, pause; double due, paused; hh_deliver deliver; hh_carry carry; void *user; } hh_handler;
typedef struct hh_item { struct hh_item *next; int is_delivery; hh_buffer body; } hh_item;

struct hh_hub {
    void *context, *door, *handshakes;
    hh_buffer address, hello, welcome, session, instance, feed, token, keys[3];
    char code[64];
    hh_buffer reason;
    int is_dead, is_open, is_stopping, is_over, is_launched, has_stdin;
    double greeted, heard, pinged, hold;
    long long number, sessions, records, bytes;
    /* hh_give */
    const hh_text *given;
    size_t given_count, given_next, given_done;
    int is_backfill;
    hh_take take;
    void *user;
    hh_sent *sent;
    size_t sent_count, sent_room;
    /* hh_ask and tokens: `asked` is the id, 0 if it has not been sent */
    const char *verb;
    hh_buffer question, answer;
    long long asked;
    int has_question;
    double question_due;
    hh_handler *handlers;
    hh_item *inbox;
};

static double hh_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void hh_refuse(hh_hub *hub, const char *code, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(hub->code, sizeof hub->code, "%s", code);
    hub->reason.size = 0;
    hh_put(&hub->reason, text, strlen(text));
}

/* The same, and for good. */
static void hh_die(hh_hub *hub) {
    hub->is_dead = 1;
    hub->is_open = 0;
}

const char *hh_code(hh_hub *hub) { return hub->code; }
const char *hh_reason(hh_hub *hub) { return hub->reason.data ? hub->reason.data : ""; }
int hh_is_stopping(hh_hub *hub) { return hub->is_launched && (hub->is_stopping || !hub->has_stdin); }

static void hh_send(hh_hub *hub, const char *verb, hh_text body) {
    if (zmq_send(hub->door, verb, strlen(verb), ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 && zmq_send(hub->door, body.data, body.size, ZMQ_DONTWAIT) >= 0) return;
    hub->is_open = 0; /* no connection: try again soon */
    hub->greeted = hh_now() - 1.9;
}

static void hh_rewind(hh_hub *hub) {
    if (hub->sent_count) hub->given_next = hub->sent[0].from;
    hub->sent_count = 0;
}

/* Sends as much as credit and limits allow; the records of a group in one batch. */
static void hh_fill(hh_hub *hub) {
    long long most = 0, frame = 0;
    hh_text limits = hh_get(hh_all(&hub->welcome), "limits");
    hh_integer(hh_get(limits, "batchRecords"), &most);
    hh_integer(hh_get(limits, "frameBytes"), &frame);
    while (hub->given && hub->given_next < hub->given_count && !*hub->code && hub->is_open) {
        size_t from = hub->given_next, till = from;
        long long size = 100; /* for the batch's other members */
        while (till < hub->given_count) {
            size_t stop = till;
            long long more = size;
            hh_text group = hh_get(hub->given[till], "group"), other;
            do {
                more += (long long)hub->given[stop++].size + 1;
                other = group.data && stop < hub->given_count ? hh_get(hub->given[stop], "group") : hh_of(NULL, 0);
            } while (other.data && other.size == group.size && !memcmp(other.data, group.data, group.size));
            if ((long long)(stop - from) > most || more > frame) {
                if (till == from)
                    hh_refuse(hub, "size", "records %zu to %zu, %lld bytes, belong together and do not fit into a batch of %lld records and %lld bytes",
                        from, stop - 1, more, most, frame);
                break;
            }
            if ((long long)(stop - from) > hub->records || more > hub->bytes) break;
            till = stop;
            size = more;
        }
        if (till == from) return; /* more credit comes with STORED */
        hh_buffer text = {NULL, 0, 0};
        hh_print(&text, "{\"batch\":%lld,%s\"records\":[", ++hub->number, hub->is_backfill ? "\"backfill\":true," : "");
        for (size_t n = from; n < till; n++) {
            if (n > from) hh_put(&text, ",", 1);
            hh_put(&text, hub->given[n].data, hub->given[n].size);
        }
        hh_put(&text, "]}", 2);
        if (hub->sent_count == hub->sent_room) {
            hub->sent_room = 2 * hub->sent_room + 16;
            hub->sent = (hh_sent *)hh_need(realloc(hub->sent, hub->sent_room * sizeof *hub->sent));
        }
        hh_sent *sent = &hub->sent[hub->sent_count++];
        sent->batch = hub->number;
        sent->from = from;
        sent->till = till;
        hub->given_next = till;
        hub->records -= (long long)(till - from);
        hub->bytes -= (long long)text.size;
        hh_send(hub, "SAMPLES", hh_all(&text));
        free(text.data);
    }
}

static double hh_beat(hh_hub *hub, const char *name) {
    long long milliseconds = 0;
    hh_integer(hh_get(hh_get(hh_all(&hub->welcome), "heartbeat"), name), &milliseconds);
    return (double)milliseconds / 1000;
}

/* Sends due messages, and returns the seconds until the next one is due. */
static double hh_work_off(hh_hub *hub, double now) {
    if (hub->is_dead || hub->is_over) return 1;
    if (!hub->is_open) {
        if (now - hub->greeted >= 2) {
            hub->greeted = now;
            hh_send(hub, "HELLO", hh_all(&hub->hello));
        }
        return fmax(0.01, hub->greeted + 2 - now);
    }
    if (now - hub->heard > hh_beat(hub, "timeout")) {
        hub->is_open = 0;
        hub->greeted = -1e9;
        return 0;
    }
    /* If a call waits for an answer, check sooner whether the hub has been restarted. */
    double interval = hh_beat(hub, "interval");
    if (hub->sent_count || hub->asked) interval = fmin(1, interval);
    if (now - fmax(hub->heard, hub->pinged) >= interval) {
        hub->pinged = now;
        hh_send(hub, "PING", hh_of("{}", 2));
    }
    double due = fmax(hub->heard, hub->pinged) + interval;
    for (hh_handler *handler = hub->handlers; handler; handler = handler->next) {
        if (handler->due > 0 && now >= handler->due) {
            handler->due = 0;
            hh_send(hub, "WANT", hh_all(&handler->want));
        } else if (handler->due > 0) due = fmin(due, handler->due);
    }
    if (now >= hub->hold) hh_fill(hub);
    else due = fmin(due, hub->hold);
    if (hub->has_question && !hub->asked && !*hub->code) {
        if (now >= hub->question_due) {
            hh_buffer text = {NULL, 0, 0};
            hh_text members = hh_all(&hub->question);
            hub->asked = ++hub->number;
            hh_print(&text, "{\"id\":%lld,%.*s", hub->asked, (int)members.size - 1, members.data + 1);
            hh_send(hub, hub->verb, hh_all(&text));
            free(text.data);
        } else due = fmin(due, hub->question_due);
    }
    return fmax(0, due - now);
}

/* The member at VERB.a.b of a body: 's' a text, 'i' an integer, 'a' an array; otherwise an error that names it. */
static int hh_member(hh_hub *hub, hh_text body, const char *path, char kind, hh_text *value, long long *number) {
    char name[64];
    const char *at = strchr(path, '.');
    *value = body;
    while (at) {
        const char *stop = strchr(++at, '.');
        snprintf(name, sizeof name, "%.*s", (int)(stop ? stop - at : (long)strlen(at)), at);
        *value = hh_get(*value, name);
        at = stop;
    }
    if (value->data && (kind == 'i' ? hh_integer(*value, number) : *value->data == (kind == 's' ? '"' : '['))) return 1;
    hh_refuse(hub, "protocol", "the hub's %s is not %s: is this a hub, and how old is it?", path, kind == 's' ? "a text" : kind == 'i' ? "an integer" : "an array");
    hh_die(hub);
    return 0;
}

static int hh_earn(hh_hub *hub, hh_text body) {
    long long records, bytes;
    hh_text value;
    if (!hh_get(body, "credit").data) return 1;
    if (!hh_member(hub, body, "STORED.credit.records", 'i', &value, &records) || !hh_member(hub, body, "STORED.credit.bytes", 'i', &value, &bytes)) return 0;
    hub->records += records;
    hub->bytes += bytes;
    return 1;
}

static void hh_empty(hh_hub *hub) {
    while (hub->inbox) {
        hh_item *item = hub->inbox;
        hub->inbox = item->next;
        free(item->body.data);
        free(item);
    }
}

static void hh_hear_welcome(hh_hub *hub, hh_text body) {
    const char *paths[] = {"WELCOME.limits.batchRecords", "WELCOME.limits.frameBytes", "WELCOME.heartbeat.interval", "WELCOME.heartbeat.timeout",
        "WELCOME.credit.records", "WELCOME.credit.bytes"};
    hh_text session, value;
    long long numbers[6];
    if (!hh_member(hub, body, "WELCOME.session", 's', &session, NULL) || !hh_member(hub, body, "WELCOME.epoch", 's', &value, NULL)) return;
    for (int n = 0; n < 6; n++) if (!hh_member(hub, body, paths[n], 'i', &value, &numbers[n])) return;
    int is_another = session.size != hub->session.size || memcmp(session.data, hub->session.data, session.size) != 0;
    hub->session.size = hub->welcome.size = 0;
    hh_put(&hub->session, session.data, session.size);
    hh_put(&hub->welcome, body.data, body.size);
    hub->is_open = 1;
    if (!is_another) return;
    hub->sessions++;
    hub->is_stopping = 0;
    hub->hold = 0;
    hub->records = numbers[4];
    hub->bytes = numbers[5];
    hh_rewind(hub);
    if (hub->asked && !strcmp(hub->verb, "TOKEN-PUT")) hh_refuse(hub, "lost", "the session ended before the hub answered: ask which token it has");
    hub->asked = 0;
    hh_empty(hub); /* deliveries without an answer come again */
    for (hh_handler *handler = hub->handlers; handler; handler = handler->next)
        if (handler->deliver) hh_send(hub, "WANT", hh_all(&handler->want));
}

static void hh_hear_stored(hh_hub *hub, hh_text body) {
    hh_text value, results, result;
    long long batch;
    if (!hh_member(hub, body, "STORED.batch", 'i', &value, &batch) || !hh_earn(hub, body)) return;
    if (!hub->sent_count || hub->sent[0].batch != batch) return; /* it was sent again since then; batches are answered in their order */
    size_t count = 0, place = 0, wanted = hub->sent[0].till - hub->sent[0].from;
    if (!hh_member(hub, body, "STORED.results", 'a', &results, NULL)) return;
    while (hh_next(results, &place, &result)) count++;
    if (count != wanted) {
        hh_refuse(hub, "protocol", "STORED.results has %zu results for %zu records", count, wanted);
        hh_die(hub);
        return;
    }
    for (place = count = 0; hh_next(results, &place, &result); count++) {
        hh_text word = hh_get(result, "result");
        if (!hh_is(word, "stored") && !hh_is(word, "duplicate") && !hh_is(word, "rejected")) {
            hh_refuse(hub, "protocol", "STORED.results[%zu].result is none of stored, duplicate, rejected", count);
            hh_die(hub);
            return;
        }
    }
    hub->sent_count--;
    memmove(hub->sent, hub->sent + 1, hub->sent_count * sizeof *hub->sent);
    for (place = 0; hh_next(results, &place, &result); hub->given_done++) if (hub->take) hub->take(hub->user, hub->given_done, result);
}

static void hh_hear_error(hh_hub *hub, hh_text body) {
    hh_text value, want = hh_get(body, "want");
    long long ref = -1, after = 1000;
    if (!hh_member(hub, body, "ERROR.code", 's', &value, NULL) || !hh_earn(hub, body)) return;
    hh_integer(hh_get(body, "ref"), &ref);
    hh_integer(hh_get(body, "after"), &after);
    double due = hh_now() + (double)after / 1000;
    hh_buffer code = {NULL, 0, 0}, reason = {NULL, 0, 0};
    hh_string(value, &code);
    if (!hh_string(hh_get(body, "reason"), &reason)) hh_put(&reason, "", 0);
    int is_store = !strcmp(code.data, "store"), is_stopping = !strcmp(code.data, "stopping"), is_mine = 0;
    for (size_t n = 0; n < hub->sent_count; n++) is_mine = is_mine || hub->sent[n].batch == ref;
    hh_text closed = hh_get(body, "closed");
    if (!strcmp(code.data, "hello-first")) {
        if (hub->is_open) hub->greeted = -1e9;
        hub->is_open = 0;
    } else if (want.data && is_store) {
        for (hh_handler *handler = hub->handlers; handler; handler = handler->next) if (hh_is(want, handler->name)) handler->due = due;
    } else if (want.data || (closed.data && *closed.data == 't')) {
        hh_refuse(hub, code.data, "%s", reason.data);
        hh_die(hub);
    } else if (is_mine && (is_store || is_stopping)) {
        /* The hub also refuses the batches after it, in their order: send all of them again. */
        hub->hold = is_store ? due : 1e18;
        hub->is_stopping = hub->is_stopping || is_stopping;
        hh_rewind(hub);
    } else if (hub->asked && ref == hub->asked && (is_store || !strcmp(code.data, "busy"))) {
        hub->asked = 0;
        hub->question_due = due;
    } else if (is_mine || (hub->asked && ref == hub->asked)) {
        hh_refuse(hub, code.data, "%s", reason.data);
        hub->answer.size = 0;
        hh_put(&hub->answer, body.data, body.size);
    } else if (!is_store && !is_stopping) {
        fprintf(stderr, "the hub says: %s: %s\n", code.data, reason.data);
    }
    free(code.data);
    free(reason.data);
}

static void hh_hear(hh_hub *hub, hh_text verb, hh_text body) {
    const char *verbs[] = {"WELCOME", "STORED", "RESULT", "DELIVER", "COMMAND", "PING", "PONG", "STOP", "BYE", "ERROR", "TOKEN"};
    int which = 0;
    while (which < 11 && (strlen(verbs[which]) != verb.size || memcmp(verbs[which], verb.data, verb.size))) which++;
    if (which == 11) return; /* a verb of a newer protocol */
    if (!hh_valid(body) || *hh_blank(body.data, body.data + body.size) != '{') {
        hh_refuse(hub, "protocol", "the hub's %s is not a JSON object", verbs[which]);
        hh_die(hub);
        return;
    }
    hub->heard = hh_now();
    hh_text value;
    long long number;
    if (which == 0) hh_hear_welcome(hub, body);
    if (which == 1) hh_hear_stored(hub, body);
    if ((which == 2 || which == 10) && hh_member(hub, body, which == 2 ? "RESULT.id" : "TOKEN.id", 'i', &value, &number) && hub->asked && number == hub->asked) {
        hub->answer.size = 0;
        hh_put(&hub->answer, body.data, body.size);
        hub->has_question = 0;
        hub->asked = 0;
    }
    if (which == 3 || (which == 4 && hh_get(body, "command").data)) {
        int is_right = which == 3 ? hh_member(hub, body, "DELIVER.want", 's', &value, NULL) && hh_member(hub, body, "DELIVER.delivery", 'i', &value, &number)
                && hh_member(hub, body, "DELIVER.records", 'a', &value, NULL)
            : hh_member(hub, body, "COMMAND.id", 'i', &value, &number) && hh_member(hub, body, "COMMAND.command", 's', &value, NULL);
        if (!is_right) return;
        hh_item *item = (hh_item *)hh_need(calloc(1, sizeof *item)), **last = &hub->inbox;
        item->is_delivery = which == 3;
        hh_put(&item->body, body.data, body.size);
        while (*last) last = &(*last)->next;
        *last = item;
    }
    if (which == 5) hh_send(hub, "PONG", body);
    if (which == 7) hub->is_stopping = 1;
    if (which == 8) {
        hub->is_open = 0;
        hub->is_over = 1;
    }
    if (which == 9) hh_hear_error(hub, body);
}

/* Whether there was a message; its first frames, and how many it had. */
static int hh_receive(void *socket, zmq_msg_t frames[3], int *count) {
    *count = 0;
    for (int more = 1; more;) {
        zmq_msg_t rest, *frame = *count < 3 ? &frames[*count] : &rest;
        zmq_msg_init(frame);
        if (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) return 0;
        more = zmq_msg_more(frame);
        if (frame == &rest) zmq_msg_close(frame);
        ++*count;
    }
    for (int n = *count; n < 3; n++) zmq_msg_init(&frames[n]);
    return 1;
}

static hh_text hh_frame(zmq_msg_t *frame) { return hh_of((const char *)zmq_msg_data(frame), zmq_msg_size(frame)); }

static void hh_hear_handshake(hh_hub *hub, hh_text event) {
    unsigned short kind;
    if (event.size < sizeof kind || hub->is_dead) return;
    memcpy(&kind, event.data, sizeof kind);
    if (kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        if (hub->is_open) hh_send(hub, "PING", hh_of("{}", 2)); /* the hub may have been restarted and not know the session */
    } else if (kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
        if (hub->token.data) hh_refuse(hub, "forbidden", "the hub at %s does not know this launch token", hub->address.data);
        else hh_refuse(hub, "forbidden", "the hub at %s does not know the key of %s (any more): hub keys list shows the keys", hub->address.data, hub->instance.data);
        hh_die(hub);
    }
}

/* Sends due messages, waits for an event, and handles it. */
static void hh_turn(hh_hub *hub, double seconds, void *bell) {
    double due = hh_work_off(hub, hh_now());
    if (seconds >= 0) due = fmin(due, seconds);
    zmq_pollitem_t items[4];
    int count = 0, input = -1;
    memset(items, 0, sizeof items);
    items[count++].socket = hub->door;
    items[count++].socket = hub->handshakes;
    if (hub->has_stdin) input = count++;
    if (bell) items[count++].socket = bell;
    for (int n = 0; n < count; n++) items[n].events = ZMQ_POLLIN;
    zmq_poll(items, count, (long)ceil(due * 1000));
    char rest[4096];
    if (input >= 0 && items[input].revents && read(0, rest, sizeof rest) <= 0) hub->has_stdin = 0;
    zmq_msg_t frames[3];
    for (int frame_count; hh_receive(hub->handshakes, frames, &frame_count);) {
        hh_hear_handshake(hub, hh_frame(&frames[0]));
        for (int f = 0; f < 3; f++) zmq_msg_close(&frames[f]);
    }
    for (int n = 0, frame_count; n < 100 && !hub->is_dead && hh_receive(hub->door, frames, &frame_count); n++) {
        if (frame_count == 2) {
            hh_hear(hub, hh_frame(&frames[0]), hh_frame(&frames[1]));
        } else {
            hh_refuse(hub, "protocol", "the hub sent a message of %d frames; a verb and a body are two", frame_count);
            hh_die(hub);
        }
        for (int f = 0; f < 3; f++) zmq_msg_close(&frames[f]);
    }
    hh_work_off(hub, hh_now());
}

/* Whether to wait on for an answer. */
static int hh_waits(hh_hub *hub) {
    if (*hub->code) return 0;
    if (!hh_is_stopping(hub)) return 1;
    hh_refuse(hub, "stopping", "the hub stops this program; what was not stored is given again");
    return 0;
}

/* ---- The public functions ---- */

static const char *hh_first(const char *a, const char *b, const char *c) { return a && *a ? a : b && *b ? b : c; }

static void *hh_socket(hh_hub *hub, int kind, const char *address) {
    void *socket = zmq_socket(hub->context, kind);
    int options[] = {ZMQ_LINGER, 0, ZMQ_RECONNECT_IVL, 50, ZMQ_RECONNECT_IVL_MAX, 1000, ZMQ_SNDHWM, 10000, ZMQ_RCVHWM, 10000,
        /* ZeroMQ must not queue messages for an absent hub: the next session repeats every open request. */
        ZMQ_IMMEDIATE, kind == ZMQ_DEALER};
    for (size_t n = 0; n < sizeof options / sizeof *options; n += 2) zmq_setsockopt(socket, options[n], &options[n + 1], sizeof(int));
    int proofs[] = {ZMQ_CURVE_SERVERKEY, ZMQ_CURVE_PUBLICKEY, ZMQ_CURVE_SECRETKEY};
    for (int n = 0; n < 3; n++) if (hub->keys[n].data) zmq_setsockopt(socket, proofs[n], hub->keys[n].data, hub->keys[n].size);
    if (hub->token.data) {
        zmq_setsockopt(socket, ZMQ_PLAIN_USERNAME, hub->instance.data, hub->instance.size);
        zmq_setsockopt(socket, ZMQ_PLAIN_PASSWORD, hub->token.data, hub->token.size);
    }
    /* Without it a log-in that the hub refuses, such as with a key that was revoked, looks like a hub that is away. */
    if (kind == ZMQ_DEALER) zmq_socket_monitor(socket, "inproc://handshakes",
        ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    if (zmq_connect(socket, address) != 0) {
        hh_refuse(hub, "socket", "%s: %s", address, zmq_strerror(zmq_errno()));
        hh_die(hub);
    }
    return socket;
}

hh_hub *hh_open(const hh_options *options) {
    hh_hub *hub = (hh_hub *)hh_need(calloc(1, sizeof *hub));
    hh_options none;
    memset(&none, 0, sizeof none);
    if (!options) options = &none;
    hub->greeted = -1e9;
    hub->context = zmq_ctx_new();
    const char *path = options->key ? options->key : options->door ? NULL : getenv("HUB_KEY");
    hh_buffer file = {NULL, 0, 0}, door = {NULL, 0, 0}, own = {NULL, 0, 0};
    if (path) {
        FILE *stream = fopen(path, "r");
        char part[4096];
        for (size_t size; stream && (size = fread(part, 1, sizeof part, stream)) > 0;) hh_put(&file, part, size);
        if (stream) fclose(stream);
        hh_text keys = hh_all(&file);
        if (!hh_valid(keys) || !hh_string(hh_get(keys, "serverKey"), &hub->keys[0]) || !hh_string(hh_get(keys, "publicKey"), &hub->keys[1])
            || !hh_string(hh_get(keys, "secretKey"), &hub->keys[2]) || !hh_string(hh_get(keys, "door"), &door) || !hh_string(hh_get(keys, "instance"), &own)) {
            hh_refuse(hub, "key", "%s is not a key file, which hub keys new NAME makes", path);
            hh_die(hub);
        }
        hh_string(hh_get(keys, "feed"), &hub->feed);
    }
    const char *instance = hh_first(options->instance, own.data, hh_first(getenv("HUB_INSTANCE"), NULL, ""));
    const char *address = hh_first(options->door, door.data, hh_first(getenv("HUB_DOOR"), NULL, ""));
    const char *feed = hh_first(options->feed, hub->feed.data, path ? NULL : getenv("HUB_FEED"));
    if (feed && feed != hub->feed.data) hh_put(&hub->feed, feed, strlen(feed));
    hh_put(&hub->instance, instance, strlen(instance));
    if (!*instance || !*address) {
        hh_refuse(hub, "door", "no %s: give one, or set HUB_%s; eval \"$(hub status --env)\" sets HUB_DOOR", *instance ? "door" : "instance",
            *instance ? "DOOR" : "INSTANCE");
        hh_die(hub);
    }
    if (options->token) {
        hh_put(&hub->token, options->token, strlen(options->token));
        hub->is_launched = hub->has_stdin = 1;
    }
    hh_print(&hub->hello, "{\"protocol\":[1],\"instance\":");
    hh_quote(&hub->hello, instance);
    hh_print(&hub->hello, ",\"plugin\":");
    hh_quote(&hub->hello, options->plugin ? options->plugin : instance);
    hh_print(&hub->hello, ",\"version\":");
    hh_quote(&hub->hello, options->version ? options->version : "1.0");
    if (options->members && *options->members) hh_print(&hub->hello, ",%s", options->members);
    hh_put(&hub->hello, "}", 1);
    hh_put(&hub->address, address, strlen(address));
    if (!*hub->code) hub->door = hh_socket(hub, ZMQ_DEALER, address);
    if (!*hub->code) hub->handshakes = hh_socket(hub, ZMQ_PAIR, "inproc://handshakes");
    free(file.data);
    free(door.data);
    free(own.data);
    return hub;
}

void hh_close(hh_hub *hub) {
    double till = hh_now() + 1;
    if (hub->is_open) hh_send(hub, "BYE", hh_of("{}", 2));
    else hub->is_over = 1;
    while (!hub->is_over && !hub->is_dead && hh_now() < till) hh_turn(hub, 0.05, NULL);
    if (hub->door) zmq_socket_monitor(hub->door, NULL, 0); /* before its reader is closed, for which libzmq would wait */
    if (hub->handshakes) zmq_close(hub->handshakes);
    if (hub->door) zmq_close(hub->door);
    zmq_ctx_term(hub->context);
    hh_empty(hub);
    while (hub->handlers) {
        hh_handler *handler = hub->handlers;
        hub->handlers = handler->next;
        free(handler->name);
        free(handler->want.data);
        free(handler->pause.data);
        free(handler);
    }
    hh_buffer *buffers[] = {&hub->address, &hub->hello, &hub->welcome, &hub->session, &hub->instance, &hub->feed, &hub->token, &hub->keys[0], &hub->keys[1],
        &hub->keys[2], &hub->reason, &hub->question, &hub->answer};
    for (size_t n = 0; n < sizeof buffers / sizeof *buffers; n++) free(buffers[n]->data);
    free(hub->sent);
    free(hub);
}

hh_text hh_welcome(hh_hub *hub) {
    while (!hub->welcome.size && hh_waits(hub)) hh_turn(hub, -1, NULL);
    return hh_all(&hub->welcome);
}

/* An earlier refusal no longer counts, unless it is final. */
static void hh_begin(hh_hub *hub) {
    if (!hub->is_dead) *hub->code = 0;
}

int hh_give(hh_hub *hub, const hh_text *records, size_t count, int is_backfill, hh_take take, void *user) {
    hh_begin(hub);
    for (size_t n = 0; n < count; n++) {
        if (!hh_valid(records[n])) {
            hh_refuse(hub, "json", "record %zu is not JSON", n);
            return -1;
        }
    }
    hub->given = records;
    hub->given_count = count;
    hub->given_next = hub->given_done = 0;
    hub->is_backfill = is_backfill;
    hub->take = take;
    hub->user = user;
    hub->sent_count = 0;
    if (count) hh_turn(hub, 0, NULL);
    while (hub->given_done < count && hh_waits(hub)) hh_turn(hub, -1, NULL);
    int result = hub->given_done == count ? 0 : -1;
    hub->given = NULL;
    hub->sent_count = 0;
    return result;
}

/* One answer, which stays until the next. */
static int hh_question(hh_hub *hub, const char *verb, hh_text question) {
    hh_text name, value;
    size_t at = 0;
    hh_begin(hub);
    if (!hh_step(question, &at, &name, &value)) {
        hh_refuse(hub, "field", "%s has no members", verb);
        return -1;
    }
    hub->verb = verb;
    hub->question.size = 0;
    hh_put(&hub->question, question.data, question.size);
    hub->has_question = 1;
    hub->asked = 0;
    hub->question_due = 0;
    hub->answer.size = 0;
    hh_turn(hub, 0, NULL);
    while (hub->has_question && hh_waits(hub)) hh_turn(hub, -1, NULL);
    int result = hub->has_question ? -1 : 0;
    hub->has_question = 0;
    hub->asked = 0;
    return result;
}

static int hh_page(hh_hub *hub, hh_text question) { return hh_question(hub, "QUERY", question); }

/* The JSON object at the beginning of the body, or nothing if there is none. */
static hh_text hh_object(hh_hub *hub, const char *body) {
    hh_text object = hh_of(body, strlen(body));
    if (!hh_valid(object) || *hh_blank(body, body + object.size) != '{') {
        hh_refuse(hub, "json", "the body is not a JSON object");
        return hh_of(NULL, 0);
    }
    object.data = hh_blank(body, body + object.size);
    object.size = strlen(object.data);
    while (object.data[object.size - 1] != '}') object.size--;
    return object;
}

static int hh_tell(hh_hub *hub, const char *verb, const char *body) {
    hh_begin(hub);
    hh_text object = hh_object(hub, body);
    if (!object.data || !hh_welcome(hub).size || !hub->is_open) return 0;
    hh_send(hub, verb, object);
    return hub->is_open;
}

int hh_live(hh_hub *hub, const char *body) { return hh_tell(hub, "LIVE", body); }
int hh_event(hh_hub *hub, const char *body) { return hh_tell(hub, "EVENT", body); }

static hh_text hh_ask_token(hh_hub *hub, const char *verb, const char *body) {
    hh_begin(hub);
    hh_text object = hh_object(hub, body);
    return object.data && hh_question(hub, verb, object) == 0 ? hh_all(&hub->answer) : hh_of(NULL, 0);
}

hh_text hh_token(hh_hub *hub, const char *body) { return hh_ask_token(hub, "TOKEN", body); }
hh_text hh_put_token(hh_hub *hub, const char *body) { return hh_ask_token(hub, "TOKEN-PUT", body); }

int hh_ask(hh_hub *hub, const char *question, hh_take take, void *user) {
    hh_buffer asked = {NULL, 0, 0}, page = {NULL, 0, 0};
    size_t n = 0;
    int result = 0;
    hh_text next = hh_of(NULL, 0);
    if (!hh_valid(hh_of(question, strlen(question))) || *question != '{') {
        hh_refuse(hub, "json", "the question is not a JSON object");
        return -1;
    }
    do {
        asked.size = 0;
        hh_put(&asked, question, strlen(question));
        while (asked.data[asked.size - 1] != '}') asked.size--;
        if (next.data) {
            asked.size--;
            hh_print(&asked, ",\"next\":%.*s}", (int)next.size, next.data);
        }
        if ((result = hh_page(hub, hh_all(&asked))) != 0) break;
        page.size = 0; /* a copy: `take` may ask, too */
        hh_put(&page, hub->answer.data, hub->answer.size);
        hh_text body = hh_all(&page), statistics = hh_get(body, "statistics"), one;
        hh_text list = statistics.data ? hh_get(statistics, "intervals") : hh_get(body, "records");
        if (!list.data) {
            hh_refuse(hub, "protocol", "the hub's RESULT has neither records nor statistics.intervals");
            result = -1;
            break;
        }
        next = hh_get(statistics.data ? statistics : body, "next");
        for (size_t place = 0; hh_next(list, &place, &one); n++) take(user, n, one);
    } while (next.data);
    free(asked.data);
    free(page.data);
    return result;
}

int hh_follow(hh_hub *hub, const char *types, const char *start, hh_change take, void *user) {
    hh_buffer place = {NULL, 0, 0}, question = {NULL, 0, 0}, page = {NULL, 0, 0}, epoch = {NULL, 0, 0}, other = {NULL, 0, 0};
    int result = 0, has_more = 1, is_wanted = 1;
    if (start) hh_put(&place, start, strlen(start));
    else if (hh_string(hh_get(hh_welcome(hub), "epoch"), &place)) hh_put(&place, "-0", 2);
    void *bell = NULL;
    if (hub->feed.size && !*hub->code) {
        bell = hh_socket(hub, ZMQ_SUB, hub->feed.data);
        zmq_setsockopt(bell, ZMQ_SUBSCRIBE, "hub/pulse/", 10);
        const char *names[] = {"sample/", "retraction/"};
        for (int n = 0; n < 2; n++) {
            hh_text type;
            size_t at = 0;
            if (!types) zmq_setsockopt(bell, ZMQ_SUBSCRIBE, names[n], strlen(names[n]));
            while (types && hh_next(hh_of(types, strlen(types)), &at, &type)) {
                other.size = 0;
                hh_put(&other, names[n], strlen(names[n]));
                hh_string(type, &other);
                hh_put(&other, "/", 1);
                zmq_setsockopt(bell, ZMQ_SUBSCRIBE, other.data, other.size);
            }
        }
    }
    while (is_wanted && !hub->is_dead && !hh_is_stopping(hub)) {
        long long sessions = hub->sessions;
        if (has_more) {
            question.size = epoch.size = 0;
            hh_print(&question, "{\"want\":\"records\",\"since\":\"%s\"%s%s}", place.data, types ? ",\"types\":" : "", types ? types : "");
            if (hh_page(hub, hh_all(&question)) != 0) {
                if (strcmp(hub->code, "epoch")) break;
                hh_string(hh_get(hh_all(&hub->answer), "epoch"), &epoch);
                place.size = 0;
                hh_print(&place, "%s-0", epoch.data ? epoch.data : "");
                is_wanted = take(user, hh_of(NULL, 0), place.data) == 0;
                continue;
            }
            page.size = 0;
            hh_put(&page, hub->answer.data, hub->answer.size);
            hh_text body = hh_all(&page), cursor, records, record;
            if (!hh_member(hub, body, "RESULT.cursor", 's', &cursor, NULL) || !hh_member(hub, body, "RESULT.records", 'a', &records, NULL)) break;
            for (size_t at = 0; is_wanted && hh_next(records, &at, &record);) {
                long long sequence = 0;
                hh_integer(hh_get(record, "seq"), &sequence);
                place.size = 0;
                hh_print(&place, "%.8s-%lld", cursor.data + 1, sequence);
                is_wanted = take(user, record, place.data) == 0;
            }
            place.size = 0;
            hh_string(cursor, &place);
            has_more = hh_get(body, "next").data != NULL;
            continue;
        }
        hh_turn(hub, bell ? -1 : 1, bell);
        has_more = !bell || sessions != hub->sessions;
        zmq_msg_t frames[3];
        for (int count; bell && hh_receive(bell, frames, &count);) {
            hh_text topic = hh_frame(&frames[0]), pulse = hh_frame(&frames[2]);
            int is_news = 1;
            if (count == 3 && topic.size == 10 && !memcmp(topic.data, "hub/pulse/", 10) && hh_valid(pulse)) {
                long long head = 0;
                other.size = 0;
                hh_string(hh_get(pulse, "epoch"), &other);
                hh_integer(hh_get(pulse, "head"), &head);
                hh_print(&other, "-%lld", head);
                is_news = strcmp(other.data, place.data) != 0;
            }
            has_more = has_more || is_news;
            for (int n = 0; n < 3; n++) zmq_msg_close(&frames[n]);
        }
    }
    if (*hub->code && strcmp(hub->code, "stopping") && strcmp(hub->code, "epoch")) result = -1;
    if (bell) zmq_close(bell);
    free(place.data);
    free(question.data);
    free(page.data);
    free(epoch.data);
    free(other.data);
    return result;
}

static hh_handler *hh_handle(hh_hub *hub, const char *name, void *user) {
    hh_handler *handler = (hh_handler *)hh_need(calloc(1, sizeof *handler));
    handler->name = (char *)hh_need(strdup(name));
    handler->user = user;
    handler->next = hub->handlers;
    return hub->handlers = handler;
}

void hh_sink(hh_hub *hub, const char *want, hh_deliver deliver, void *user) {
    hh_buffer name = {NULL, 0, 0};
    hh_text object = hh_of(want, strlen(want));
    if (!hh_valid(object) || !hh_string(hh_get(object, "want"), &name)) {
        hh_refuse(hub, "json", "what is wanted is not a JSON object with a name under want");
        hh_die(hub);
        return;
    }
    hh_handler *handler = hh_handle(hub, name.data, user);
    handler->deliver = deliver;
    while (want[object.size - 1] != '}') object.size--;
    hh_put(&handler->want, want, object.size - 1);
    if (!hh_get(hh_of(want, strlen(want)), "credit").data) hh_print(&handler->want, ",\"credit\":{\"records\":1000,\"bytes\":%d}", 1 << 20);
    hh_put(&handler->want, "}", 1);
    if (hub->is_open) hh_send(hub, "WANT", hh_all(&handler->want));
    free(name.data);
}

void hh_command(hh_hub *hub, const char *name, hh_carry carry, void *user) { hh_handle(hub, name, user)->carry = carry; }

static void hh_work(hh_hub *hub, hh_item *item) {
    long long sessions = hub->sessions, id = 0;
    hh_text body = hh_all(&item->body), name = hh_get(body, item->is_delivery ? "want" : "command");
    hh_buffer answer = {NULL, 0, 0}, text = {NULL, 0, 0};
    hh_handler *handler = hub->handlers;
    while (handler && !(hh_is(name, handler->name) && (item->is_delivery ? handler->deliver != NULL : handler->carry != NULL))) handler = handler->next;
    hh_put(&answer, "", 0);
    hh_integer(hh_get(body, item->is_delivery ? "delivery" : "id"), &id);
    if (item->is_delivery && handler) {
        hh_text records = hh_get(body, "records"), one;
        size_t place = 0, count = 0, results = 0;
        hh_text pause;
        long long milliseconds = 0;
        if (hh_now() >= handler->paused) handler->deliver(handler->user, records, &answer);
        else hh_print(&answer, "{\"pause\":%.0f,\"reason\":%s}", ceil(1000 * (handler->paused - hh_now())), handler->pause.data); /* it was already in transit */
        while (hh_next(records, &place, &one)) count++;
        place = 0;
        if (hh_valid(hh_all(&answer)) && hh_integer(pause = hh_get(hh_all(&answer), "pause"), &milliseconds)) {
            hh_text reason = hh_get(hh_all(&answer), "reason");
            if (!reason.data || *reason.data != '"') reason = hh_of("\"the target is away\"", 20);
            handler->paused = hh_now() + (double)milliseconds / 1000;
            hh_buffer said = {NULL, 0, 0};
            hh_put(&said, reason.data, reason.size);
            free(handler->pause.data);
            handler->pause = said;
            answer.size = 0;
            for (size_t n = 0; n < count; n++)
                hh_print(&answer, "%s{\"result\":\"retry\",\"after\":%lld,\"reason\":%s}", n ? "," : "[", milliseconds, handler->pause.data);
            hh_put(&answer, "]", 1);
        }
        while (hh_valid(hh_all(&answer)) && hh_next(hh_all(&answer), &place, &one)) results++;
        if (results != count) {
            hh_refuse(hub, "field", "%s: %zu records were delivered, %zu results came", handler->name, count, results);
            hh_die(hub);
        } else {
            hh_print(&text, "{\"want\":%.*s,\"delivery\":%lld,\"results\":%s,\"credit\":{\"records\":%zu,\"bytes\":%zu}", (int)name.size, name.data, id,
                answer.data, count, body.size);
            if (milliseconds) hh_print(&text, ",\"pause\":%lld", milliseconds);
            hh_put(&text, "}", 1);
        }
    } else if (!item->is_delivery) {
        hh_text args = hh_get(body, "args"), dry = hh_get(body, "dryRun");
        int has_failed = !handler || handler->carry(handler->user, args.data ? args : hh_of("{}", 2), dry.data && *dry.data == 't', &answer) != 0;
        hh_print(&text, "{\"id\":%lld,\"outcome\":\"%s\"", id, has_failed ? "failed" : "done");
        if (!has_failed && answer.size) hh_print(&text, ",\"result\":%s", answer.data);
        if (has_failed) {
            hh_print(&text, ",\"code\":\"%s\",\"reason\":", handler ? "failed" : "command");
            hh_quote(&text, handler ? answer.data : "there is no such command");
        }
        hh_put(&text, "}", 1);
    }
    /* In a new session the hub repeats deliveries without an answer, and has given up the command. */
    if (text.size && hub->is_open && sessions == hub->sessions) hh_send(hub, item->is_delivery ? "DONE" : "OUTCOME", hh_all(&text));
    free(answer.data);
    free(text.data);
}

int hh_serve(hh_hub *hub, double seconds) {
    double till = seconds < 0 ? 1e18 : hh_now() + seconds;
    hh_begin(hub);
    while (!hub->is_dead && !hh_is_stopping(hub) && hh_now() < till) {
        while (hub->inbox && !hub->is_dead && !hh_is_stopping(hub)) {
            hh_item *item = hub->inbox;
            hub->inbox = item->next;
            hh_work(hub, item);
            free(item->body.data);
            free(item);
            hh_turn(hub, 0, NULL);
        }
        hh_turn(hub, fmin(till - hh_now(), 3600), NULL);
    }
    return hub->is_dead ? -1 : 0;
}

int hh_plugin(int argc, char **argv, const char *manifest, int (*run)(hh_hub *hub), void (*object)(hh_text settings, hh_buffer *objections)) {
    const char *argument = argc == 2 ? argv[1] : "";
    if (!strcmp(argument, "--describe")) return puts(manifest) < 0;
    if (!strcmp(argument, "--check-settings")) {
        hh_buffer settings = {NULL, 0, 0}, objections = {NULL, 0, 0};
        char part[4096];
        for (ssize_t size; (size = read(0, part, sizeof part)) > 0;) hh_put(&settings, part, (size_t)size);
        if (object && hh_valid(hh_all(&settings))) object(hh_all(&settings), &objections);
        printf("{\"objections\":[%s]}\n", objections.data ? objections.data : "");
        free(settings.data);
        free(objections.data);
        return 0;
    }
    if (strcmp(argument, "--run")) {
        fprintf(stderr, "the hub starts this program with --run; --describe prints what it is\n");
        return 64;
    }
    char token[256];
    size_t size = 0;
    while (size < sizeof token - 1 && read(0, token + size, 1) == 1 && token[size] != '\n') size++;
    token[size] = 0;
    hh_text whole = hh_of(manifest, strlen(manifest));
    hh_buffer name = {NULL, 0, 0}, version = {NULL, 0, 0}, members = {NULL, 0, 0};
    hh_string(hh_get(whole, "name"), &name);
    hh_string(hh_get(whole, "version"), &version);
    const char *asked[] = {"reads", "writes", "declares"};
    for (int n = 0; n < 3; n++) {
        hh_text value = hh_get(whole, asked[n]);
        if (value.data) hh_print(&members, "%s\"%s\":%.*s", members.size ? "," : "", asked[n], (int)value.size, value.data);
    }
    hh_options options;
    memset(&options, 0, sizeof options);
    options.plugin = name.data;
    options.version = version.data;
    options.members = members.data;
    options.token = token;
    hh_hub *hub = hh_open(&options);
    int code = 0;
    if (hh_welcome(hub).size && !*hub->code) code = run(hub);
    if (*hub->code && strcmp(hub->code, "stopping")) {
        fprintf(stderr, "%s: %s\n", hh_code(hub), hh_reason(hub));
        if (!code) code = strcmp(hub->code, "protocol") ? 77 : 76;
    }
    hh_close(hub);
    free(name.data);
    free(version.data);
    free(members.data);
    return code;
}
#endif
