// What the load generators share: time, errors, and the few words of the hub's dialogue (Docs/Protocol.md) that they need.
#ifndef COMMON_H
#define COMMON_H
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

// Monotonic seconds.
double now(void);
// Ends the program with a line on stderr.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
// A figure for the driver: one line of NAME VALUE on stdout.
void figure(const char *name, double value);
// An argument that must be there.
const char *argument(int argc, char **argv, int index, const char *usage);

// A socket with its linger at zero and without bounds of its own; `type` is ZMQ_DEALER and so on.
void *open_socket(void *context, int type);
// Sends one frame; blocks while the queue is full.
void send_frame(void *socket, const void *bytes, size_t count, int flags);

// One message of the hub: verb and body.
typedef struct {
    zmq_msg_t verb, body;
} answer;
// Receives the next message, and answers PINGs on the way (R4.20). `flags` may be ZMQ_DONTWAIT; 0 when nothing waits.
int receive(void *door, answer *answer, int flags);
// Whether the verb is this word.
int is(answer *answer, const char *verb);
void release(answer *answer);

// The text from `from` on that follows `word` in a body, or fails.
const char *after(const char *from, size_t count, const char *word);
// As `after`, for the last such word.
const char *after_last(const char *from, size_t count, const char *word);

// What WELCOME granted.
typedef struct {
    long records, bytes;
    char epoch[9];
} terms;
// Connects to a door and says HELLO.
void *greet(void *context, const char *door, const char *instance, terms *terms);

// Writes record number `index` into `buffer`, which has room for RECORD_ROOM bytes; its length.
// A second apart each, in the order of time, as a device would give its history.
#define RECORD_ROOM 256
int write_record(char *buffer, long index);
#endif
