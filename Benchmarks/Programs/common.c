#define _GNU_SOURCE
#include "common.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

void figure(const char *name, double value) { printf("%s %.9g\n", name, value); }

const char *argument(int argc, char **argv, int index, const char *usage) {
    if (index >= argc) fail("usage: %s %s", argv[0], usage);
    return argv[index];
}

void *open_socket(void *context, int type) {
    void *socket = zmq_socket(context, type);
    if (!socket) fail("zmq_socket: %s", zmq_strerror(zmq_errno()));
    int zero = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero);
    int soon = 5;
    zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &soon, sizeof soon);
    return socket;
}

void send_frame(void *socket, const void *bytes, size_t count, int flags) {
    while (zmq_send(socket, bytes, count, flags) == -1)
        if (zmq_errno() != EINTR) fail("zmq_send: %s", zmq_strerror(zmq_errno()));
}

int is(answer *answer, const char *verb) {
    size_t count = strlen(verb);
    return zmq_msg_size(&answer->verb) == count && !memcmp(zmq_msg_data(&answer->verb), verb, count);
}

void release(answer *answer) {
    zmq_msg_close(&answer->verb);
    zmq_msg_close(&answer->body);
}

int receive(void *door, answer *answer, int flags) {
    while (1) {
        zmq_msg_init(&answer->verb);
        zmq_msg_init(&answer->body);
        if (zmq_msg_recv(&answer->verb, door, flags) == -1) {
            int error = zmq_errno();
            release(answer);
            if (error == EINTR) continue;
            if (error == EAGAIN) return 0;
            fail("zmq_msg_recv: %s", zmq_strerror(error));
        }
        if (!zmq_msg_more(&answer->verb) || zmq_msg_recv(&answer->body, door, 0) == -1) fail("half an answer");
        if (is(answer, "ERROR"))
            fail("ERROR %.*s", (int)zmq_msg_size(&answer->body), (char *)zmq_msg_data(&answer->body));
        if (!is(answer, "PING")) return 1;
        send_frame(door, "PONG", 4, ZMQ_SNDMORE);
        send_frame(door, zmq_msg_data(&answer->body), zmq_msg_size(&answer->body), 0);
        release(answer);
    }
}

const char *after(const char *from, size_t count, const char *word) {
    const char *place = memmem(from, count, word, strlen(word));
    if (!place) fail("no %s in %.*s", word, (int)(count < 200 ? count : 200), from);
    return place + strlen(word);
}

const char *after_last(const char *from, size_t count, const char *word) {
    size_t length = strlen(word);
    for (const char *place = from + count - length; place >= from; place--)
        if (!memcmp(place, word, length)) return place + length;
    fail("no %s in %.*s", word, (int)(count < 200 ? count : 200), from);
}

void *greet(void *context, const char *door, const char *instance, terms *terms) {
    void *socket = open_socket(context, ZMQ_DEALER);
    if (zmq_connect(socket, door)) fail("%s: %s", door, zmq_strerror(zmq_errno()));
    char hello[256];
    int count = snprintf(
        hello, sizeof hello, "{\"protocol\":[1],\"instance\":\"%s\",\"plugin\":\"bench\",\"version\":\"1.0\"}", instance);
    send_frame(socket, "HELLO", 5, ZMQ_SNDMORE);
    send_frame(socket, hello, count, 0);
    answer welcome;
    receive(socket, &welcome, 0);
    if (!is(&welcome, "WELCOME")) fail("no WELCOME");
    if (terms) {
        const char *body = zmq_msg_data(&welcome.body);
        size_t size = zmq_msg_size(&welcome.body);
        const char *credit = after(body, size, "\"credit\":{\"records\":");
        terms->records = atol(credit);
        terms->bytes = atol(after(credit, body + size - credit, "\"bytes\":"));
        memcpy(terms->epoch, after(body, size, "\"epoch\":\""), 8);
        terms->epoch[8] = 0;
    }
    release(&welcome);
    return socket;
}

int write_record(char *buffer, long index) {
    time_t start = 1420070400 + index;  // 2015-01-01T00:00:00Z
    struct tm utc, local;
    gmtime_r(&start, &utc);
    start += 3600;
    gmtime_r(&start, &local);
    char key[32], time[32];
    strftime(key, sizeof key, "%Y-%m-%dT%H:%M:%SZ", &utc);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S+01:00", &local);
    return snprintf(
        buffer, RECORD_ROOM, "{\"type\":\"heartRate\",\"value\":%ld.%ld,\"unit\":\"count/min\",\"start\":\"%s\",\"key\":\"%s\"}",
        55 + index * 7 % 90, 1 + index % 9, time, key);
}
