/* Makes archives with libotf2 out of plain structs and numbers; see writer.h. */

#include "writer.h"

#include "errors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rust writes these numbers. */
_Static_assert( OTF2_REGION_ROLE_FUNCTION == 1 && OTF2_REGION_ROLE_BARRIER == 15
                && OTF2_REGION_ROLE_COLL_ONE2ALL == 23 && OTF2_REGION_ROLE_COLL_ALL2ONE == 24
                && OTF2_REGION_ROLE_COLL_ALL2ALL == 25 && OTF2_REGION_ROLE_COLL_OTHER == 26
                && OTF2_REGION_ROLE_POINT2POINT == 28 && OTF2_REGION_ROLE_RMA == 29,
                "roles of the format" );
_Static_assert( OTF2_UNDEFINED_UINT32 == UINT32_MAX, "what is not there" );
_Static_assert( OTF2_CHUNK_SIZE_EVENTS_DEFAULT == 1 << 20, "as in lib.rs" );

struct fs_writer
{
    OTF2_Archive*         archive;
    OTF2_GlobalDefWriter* definitions;
    /* The location that is being written. */
    OTF2_EvtWriter*       events;
    uint64_t              location;
};

static OTF2_FlushType
before_flush( void*            data,
              OTF2_FileType    type,
              OTF2_LocationRef location,
              void*            caller,
              bool             final )
{
    ( void )data;
    ( void )type;
    ( void )location;
    ( void )caller;
    ( void )final;
    return OTF2_FLUSH;
}

static OTF2_FlushCallbacks flush_callbacks = { .otf2_pre_flush = before_flush, .otf2_post_flush = NULL };

/* Memory for one chunk at a time: when it is full, libotf2 asks for another one, gets none, and flushes. */
static void*
allocate( void*            data,
          OTF2_FileType    type,
          OTF2_LocationRef location,
          void**           buffer,
          uint64_t         bytes )
{
    ( void )data;
    ( void )type;
    ( void )location;
    if ( *buffer )
    {
        return NULL;
    }
    *buffer = malloc( bytes );
    return *buffer;
}

static void
release( void*            data,
         OTF2_FileType    type,
         OTF2_LocationRef location,
         void**           buffer,
         bool             final )
{
    ( void )data;
    ( void )type;
    ( void )location;
    ( void )final;
    free( *buffer );
    *buffer = NULL;
}

static OTF2_MemoryCallbacks memory_callbacks = { .otf2_allocate = allocate, .otf2_free_all = release };

int
fs_otf2_create( const char* folder,
                const char* name,
                const char* creator,
                const char* description,
                uint64_t    chunk_bytes,
                uint64_t    definition_chunk_bytes,
                fs_writer** result )
{
    fs_otf2_begin();
    *result           = NULL;
    fs_writer* writer = calloc( 1, sizeof( *writer ) );
    if ( !writer )
    {
        fs_otf2_set_error( "out of memory" );
        return 1;
    }
    writer->archive = OTF2_Archive_Open( folder, name, OTF2_FILEMODE_WRITE, chunk_bytes,
                                         definition_chunk_bytes, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE );
    if ( !writer->archive )
    {
        fs_otf2_set_error( "libotf2 cannot make it" );
        free( writer );
        return 1;
    }
    if ( fs_otf2_check( OTF2_Archive_SetFlushCallbacks( writer->archive, &flush_callbacks, NULL ) )
         || fs_otf2_check( OTF2_Archive_SetMemoryCallbacks( writer->archive, &memory_callbacks, NULL ) )
         || fs_otf2_check( OTF2_Archive_SetSerialCollectiveCallbacks( writer->archive ) )
         || fs_otf2_check( OTF2_Archive_SetCreator( writer->archive, creator ) )
         || fs_otf2_check( OTF2_Archive_SetDescription( writer->archive, description ) )
         || fs_otf2_check( OTF2_Archive_OpenEvtFiles( writer->archive ) ) )
    {
        fs_otf2_abandon( writer );
        return 1;
    }
    *result = writer;
    return 0;
}

