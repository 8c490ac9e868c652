// The bound of storing: a C program that inserts the rows of a hub's store into an empty store of the same schema, in commits of the same sizes.
//
// It reads rows, schema, indices and settings from the hub's own file, and recognises a commit of the hub by its time.
#define _GNU_SOURCE
#include "common.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int column, type;
    sqlite3_int64 integer;
    double real;
    char *text;
    int count;
} cell;
typedef struct {
    sqlite3_int64 commit;
    int cells;
    cell *cell;
} row;

static sqlite3 *source, *target;

static void run(sqlite3 *base, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(base, sql, NULL, NULL, &error)) fail("%s: %s", sql, error);
}

static sqlite3_stmt *prepare(sqlite3 *base, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(base, sql, -1, &statement, NULL)) fail("%s: %s", sql, sqlite3_errmsg(base));
    return statement;
}

static void copy_schema(void) {
    sqlite3_stmt *objects = prepare(
        source, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type = 'index'");
    while (sqlite3_step(objects) == SQLITE_ROW) run(target, (const char *)sqlite3_column_text(objects, 0));
    sqlite3_finalize(objects);
}

// Copies the small tables that rows of `sample` point to.
static void copy_words(const char *path) {
    char sql[4200];
    snprintf(sql, sizeof sql, "ATTACH '%s' AS hub", path);
    run(target, sql);
    run(target, "INSERT INTO term SELECT * FROM hub.term; INSERT INTO person SELECT * FROM hub.person;"
                "INSERT INTO source SELECT * FROM hub.source");
    run(target, "DETACH hub");
}

static row *read_rows(long *count, int *columns) {
    sqlite3_stmt *number = prepare(source, "SELECT count(*) FROM sample");
    sqlite3_step(number);
    *count = sqlite3_column_int64(number, 0);
    sqlite3_finalize(number);
    row *rows = calloc(*count, sizeof *rows);
    sqlite3_stmt *all = prepare(source, "SELECT recorded_at, * FROM sample ORDER BY number");
    *columns = sqlite3_column_count(all) - 1;
    for (long index = 0; index < *count && sqlite3_step(all) == SQLITE_ROW; index++) {
        row *row = &rows[index];
        row->commit = sqlite3_column_int64(all, 0);
        row->cell = malloc(*columns * sizeof(cell));
        for (int column = 1; column <= *columns; column++) {
            if (sqlite3_column_type(all, column) == SQLITE_NULL) continue;
            cell *cell = &row->cell[row->cells++];
            cell->column = column;
            cell->type = sqlite3_column_type(all, column);
            cell->integer = sqlite3_column_int64(all, column);
            cell->real = sqlite3_column_double(all, column);
            if (cell->type == SQLITE_TEXT) {
                cell->text = strdup((const char *)sqlite3_column_text(all, column));
                cell->count = sqlite3_column_bytes(all, column);
            }
        }
        row->cell = realloc(row->cell, row->cells * sizeof(cell));
    }
    sqlite3_finalize(all);
    return rows;
}

int main(int argc, char **argv) {
    const char *usage = "STORE NEW_STORE";
    const char *from = argument(argc, argv, 1, usage), *to = argument(argc, argv, 2, usage);
    if (sqlite3_open_v2(from, &source, SQLITE_OPEN_READWRITE, NULL) || sqlite3_open(to, &target)) fail("cannot open");
    run(target, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                "PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -8000; PRAGMA journal_size_limit = 67108864;"
                "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    copy_schema();
    copy_words(from);
    long count;
    int columns;
    row *rows = read_rows(&count, &columns);

    char sql[512] = "INSERT INTO sample VALUES (?";
    for (int column = 1; column < columns; column++) strcat(sql, ",?");
    strcat(sql, ")");
    sqlite3_stmt *insert = prepare(target, sql), *begin = prepare(target, "BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare(target, "COMMIT");
    long commits = 0;
    double start = now();
    for (long index = 0; index < count;) {
        sqlite3_step(begin);
        sqlite3_reset(begin);
        for (sqlite3_int64 time = rows[index].commit; index < count && rows[index].commit == time; index++) {
            for (int place = 0; place < rows[index].cells; place++) {
                cell *cell = &rows[index].cell[place];
                switch (cell->type) {
                case SQLITE_INTEGER: sqlite3_bind_int64(insert, cell->column, cell->integer); break;
                case SQLITE_FLOAT: sqlite3_bind_double(insert, cell->column, cell->real); break;
                default: sqlite3_bind_text(insert, cell->column, cell->text, cell->count, SQLITE_STATIC);
                }
            }
            if (sqlite3_step(insert) != SQLITE_DONE) fail("insert: %s", sqlite3_errmsg(target));
            sqlite3_reset(insert);
            sqlite3_clear_bindings(insert);
        }
        if (sqlite3_step(commit) != SQLITE_DONE) fail("commit: %s", sqlite3_errmsg(target));
        sqlite3_reset(commit);
        commits++;
    }
    double seconds = now() - start;
    figure("records_per_s", count / seconds);
    figure("records_per_commit", (double)count / commits);
    sqlite3_close(target);
}
