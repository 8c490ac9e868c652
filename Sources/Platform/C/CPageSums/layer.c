#define _GNU_SOURCE
#include "CPageSums.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// MARK: The checksum of a page

enum {
    PAGE = page_sums_page,
    // Offsets of the 12 bytes: mark, page number, CRC.
    MARK = PAGE - 12, NUMBER = PAGE - 8, SUM = PAGE - 4,
    // The offset of the page that SQLite never uses, because its locks are there.
    LOCKS = 1 << 30,
    FRAME_HEAD = 24, LOG_HEAD = 32,
};
static const uint8_t mark[4] = {'H', 'H', 's', '1'};

static uint32_t big(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_big(uint8_t *bytes, uint32_t number) {
    for (int at = 0; at < 4; at++) bytes[at] = (uint8_t)(number >> (24 - 8 * at));
}

static void stamp(uint8_t *page, int64_t number) {
    memcpy(page + MARK, mark, 4);
    put_big(page + NUMBER, (uint32_t)number);
    put_big(page + SUM, page_sums_crc(0, page, SUM));
}

static uint32_t big16(const uint8_t *bytes) { return (uint32_t)bytes[0] << 8 | bytes[1]; }

// Zeroes the unused bytes of a table or index page. When SQLite moves cells to other pages, it leaves copies of them in the unused bytes, so
// erased values would remain in the file. Pages of other kinds, and pages that do not look like valid table or index pages, stay unchanged.
static void clean(uint8_t *page, int64_t number) {
    uint32_t head = number == 1 ? 100 : 0, kind = page[head];
    if (kind != 2 && kind != 5 && kind != 10 && kind != 13) return;
    uint32_t cells = big16(page + head + 3), content = big16(page + head + 5);
    uint32_t pointers = head + (kind < 10 ? 12 : 8), gap = pointers + 2 * cells;
    if (gap > content || content > MARK) return;
    for (uint32_t cell = 0; cell < cells; cell++) {
        uint32_t at = big16(page + pointers + 2 * cell);
        if (at < content || at > MARK - 4) return;
    }
    uint32_t end = content;
    for (uint32_t at = big16(page + head + 1); at; at = big16(page + at)) {
        if (at < end || at > MARK - 4 || big16(page + at + 2) < 4) return;
        end = at + big16(page + at + 2);
        if (end > MARK) return;
    }
    memset(page + gap, 0, content - gap);
    for (uint32_t at = big16(page + head + 1); at; at = big16(page + at)) memset(page + at + 4, 0, big16(page + at + 2) - 4);
}

// Overflow pages and free-list pages begin with the number of another page. From this page number on, the first byte of the number can equal
// the kind byte of a table page.
enum { FIRST_AMBIGUOUS = 0x02000000 };

static void seal(uint8_t *page, int64_t number, int64_t pages) {
    if (pages < FIRST_AMBIGUOUS) clean(page, number);
    stamp(page, number);
}

static int is_right(const uint8_t *page, int64_t number) {
    return big(page + SUM) == page_sums_crc(0, page, SUM) && big(page + NUMBER) == (uint32_t)number
        && !memcmp(page + MARK, mark, 4);
}

// Any of three signs is enough: a single flipped bit leaves two of them. Losing checksums unnoticed would be worse than any other damage.
static int has_sums(const uint8_t *first) {
    return first[20] == page_sums_reserve || !memcmp(first + MARK, mark, 4) || big(first + SUM) == page_sums_crc(0, first, SUM);
}

// MARK: Damage

static _Thread_local page_sums_damage last;

page_sums_damage page_sums_last(void) { return last; }

// MARK: Files

typedef struct {
    sqlite3_file base;
    const char *path;
    int is_log, has_sums;
    // Offset in the log from which on the current transaction has rewritten pages in place. SQLite writes their checksums at its end.
    sqlite3_int64 unsummed;
    // Offset of the frame header written last.
    sqlite3_int64 head;
    // The file has at least this many pages.
    int64_t pages;
    // Which of the log's five marks the connection's snapshot holds, or -1 for none. Mark 0 means that the whole log is in the database file.
    int mark;
} File;

static sqlite3_file *below(sqlite3_file *file) { return (sqlite3_file *)((File *)file + 1); }
#define CALL(file, method, ...) below(file)->pMethods->method(below(file), ##__VA_ARGS__)

static int damage(File *file, int64_t page, int is_missing, uint32_t found) {
    size_t length = strlen(file->path);
    if (length >= sizeof last.path) length = sizeof last.path - 1;
    memset(&last, 0, sizeof last);
    memcpy(last.path, file->path, length);
    last.page = page;
    last.in_log = file->is_log;
    last.is_missing = is_missing;
    last.found = found;
    return SQLITE_IOERR_DATA;
}

// SQLite would report this code as "malformed", but here the disk failed to return a page. That differs from a page with wrong bytes.
static int real_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 at) {
    int code = CALL(file, xRead, bytes, count, at);
    return code == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : code;
}

