// Sends passing values through a router: the hub, the C relay or zmq_proxy. Prints how many a second reach each listener.
//
// Without a burst, senders send as fast as they can for a while. With a burst, one sender sends that number of messages, and every
// listener has to receive them all. The figure is the time until the last listener has the last message.
#define _GNU_SOURCE
#include "common.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { hub, relay, proxy };
static int mode;
static const char *door_endpoint, *feed_endpoint;
static void *sending, *listening;
static atomic_int ready, begun, ended;
static int listeners;

static const char body[] =
    "{\"type\":\"heartRate\",\"value\":72.5,\"unit\":\"count/min\",\"device\":\"020000003001\"}";
static const char topic[] = "live/heartRate/me/bench/", place[] = "0 0 k7qz2m5a";
// The message that the hub would send. The proxy adds nothing, so its senders send it whole.
static const char whole[] =
    "{\"type\":\"heartRate\",\"value\":72.5,\"unit\":\"count/min\",\"device\":\"020000003001\",\"person\":\"me\","
    "\"source\":\"bench\",\"time\":\"2024-03-15T06:30:05.123456Z\"}";

static void *connect_sender(int number) {
    char instance[32];
    snprintf(instance, sizeof instance, "bench-%d", number);
    if (mode == hub) return greet(sending, door_endpoint, instance, NULL);
    void *socket = open_socket(sending, mode == proxy ? ZMQ_PUB : ZMQ_DEALER);
    if (zmq_connect(socket, door_endpoint)) fail("%s: %s", door_endpoint, zmq_strerror(zmq_errno()));
    return socket;
}

static void send_value(void *socket) {
    if (mode == proxy) {
        send_frame(socket, topic, sizeof topic - 1, ZMQ_SNDMORE);
        send_frame(socket, place, sizeof place - 1, ZMQ_SNDMORE);
        send_frame(socket, whole, sizeof whole - 1, 0);
    } else {
        send_frame(socket, "LIVE", 4, ZMQ_SNDMORE);
        send_frame(socket, body, sizeof body - 1, 0);
    }
}

static void *connect_listener(int hwm) {
    void *socket = open_socket(listening, ZMQ_SUB);
    zmq_setsockopt(socket, ZMQ_RCVHWM, &hwm, sizeof hwm);
    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "live/", 5);
    if (zmq_connect(socket, feed_endpoint)) fail("%s: %s", feed_endpoint, zmq_strerror(zmq_errno()));
    return socket;
}

// Receives a message. Returns its size, or 0 if none came.
static size_t take_message(void *socket, int flags) {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    size_t size = 0;
    int more = 1;
    while (more) {
        if (zmq_msg_recv(&frame, socket, flags) < 0) return 0;
        size += zmq_msg_size(&frame);
        more = zmq_msg_more(&frame);
        flags = 0;
    }
    zmq_msg_close(&frame);
    return size;
}

static void *send_on(void *number) {
    void *socket = connect_sender((int)(intptr_t)number);
    while (ready < listeners) {  // Wait until every listener has received something: subscriptions need time.
        if (!number) send_value(socket);
        usleep(2000);
    }
    while (!begun) usleep(200);
    while (!ended)
        for (int count = 0; count < 64; count++) send_value(socket);
    zmq_close(socket);
    return NULL;
}

static void *listen_on(void *argument) {
    _Atomic long *heard = argument;
    void *socket = connect_listener(20000);
    int timeout = 100;
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout, sizeof timeout);
    while (!ended) {
        if (!take_message(socket, 0)) continue;
        if ((*heard)++ == 0) ready++;
    }
    zmq_close(socket);
    return NULL;
}

static void stream(int senders, double seconds) {
    pthread_t threads[senders + listeners];
    _Atomic long heard[listeners];
    for (int i = 0; i < listeners; i++) {
        heard[i] = 0;
        pthread_create(&threads[senders + i], NULL, listen_on, &heard[i]);
    }
    for (int i = 0; i < senders; i++) pthread_create(&threads[i], NULL, send_on, (void *)(intptr_t)i);
    while (ready < listeners) usleep(1000);
    begun = 1;
    usleep(200000);  // Let the rate become steady.
    long before = 0, after = 0;
    double begin = now();
    for (int i = 0; i < listeners; i++) before += heard[i];
    usleep(seconds * 1e6);
    for (int i = 0; i < listeners; i++) after += heard[i];
    figure("messages_per_s", (after - before) / (now() - begin) / listeners);
    ended = 1;
    _exit((fflush(stdout), 0));  // Senders may be blocked by a full queue.
}

static void burst(long count) {
    void **sockets = calloc(listeners, sizeof *sockets);
    for (int i = 0; i < listeners; i++) sockets[i] = connect_listener(0);
    void *sender = connect_sender(0);
    long probes = 0;
    for (int i = 0; i < listeners; i++)
        while (!take_message(sockets[i], ZMQ_DONTWAIT)) {
            send_value(sender);
            probes++;
            usleep(5000);
        }
    // Drop the probes that are still under way, until none is left.
    usleep(300000);
    for (int i = 0; i < listeners; i++)
        while (take_message(sockets[i], ZMQ_DONTWAIT)) continue;
    double begin = now();
    for (long i = 0; i < count; i++) send_value(sender);
    for (int i = 0; i < listeners; i++)
        for (long got = 0; got < count; got++)
            if (!take_message(sockets[i], 0)) fail("listener %d got %ld of %ld", i, got, count);
    figure("deliveries_per_s", count * listeners / (now() - begin));
    _exit((fflush(stdout), 0));
}

int main(int argc, char **argv) {
    const char *usage = "hub|relay|proxy DOOR FEED SENDERS LISTENERS SECONDS [BURST]";
    const char *kind = argument(argc, argv, 1, usage);
    mode = !strcmp(kind, "hub") ? hub : !strcmp(kind, "relay") ? relay : proxy;
    door_endpoint = argument(argc, argv, 2, usage);
    feed_endpoint = argument(argc, argv, 3, usage);
    int senders = atoi(argument(argc, argv, 4, usage));
    listeners = atoi(argument(argc, argv, 5, usage));
    double seconds = atof(argument(argc, argv, 6, usage));
    sending = zmq_ctx_new();
    listening = zmq_ctx_new();
    zmq_ctx_set(listening, ZMQ_MAX_SOCKETS, 4096);
    if (argc > 7) burst(atol(argv[7]));
    stream(senders, seconds);
}
