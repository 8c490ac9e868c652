// A layer between SQLite and its files that detects when the disk returns other bytes than were written.
//
// In a database with checksums, each page of 4,096 bytes ends with 12 bytes that SQLite leaves to extensions ("reserved space"). They hold a
// mark, the page's number and the CRC-32C of all bytes before it. The layer computes them when it writes a page to the database file and
// compares them when it reads one. SQLite leaves copies of moved data in the unused bytes of a page, so the layer zeroes those bytes on each write.
// A page in the write-ahead log has SQLite's own checksum, which SQLite compares only when it recovers a log. This layer compares it at each read.
#ifndef C_PAGE_SUMS_H
#define C_PAGE_SUMS_H

#include <sqlite3.h>
#include <stdint.h>

enum {
    page_sums_page = 4096,
    page_sums_reserve = 12,
};

/// The last page read in this thread whose checksum did not match.
typedef struct {
    char path[1024];
    /// From 1. If `in_log`, the number of the frame.
    int64_t page;
    int in_log;
    /// The file ends before the page does.
    int is_missing;
    /// The page number stored in the page. It differs from `page` if the disk returned the wrong page.
    uint32_t found;
} page_sums_damage;

/// Installs the layer below every connection that this process opens from now on. Databases without checksums are read and written as before.
/// Returns an SQLite error code.
int page_sums_begin(void);

/// Gives an empty database checksums from its first page on. Call it before anything is written.
int page_sums_enable(sqlite3 *base);

/// Whether the file has checksums: 1, 0, or -1 if it cannot be read.
int page_sums_are_in(const char *path);

/// Whether the database of the connection has checksums.
int page_sums_are_on(sqlite3 *base);

/// Writes the checksum of every page of a file and zeroes the unused bytes of its pages. No program may have the file open, and its reserved
/// space must be free. Returns 0 or `errno`.
int page_sums_stamp(const char *path);

/// Reads a page of the database file, bypassing SQLite's cache.
int page_sums_check_page(sqlite3 *base, int64_t page);

/// Like `page_sums_check_page`, and returns the page's bytes.
int page_sums_read_page(sqlite3 *base, int64_t page, uint8_t *bytes);

/// Prepares a page that is not written through this layer as the layer would write it: zeroes its unused bytes and adds its checksum.
void page_sums_seal_page(uint8_t *page, int64_t number, int64_t pages);

/// The log mark that the connection's snapshot holds, or -1 if it holds none. With mark 0 the whole log is in the database file, and writers may
/// restart the log. With another mark, the log's frames do not change, and neither do the pages that the log does not contain.
int page_sums_mark(sqlite3 *base);

/// Reads the header of the log's index: 12 words, the fifth is the number of frames. All are 0 if there is no log. Returns SQLITE_BUSY while it
/// changes.
int page_sums_log_head(sqlite3 *base, uint32_t *head);

/// Reads how many frames the log has and how many of them are already in the database file. Both are 0 if there is no log.
int page_sums_log(sqlite3 *base, uint32_t *frames, uint32_t *written);

/// Reads one frame of the log with its header, or the log's own header if `frame` is 0. Sets `page` to the number of the page in the frame.
int page_sums_check_frame(sqlite3 *base, uint32_t frame, uint32_t *page);

/// Like `page_sums_check_frame`, and returns the page's bytes as they were before the layer added its checksum.
int page_sums_read_frame(sqlite3 *base, uint32_t frame, uint32_t *page, uint8_t *bytes);

/// The last damage found by this thread.
page_sums_damage page_sums_last(void);

uint32_t page_sums_crc(uint32_t crc, const void *bytes, unsigned count);
/// The same in plain C, without the processor's instruction.
uint32_t page_sums_crc_plain(uint32_t crc, const void *bytes, unsigned count);

#endif
