// The bound of statistics without stored sums: a C program that reads every sample of a store once and adds up the values by day.
#define _GNU_SOURCE
#include "common.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char **arguments) {
    if (count != 2) fail("usage: scan STORE");
    sqlite3 *base;
    if (sqlite3_open_v2(arguments[1], &base, SQLITE_OPEN_READONLY, NULL)) fail("%s: %s", arguments[1], sqlite3_errmsg(base));
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    sqlite3_stmt *rows;
    if (sqlite3_prepare_v2(base, "SELECT start, value FROM sample", -1, &rows, NULL)) fail("%s", sqlite3_errmsg(base));
    enum { DAYS = 1 << 16 };
    static double sums[DAYS];
    long read = 0;
    while (sqlite3_step(rows) == SQLITE_ROW) {
        sqlite3_int64 day = sqlite3_column_int64(rows, 0) / 86400000000;
        sums[(size_t)day % DAYS] += sqlite3_column_double(rows, 1);
        read++;
    }
    sqlite3_finalize(rows);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double sum = 0;
    for (int day = 0; day < DAYS; day++) sum += sums[day];
    printf("rows %ld\nsum %.1f\nscan_ms %.3f\n", read, sum,
        (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);
    sqlite3_close(base);
    return 0;
}
