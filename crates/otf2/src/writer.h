/* What Rust hands to the C side of the OTF2 writer: plain structs and numbers.
 *
 * One thread at a time may be inside any of these functions and those of reader.h; Rust's `writer.rs`, their
 * only caller, holds a lock around each.
 *
 * Order: create; for each location its events in any number of parts and its end; then the definitions, those
 * that others refer to before the others; finish. All functions but the last return 0 on success; else
 * fs_otf2_error() says what happened.
 */
#ifndef FABRICSIM_OTF2_WRITER_H
#define FABRICSIM_OTF2_WRITER_H

#include "event.h"

#include <stddef.h>
#include <stdint.h>

typedef struct fs_writer fs_writer;

/* Makes an archive `name` in a folder. A location that is being written holds at most one chunk of memory; a
 * single definition must fit in one of theirs. */
int
fs_otf2_create( const char* folder,
                const char* name,
                const char* creator,
                const char* description,
                uint64_t    chunk_bytes,
                uint64_t    definition_chunk_bytes,
                fs_writer** writer );

/* Appends events to a location, whose times do not decrease. */
int
fs_otf2_write_events( fs_writer*      writer,
                      uint64_t        location,
                      const fs_event* events,
                      size_t          count );

/* Closes the location's file, also of one without events. */
int
fs_otf2_end_location( fs_writer* writer,
                      uint64_t   location );

/* No more events; the clock, and the files of local definitions of locations 0 to `locations` - 1. */
int
fs_otf2_begin_definitions( fs_writer* writer,
                           uint64_t   locations,
                           uint64_t   ticks_per_second,
                           uint64_t   offset,
                           uint64_t   length );

int
fs_otf2_define_string( fs_writer*  writer,
                       uint32_t    id,
                       const char* text );

/* `domain`: 0 none, 1 a machine, 2 memory that is shared. `parent`: UINT32_MAX if there is none. */
int
fs_otf2_define_node( fs_writer* writer,
                     uint32_t   id,
                     uint32_t   name,
                     uint32_t   class_name,
                     uint32_t   parent,
                     int        domain );

/* A process and its only thread: a location group and a location of the same number. */
int
fs_otf2_define_process( fs_writer* writer,
                        uint32_t   id,
                        uint32_t   name,
                        uint32_t   thread_name,
                        uint32_t   node,
                        uint64_t   events );

/* `role`: OTF2_RegionRole. */
int
fs_otf2_define_region( fs_writer* writer,
                       uint32_t   id,
                       uint32_t   name,
                       uint32_t   role,
                       int        is_mpi );

/* A group of MPI. `of_locations`: its members are the locations of all ranks; else places among those. */
int
fs_otf2_define_group( fs_writer*      writer,
                      uint32_t        id,
                      uint32_t        name,
                      int             of_locations,
                      const uint64_t* members,
                      uint32_t        count );

/* `parent`: UINT32_MAX if there is none. */
int
fs_otf2_define_communicator( fs_writer* writer,
                             uint32_t   id,
                             uint32_t   name,
                             uint32_t   group,
                             uint32_t   parent );

int
fs_otf2_define_window( fs_writer* writer,
                       uint32_t   id,
                       uint32_t   name,
                       uint32_t   communicator );

/* Writes the anchor file and closes the archive; if not, what it was is gone all the same. */
int
fs_otf2_finish( fs_writer* writer );

/* Gives up: closes what is open. */
void
fs_otf2_abandon( fs_writer* writer );

#endif
