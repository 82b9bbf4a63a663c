/* SPDX-License-Identifier: Apache-2.0 */
/* net_bench over gRPC C-core: one bidirectional stream of byte buffers, mutual TLS, frames as large as messages.
 *
 * A message is one slice of the caller's memory, so nothing is copied before the encryption. Operations are waited for
 * one by one, as bulk senders with two buffers would do: the next send starts when the last one has been taken by the
 * stack.
 */
#include "net_bench.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

typedef struct wire {
    int side;
    grpc_completion_queue *queue;
    grpc_channel *channel;
    grpc_server *server;
    grpc_call *call;
    grpc_metadata_array initial, trailing, asked;
    grpc_call_details details;
    grpc_byte_buffer *held; /* a received message, read up to `offset` */
    size_t offset;
} wire;

static void wait_for(wire *l)
{
    grpc_event e = grpc_completion_queue_next(l->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    if (e.type != GRPC_OP_COMPLETE || !e.success) give_up("gRPC operation");
}

static void batch(wire *l, const grpc_op *ops, size_t count)
{
    if (grpc_call_start_batch(l->call, ops, count, l, NULL) != GRPC_CALL_OK) give_up("gRPC batch");
    wait_for(l);
}

/* A free port; somebody else may take it before the server does, and then the run fails. */
static void prepare(const credentials *c, int *meeting)
{
    (void)c;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int){1}, sizeof(int));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0) give_up("bind");
    *meeting = fd;
}

static int port_of(int fd)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0) give_up("port");
    return ntohs(address.sin_port);
}

static grpc_arg integer(const char *key, int value)
{
    grpc_arg arg = {.type = GRPC_ARG_INTEGER, .key = (char *)(size_t)key};
    arg.value.integer = value;
    return arg;
}

static void open_server(wire *l, const credentials *c, const char *address, const grpc_channel_args *args)
{
    grpc_ssl_pem_key_cert_pair pair = {c->key[SERVER], c->certificate[SERVER]};
    grpc_server_credentials *own = grpc_ssl_server_credentials_create_ex(
        c->ca, &pair, 1, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, NULL);
    l->server = grpc_server_create(args, NULL);
    grpc_server_register_completion_queue(l->server, l->queue, NULL);
    if (!grpc_server_add_http2_port(l->server, address, own)) give_up("gRPC port");
    grpc_server_credentials_release(own);
    grpc_server_start(l->server);
    grpc_call_details_init(&l->details);
    grpc_metadata_array_init(&l->asked);
    if (grpc_server_request_call(l->server, &l->call, &l->details, &l->asked, l->queue, l->queue, l) != GRPC_CALL_OK)
        give_up("gRPC request");
    wait_for(l);
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    batch(l, &op, 1);
}

static void open_client(wire *l, const credentials *c, const char *address, const grpc_channel_args *args)
{
    grpc_ssl_pem_key_cert_pair pair = {c->key[CLIENT], c->certificate[CLIENT]};
    grpc_channel_credentials *own = grpc_ssl_credentials_create_ex(c->ca, &pair, NULL, NULL);
    l->channel = grpc_channel_create(address, own, args);
    grpc_channel_credentials_release(own);
    l->call = grpc_channel_create_call(l->channel, NULL, GRPC_PROPAGATE_DEFAULTS, l->queue,
                                       grpc_slice_from_static_string("/net/bulk"), NULL,
                                       gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    grpc_op ops[2] = {{.op = GRPC_OP_SEND_INITIAL_METADATA, .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY},
                      {.op = GRPC_OP_RECV_INITIAL_METADATA}};
    grpc_metadata_array_init(&l->initial);
    ops[1].data.recv_initial_metadata.recv_initial_metadata = &l->initial;
    batch(l, ops, 2);
}

static void *open_link(const credentials *c, int meeting, int side)
{
    char address[64];
    snprintf(address, sizeof address, "localhost:%d", port_of(meeting));
    grpc_init();
    grpc_arg list[] = {integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1), integer(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
                       integer(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 4 << 20),
                       integer(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20),
                       integer(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 8 << 20)};
    grpc_channel_args args = {sizeof list / sizeof *list, list};
    wire *l = calloc(1, sizeof *l);
    l->side = side;
    l->queue = grpc_completion_queue_create_for_next(NULL);
    if (side == SERVER)
        open_server(l, c, address, &args);
    else
        open_client(l, c, address, &args);
    return l;
}

static void send_bytes(void *user, const void *bytes, size_t count)
{
    grpc_slice slice = grpc_slice_from_static_buffer(bytes, count);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};
    op.data.send_message.send_message = buffer;
    batch(user, &op, 1);
    grpc_byte_buffer_destroy(buffer);
}

/* Reads the slices in place, as a merge would; a copy is made of the first 8 bytes only. */
static void receive_bytes(void *user, void *bytes, size_t count)
{
    wire *l = user;
    grpc_byte_buffer *buffer = NULL;
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
    op.data.recv_message.recv_message = &buffer;
    batch(l, &op, 1);
    if (!buffer || grpc_byte_buffer_length(buffer) != count) give_up("gRPC message");
    grpc_byte_buffer_reader reader;
    grpc_slice slice;
    grpc_byte_buffer_reader_init(&reader, buffer);
    for (size_t at = 0; grpc_byte_buffer_reader_next(&reader, &slice);) {
        size_t length = GRPC_SLICE_LENGTH(slice), wanted = at < 8 ? 8 - at : 0;
        if (wanted) memcpy((char *)bytes + at, GRPC_SLICE_START_PTR(slice), length < wanted ? length : wanted);
        at += length;
        grpc_slice_unref(slice);
    }
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(buffer);
}

static void close_link(void *user)
{
    (void)user; /* the process ends */
}

const carrier carrier_grpc = {"gRPC C-core, mTLS", prepare, open_link, send_bytes, receive_bytes, close_link};