static OTF2_ErrorCode
write_event( OTF2_EvtWriter* to,
             const fs_event* e )
{
    switch ( e->kind )
    {
        case FS_ENTER:
            return OTF2_EvtWriter_Enter( to, NULL, e->time, e->peer );
        case FS_LEAVE:
            return OTF2_EvtWriter_Leave( to, NULL, e->time, e->peer );
        case FS_SEND:
            return OTF2_EvtWriter_MpiSend( to, NULL, e->time, e->peer, e->communicator, e->tag, e->bytes );
        case FS_ISEND:
            return OTF2_EvtWriter_MpiIsend( to, NULL, e->time, e->peer, e->communicator, e->tag, e->bytes,
                                            e->request );
        case FS_ISEND_COMPLETE:
            return OTF2_EvtWriter_MpiIsendComplete( to, NULL, e->time, e->request );
        case FS_IRECV_REQUEST:
            return OTF2_EvtWriter_MpiIrecvRequest( to, NULL, e->time, e->request );
        case FS_IRECV:
            return OTF2_EvtWriter_MpiIrecv( to, NULL, e->time, e->peer, e->communicator, e->tag, e->bytes,
                                            e->request );
        case FS_RECV:
            return OTF2_EvtWriter_MpiRecv( to, NULL, e->time, e->peer, e->communicator, e->tag, e->bytes );
        case FS_PUT:
            return OTF2_EvtWriter_RmaPut( to, NULL, e->time, e->communicator, e->peer, e->bytes, e->request );
        case FS_GET:
            return OTF2_EvtWriter_RmaGet( to, NULL, e->time, e->communicator, e->peer, e->bytes, e->request );
        case FS_TRANSFER_COMPLETE:
            return OTF2_EvtWriter_RmaOpCompleteRemote( to, NULL, e->time, e->communicator, e->request );
        default:
            fs_otf2_set_error( "events of kind %" PRIu32 " are read only", e->kind );
            return OTF2_ERROR_INVALID_ARGUMENT;
    }
}

static int
open_location( fs_writer* writer,
               uint64_t   location )
{
    if ( writer->events && writer->location == location )
    {
        return 0;
    }
    if ( writer->events )
    {
        fs_otf2_set_error( "location %" PRIu64 " is still being written", writer->location );
        return 1;
    }
    writer->location = location;
    writer->events   = OTF2_Archive_GetEvtWriter( writer->archive, location );
    if ( !writer->events )
    {
        fs_otf2_set_error( "the file of location %" PRIu64 " cannot be made", location );
        return 1;
    }
    return 0;
}

int
fs_otf2_write_events( fs_writer*      writer,
                      uint64_t        location,
                      const fs_event* events,
                      size_t          count )
{
    fs_otf2_begin();
    if ( open_location( writer, location ) )
    {
        return 1;
    }
    for ( size_t i = 0; i < count; i++ )
    {
        if ( fs_otf2_check( write_event( writer->events, &events[ i ] ) ) )
        {
            return 1;
        }
    }
    return 0;
}

int
fs_otf2_end_location( fs_writer* writer,
                      uint64_t   location )
{
    fs_otf2_begin();
    if ( open_location( writer, location ) )
    {
        return 1;
    }
    OTF2_EvtWriter* events = writer->events;
    writer->events         = NULL;
    return fs_otf2_check( OTF2_Archive_CloseEvtWriter( writer->archive, events ) );
}

/* Ids of the local files are those of the global definitions: there is nothing to map, but readers expect files. */
static int
local_definitions( fs_writer* writer,
                   uint64_t   locations )
{
    if ( fs_otf2_check( OTF2_Archive_OpenDefFiles( writer->archive ) ) )
    {
        return 1;
    }
    for ( uint64_t location = 0; location < locations; location++ )
    {
        OTF2_DefWriter* local = OTF2_Archive_GetDefWriter( writer->archive, location );
        if ( !local || fs_otf2_check( OTF2_Archive_CloseDefWriter( writer->archive, local ) ) )
        {
            fs_otf2_set_error( "the definitions of location %" PRIu64 " cannot be written", location );
            return 1;
        }
    }
    return fs_otf2_check( OTF2_Archive_CloseDefFiles( writer->archive ) );
}

int
fs_otf2_begin_definitions( fs_writer* writer,
                           uint64_t   locations,
                           uint64_t   ticks_per_second,
                           uint64_t   offset,
                           uint64_t   length )
{
    fs_otf2_begin();
    if ( fs_otf2_check( OTF2_Archive_CloseEvtFiles( writer->archive ) ) || local_definitions( writer, locations ) )
    {
        return 1;
    }
    writer->definitions = OTF2_Archive_GetGlobalDefWriter( writer->archive );
    if ( !writer->definitions )
    {
        fs_otf2_set_error( "the global definitions cannot be written" );
        return 1;
    }
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteClockProperties( writer->definitions, ticks_per_second, offset,
                                                                     length
#if FS_OTF2_MAJOR >= 3
                                                                     ,
                                                                     OTF2_UNDEFINED_TIMESTAMP
#endif
                                                                     ) );
}

