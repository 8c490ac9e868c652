// A layer between SQLite and its files that knows when the disk gave other bytes than were written.
//
// Each page of 4,096 bytes of a database that has sums ends with 12 bytes that SQLite leaves to others ("reserved space"): a mark, the
// page's number and the CRC-32C of all before. They are made when a page is written to the database file and compared when one is read.
// What lies beside the cells of a page, where SQLite leaves copies of what it has moved, is zeroed when the page is written to the file.
// A page in the write-ahead log has SQLite's own sum, which SQLite compares only when it recovers a log: here it is compared at each read.
#ifndef C_PAGE_SUMS_H
#define C_PAGE_SUMS_H

#include <sqlite3.h>
#include <stdint.h>

enum {
    page_sums_page = 4096,
    page_sums_reserve = 12,
};

/// What was read last in this thread with another sum than it was written with.
typedef struct {
    char path[1024];
    /// From 1; a frame's number where `in_log`.
    int64_t page;
    int in_log;
    /// The file ends before the page does.
    int is_missing;
    /// The page's number that stands in it: another than `page` where the disk gave the wrong one.
    uint32_t found;
} page_sums_damage;

/// Puts the layer below every connection of this process that is opened from now on; databases without sums are read and written as
/// they were. Returns an error of SQLite.
int page_sums_begin(void);

/// Gives an empty database sums from its first page on; to be called before anything is written.
int page_sums_enable(sqlite3 *base);

/// Whether the file has sums: 1, 0, or -1 where it cannot be read.
int page_sums_are_in(const char *path);

/// Whether the database of the connection has sums.
int page_sums_are_on(sqlite3 *base);

/// Makes the sums of every page of a file, and zeroes what lies beside its cells, that no program has open and whose reserved space is free; 0 or `errno`.
int page_sums_stamp(const char *path);

/// Reads a page of the database file, past SQLite's cache.
int page_sums_check_page(sqlite3 *base, int64_t page);

/// The same, giving its bytes.
int page_sums_read_page(sqlite3 *base, int64_t page, uint8_t *bytes);

/// Makes of a page that is not written through this layer what would be in the file: without what is beside its cells, with its sum.
void page_sums_seal_page(uint8_t *page, int64_t number, int64_t pages);

/// Which mark of the log the connection's snapshot holds, -1 for none: with 0 all of it is in the database file, and the log may be begun
/// again; with another neither the log's frames change nor pages of which it has none.
int page_sums_mark(sqlite3 *base);

/// The head of the log's index, 12 words of which the fifth is the number of frames: all 0 where there is none, SQLITE_BUSY while it changes.
int page_sums_log_head(sqlite3 *base, uint32_t *head);

/// The frames of the log: all, and how many of them are in the database file already. 0 frames where there is none.
int page_sums_log(sqlite3 *base, uint32_t *frames, uint32_t *written);

/// Reads one frame of the log, its head included, or with 0 the log's own; `page` is the number of the page that is in it.
int page_sums_check_frame(sqlite3 *base, uint32_t frame, uint32_t *page);

/// The same, giving the page's bytes, as they were before they had a sum.
int page_sums_read_frame(sqlite3 *base, uint32_t frame, uint32_t *page, uint8_t *bytes);

/// The last damage that this thread met.
page_sums_damage page_sums_last(void);

uint32_t page_sums_crc(uint32_t crc, const void *bytes, unsigned count);
/// The same without the processor's instruction.
uint32_t page_sums_crc_plain(uint32_t crc, const void *bytes, unsigned count);

#endif
