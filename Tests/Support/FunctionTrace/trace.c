#define _GNU_SOURCE
#include "function_trace.h"

#if defined(__linux__) && defined(__x86_64__)

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct {
    /// The address of the first instruction in memory.
    uint8_t *code;
    uint8_t first_byte;
    _Atomic uint8_t is_hit;
} Function;

static Function *functions;
static int function_count;
/// The difference between an address in memory and in the file.
static uint64_t base;
/// The program's code in memory.
static uint8_t *code;
static size_t code_size;
static struct sigaction before;
static int is_handled;

static const uint8_t breakpoint = 0xCC;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    base = info->dlpi_addr;
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = (base + part->p_vaddr) / page * page;
        code = (uint8_t *)start;
        code_size = base + part->p_vaddr + part->p_memsz - start;
    }
    return 1; // The program itself comes first.
}

static int by_address(const void *left, const void *right) {
    const uint8_t *one = ((const Function *)left)->code, *other = ((const Function *)right)->code;
    return one < other ? -1 : one > other;
}

static int contains_any(const char *name, const char *const *texts, int count) {
    for (int index = 0; index < count; index++) {
        if (strstr(name, texts[index])) return 1;
    }
    return 0;
}

/// Takes the functions of one table of symbols.
static void take(const Elf64_Sym *symbols, size_t count, const char *names, const char *const *texts, int text_count) {
    functions = calloc(count, sizeof *functions);
    for (size_t index = 0; functions && index < count; index++) {
        uint8_t *place = (uint8_t *)(base + symbols[index].st_value);
        if (ELF64_ST_TYPE(symbols[index].st_info) != STT_FUNC || place < code || place >= code + code_size) continue;
        if (!contains_any(names + symbols[index].st_name, texts, text_count)) continue;
        functions[function_count++] = (Function){.code = place, .first_byte = *place};
    }
    qsort(functions, (size_t)function_count, sizeof *functions, by_address);
    int kept = 0; // Several symbols may name one function.
    for (int index = 0; index < function_count; index++) {
        if (kept == 0 || functions[kept - 1].code != functions[index].code) functions[kept++] = functions[index];
    }
    function_count = kept;
}

int function_trace_open(const char *const *texts, int count) {
    if (functions) return function_count;
    dl_iterate_phdr(find_program, NULL);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (file < 0 || fstat(file, &facts)) return -1;
    const uint8_t *bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED) return -1;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
    for (int index = 0; index < header->e_shnum; index++) {
        if (sections[index].sh_type != SHT_SYMTAB) continue;
        const char *names = (const char *)bytes + sections[sections[index].sh_link].sh_offset;
        take((const Elf64_Sym *)(bytes + sections[index].sh_offset), sections[index].sh_size / sizeof(Elf64_Sym), names, texts, count);
        break;
    }
    munmap((void *)bytes, (size_t)facts.st_size);
    return function_count > 0 ? function_count : -1;
}

static Function *find(const uint8_t *place) {
    int low = 0, high = function_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (functions[middle].code == place) return &functions[middle];
        if (functions[middle].code < place) low = middle + 1; else high = middle;
    }
    return NULL;
}

/// Notes the function, removes its breakpoint and lets it run on.
static void hit(int signal, siginfo_t *info, void *context) {
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    Function *function = find((uint8_t *)registers[REG_RIP] - 1);
    if (!function) {
        // A trap of the program itself: it ends as it would have without this library.
        sigaction(signal, &before, NULL);
        return;
    }
    *(volatile uint8_t *)function->code = function->first_byte;
    function->is_hit = 1;
    registers[REG_RIP] -= 1;
}

int function_trace_begin(void) {
    struct sigaction action = {.sa_sigaction = hit, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (!is_handled) {
        if (mprotect(code, code_size, PROT_READ | PROT_WRITE | PROT_EXEC)) return -1;
        if (sigaction(SIGTRAP, &action, &before)) return -1;
        is_handled = 1;
    }
    for (int index = 0; index < function_count; index++) {
        functions[index].is_hit = 0;
        *(volatile uint8_t *)functions[index].code = breakpoint;
    }
    return 0;
}

void function_trace_end(void) {
    for (int index = 0; index < function_count; index++) *(volatile uint8_t *)functions[index].code = functions[index].first_byte;
    // The handler stays: a thread may have met a breakpoint that is removed now.
}

uint64_t function_trace_hit(int index) { return functions[index].is_hit ? (uint64_t)functions[index].code - base : 0; }

#else

int function_trace_open(const char *const *texts, int count) { (void)texts, (void)count; return -1; }
int function_trace_begin(void) { return -1; }
void function_trace_end(void) {}
uint64_t function_trace_hit(int index) { (void)index; return 0; }

#endif
