// The peers of the hub's live path: the same frames through a C program, and through zmq_proxy.
#include "common.h"
#include <string.h>

// The topic, and the members that the hub adds to a LIVE body.
static const char topic[] = "live/heartRate/me/bench/";
static const char place[] = "0 0 k7qz2m5a";
static const char added[] = ",\"person\":\"me\",\"source\":\"bench\",\"time\":\"2024-03-15T06:30:05.123456Z\"}";

static void bind_to(void *socket, const char *endpoint) {
    int enough = 10000;  // The same as for the hub's feed.
    zmq_setsockopt(socket, ZMQ_SNDHWM, &enough, sizeof enough);
    if (zmq_bind(socket, endpoint)) fail("%s: %s", endpoint, zmq_strerror(zmq_errno()));
}

// ROUTER in, XPUB out: [peer] [LIVE] [body] becomes [topic] [0 0 epoch] [body with the members added].
static void relay(void *door, void *feed) {
    zmq_pollitem_t items[] = {{door, 0, ZMQ_POLLIN, 0}, {feed, 0, ZMQ_POLLIN, 0}};
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    while (zmq_poll(items, 2, -1) >= 0) {
        while (items[1].revents && zmq_msg_recv(&frame, feed, ZMQ_DONTWAIT) >= 0) continue;
        for (int left = 1000; left > 0 && items[0].revents; left--) {
            if (zmq_msg_recv(&frame, door, ZMQ_DONTWAIT) < 0) break;
            zmq_msg_recv(&frame, door, 0);
            zmq_msg_recv(&frame, door, 0);
            size_t count = zmq_msg_size(&frame) - 1;
            zmq_msg_t body;
            zmq_msg_init_size(&body, count + sizeof added - 1);
            memcpy(zmq_msg_data(&body), zmq_msg_data(&frame), count);
            memcpy((char *)zmq_msg_data(&body) + count, added, sizeof added - 1);
            zmq_send(feed, topic, sizeof topic - 1, ZMQ_SNDMORE);
            zmq_send(feed, place, sizeof place - 1, ZMQ_SNDMORE);
            zmq_msg_send(&body, feed, 0);
        }
    }
}

int main(int argc, char **argv) {
    const char *usage = "relay|proxy DOOR FEED";
    int is_proxy = !strcmp(argument(argc, argv, 1, usage), "proxy");
    const char *in = argument(argc, argv, 2, usage), *out = argument(argc, argv, 3, usage);
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 4096);
    void *door = open_socket(context, is_proxy ? ZMQ_XSUB : ZMQ_ROUTER), *feed = open_socket(context, ZMQ_XPUB);
    bind_to(door, in);
    bind_to(feed, out);
    if (is_proxy) {
        zmq_proxy(door, feed, NULL);
    } else {
        relay(door, feed);
    }
}
