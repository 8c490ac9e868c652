// The functions of libzmq that zeromq.mjs needs, as an addon for Node; package.json has the command that builds it.
//
// It uses only Node-API and libuv, whose binary forms do not change: built with Node 18, it also works with later versions.
// A socket belongs to one thread.
#define NAPI_VERSION 8
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>
#include <zmq.h>

// A socket. `holders` counts its owners: the JavaScript value, and the watch until libuv has closed it.
struct hub_socket {
    void *zmq;
    uv_poll_t watch;
    int holders;
    napi_env env;
    napi_ref ready;
    napi_async_cleanup_hook_handle cleanup;
};

static const napi_type_tag contexts = {0x6865616c74682d68, 0x75622d636f6e7478}, sockets = {0x6865616c74682d68, 0x75622d736f636b74};

static napi_value fail(napi_env env, const char *what, const char *why) {
    char text[512];
    snprintf(text, sizeof text, "%s: %s", what, why);
    napi_throw_error(env, "socket", text);
    return NULL;
}

static napi_value fail_zmq(napi_env env, const char *what) { return fail(env, what, zmq_strerror(zmq_errno())); }

// The native part of an argument, which must be of that kind and open; otherwise there is an exception.
static void *unwrap(napi_env env, napi_value value, const napi_type_tag *tag) {
    bool fits = false;
    void *found = NULL;
    napi_valuetype type;
    if (napi_typeof(env, value, &type) == napi_ok && type == napi_object &&
        napi_check_object_type_tag(env, value, tag, &fits) == napi_ok && fits)
        napi_unwrap(env, value, &found);
    if (!found) fail(env, "socket", "not an open socket or context of this addon");
    return found;
}

static struct hub_socket *open_socket(napi_env env, napi_value value) {
    struct hub_socket *socket = unwrap(env, value, &sockets);
    if (!socket || socket->zmq) return socket;
    fail(env, "socket", "it is closed");
    return NULL;
}

// Takes `count` arguments; fewer are an exception.
static bool take(napi_env env, napi_callback_info info, size_t count, napi_value *values) {
    size_t given = count;
    if (napi_get_cb_info(env, info, &given, values, NULL, NULL) == napi_ok && given >= count) return true;
    fail(env, "addon", "too few arguments");
    return false;
}

// A text as bytes that the caller frees, with a 0 after them; NULL and an exception if it is no text.
static char *text_of(napi_env env, napi_value value, size_t *size) {
    char *text = NULL;
    if (napi_get_value_string_utf8(env, value, NULL, 0, size) != napi_ok) {
        fail(env, "addon", "expected a text");
        return NULL;
    }
    text = malloc(*size + 1);
    if (text) napi_get_value_string_utf8(env, value, text, *size + 1, size);
    else fail(env, "addon", "out of memory");
    return text;
}

static void release(struct hub_socket *socket) {
    if (--socket->holders == 0) free(socket);
}

static void watch_closed(uv_handle_t *watch) {
    struct hub_socket *socket = watch->data;
    if (socket->cleanup) napi_remove_async_cleanup_hook(socket->cleanup);
    release(socket);
}

// Ends the watch before libzmq closes the descriptor that it watches.
static void close_socket(struct hub_socket *socket) {
    if (!socket->zmq) return;
    if (socket->ready) {
        napi_delete_reference(socket->env, socket->ready);
        socket->ready = NULL;
        uv_close((uv_handle_t *)&socket->watch, watch_closed);
    }
    zmq_close(socket->zmq);
    socket->zmq = NULL;
}

static void forget_socket(napi_env env, void *data, void *hint) {
    (void)env, (void)hint;
    close_socket(data);
    release(data);
}

// A worker thread of Node ends, and its loop with it.
static void end_of_thread(napi_async_cleanup_hook_handle handle, void *data) {
    struct hub_socket *socket = data;
    if (socket->ready) close_socket(socket);
    (void)handle;
}