static int read_page(sqlite3_file *file, uint8_t *bytes, sqlite3_int64 at) {
    int code = real_read(file, bytes, PAGE, at);
    int64_t number = at / PAGE + 1;
    if (code == SQLITE_IOERR_SHORT_READ && at > 0) return damage((File *)file, number, 1, 0);
    if (code != SQLITE_OK || at == LOCKS) return code;
    return is_right(bytes, number) ? SQLITE_OK : damage((File *)file, number, 0, big(bytes + NUMBER));
}

static uint32_t swapped(uint32_t word) { return __builtin_bswap32(word); }

// SQLite's own checksum of a log, over words in the byte order of the machine that wrote it.
static void log_sum(const uint8_t *bytes, int count, int is_swapped, uint32_t sum[2]) {
    for (int at = 0; at < count; at += 8) {
        uint32_t words[2];
        memcpy(words, bytes + at, 8);
        sum[0] += (is_swapped ? swapped(words[0]) : words[0]) + sum[1];
        sum[1] += (is_swapped ? swapped(words[1]) : words[1]) + sum[0];
    }
}

// The checksum of a frame continues from the frame before it. The first frame continues from the log's header.
static int check_frame(sqlite3_file *file, const uint8_t *page, int size, sqlite3_int64 frame_at) {
    uint8_t before[8], head[FRAME_HEAD];
    sqlite3_int64 at = frame_at == LOG_HEAD ? 24 : frame_at - (FRAME_HEAD + size) + 16;
    int code = real_read(file, before, 8, at);
    if (code == SQLITE_OK) code = real_read(file, head, FRAME_HEAD, frame_at);
    if (code != SQLITE_OK) return code;
    for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
        uint32_t sum[2] = {big(before), big(before + 4)};
        log_sum(head, 8, is_swapped, sum);
        log_sum(page, size, is_swapped, sum);
        if (sum[0] == big(head + 16) && sum[1] == big(head + 20)) return SQLITE_OK;
    }
    return damage((File *)file, (frame_at - LOG_HEAD) / (FRAME_HEAD + size) + 1, 0, 0);
}

static int is_size(int count) { return count >= 512 && count <= 65536 && !(count & (count - 1)); }

static int is_frame_page(int count, sqlite3_int64 at) {
    return is_size(count) && at >= LOG_HEAD + FRAME_HEAD && (at - LOG_HEAD) % (FRAME_HEAD + count) == FRAME_HEAD;
}

static int file_read(sqlite3_file *base, void *bytes, int count, sqlite3_int64 at) {
    File *file = (File *)base;
    if (file->is_log) {
        int code = real_read(base, bytes, count, at);
        if (code != SQLITE_OK || !is_frame_page(count, at) || at - FRAME_HEAD >= file->unsummed) return code;
        return check_frame(base, bytes, count, at - FRAME_HEAD);
    }
    if (!file->has_sums || count < 512) return real_read(base, bytes, count, at);
    if (count == PAGE && at % PAGE == 0) return read_page(base, bytes, at);
    // SQLite reads other sizes only if the first page is damaged.
    uint8_t page[PAGE];
    for (sqlite3_int64 next = at - at % PAGE; next < at + count; next += PAGE) {
        int code = read_page(base, page, next);
        if (code != SQLITE_OK) return code;
    }
    return real_read(base, bytes, count, at);
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 at) {
    File *file = (File *)base;
    if (file->is_log) {
        if (count == FRAME_HEAD) {
            file->head = at;
            if (at <= file->unsummed) file->unsummed = INT64_MAX;
        } else if (is_frame_page(count, at) && file->head != at - FRAME_HEAD && at - FRAME_HEAD < file->unsummed) {
            file->unsummed = at - FRAME_HEAD;
        }
    } else if (file->has_sums) {
        if (count != PAGE || at % PAGE) return SQLITE_IOERR_WRITE;
        uint8_t page[PAGE];
        memcpy(page, bytes, PAGE);
        if (file->pages <= at / PAGE) file->pages = at / PAGE + 1;
        seal(page, at / PAGE + 1, file->pages);
        return CALL(base, xWrite, page, PAGE, at);
    }
    return CALL(base, xWrite, bytes, count, at);
}

