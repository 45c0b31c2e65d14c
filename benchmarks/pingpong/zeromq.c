// ZeroMQ, two PAIR sockets over ipc. zmq_send copies the array, so that the caller may change it afterwards, as
// with all other programs. The receiver reads the message in the memory of ZeroMQ. An echo sends the received
// message itself.
#include <zmq.h>

#include "harness.h"

static void *context, *socket_;
static zmq_msg_t arrived;

static enum side peer_side(int argc, char **argv) {
    (void)argc, (void)argv;
    return fork_pair();  // the context with its thread is made after the fork and after the choice of the core
}

static void checked(int result, const char *what) {
    if (result < 0) fail("%s: %s", what, zmq_strerror(zmq_errno()));
}

static void peer_open(enum side side, size_t largest) {
    (void)largest;
    char address[256];
    snprintf(address, sizeof address, "ipc://%s.socket", variable("PINGPONG_OUT"));
    context = zmq_ctx_new();
    socket_ = zmq_socket(context, ZMQ_PAIR);
    if (!socket_) fail("no ZeroMQ socket");
    if (side == SIDE_A) checked(zmq_bind(socket_, address), "zmq_bind");
    else checked(zmq_connect(socket_, address), "zmq_connect");
    zmq_msg_init(&arrived);
}

static void peer_start(const struct exchange *x) { (void)x; }

static inline void *peer_array(size_t bytes) {
    (void)bytes;
    return send_array;
}

static inline void peer_send(void *array, size_t bytes) {
    checked(zmq_send(socket_, array, bytes, 0), "zmq_send");
}

static inline const void *peer_receive(size_t bytes) {
    checked(zmq_msg_recv(&arrived, socket_, 0), "zmq_msg_recv");
    if (zmq_msg_size(&arrived) != bytes) fail("%zu bytes came instead of %zu", zmq_msg_size(&arrived), bytes);
    return zmq_msg_data(&arrived);
}

static inline void peer_release(void) {}  // the next zmq_msg_recv frees it

static inline void peer_echo(const void *data, size_t bytes) {
    (void)data, (void)bytes;
    checked(zmq_msg_send(&arrived, socket_, 0), "zmq_msg_send");
}

static void peer_close(void) {
    zmq_msg_close(&arrived);
    zmq_close(socket_);
    zmq_ctx_term(context);
}