static void is_ready(uv_poll_t *watch, int status, int events) {
    (void)status, (void)events;
    struct hub_socket *socket = watch->data;
    napi_handle_scope scope;
    napi_value ready, global, ignored;
    napi_env env = socket->env;
    if (napi_open_handle_scope(env, &scope) != napi_ok) return;
    napi_get_reference_value(env, socket->ready, &ready);
    napi_get_global(env, &global);
    napi_value error;
    if (napi_make_callback(env, NULL, global, ready, 0, NULL, &ignored) == napi_pending_exception &&
        napi_get_and_clear_last_exception(env, &error) == napi_ok)
        napi_fatal_exception(env, error);
    napi_close_handle_scope(env, scope);
}

// context() → a context, to be ended after its sockets are closed
static napi_value make_context(napi_env env, napi_callback_info info) {
    (void)info;
    void *context = zmq_ctx_new();
    if (!context) return fail_zmq(env, "context");
    napi_value value;
    napi_create_object(env, &value);
    napi_type_tag_object(env, value, &contexts);
    napi_wrap(env, value, context, NULL, NULL, NULL);
    return value;
}

// end(context)
static napi_value end_context(napi_env env, napi_callback_info info) {
    napi_value values[1];
    void *context;
    if (!take(env, info, 1, values) || !unwrap(env, values[0], &contexts)) return NULL;
    napi_remove_wrap(env, values[0], &context);
    zmq_ctx_term(context);
    return NULL;
}

// open(context, type) → a socket
static napi_value open_new(napi_env env, napi_callback_info info) {
    napi_value values[2], value;
    int32_t type = 0;
    void *context;
    if (!take(env, info, 2, values) || !(context = unwrap(env, values[0], &contexts))) return NULL;
    napi_get_value_int32(env, values[1], &type);
    struct hub_socket *socket = calloc(1, sizeof *socket);
    if (!socket) return fail(env, "socket", "out of memory");
    socket->env = env;
    socket->holders = 1;
    socket->zmq = zmq_socket(context, type);
    if (!socket->zmq) {
        free(socket);
        return fail_zmq(env, "socket");
    }
    napi_create_object(env, &value);
    napi_type_tag_object(env, value, &sockets);
    napi_wrap(env, value, socket, forget_socket, NULL, NULL);
    return value;
}

// set(socket, option, number or text)
static napi_value set(napi_env env, napi_callback_info info) {
    napi_value values[3];
    struct hub_socket *socket;
    int32_t option = 0, number = 0;
    napi_valuetype type;
    if (!take(env, info, 3, values) || !(socket = open_socket(env, values[0]))) return NULL;
    napi_get_value_int32(env, values[1], &option);
    napi_typeof(env, values[2], &type);
    int code;
    if (type == napi_number) {
        napi_get_value_int32(env, values[2], &number);
        code = zmq_setsockopt(socket->zmq, option, &number, sizeof number);
    } else {
        size_t size;
        char *text = text_of(env, values[2], &size);
        if (!text) return NULL;
        code = zmq_setsockopt(socket->zmq, option, text, size);
        free(text);
    }
    if (code) {
        char what[32];
        snprintf(what, sizeof what, "option %d", option);
        return fail_zmq(env, what);
    }
    return NULL;
}

static napi_value with_address(napi_env env, napi_callback_info info, bool monitors) {
    napi_value values[3];
    struct hub_socket *socket;
    int32_t events = 0;
    size_t size;
    if (!take(env, info, monitors ? 3 : 2, values) || !(socket = open_socket(env, values[0]))) return NULL;
    if (monitors) napi_get_value_int32(env, values[2], &events);
    char *address = text_of(env, values[1], &size);
    if (!address) return NULL;
    // Without events the monitor ends. An empty address would be an error to libzmq.
    int code = !monitors ? zmq_connect(socket->zmq, address) : zmq_socket_monitor(socket->zmq, events ? address : NULL, events);
    if (code) fail_zmq(env, address);
    free(address);
    return NULL;
}

// connect(socket, address)
static napi_value connect_to(napi_env env, napi_callback_info info) { return with_address(env, info, false); }

// monitor(socket, address, events): publishes these events of the socket at that address; 0 ends it
static napi_value monitor(napi_env env, napi_callback_info info) { return with_address(env, info, true); }

