// Shared by the load generators: time, errors, and the part of the hub's dialogue (Docs/Protocol.md) that they need.
#ifndef COMMON_H
#define COMMON_H
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

// Monotonic time in seconds.
double now(void);
// Writes a line to stderr and ends the program.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
// Prints a figure for the driver: one line of NAME VALUE on stdout.
void figure(const char *name, double value);
// Returns an argument, or ends the program with the usage if it is missing.
const char *argument(int argc, char **argv, int index, const char *usage);

// Opens a socket of this `type` (ZMQ_DEALER and so on), with a linger of zero and without limits on its queues.
void *open_socket(void *context, int type);
// Sends one frame; blocks while the queue is full.
void send_frame(void *socket, const void *bytes, size_t count, int flags);

// One message of the hub: verb and body.
typedef struct {
    zmq_msg_t verb, body;
} answer;
// Receives the next message and answers PINGs on the way (R4.20). `flags` may be ZMQ_DONTWAIT; returns 0 if no message waits.
int receive(void *door, answer *answer, int flags);
// Returns whether the verb is this word.
int is(answer *answer, const char *verb);
void release(answer *answer);

// Returns the text after the first `word` in the `count` bytes at `from`, or ends the program.
const char *after(const char *from, size_t count, const char *word);
// The same for the last such word.
const char *after_last(const char *from, size_t count, const char *word);

// The limits that WELCOME granted.
typedef struct {
    long records, bytes;
    char epoch[9];
} terms;
// Connects to a door, sends HELLO and receives WELCOME.
void *greet(void *context, const char *door, const char *instance, terms *terms);

// Writes record number `index` into `buffer`, which must hold RECORD_ROOM bytes. Returns its length.
// Records are a second apart and in order of time, as a device would give its history.
#define RECORD_ROOM 256
int write_record(char *buffer, long index);
#endif
