// Publishes asynchronously to a JetStream stream with file storage. Prints how many records a second are acknowledged (PubAck).
#include "common.h"
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(natsStatus status, const char *what) {
    if (status != NATS_OK) fail("%s: %s", what, natsStatus_GetText(status));
}

static void on_error(jsCtx *stream, jsPubAckErr *error, void *context) {
    (void)stream, (void)context;
    fail("not acknowledged: %s", error->ErrText);
}

int main(int argc, char **argv) {
    const char *usage = "URL RECORDS";
    const char *url = argument(argc, argv, 1, usage);
    long records = atol(argument(argc, argv, 2, usage));
    char *all = malloc(records * RECORD_ROOM);
    int *count = malloc(records * sizeof *count);
    for (long number = 0; number < records; number++) count[number] = write_record(all + number * RECORD_ROOM, number);

    natsConnection *connection;
    jsCtx *stream;
    for (int attempt = 0; natsConnection_ConnectTo(&connection, url) != NATS_OK; attempt++) {
        if (attempt > 100) fail("no server at %s", url);
        usleep(50000);
    }
    jsOptions options;
    jsOptions_Init(&options);
    options.PublishAsync.MaxPending = 10000;  // The same as the hub's credit.
    options.PublishAsync.ErrHandler = on_error;
    check(natsConnection_JetStream(&stream, connection, &options), "JetStream");
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = "SAMPLES";
    const char *subjects[] = {"sample.>"};
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    check(js_AddStream(NULL, stream, &config, NULL, NULL), "AddStream");
    double begin = now();
    for (long sent = 0; sent < records; sent++)
        check(js_PublishAsync(stream, "sample.heartRate.me.bench", all + sent * RECORD_ROOM, count[sent], NULL), "publish");
    jsPubOptions wait;
    jsPubOptions_Init(&wait);
    wait.MaxWait = 60000;
    check(js_PublishAsyncComplete(stream, &wait), "complete");
    figure("records_per_s", records / (now() - begin));
    _exit((fflush(stdout), 0));
}
