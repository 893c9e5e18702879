/* What the C side of the OTF2 reader hands to Rust: plain structs, no callbacks.
 *
 * One thread at a time may be inside any of these functions and those of writer.h: libotf2 is not thread-safe
 * and the text of the last error is kept in one place. Rust's `reader.rs`, their only caller, holds a lock
 * around each.
 */
#ifndef FABRICSIM_OTF2_READER_H
#define FABRICSIM_OTF2_READER_H

#include "event.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fs_trace fs_trace;

enum fs_definition_kind
{
    FS_CLOCK     = 0, /* a: ticks per second, b: global offset, c: length in ticks */
    FS_STRING    = 1, /* data: text */
    FS_LOCATION  = 2, /* a: type, b: number of events */
    FS_REGION    = 3, /* a: string of the name */
    FS_GROUP     = 4, /* a: type, b: paradigm, c: flags, data: members, 64 bits each */
    FS_COMM      = 5, /* a: string of the name, b: group */
    FS_INTERCOMM = 6, /* a: group A, b: group B */
    FS_WINDOW    = 7  /* a: communicator */
};

typedef struct fs_definition
{
    uint64_t id;
    uint64_t a;
    uint64_t b;
    uint64_t c;
    uint64_t data_offset; /* bytes into the data of fs_otf2_definitions */
    uint64_t data_bytes;
    uint64_t kind;
} fs_definition;

/* All functions but the last return 0 on success; else fs_otf2_error() says what happened. */

/* Opens an archive by its anchor file and reads its global definitions. */
int
fs_otf2_open( const char* anchor,
              fs_trace**  trace );

/* The definitions; they stay valid until fs_otf2_forget_definitions. */
int
fs_otf2_definitions( const fs_trace*       trace,
                     const fs_definition** records,
                     size_t*               count,
                     const unsigned char** data,
                     size_t*               data_bytes );

void
fs_otf2_forget_definitions( fs_trace* trace );

/* Bytes that an open event reader holds, and whether files lie in a folder as one per location. */
int
fs_otf2_layout( fs_trace* trace,
                uint64_t* chunk_bytes,
                int*      file_per_location );

/* Names the locations that will be read; to be called once, before the functions below. */
int
fs_otf2_select( fs_trace*       trace,
                const uint64_t* locations,
                size_t          count );

/* Reads a location's mapping tables and clock offsets, which libotf2 then applies to its events. */
int
fs_otf2_local_definitions( fs_trace* trace,
                           uint64_t  location );

/* Reads up to `capacity` records of a location. `position`: 0 goes on where the last call stopped, else the
 * number, from 1, of the record to start at. Fewer records than asked for: the end. On failure, too,
 * `count` events are valid. */
int
fs_otf2_read_events( fs_trace* trace,
                     uint64_t  location,
                     uint64_t  position,
                     fs_event* events,
                     size_t    capacity,
                     size_t*   count,
                     uint64_t* records );

/* Gives back the buffer of a location's event reader. */
int
fs_otf2_close_events( fs_trace* trace,
                      uint64_t  location );

void
fs_otf2_close( fs_trace* trace );

#endif
