// Reads the whole history with QUERY, page after page. Prints how many records a second.
#define _GNU_SOURCE
#include "common.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *usage = "DOOR RECORDS";
    const char *endpoint = argument(argc, argv, 1, usage);
    long expected = atol(argument(argc, argv, 2, usage)), records = 0, pages = 0;
    void *context = zmq_ctx_new();
    terms terms;
    void *door = greet(context, endpoint, "bench", &terms);
    char query[512], next[256] = "";
    double begin = now();
    do {
        int count = snprintf(
            query, sizeof query, "{\"id\":%ld,\"want\":\"records\",\"since\":\"%s-0\"%s}", pages++, terms.epoch, next);
        send_frame(door, "QUERY", 5, ZMQ_SNDMORE);
        send_frame(door, query, count, 0);
        answer answer;
        receive(door, &answer, 0);
        const char *body = zmq_msg_data(&answer.body), *end = body + zmq_msg_size(&answer.body);
        for (const char *place = body; (place = memmem(place, end - place, "\"number\":", 9)); place += 9) records++;
        // `next` follows the records.
        const char *tail = end - 300 > body ? end - 300 : body, *mark = memmem(tail, end - tail, "],\"next\":\"", 10);
        next[0] = 0;
        if (mark) {
            mark += 10;
            const char *close = memchr(mark, '"', end - mark);
            snprintf(next, sizeof next, ",\"next\":\"%.*s\"", (int)(close - mark), mark);
        }
        release(&answer);
    } while (next[0]);
    double seconds = now() - begin;
    if (records != expected) fail("%ld of %ld records came", records, expected);
    figure("records_per_s", records / seconds);
}