// watch(socket, ready): calls `ready` if something may have happened; then `receive` until it returns null. Once for a socket.
static napi_value watch(napi_env env, napi_callback_info info) {
    napi_value values[2];
    struct hub_socket *socket;
    uv_loop_t *loop;
    int descriptor;
    size_t size = sizeof descriptor;
    if (!take(env, info, 2, values) || !(socket = open_socket(env, values[0]))) return NULL;
    if (socket->ready) return fail(env, "watch", "the socket has one");
    if (zmq_getsockopt(socket->zmq, ZMQ_FD, &descriptor, &size)) return fail_zmq(env, "watch");
    if (napi_get_uv_event_loop(env, &loop) != napi_ok || uv_poll_init(loop, &socket->watch, descriptor)) return fail(env, "watch", "no event loop");
    napi_create_reference(env, values[1], 1, &socket->ready);
    napi_add_async_cleanup_hook(env, end_of_thread, socket, &socket->cleanup);
    socket->holders++;
    socket->watch.data = socket;
    uv_poll_start(&socket->watch, UV_READABLE, is_ready);
    return NULL;
}

// send(socket, verb, body) → whether there was a connection to send it to
static napi_value send_two(napi_env env, napi_callback_info info) {
    napi_value values[3], result;
    struct hub_socket *socket;
    if (!take(env, info, 3, values) || !(socket = open_socket(env, values[0]))) return NULL;
    bool sent = true;
    int error = 0;
    for (int n = 0; n < 2 && sent; n++) {
        size_t size;
        char *text = text_of(env, values[1 + n], &size);
        if (!text) return NULL;
        sent = zmq_send(socket->zmq, text, size, ZMQ_DONTWAIT | (n == 0 ? ZMQ_SNDMORE : 0)) >= 0;
        error = zmq_errno();
        free(text);
    }
    if (!sent && error != EAGAIN) return fail(env, "send", zmq_strerror(error));
    napi_get_boolean(env, sent, &result);
    return result;
}

// receive(socket) → the frames of a message that is here, each a Buffer; null if there is none
static napi_value receive(napi_env env, napi_callback_info info) {
    napi_value values[1], frames = NULL;
    struct hub_socket *socket;
    if (!take(env, info, 1, values) || !(socket = open_socket(env, values[0]))) return NULL;
    for (uint32_t n = 0;; n++) {
        zmq_msg_t message;
        napi_value frame;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket->zmq, ZMQ_DONTWAIT) < 0) {
            if (zmq_errno() != EAGAIN) return fail_zmq(env, "receive");
            napi_get_null(env, &frames);
            return frames;
        }
        if (n == 0) napi_create_array(env, &frames);
        bool fits = napi_create_buffer_copy(env, zmq_msg_size(&message), zmq_msg_data(&message), NULL, &frame) == napi_ok;
        bool more = zmq_msg_more(&message);
        zmq_msg_close(&message);
        if (!fits || napi_set_element(env, frames, n, frame) != napi_ok) return fail(env, "receive", "out of memory");
        if (!more) return frames;
    }
}

// close(socket)
static napi_value close_it(napi_env env, napi_callback_info info) {
    napi_value values[1];
    struct hub_socket *socket;
    if (take(env, info, 1, values) && (socket = unwrap(env, values[0], &sockets))) close_socket(socket);
    return NULL;
}

// Keeps a library in memory when a worker thread of Node ends, because threads of libzmq may still run.
static void keep(void *function) {
    Dl_info library;
    if (dladdr(function, &library)) dlopen(library.dli_fname, RTLD_LAZY | RTLD_NODELETE);
}

NAPI_MODULE_INIT() {
    static const struct {
        const char *name;
        napi_callback call;
    } calls[] = {{"context", make_context}, {"end", end_context}, {"open", open_new}, {"set", set}, {"connect", connect_to}, {"monitor", monitor},
                 {"watch", watch}, {"send", send_two}, {"receive", receive}, {"close", close_it}};
    keep((void *)keep);
    keep((void *)zmq_ctx_new);
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++) {
        napi_value call;
        napi_create_function(env, calls[n].name, NAPI_AUTO_LENGTH, calls[n].call, NULL, &call);
        napi_set_named_property(env, exports, calls[n].name, call);
    }
    return exports;
}
