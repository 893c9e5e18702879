/* Events as reader and writer exchange them with Rust. */
#ifndef FABRICSIM_OTF2_EVENT_H
#define FABRICSIM_OTF2_EVENT_H

#include <stdint.h>

enum fs_event_kind
{
    FS_MARK                = 0, /* an event that only its time matters of */
    FS_ENTER               = 1, /* peer: region */
    FS_LEAVE               = 2, /* peer: region */
    FS_SEND                = 3,
    FS_ISEND               = 4,
    FS_ISEND_COMPLETE      = 5,
    FS_IRECV_REQUEST       = 6,
    FS_IRECV               = 7,
    FS_RECV                = 8,
    FS_REQUEST_TEST        = 9,
    FS_REQUEST_CANCELLED   = 10,
    FS_COLLECTIVE          = 11, /* tag: operation, peer: root, bytes: sent, received */
    FS_COLLECTIVE_REQUEST  = 12,
    FS_COLLECTIVE_COMPLETE = 13, /* as FS_COLLECTIVE, with request */
    FS_BUFFER_FLUSH        = 14, /* bytes: time at which the flush ends */
    FS_MEASUREMENT         = 15, /* peer: 1 on, 0 off */
    FS_PUT                 = 16, /* communicator: window, likewise below; request: matching id */
    FS_GET                 = 17,
    FS_ATOMIC              = 18, /* bytes: sent, received */
    FS_WINDOW_COLLECTIVE   = 19, /* tag: operation */
    FS_WINDOW_LOCK         = 20, /* a lock, or a meeting of some of the ranks */
    FS_TRANSFER_COMPLETE   = 21  /* request: that of the put or get; written, not read */
};

typedef struct fs_event
{
    uint64_t time; /* ticks */
    uint64_t bytes;
    uint64_t received;
    uint64_t request;
    uint32_t kind;
    uint32_t peer;
    uint32_t communicator;
    uint32_t tag;
} fs_event;

#endif
