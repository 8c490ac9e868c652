// Gives single records beside importers at full speed. Prints how long a single record waits for STORED, and the importers' records a second.
#define _GNU_SOURCE
#include "common.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    char *body;
    int count, records;
} batch;

typedef struct {
    long first, records;
    batch *all;
    long batches;
    pthread_t thread;
} importer;

static const char *endpoint;
static void *context;
static atomic_long running;
static const long size = 500;

static void prepare(importer *importer) {
    importer->batches = (importer->records + size - 1) / size;
    importer->all = calloc(importer->batches, sizeof *importer->all);
    for (long number = 0, record = 0; number < importer->batches; number++) {
        batch *batch = &importer->all[number];
        batch->body = malloc(64 + size * RECORD_ROOM);
        batch->count = sprintf(batch->body, "{\"batch\":%ld,\"records\":[", number);
        for (; batch->records < size && record < importer->records; batch->records++, record++) {
            if (batch->records) batch->body[batch->count++] = ',';
            batch->count += write_record(batch->body + batch->count, importer->first + record);
        }
        batch->count += sprintf(batch->body + batch->count, "]}");
        batch->body = realloc(batch->body, batch->count + 1);
    }
}

static void *give_all(void *argument) {
    importer *importer = argument;
    char instance[32];
    sprintf(instance, "importer%ld", importer->first);
    terms credit;
    void *door = greet(context, endpoint, instance, &credit);
    long sent = 0, answered = 0;
    while (answered < importer->batches) {
        while (sent < importer->batches && importer->all[sent].records <= credit.records
               && importer->all[sent].count <= credit.bytes) {
            credit.records -= importer->all[sent].records;
            credit.bytes -= importer->all[sent].count;
            send_frame(door, "SAMPLES", 7, ZMQ_SNDMORE);
            send_frame(door, importer->all[sent].body, importer->all[sent].count, 0);
            sent++;
        }
        answer answer;
        for (int flags = 0; answered < importer->batches && receive(door, &answer, flags); flags = ZMQ_DONTWAIT) {
            if (!is(&answer, "STORED")) fail("no STORED");
            const char *body = zmq_msg_data(&answer.body);
            size_t count = zmq_msg_size(&answer.body);
            const char *given = after_last(body, count, "\"credit\":{\"records\":");
            credit.records += atol(given);
            credit.bytes += atol(after(given, body + count - given, "\"bytes\":"));
            answered++;
            release(&answer);
        }
    }
    zmq_close(door);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

// Gives one record and returns the seconds until its STORED.
static double give_one(void *door, long number) {
    char body[64 + RECORD_ROOM];
    int count = sprintf(body, "{\"batch\":%ld,\"records\":[", number);
    count += write_record(body + count, 900000000 + number);
    count += sprintf(body + count, "]}");
    double begin = now();
    send_frame(door, "SAMPLES", 7, ZMQ_SNDMORE);
    send_frame(door, body, count, 0);
    answer answer;
    receive(door, &answer, 0);
    if (!is(&answer, "STORED")) fail("no STORED");
    double took = now() - begin;
    release(&answer);
    return took;
}

int main(int argc, char **argv) {
    const char *usage = "DOOR IMPORTERS RECORDS_EACH SINGLES";
    endpoint = argument(argc, argv, 1, usage);
    long importers = atol(argument(argc, argv, 2, usage)), each = atol(argument(argc, argv, 3, usage));
    // The maximum number of single records, each sent 10 ms after the previous answer while importers run. With 0, only the importers are measured.
    long singles = atol(argument(argc, argv, 4, usage));
    context = zmq_ctx_new();
    importer *all = calloc(importers, sizeof *all);
    for (long index = 0; index < importers; index++) {
        all[index].first = index * each;
        all[index].records = each;
        prepare(&all[index]);
    }
    void *door = greet(context, endpoint, "single", NULL);
    double *took = calloc(singles + 1, sizeof *took);
    atomic_store(&running, importers);
    double begin = now();
    for (long index = 0; index < importers; index++) pthread_create(&all[index].thread, NULL, give_all, &all[index]);
    long done = 0;
    while (done < singles && (!importers || atomic_load(&running))) {
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
        took[done] = give_one(door, done);
        done++;
    }
    for (long index = 0; index < importers; index++) pthread_join(all[index].thread, NULL);
    if (importers) figure("records_per_s", importers * each / (now() - begin));
    if (done) {
        qsort(took, done, sizeof *took, compare);
        figure("singles", done);
        figure("p50_ms", took[done / 2] * 1e3);
        figure("p99_ms", took[done * 99 / 100] * 1e3);
        figure("most_ms", took[done - 1] * 1e3);
    }
    zmq_close(door);
}
