// Lists the functions of this program that run between two calls, without a special build: it puts a breakpoint at the first instruction of
// each function, and the breakpoint removes itself when it is hit. It needs Linux on x86-64, and the program's own table of symbols.
#ifndef FUNCTION_TRACE_H
#define FUNCTION_TRACE_H

#include <stddef.h>
#include <stdint.h>

/// Chooses the functions whose symbols contain one of these texts.
///
/// @return their number, or -1 if this machine or program cannot be traced.
int function_trace_open(const char *const *texts, int count);

/// Puts the breakpoints; functions that run from now on are noted.
///
/// @return 0, or -1 if the system does not allow the change of a program's code.
int function_trace_begin(void);

/// Removes the breakpoints.
void function_trace_end(void);

/// The address, in the program's file, of the chosen function at `index` if it has run since the last `begin`; otherwise 0.
uint64_t function_trace_hit(int index);

#endif
