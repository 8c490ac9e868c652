// Gives batches of 500 records to a PostgreSQL server over TLS, from one or more clients at a time.
//   central take HOSTS TLS CLIENTS BATCHES     as hubs do: take_v2 and COMMIT, on the host that leads
//   central insert HOSTS TLS CLIENTS BATCHES   the same rows by INSERT … SELECT unnest(…) ON CONFLICT, which does not double repeated rows either
// TLS is a folder with ca.crt, and NAME.crt and NAME.key of hub_00000001 … Prints records_per_s, and the median and 99th percentile of batches in ms.
#include "common.h"
#include <postgresql/libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The arrays that take_v2 needs for a weight. The plain INSERT gets the first five of them.
enum { SIZE = 500, COLUMNS = 9 };
static const char *hosts, *tls;
static int takes, batches, clients;
static long salt;
static pthread_barrier_t start;
static double *took;

static PGresult *ask(PGconn *c, const char *text, int count, const char *const *values) {
    PGresult *r = PQexecParams(c, text, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK) fail("%s: %s", text, PQerrorMessage(c));
    return r;
}

// Mixes the bits of a number, so that identities are spread as those of hubs are.
static unsigned long mix(unsigned long x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static void stamp(char *out, long seq) {
    time_t at = 1700000000 + seq % 50000000;
    struct tm t;
    gmtime_r(&at, &t);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &t);
}

static void *client(void *argument) {
    int n = (int)(long)argument;
    char options[1024], login[32];
    snprintf(login, sizeof login, "hub_%08d", n);
    snprintf(options, sizeof options,
        "host=%s dbname=central user=%s target_session_attrs=read-write sslmode=verify-ca sslrootcert=%s/ca.crt sslcert=%s/%s.crt sslkey=%s/%s.key "
        "options='-c search_path=central'", hosts, login, tls, tls, login, tls, login);
    PGconn *c = PQconnectdb(options);
    if (PQstatus(c) != CONNECTION_OK) fail("connecting: %s", PQerrorMessage(c));
    char id[16];
    snprintf(id, sizeof id, "hub%d", n);
    const char *hello[] = {id};
    if (takes) PQclear(ask(c, "SELECT hello_v1($1, 'k7qz2m5a', 'bench', now())", 1, hello));
    char **bodies[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) bodies[column] = calloc(batches, sizeof(char *));
    for (int b = 0; b < batches; b++) {
        char *to[COLUMNS];
        for (int column = 0; column < COLUMNS; column++) {
            to[column] = bodies[column][b] = malloc(SIZE * 200 + 16);
            to[column] += sprintf(to[column], "{");
        }
        for (int i = 0; i < SIZE; i++) {
            long seq = salt * 1000000 + (long)b * SIZE + i + 1;
            unsigned long x = mix(seq * 16 + n), y = mix(x);
            char ident[40], at[32];
            snprintf(ident, sizeof ident, "%08lx-%04lx-%04lx-%04lx-%012lx", x >> 32, x >> 16 & 0xFFFF, x & 0xFFFF, y >> 48, y & 0xFFFFFFFFFFFF);
            stamp(at, seq);
            double value = 60 + seq % 400 / 10.0;
            const char *comma = i ? "," : "";
            to[0] += sprintf(to[0], "%s%s", comma, ident);
            to[1] += sprintf(to[1], "%s%ld", comma, seq);
            to[2] += sprintf(to[2], "%s%s", comma, at);
            to[3] += sprintf(to[3], "%s%.1f", comma, value);
            to[4] += sprintf(to[4], "%s\"{\\\"plugin\\\":\\\"scale\\\"}\"", comma);
            to[5] += sprintf(to[5], "%sq", comma);
            to[6] += sprintf(to[6], "%s6f1c2a9e5b7d4c3%d", comma, n);
            to[7] += sprintf(to[7], "%sweight", comma);
            to[8] += sprintf(to[8], "%s60", comma);
        }
        for (int column = 0; column < COLUMNS; column++) strcpy(to[column], "}");
    }
    char hub[16], number[32];
    snprintf(hub, sizeof hub, "%d", n);
    pthread_barrier_wait(&start);
    for (int b = 0; b < batches; b++) {
        double begin = now();
        PQclear(ask(c, "BEGIN", 0, NULL));
        if (takes) {
            snprintf(number, sizeof number, "%ld", salt * 1000 + b);
            const char *values[COLUMNS + 1] = {number};
            for (int column = 0; column < COLUMNS; column++) values[column + 1] = bodies[column][b];
            PGresult *r = ask(c,
                "SELECT take_v2('k7qz2m5a', $1, NULL, i => $2, s => $3, a => $4, v => $5, b => $6, k => $7, p => $8, t => $9, o => $10) ->> 'answer'", COLUMNS + 1, values);
            const char *answer = PQgetvalue(r, 0, 0);
            if (strspn(answer, "s") != SIZE) fail("take_v2 answered %.40s", answer);
            PQclear(r);
        } else {
            const char *values[] = {hub, bodies[0][b], bodies[1][b], bodies[2][b], bodies[3][b], bodies[4][b]};
            PQclear(ask(c,
                "INSERT INTO record (hub_no, ident, era, seq, changed, person_no, type_no, kind, offset_min, flags, start_at, value, body) "
                "SELECT $1::int, ident, 1, seq, pg_current_xact_id()::text::bigint, 1, 1, 'q', 60, 0, at, value, body "
                "FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[], $5::float8[], $6::jsonb[]) AS s(ident, seq, at, value, body) ORDER BY ident "
                "ON CONFLICT (hub_no, ident) DO UPDATE SET seq = EXCLUDED.seq, value = EXCLUDED.value, body = EXCLUDED.body WHERE record.seq < EXCLUDED.seq", 6, values));
        }
        PQclear(ask(c, "COMMIT", 0, NULL));
        took[(n - 1) * batches + b] = now() - begin;
    }
    PQfinish(c);
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words) {
    const char *usage = "central take|insert HOSTS TLS CLIENTS BATCHES";
    takes = !strcmp(argument(count, words, 1, usage), "take");
    hosts = argument(count, words, 2, usage);
    tls = argument(count, words, 3, usage);
    clients = atoi(argument(count, words, 4, usage));
    batches = atoi(argument(count, words, 5, usage));
    if (clients < 1 || clients > 8 || batches < 1) fail("usage: %s, with 1 to 8 clients", usage);
    salt = time(NULL) % 800000000;
    took = calloc((size_t)clients * batches, sizeof(double));
    pthread_barrier_init(&start, NULL, clients + 1);
    pthread_t threads[8];
    for (int n = 0; n < clients; n++) pthread_create(&threads[n], NULL, client, (void *)(long)(n + 1));
    pthread_barrier_wait(&start);
    double begin = now();
    for (int n = 0; n < clients; n++) pthread_join(threads[n], NULL);
    double seconds = now() - begin;
    int all = clients * batches;
    qsort(took, all, sizeof(double), by_size);
    figure("records_per_s", all * SIZE / seconds);
    figure("batch_ms", took[all / 2] * 1000);
    figure("batch_p99_ms", took[(int)(all * 0.99)] * 1000);
    return 0;
}