int
fs_otf2_define_string( fs_writer*  writer,
                       uint32_t    id,
                       const char* text )
{
    fs_otf2_begin();
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteString( writer->definitions, id, text ) );
}

int
fs_otf2_define_node( fs_writer* writer,
                     uint32_t   id,
                     uint32_t   name,
                     uint32_t   class_name,
                     uint32_t   parent,
                     int        domain )
{
    fs_otf2_begin();
    if ( fs_otf2_check( OTF2_GlobalDefWriter_WriteSystemTreeNode( writer->definitions, id, name, class_name,
                                                                  parent ) ) )
    {
        return 1;
    }
    if ( domain == 0 )
    {
        return 0;
    }
    OTF2_SystemTreeDomain of = domain == 1 ? OTF2_SYSTEM_TREE_DOMAIN_MACHINE : OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY;
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain( writer->definitions, id, of ) );
}

int
fs_otf2_define_process( fs_writer* writer,
                        uint32_t   id,
                        uint32_t   name,
                        uint32_t   thread_name,
                        uint32_t   node,
                        uint64_t   events )
{
    fs_otf2_begin();
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteLocationGroup( writer->definitions, id, name,
                                                                   OTF2_LOCATION_GROUP_TYPE_PROCESS, node
#if FS_OTF2_MAJOR >= 3
                                                                   ,
                                                                   OTF2_UNDEFINED_LOCATION_GROUP
#endif
                                                                   ) )
           || fs_otf2_check( OTF2_GlobalDefWriter_WriteLocation( writer->definitions, id, thread_name,
                                                                 OTF2_LOCATION_TYPE_CPU_THREAD, events, id ) );
}

int
fs_otf2_define_region( fs_writer* writer,
                       uint32_t   id,
                       uint32_t   name,
                       uint32_t   role,
                       int        is_mpi )
{
    fs_otf2_begin();
    OTF2_Paradigm paradigm = is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER;
    /* String 0 is the empty one: no description, no source file. */
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteRegion( writer->definitions, id, name, name, 0, role, paradigm,
                                                            OTF2_REGION_FLAG_NONE, 0, 0, 0 ) );
}

int
fs_otf2_define_group( fs_writer*      writer,
                      uint32_t        id,
                      uint32_t        name,
                      int             of_locations,
                      const uint64_t* members,
                      uint32_t        count )
{
    fs_otf2_begin();
    OTF2_GroupType type = of_locations ? OTF2_GROUP_TYPE_COMM_LOCATIONS : OTF2_GROUP_TYPE_COMM_GROUP;
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteGroup( writer->definitions, id, name, type, OTF2_PARADIGM_MPI,
                                                           OTF2_GROUP_FLAG_NONE, count, members ) );
}

int
fs_otf2_define_communicator( fs_writer* writer,
                             uint32_t   id,
                             uint32_t   name,
                             uint32_t   group,
                             uint32_t   parent )
{
    fs_otf2_begin();
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteComm( writer->definitions, id, name, group, parent
#if FS_OTF2_MAJOR >= 3
                                                          ,
                                                          OTF2_COMM_FLAG_NONE
#endif
                                                          ) );
}

int
fs_otf2_define_window( fs_writer* writer,
                       uint32_t   id,
                       uint32_t   name,
                       uint32_t   communicator )
{
    fs_otf2_begin();
    return fs_otf2_check( OTF2_GlobalDefWriter_WriteRmaWin( writer->definitions, id, name, communicator
#if FS_OTF2_MAJOR >= 3
                                                            ,
                                                            OTF2_RMA_WIN_FLAG_NONE
#endif
                                                            ) );
}

int
fs_otf2_finish( fs_writer* writer )
{
    fs_otf2_begin();
    int failed = fs_otf2_check( OTF2_Archive_CloseGlobalDefWriter( writer->archive, writer->definitions ) );
    failed     = fs_otf2_check( OTF2_Archive_Close( writer->archive ) ) || failed;
    free( writer );
    return failed;
}

void
fs_otf2_abandon( fs_writer* writer )
{
    /* What went wrong before stays the last error. */
    fs_otf2_keep_errors();
    OTF2_Archive_Close( writer->archive );
    free( writer );
}
