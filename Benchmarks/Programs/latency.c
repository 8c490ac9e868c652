// Measures the time from a source through the store to a listener, one record a message at a steady rate. Prints the median and the 99th percentile.
#define _GNU_SOURCE
#include "common.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double *sent_at, *took;
static long records, first;

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static void *listen_to(void *socket) {
    for (long heard = 0; heard < records; heard++) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        for (int index = 0; index < 3; index++)
            if (zmq_msg_recv(&frame, socket, 0) < 0) fail("feed: %s", zmq_strerror(zmq_errno()));
        // There is one source, so messages arrive in the order in which they were sent.
        took[heard] = now() - sent_at[heard];
        zmq_msg_close(&frame);
    }
    return NULL;
}

static void drain(void *door) {
    answer answer;
    while (receive(door, &answer, ZMQ_DONTWAIT)) release(&answer);
}

static void give(void *door, long number) {
    char body[64 + RECORD_ROOM];
    int count = sprintf(body, "{\"batch\":%ld,\"records\":[", number);
    count += write_record(body + count, first + number);
    count += sprintf(body + count, "]}");
    send_frame(door, "SAMPLES", 7, ZMQ_SNDMORE);
    send_frame(door, body, count, 0);
}

int main(int argc, char **argv) {
    const char *usage = "DOOR FEED RECORDS PER_SECOND FIRST";
    const char *endpoint = argument(argc, argv, 1, usage), *feed_endpoint = argument(argc, argv, 2, usage);
    records = atol(argument(argc, argv, 3, usage));
    double interval = 1 / atof(argument(argc, argv, 4, usage));
    first = atol(argument(argc, argv, 5, usage));
    sent_at = calloc(records, sizeof *sent_at);
    took = calloc(records, sizeof *took);

    void *context = zmq_ctx_new();
    void *feed = open_socket(context, ZMQ_SUB);
    zmq_setsockopt(feed, ZMQ_SUBSCRIBE, "sample/", 7);
    zmq_setsockopt(feed, ZMQ_SUBSCRIBE, "live/", 5);
    zmq_connect(feed, feed_endpoint);
    void *door = greet(context, endpoint, "bench", NULL);
    // Sends passing values, which leave no trace, until the subscription delivers one.
    const char live[] = "{\"type\":\"heartRate\",\"value\":1,\"unit\":\"count/min\"}";
    zmq_pollitem_t item = {feed, 0, ZMQ_POLLIN, 0};
    while (!zmq_poll(&item, 1, 50)) {
        send_frame(door, "LIVE", 4, ZMQ_SNDMORE);
        send_frame(door, live, sizeof live - 1, 0);
    }
    char rest[4096];
    while (zmq_poll(&item, 1, 100) > 0) zmq_recv(feed, rest, sizeof rest, 0);

    pthread_t listener;
    pthread_create(&listener, NULL, listen_to, feed);
    double begin = now();
    for (long number = 0; number < records; number++) {
        double due = begin + number * interval, wait;
        while ((wait = due - now()) > 0) {
            struct timespec pause = {0, wait * 1e9};
            nanosleep(&pause, NULL);
        }
        sent_at[number] = now();
        give(door, number);
        drain(door);
    }
    pthread_join(listener, NULL);
    qsort(took, records, sizeof *took, compare);
    figure("p50_ms", took[records / 2] * 1e3);
    figure("p99_ms", took[records * 99 / 100] * 1e3);
}
