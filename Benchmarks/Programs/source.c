// A source at full speed: gives records to the door in batches, as far as its credit allows, until all are STORED.
#define _GNU_SOURCE
#include "common.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *body;
    int count, records;
} batch;

int main(int argc, char **argv) {
    const char *usage = "DOOR RECORDS BATCH [FIRST]";
    const char *endpoint = argument(argc, argv, 1, usage);
    long records = atol(argument(argc, argv, 2, usage)), size = atol(argument(argc, argv, 3, usage));
    long first = argc > 4 ? atol(argv[4]) : 0;

    // Batches are written before the clock starts, because the source's own cost shall not count.
    long batches = (records + size - 1) / size;
    batch *all = calloc(batches, sizeof *all);
    for (long number = 0, record = 0; number < batches; number++) {
        batch *batch = &all[number];
        batch->body = malloc(64 + size * RECORD_ROOM);
        batch->count = sprintf(batch->body, "{\"batch\":%ld,\"records\":[", number);
        for (; batch->records < size && record < records; batch->records++, record++) {
            if (batch->records) batch->body[batch->count++] = ',';
            batch->count += write_record(batch->body + batch->count, first + record);
        }
        batch->count += sprintf(batch->body + batch->count, "]}");
        batch->body = realloc(batch->body, batch->count + 1);
    }

    void *context = zmq_ctx_new();
    terms credit;
    void *door = greet(context, endpoint, "bench", &credit);
    long sent = 0, answered = 0, stored = 0;
    double begin = now();
    while (answered < batches) {
        while (sent < batches && all[sent].records <= credit.records && all[sent].count <= credit.bytes) {
            credit.records -= all[sent].records;
            credit.bytes -= all[sent].count;
            send_frame(door, "SAMPLES", 7, ZMQ_SNDMORE);
            send_frame(door, all[sent].body, all[sent].count, 0);
            sent++;
        }
        // Out of credit or of batches: wait for one answer, then take all others that have arrived.
        answer answer;
        for (int flags = 0; answered < batches && receive(door, &answer, flags); flags = ZMQ_DONTWAIT) {
            if (!is(&answer, "STORED")) fail("no STORED");
            const char *body = zmq_msg_data(&answer.body);
            size_t count = zmq_msg_size(&answer.body);
            const char *end = body + count;
            for (const char *place = body; (place = memmem(place, end - place, "\"stored\"", 8)); place += 8) stored++;
            const char *given = after_last(body, count, "\"credit\":{\"records\":");
            credit.records += atol(given);
            credit.bytes += atol(after(given, end - given, "\"bytes\":"));
            answered++;
            release(&answer);
        }
    }
    double seconds = now() - begin;
    if (stored != records) fail("%ld of %ld records were stored", stored, records);
    figure("records_per_s", records / seconds);
    zmq_close(door);
    zmq_ctx_destroy(context);
}
