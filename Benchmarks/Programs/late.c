// Gives late weigh-ins to ten years of history. Prints the median time from a weigh-in's STORED to the last `day/` message that follows from it.
// The history has four weigh-ins a day and a hole of thirty days in each quarter. Each late weigh-in is on the first day of a hole,
// so it changes all thirty days.
#define _GNU_SOURCE
#include "common.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAYS = 3650, QUARTER = 91, HOLE = 30, SIZE = 1000 };

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static char *date(long day) {
    static char text[16];
    time_t seconds = day * 86400;
    strftime(text, sizeof text, "%Y-%m-%d", gmtime(&seconds));
    return text;
}

static int write_weight(char *buffer, long day, int hour, int minute, long value, const char *key) {
    return sprintf(
        buffer, "{\"type\":\"weight\",\"value\":%ld.%ld,\"unit\":\"kg\",\"start\":\"%sT%02d:%02d:00+01:00\",\"key\":\"%s-%ld-%d-%d\"}",
        value / 10, value % 10, date(day), hour, minute, key, day, hour, minute);
}

static void give(void *door, char *body, int count) {
    send_frame(door, "SAMPLES", 7, ZMQ_SNDMORE);
    send_frame(door, body, count, 0);
    answer answer;
    receive(door, &answer, 0);
    if (!is(&answer, "STORED")) fail("no STORED");
    release(&answer);
}

// Waits up to `milliseconds` for a message of the feed. Returns whether one came; `found` says whether it contains `text`.
static int hear(void *feed, long milliseconds, const char *text, int *found) {
    zmq_pollitem_t item = {feed, 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, milliseconds) <= 0) return 0;
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    for (int index = 0; index < 3; index++)
        if (zmq_msg_recv(&frame, feed, 0) < 0) fail("feed: %s", zmq_strerror(zmq_errno()));
    if (text) *found = memmem(zmq_msg_data(&frame), zmq_msg_size(&frame), text, strlen(text)) != NULL;
    zmq_msg_close(&frame);
    return 1;
}

int main(int argc, char **argv) {
    const char *usage = "DOOR FEED COUNT";
    const char *endpoint = argument(argc, argv, 1, usage), *feed_endpoint = argument(argc, argv, 2, usage);
    long count = atol(argument(argc, argv, 3, usage));
    long today = time(NULL) / 86400, first = today - DAYS;

    void *context = zmq_ctx_new();
    void *feed = open_socket(context, ZMQ_SUB);
    zmq_setsockopt(feed, ZMQ_SUBSCRIBE, "day/", 4);
    zmq_connect(feed, feed_endpoint);
    void *door = greet(context, endpoint, "bench", NULL);
    char *body = malloc(64 + (SIZE + 4) * RECORD_ROOM);
    for (long day = 0, batch = 0; day < DAYS; batch++) {
        int length = sprintf(body, "{\"batch\":%ld,\"backfill\":true,\"records\":[", batch), records = 0;
        for (; day < DAYS && records < SIZE - 4; day++) {
            if (day % QUARTER >= QUARTER - HOLE) continue;
            for (int hour = 6; hour < 22; hour += 4) {
                if (records++) body[length++] = ',';
                length += write_weight(body + length, first + day, hour, 0, 800 + (day * 7 + hour) % 40, "h");
            }
        }
        length += sprintf(body + length, "]}");
        if (records) give(door, body, length);
    }
    // The first round waits for the days of the whole history. Each later round gives one late weigh-in and waits for the last day that it changes.
    double *took = calloc(count, sizeof *took);
    for (long number = -1; number < count; number++) {
        long quarter = (number + 1) % (DAYS / QUARTER - 1);
        int length = sprintf(body, "{\"batch\":%ld,\"records\":[", 1000 + number);
        length += write_weight(
            body + length, first + quarter * QUARTER + QUARTER - HOLE, 8, (number + 1) / 40, 760 + number % 30, "late");
        length += sprintf(body + length, "]}");
        give(door, body, length);
        double begin = now();
        if (number < 0) {
            char text[64];
            sprintf(text, "\"date\":\"%s\",\"method\":\"mean\"", date(first + QUARTER - HOLE));
            for (int found = 0; !found;)
                if (!hear(feed, 60000, text, &found)) fail("no day came in a minute: does the gap-filler run?");
            while (hear(feed, 1000, NULL, NULL)) continue;
            continue;
        }
        for (int heard = 0; heard < HOLE; heard++)
            if (!hear(feed, 10000, NULL, NULL)) fail("%d of %d days came", heard, HOLE);
        took[number] = now() - begin;
        if (hear(feed, 5, NULL, NULL)) fail("more than %d days came", HOLE);
    }
    qsort(took, count, sizeof *took, compare);
    figure("median_ms", took[count / 2] * 1e3);
    figure("p99_ms", took[count * 99 / 100] * 1e3);
    // The hub may still have something to send.
    zmq_close(feed);
    zmq_close(door);
    zmq_ctx_destroy(context);
}
