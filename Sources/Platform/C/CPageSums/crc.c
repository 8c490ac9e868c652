#include "CPageSums.h"
#include <pthread.h>
#include <string.h>

// CRC-32C (Castagnoli): finds every error of up to three bits in a page, and every burst of up to 32 bits. Processors have an instruction for it.
static const uint32_t polynomial = 0x82F63B78;
static uint32_t table[8][256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        table[0][byte] = crc;
    }
    for (int row = 1; row < 8; row++)
        for (uint32_t byte = 0; byte < 256; byte++)
            table[row][byte] = table[row - 1][byte] >> 8 ^ table[0][table[row - 1][byte] & 0xFF];
}

uint32_t page_sums_crc_plain(uint32_t crc, const void *bytes, unsigned count) {
    pthread_once(&made, make_table);
    const uint8_t *next = bytes;
    crc = ~crc;
    for (; count >= 8; count -= 8, next += 8) {
        uint32_t low = crc ^ ((uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24);
        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24]
            ^ table[3][next[4]] ^ table[2][next[5]] ^ table[1][next[6]] ^ table[0][next[7]];
    }
    while (count--) crc = crc >> 8 ^ table[0][(crc ^ *next++) & 0xFF];
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_machine(uint32_t crc, const void *bytes, unsigned count) {
    const uint8_t *next = bytes;
    uint64_t wide = (uint32_t)~crc;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    while (count--) wide = __builtin_ia32_crc32qi((uint32_t)wide, *next++);
    return ~(uint32_t)wide;
}
static int has_machine(void) { return __builtin_cpu_supports("sse4.2"); }
#else
#define crc_machine page_sums_crc_plain
static int has_machine(void) { return 0; }
#endif

uint32_t page_sums_crc(uint32_t crc, const void *bytes, unsigned count) {
    return has_machine() ? crc_machine(crc, bytes, count) : page_sums_crc_plain(crc, bytes, count);
}