enum { ENABLE = 0x48485331, IS_ON = 0x48485332 };

static int file_control(sqlite3_file *base, int operation, void *argument) {
    File *file = (File *)base;
    switch (operation) {
    case ENABLE: file->has_sums = 1; return SQLITE_OK;
    case IS_ON: *(int *)argument = file->has_sums; return SQLITE_OK;
    default: return CALL(base, xFileControl, operation, argument);
    }
}

static int file_close(sqlite3_file *file) { return CALL(file, xClose); }
static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    ((File *)file)->unsummed = INT64_MAX;
    return CALL(file, xTruncate, size);
}
static int file_sync(sqlite3_file *file, int flags) { return CALL(file, xSync, flags); }
static int file_size(sqlite3_file *file, sqlite3_int64 *size) { return CALL(file, xFileSize, size); }
static int file_lock(sqlite3_file *file, int level) { return CALL(file, xLock, level); }
static int file_unlock(sqlite3_file *file, int level) { return CALL(file, xUnlock, level); }
static int file_is_reserved(sqlite3_file *file, int *result) { return CALL(file, xCheckReservedLock, result); }
static int file_sector(sqlite3_file *file) { return CALL(file, xSectorSize); }
static int file_device(sqlite3_file *file) { return CALL(file, xDeviceCharacteristics); }
static int file_shm_map(sqlite3_file *file, int region, int size, int extends, void volatile **memory) {
    int code = CALL(file, xShmMap, region, size, extends, memory);
    // SQLite allocates one byte of each 4,096. If the file system has smaller blocks and is full, the other blocks are holes, and writing to a hole
    // ends the process with SIGBUS. This call fails if the kernel cannot allocate all of them. It does not use the file itself, because closing the
    // file would release all locks that the process holds on it.
    if (code == SQLITE_OK && *memory && madvise((void *)*memory, (size_t)size, MADV_POPULATE_WRITE) && errno == EFAULT) {
        *memory = 0;
        return SQLITE_IOERR_SHMSIZE;
    }
    return code;
}

enum { MARKS = 3 };

static int file_shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    int code = CALL(base, xShmLock, offset, count, flags);
    if (code == SQLITE_OK && offset >= MARKS && flags & SQLITE_SHM_SHARED)
        ((File *)base)->mark = flags & SQLITE_SHM_LOCK ? offset - MARKS : -1;
    return code;
}

static void file_shm_barrier(sqlite3_file *file) { CALL(file, xShmBarrier); }
static int file_shm_unmap(sqlite3_file *file, int deletes) { return CALL(file, xShmUnmap, deletes); }

// Version 2 has no methods for memory-mapping the file, so SQLite cannot read it without going through this layer.
static const sqlite3_io_methods methods = {
    2, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock, file_is_reserved,
    file_control, file_sector, file_device, file_shm_map, file_shm_lock, file_shm_barrier, file_shm_unmap, 0, 0,
};

// MARK: The layer

static sqlite3_vfs layer;
static sqlite3_vfs *system_files(void) { return layer.pAppData; }

