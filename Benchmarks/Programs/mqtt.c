// Publishes to Mosquitto with QoS 1, beside a subscriber with a persistent session. Prints how many records a second are acknowledged (PUBACK).
#include "common.h"
#include <mosquitto.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The number of messages under way. With more, the broker and its library search longer lists (with 1,000: a third slower).
enum { WINDOW = 100 };

static atomic_long acknowledged, heard;
static atomic_int ready;

static void on_publish(struct mosquitto *client, void *context, int message) {
    (void)client, (void)context, (void)message;
    acknowledged++;
}
static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message) {
    (void)client, (void)context, (void)message;
    heard++;
}
static void on_subscribe(struct mosquitto *client, void *context, int message, int count, const int *granted) {
    (void)client, (void)context, (void)message, (void)count, (void)granted;
    ready = 1;
}
static void check(int error, const char *what) {
    if (error) fail("%s: %s", what, mosquitto_strerror(error));
}

int main(int argc, char **argv) {
    const char *usage = "SOCKET RECORDS";
    const char *address = argument(argc, argv, 1, usage);
    long records = atol(argument(argc, argv, 2, usage)), sent = 0;
    char *all = malloc(records * RECORD_ROOM);
    int *count = malloc(records * sizeof *count);
    for (long number = 0; number < records; number++) count[number] = write_record(all + number * RECORD_ROOM, number);

    mosquitto_lib_init();
    struct mosquitto *subscriber = mosquitto_new("bench-listener", false, NULL);
    struct mosquitto *publisher = mosquitto_new("bench-source", true, NULL);
    mosquitto_message_callback_set(subscriber, on_message);
    mosquitto_subscribe_callback_set(subscriber, on_subscribe);
    mosquitto_publish_callback_set(publisher, on_publish);
    mosquitto_max_inflight_messages_set(publisher, WINDOW);
    mosquitto_int_option(publisher, MOSQ_OPT_TCP_NODELAY, 1);
    check(mosquitto_connect(subscriber, address, 0, 60), "connect");  // Port 0: a Unix socket.
    check(mosquitto_connect(publisher, address, 0, 60), "connect");
    check(mosquitto_loop_start(subscriber), "loop");
    check(mosquitto_loop_start(publisher), "loop");
    check(mosquitto_subscribe(subscriber, NULL, "sample/#", 1), "subscribe");
    while (!ready) usleep(1000);
    double begin = now();
    while (sent < records) {
        if (sent - acknowledged >= WINDOW) {
            usleep(100);
            continue;
        }
        check(
            mosquitto_publish(
                publisher, NULL, "sample/heartRate/me/bench", count[sent], all + sent * RECORD_ROOM, 1, false),
            "publish");
        sent++;
    }
    while (acknowledged < records) usleep(100);
    figure("records_per_s", records / (now() - begin));
    _exit((fflush(stdout), 0));
}