static int layer_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags, int *out) {
    (void)vfs;
    if (!path || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return system_files()->xOpen(system_files(), path, base, flags, out);
    File *file = (File *)base;
    memset(file, 0, sizeof *file);
    int code = system_files()->xOpen(system_files(), path, below(base), flags, out);
    if (code != SQLITE_OK) return code;
    file->path = path;
    file->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    file->unsummed = INT64_MAX;
    file->head = file->mark = -1;
    file->base.pMethods = &methods;
    uint8_t first[PAGE];
    // If the first page cannot be read now, later reads fail as well and report it.
    if (!file->is_log && real_read(base, first, PAGE, 0) == SQLITE_OK) file->has_sums = has_sums(first);
    sqlite3_int64 size = 0;
    if (!file->is_log && file_size(base, &size) == SQLITE_OK) file->pages = size / PAGE;
    return SQLITE_OK;
}

#define REST(name, parameters, ...) \
    static int layer_##name parameters { (void)vfs; return system_files()->x##name(system_files(), ##__VA_ARGS__); }
REST(Delete, (sqlite3_vfs *vfs, const char *path, int syncs), path, syncs)
REST(Access, (sqlite3_vfs *vfs, const char *path, int flags, int *out), path, flags, out)
REST(FullPathname, (sqlite3_vfs *vfs, const char *path, int count, char *out), path, count, out)
REST(Randomness, (sqlite3_vfs *vfs, int count, char *out), count, out)
REST(Sleep, (sqlite3_vfs *vfs, int microseconds), microseconds)
REST(CurrentTime, (sqlite3_vfs *vfs, double *out), out)
REST(GetLastError, (sqlite3_vfs *vfs, int count, char *out), count, out)
REST(CurrentTimeInt64, (sqlite3_vfs *vfs, sqlite3_int64 *out), out)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int begun = SQLITE_ERROR;

static void begin(void) {
    // Nothing uses SQLite's memory statistics, and they cost a lock per allocation. If SQLite is already initialised, the call has no effect.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_vfs *system = sqlite3_vfs_find(0);
    if (!system || system->iVersion < 2) return;
    layer = (sqlite3_vfs){
        .iVersion = 2, .szOsFile = (int)sizeof(File) + system->szOsFile, .mxPathname = system->mxPathname,
        .zName = "page-sums", .pAppData = system, .xOpen = layer_open, .xDelete = layer_Delete, .xAccess = layer_Access,
        .xFullPathname = layer_FullPathname, .xRandomness = layer_Randomness, .xSleep = layer_Sleep,
        .xCurrentTime = layer_CurrentTime, .xGetLastError = layer_GetLastError,
        .xCurrentTimeInt64 = layer_CurrentTimeInt64,
    };
    begun = sqlite3_vfs_register(&layer, 1);
}

int page_sums_begin(void) {
    pthread_once(&once, begin);
    return begun;
}

// MARK: For the store

int page_sums_enable(sqlite3 *base) {
    int reserve = page_sums_reserve;
    int code = sqlite3_file_control(base, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
    return code ? code : sqlite3_file_control(base, "main", ENABLE, 0);
}

int page_sums_are_on(sqlite3 *base) {
    int is_on = 0;
    return sqlite3_file_control(base, "main", IS_ON, &is_on) == SQLITE_OK && is_on;
}

int page_sums_are_in(const char *path) {
    uint8_t first[PAGE];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t count = pread(file, first, PAGE, 0);
    close(file);
    return count < 0 ? -1 : count == PAGE && has_sums(first);
}

int page_sums_stamp(const char *path) {
    uint8_t page[PAGE];
    int file = open(path, O_RDWR | O_CLOEXEC), failure = 0;
    if (file < 0) return errno;
    struct stat status;
    if (fstat(file, &status)) failure = errno;
    for (off_t at = 0; !failure && at < status.st_size; at += PAGE) {
        if (at == LOCKS) continue;
        if (pread(file, page, PAGE, at) != PAGE) failure = errno ? errno : EIO;
        if (failure) break;
        seal(page, at / PAGE + 1, status.st_size / PAGE);
        if (pwrite(file, page, PAGE, at) != PAGE) failure = errno ? errno : EIO;
    }
    close(file);
    return failure;
}

static sqlite3_file *file_of(sqlite3 *base, int operation) {
    sqlite3_file *file = 0;
    if (sqlite3_file_control(base, "main", operation, &file) != SQLITE_OK || !file) return 0;
    return file->pMethods == &methods ? file : 0;
}

int page_sums_read_page(sqlite3 *base, int64_t page, uint8_t *bytes) {
    sqlite3_file *file = file_of(base, SQLITE_FCNTL_FILE_POINTER);
    if (!file) return SQLITE_MISUSE;
    sqlite3_int64 at = (page - 1) * PAGE;
    return ((File *)file)->has_sums ? read_page(file, bytes, at) : real_read(file, bytes, PAGE, at);
}

int page_sums_check_page(sqlite3 *base, int64_t page) {
    uint8_t bytes[PAGE];
    return (page - 1) * PAGE == LOCKS || !page_sums_are_on(base) ? SQLITE_OK : page_sums_read_page(base, page, bytes);
}

void page_sums_seal_page(uint8_t *page, int64_t number, int64_t pages) { seal(page, number, pages); }

int page_sums_mark(sqlite3 *base) {
    sqlite3_file *file = file_of(base, SQLITE_FCNTL_FILE_POINTER);
    return file ? ((File *)file)->mark : -1;
}

static int index_of_log(sqlite3 *base, const volatile uint32_t **words) {
    *words = 0;
    sqlite3_file *file = file_of(base, SQLITE_FCNTL_FILE_POINTER), *log = file_of(base, SQLITE_FCNTL_JOURNAL_POINTER);
    if (!file || !log || !((File *)log)->is_log) return SQLITE_OK;
    void volatile *memory = 0;
    int code = CALL(file, xShmMap, 0, 32768, 0, &memory);
    *words = memory;
    return code;
}

int page_sums_log(sqlite3 *base, uint32_t *frames, uint32_t *written) {
    *frames = *written = 0;
    const volatile uint32_t *words;
    int code = index_of_log(base, &words);
    if (code != SQLITE_OK || !words) return code;
    // Defined by SQLite's file format: the index header holds the number of frames, and word 24 holds how many of them are in the database file.
    *frames = words[4];
    *written = words[24];
    return SQLITE_OK;
}

int page_sums_log_head(sqlite3 *base, uint32_t *head) {
    memset(head, 0, 48);
    const volatile uint32_t *words;
    int code = index_of_log(base, &words);
    if (code != SQLITE_OK || !words) return code;
    for (int at = 0; at < 12; at++) head[at] = words[at];
    // The header is stored twice; the copies differ while a writer changes it.
    for (int at = 0; at < 12; at++)
        if (words[12 + at] != head[at]) return SQLITE_BUSY;
    return SQLITE_OK;
}

int page_sums_check_frame(sqlite3 *base, uint32_t frame, uint32_t *page) {
    uint8_t bytes[PAGE];
    return page_sums_read_frame(base, frame, page, bytes);
}

int page_sums_read_frame(sqlite3 *base, uint32_t frame, uint32_t *page, uint8_t *bytes) {
    sqlite3_file *log = file_of(base, SQLITE_FCNTL_JOURNAL_POINTER);
    if (!log || !((File *)log)->is_log) return SQLITE_MISUSE;
    uint8_t start[LOG_HEAD], head[FRAME_HEAD];
    *page = 0;
    int code = real_read(log, start, LOG_HEAD, 0);
    if (code != SQLITE_OK) return code == SQLITE_IOERR_SHORT_READ ? damage((File *)log, frame, 1, 0) : code;
    if (frame == 0) {
        int is_whole = big(start + 8) == PAGE;
        for (int is_swapped = 0; is_swapped < 2 && is_whole; is_swapped++) {
            uint32_t sum[2] = {0, 0};
            log_sum(start, 24, is_swapped, sum);
            if (sum[0] == big(start + 24) && sum[1] == big(start + 28)) return SQLITE_OK;
        }
        return damage((File *)log, 0, 0, 0);
    }
    sqlite3_int64 at = LOG_HEAD + (sqlite3_int64)(frame - 1) * (FRAME_HEAD + PAGE);
    code = real_read(log, head, FRAME_HEAD, at);
    if (code == SQLITE_OK) code = file_read(log, bytes, PAGE, at + FRAME_HEAD);
    if (code == SQLITE_IOERR_SHORT_READ) return damage((File *)log, frame, 1, 0);
    if (code != SQLITE_OK) return code;
    *page = big(head);
    // The log's salt, which differs between frames of this round of the log and frames of earlier rounds.
    return memcmp(head + 8, start + 16, 8) ? damage((File *)log, frame, 0, 0) : SQLITE_OK;
}
