/* Calls libotf2 and turns its callbacks into arrays of plain structs; see reader.h. */

#include "reader.h"

#include "errors.h"

#include <otf2/otf2.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Rust reads these numbers from the struct fields; they are part of the file format. */
_Static_assert( OTF2_PARADIGM_MPI == 4, "paradigm numbers of the format" );
_Static_assert( OTF2_GROUP_TYPE_COMM_LOCATIONS == 4 && OTF2_GROUP_TYPE_COMM_GROUP == 5
                && OTF2_GROUP_TYPE_COMM_SELF == 6 && OTF2_GROUP_FLAG_GLOBAL_MEMBERS == 1,
                "group numbers of the format" );
_Static_assert( OTF2_COLLECTIVE_OP_BARRIER == 0 && OTF2_COLLECTIVE_OP_EXSCAN == 15
                && OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK == 16 && OTF2_COLLECTIVE_OP_CREATE_HANDLE == 17
                && OTF2_COLLECTIVE_OP_DESTROY_HANDLE == 18 && OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE == 21
                && OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE == 22,
                "collective numbers of the format" );
_Static_assert( sizeof( fs_event ) == 48 && sizeof( fs_definition ) == 56, "layout as in reader.rs" );

typedef struct
{
    fs_event* events;
    size_t    capacity;
    size_t    count;
} sink;

struct fs_trace
{
    OTF2_Reader*             reader;
    OTF2_EvtReaderCallbacks* event_callbacks;
    sink                     sink;
    bool                     selected;

    fs_definition* definitions;
    size_t         definition_count;
    size_t         definition_capacity;
    unsigned char* data;
    size_t         data_count;
    size_t         data_capacity;
};

/* ---- definitions ---- */

static bool
reserve( void** memory,
         size_t* capacity,
         size_t  needed,
         size_t  size )
{
    if ( needed <= *capacity )
    {
        return true;
    }
    size_t larger = *capacity ? *capacity : 1024;
    while ( larger < needed )
    {
        larger *= 2;
    }
    void* moved = realloc( *memory, larger * size );
    if ( !moved )
    {
        fs_otf2_set_error( "out of memory while reading definitions" );
        return false;
    }
    *memory   = moved;
    *capacity = larger;
    return true;
}

static OTF2_CallbackCode
define( fs_trace*     trace,
        fs_definition definition,
        const void*   data,
        size_t        bytes )
{
    if ( !reserve( ( void** )&trace->definitions, &trace->definition_capacity, trace->definition_count + 1,
                   sizeof( fs_definition ) )
         || !reserve( ( void** )&trace->data, &trace->data_capacity, trace->data_count + bytes, 1 ) )
    {
        return OTF2_CALLBACK_INTERRUPT;
    }
    definition.data_offset = trace->data_count;
    definition.data_bytes  = bytes;
    if ( bytes )
    {
        memcpy( trace->data + trace->data_count, data, bytes );
        trace->data_count += bytes;
    }
    trace->definitions[ trace->definition_count++ ] = definition;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_clock( void*    trace,
          uint64_t resolution,
          uint64_t offset,
          uint64_t length,
          uint64_t realtime )
{
    ( void )realtime;
    return define( trace, ( fs_definition ){ .kind = FS_CLOCK, .a = resolution, .b = offset, .c = length },
                   NULL, 0 );
}

static OTF2_CallbackCode
on_string( void*          trace,
           OTF2_StringRef self,
           const char*    text )
{
    return define( trace, ( fs_definition ){ .kind = FS_STRING, .id = self }, text, text ? strlen( text ) : 0 );
}

static OTF2_CallbackCode
on_location( void*                 trace,
             OTF2_LocationRef      self,
             OTF2_StringRef        name,
             OTF2_LocationType     type,
             uint64_t              events,
             OTF2_LocationGroupRef group )
{
    ( void )name;
    ( void )group;
    return define( trace, ( fs_definition ){ .kind = FS_LOCATION, .id = self, .a = type, .b = events }, NULL, 0 );
}

static OTF2_CallbackCode
on_region( void*           trace,
           OTF2_RegionRef  self,
           OTF2_StringRef  name,
           OTF2_StringRef  canonical_name,
           OTF2_StringRef  description,
           OTF2_RegionRole role,
           OTF2_Paradigm   paradigm,
           OTF2_RegionFlag flags,
           OTF2_StringRef  file,
           uint32_t        begin_line,
           uint32_t        end_line )
{
    ( void )canonical_name;
    ( void )description;
    ( void )role;
    ( void )paradigm;
    ( void )flags;
    ( void )file;
    ( void )begin_line;
    ( void )end_line;
    return define( trace, ( fs_definition ){ .kind = FS_REGION, .id = self, .a = name }, NULL, 0 );
}

static OTF2_CallbackCode
on_group( void*           trace,
          OTF2_GroupRef   self,
          OTF2_StringRef  name,
          OTF2_GroupType  type,
          OTF2_Paradigm   paradigm,
          OTF2_GroupFlag  flags,
          uint32_t        count,
          const uint64_t* members )
{
    ( void )name;
    return define( trace,
                   ( fs_definition ){ .kind = FS_GROUP, .id = self, .a = type, .b = paradigm, .c = flags },
                   members, ( size_t )count * sizeof( *members ) );
}

static OTF2_CallbackCode
on_comm( void*          trace,
         OTF2_CommRef   self,
         OTF2_StringRef name,
         OTF2_GroupRef  group,
         OTF2_CommRef   parent
#if FS_OTF2_MAJOR >= 3
         ,
         OTF2_CommFlag flags
#endif
         )
{
    ( void )parent;
#if FS_OTF2_MAJOR >= 3
    ( void )flags;
#endif
    return define( trace, ( fs_definition ){ .kind = FS_COMM, .id = self, .a = name, .b = group }, NULL, 0 );
}

#if FS_OTF2_MAJOR >= 3
static OTF2_CallbackCode
on_inter_comm( void*          trace,
               OTF2_CommRef   self,
               OTF2_StringRef name,
               OTF2_GroupRef  group_a,
               OTF2_GroupRef  group_b,
               OTF2_CommRef   common,
               OTF2_CommFlag  flags )
{
    ( void )name;
    ( void )common;
    ( void )flags;
    return define( trace, ( fs_definition ){ .kind = FS_INTERCOMM, .id = self, .a = group_a, .b = group_b },
                   NULL, 0 );
}
#endif

static OTF2_CallbackCode
on_window( void*          trace,
           OTF2_RmaWinRef self,
           OTF2_StringRef name,
           OTF2_CommRef   comm
#if FS_OTF2_MAJOR >= 3
           ,
           OTF2_RmaWinFlag flags
#endif
           )
{
    ( void )name;
#if FS_OTF2_MAJOR >= 3
    ( void )flags;
#endif
    return define( trace, ( fs_definition ){ .kind = FS_WINDOW, .id = self, .a = comm }, NULL, 0 );
}

static int
read_definitions( fs_trace* trace )
{
    OTF2_GlobalDefReader* reader = OTF2_Reader_GetGlobalDefReader( trace->reader );
    if ( !reader )
    {
        fs_otf2_set_error( "the global definitions cannot be read" );
        return 1;
    }
    OTF2_GlobalDefReaderCallbacks* callbacks = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback( callbacks, on_clock );
    OTF2_GlobalDefReaderCallbacks_SetStringCallback( callbacks, on_string );
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback( callbacks, on_location );
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback( callbacks, on_region );
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback( callbacks, on_group );
    OTF2_GlobalDefReaderCallbacks_SetCommCallback( callbacks, on_comm );
    OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback( callbacks, on_window );
#if FS_OTF2_MAJOR >= 3
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback( callbacks, on_inter_comm );
#endif
    OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks( trace->reader, reader, callbacks, trace );
    OTF2_GlobalDefReaderCallbacks_Delete( callbacks );
    if ( fs_otf2_check( code ) )
    {
        return 1;
    }
    uint64_t expected = 0;
    uint64_t read     = 0;
    if ( fs_otf2_check( OTF2_Reader_GetNumberOfGlobalDefinitions( trace->reader, &expected ) )
         || fs_otf2_check( OTF2_Reader_ReadAllGlobalDefinitions( trace->reader, reader, &read ) ) )
    {
        return 1;
    }
    OTF2_Reader_CloseGlobalDefReader( trace->reader, reader );
    if ( read < expected )
    {
        fs_otf2_set_error( "the global definitions end after %" PRIu64 " of %" PRIu64, read, expected );
        return 1;
    }
    return 0;
}

int
fs_otf2_definitions( const fs_trace*       trace,
                     const fs_definition** records,
                     size_t*               count,
                     const unsigned char** data,
                     size_t*               data_bytes )
{
    *records    = trace->definitions;
    *count      = trace->definition_count;
    *data       = trace->data;
    *data_bytes = trace->data_count;
    return 0;
}

void
fs_otf2_forget_definitions( fs_trace* trace )
{
    free( trace->definitions );
    free( trace->data );
    trace->definitions         = NULL;
    trace->data                = NULL;
    trace->definition_count    = 0;
    trace->definition_capacity = 0;
    trace->data_count          = 0;
    trace->data_capacity       = 0;
}

/* ---- events ---- */

#define EVENT_ARGUMENTS                                                                                       \
    OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user_data,                       \
        OTF2_AttributeList *attributes

#define PUSH( ... )                                                                                           \
    ( ( void )location, ( void )position, ( void )attributes,                                                 \
      push( user_data, ( fs_event ){ .time = time, __VA_ARGS__ } ) )

static OTF2_CallbackCode
push( sink*    into,
      fs_event event )
{
    /* A record gives at most one event and no more records than `capacity` are asked for. */
    if ( into->count == into->capacity )
    {
        fs_otf2_set_error( "libotf2 gave more records than asked for" );
        return OTF2_CALLBACK_INTERRUPT;
    }
    into->events[ into->count++ ] = event;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_enter( EVENT_ARGUMENTS,
          OTF2_RegionRef region )
{
    return PUSH( .kind = FS_ENTER, .peer = region );
}

static OTF2_CallbackCode
on_leave( EVENT_ARGUMENTS,
          OTF2_RegionRef region )
{
    return PUSH( .kind = FS_LEAVE, .peer = region );
}

static OTF2_CallbackCode
on_send( EVENT_ARGUMENTS,
         uint32_t     receiver,
         OTF2_CommRef communicator,
         uint32_t     tag,
         uint64_t     bytes )
{
    return PUSH( .kind = FS_SEND, .peer = receiver, .communicator = communicator, .tag = tag, .bytes = bytes );
}

static OTF2_CallbackCode
on_isend( EVENT_ARGUMENTS,
          uint32_t     receiver,
          OTF2_CommRef communicator,
          uint32_t     tag,
          uint64_t     bytes,
          uint64_t     request )
{
    return PUSH( .kind = FS_ISEND, .peer = receiver, .communicator = communicator, .tag = tag, .bytes = bytes,
                 .request = request );
}

static OTF2_CallbackCode
on_isend_complete( EVENT_ARGUMENTS,
                   uint64_t request )
{
    return PUSH( .kind = FS_ISEND_COMPLETE, .request = request );
}

static OTF2_CallbackCode
on_irecv_request( EVENT_ARGUMENTS,
                  uint64_t request )
{
    return PUSH( .kind = FS_IRECV_REQUEST, .request = request );
}

static OTF2_CallbackCode
on_irecv( EVENT_ARGUMENTS,
          uint32_t     sender,
          OTF2_CommRef communicator,
          uint32_t     tag,
          uint64_t     bytes,
          uint64_t     request )
{
    return PUSH( .kind = FS_IRECV, .peer = sender, .communicator = communicator, .tag = tag, .bytes = bytes,
                 .request = request );
}

static OTF2_CallbackCode
on_recv( EVENT_ARGUMENTS,
         uint32_t     sender,
         OTF2_CommRef communicator,
         uint32_t     tag,
         uint64_t     bytes )
{
    return PUSH( .kind = FS_RECV, .peer = sender, .communicator = communicator, .tag = tag, .bytes = bytes );
}

static OTF2_CallbackCode
on_request_test( EVENT_ARGUMENTS,
                 uint64_t request )
{
    return PUSH( .kind = FS_REQUEST_TEST, .request = request );
}

static OTF2_CallbackCode
on_request_cancelled( EVENT_ARGUMENTS,
                      uint64_t request )
{
    return PUSH( .kind = FS_REQUEST_CANCELLED, .request = request );
}

static OTF2_CallbackCode
on_collective_begin( EVENT_ARGUMENTS )
{
    return PUSH( .kind = FS_MARK );
}

static OTF2_CallbackCode
on_collective_end( EVENT_ARGUMENTS,
                   OTF2_CollectiveOp operation,
                   OTF2_CommRef      communicator,
                   uint32_t          root,
                   uint64_t          sent,
                   uint64_t          received )
{
    return PUSH( .kind = FS_COLLECTIVE, .tag = operation, .peer = root, .communicator = communicator,
                 .bytes = sent, .received = received );
}

#if FS_OTF2_MAJOR >= 3
static OTF2_CallbackCode
on_collective_request( EVENT_ARGUMENTS,
                       uint64_t request )
{
    return PUSH( .kind = FS_COLLECTIVE_REQUEST, .request = request );
}

static OTF2_CallbackCode
on_collective_complete( EVENT_ARGUMENTS,
                        OTF2_CollectiveOp operation,
                        OTF2_CommRef      communicator,
                        uint32_t          root,
                        uint64_t          sent,
                        uint64_t          received,
                        uint64_t          request )
{
    return PUSH( .kind = FS_COLLECTIVE_COMPLETE, .tag = operation, .peer = root,
                 .communicator = communicator, .bytes = sent, .received = received, .request = request );
}
#endif

static OTF2_CallbackCode
on_buffer_flush( EVENT_ARGUMENTS,
                 OTF2_TimeStamp stop )
{
    return PUSH( .kind = FS_BUFFER_FLUSH, .bytes = stop );
}

static OTF2_CallbackCode
on_measurement( EVENT_ARGUMENTS,
                OTF2_MeasurementMode mode )
{
    return PUSH( .kind = FS_MEASUREMENT, .peer = mode == OTF2_MEASUREMENT_ON );
}

static OTF2_CallbackCode
on_put( EVENT_ARGUMENTS,
        OTF2_RmaWinRef window,
        uint32_t       remote,
        uint64_t       bytes,
        uint64_t       matching )
{
    return PUSH( .kind = FS_PUT, .communicator = window, .peer = remote, .bytes = bytes, .request = matching );
}

static OTF2_CallbackCode
on_get( EVENT_ARGUMENTS,
        OTF2_RmaWinRef window,
        uint32_t       remote,
        uint64_t       bytes,
        uint64_t       matching )
{
    return PUSH( .kind = FS_GET, .communicator = window, .peer = remote, .bytes = bytes, .request = matching );
}

static OTF2_CallbackCode
on_atomic( EVENT_ARGUMENTS,
           OTF2_RmaWinRef     window,
           uint32_t           remote,
           OTF2_RmaAtomicType type,
           uint64_t           sent,
           uint64_t           received,
           uint64_t           matching )
{
    ( void )type;
    return PUSH( .kind = FS_ATOMIC, .communicator = window, .peer = remote, .bytes = sent, .received = received,
                 .request = matching );
}

static OTF2_CallbackCode
on_window_collective( EVENT_ARGUMENTS,
                      OTF2_CollectiveOp operation,
                      OTF2_RmaSyncLevel level,
                      OTF2_RmaWinRef    window,
                      uint32_t          root,
                      uint64_t          sent,
                      uint64_t          received )
{
    ( void )level;
    ( void )root;
    ( void )sent;
    ( void )received;
    return PUSH( .kind = FS_WINDOW_COLLECTIVE, .tag = operation, .communicator = window );
}

static OTF2_CallbackCode
on_window_group( EVENT_ARGUMENTS,
                 OTF2_RmaSyncLevel level,
                 OTF2_RmaWinRef    window,
                 OTF2_GroupRef     group )
{
    ( void )level;
    ( void )group;
    return PUSH( .kind = FS_WINDOW_LOCK, .communicator = window );
}

static OTF2_CallbackCode
on_window_lock( EVENT_ARGUMENTS,
                OTF2_RmaWinRef window,
                uint32_t       remote,
                uint64_t       lock,
                OTF2_LockType  type )
{
    ( void )remote;
    ( void )lock;
    ( void )type;
    return PUSH( .kind = FS_WINDOW_LOCK, .communicator = window );
}

static OTF2_CallbackCode
on_program_begin( EVENT_ARGUMENTS,
                  OTF2_StringRef        program,
                  uint32_t              count,
                  const OTF2_StringRef* arguments )
{
    ( void )program;
    ( void )count;
    ( void )arguments;
    return PUSH( .kind = FS_MARK );
}

static OTF2_CallbackCode
on_program_end( EVENT_ARGUMENTS,
                int64_t status )
{
    ( void )status;
    return PUSH( .kind = FS_MARK );
}

static OTF2_EvtReaderCallbacks*
event_callbacks( void )
{
    OTF2_EvtReaderCallbacks* callbacks = OTF2_EvtReaderCallbacks_New();
    if ( !callbacks )
    {
        return NULL;
    }
    OTF2_EvtReaderCallbacks_SetEnterCallback( callbacks, on_enter );
    OTF2_EvtReaderCallbacks_SetLeaveCallback( callbacks, on_leave );
    OTF2_EvtReaderCallbacks_SetMpiSendCallback( callbacks, on_send );
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback( callbacks, on_isend );
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback( callbacks, on_isend_complete );
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback( callbacks, on_irecv_request );
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback( callbacks, on_irecv );
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback( callbacks, on_recv );
    OTF2_EvtReaderCallbacks_SetMpiRequestTestCallback( callbacks, on_request_test );
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback( callbacks, on_request_cancelled );
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback( callbacks, on_collective_begin );
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback( callbacks, on_collective_end );
#if FS_OTF2_MAJOR >= 3
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback( callbacks, on_collective_request );
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback( callbacks, on_collective_complete );
#endif
    OTF2_EvtReaderCallbacks_SetBufferFlushCallback( callbacks, on_buffer_flush );
    OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback( callbacks, on_measurement );
    OTF2_EvtReaderCallbacks_SetRmaPutCallback( callbacks, on_put );
    OTF2_EvtReaderCallbacks_SetRmaGetCallback( callbacks, on_get );
    OTF2_EvtReaderCallbacks_SetRmaAtomicCallback( callbacks, on_atomic );
    OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback( callbacks, on_window_collective );
    OTF2_EvtReaderCallbacks_SetRmaGroupSyncCallback( callbacks, on_window_group );
    OTF2_EvtReaderCallbacks_SetRmaRequestLockCallback( callbacks, on_window_lock );
    OTF2_EvtReaderCallbacks_SetRmaAcquireLockCallback( callbacks, on_window_lock );
    OTF2_EvtReaderCallbacks_SetRmaTryLockCallback( callbacks, on_window_lock );
    OTF2_EvtReaderCallbacks_SetProgramBeginCallback( callbacks, on_program_begin );
    OTF2_EvtReaderCallbacks_SetProgramEndCallback( callbacks, on_program_end );
    return callbacks;
}

/* ---- the archive ---- */

int
fs_otf2_open( const char* anchor,
              fs_trace**  result )
{
    fs_otf2_begin();
    *result = NULL;
    fs_trace* trace = calloc( 1, sizeof( *trace ) );
    if ( !trace )
    {
        fs_otf2_set_error( "out of memory" );
        return 1;
    }
    trace->event_callbacks = event_callbacks();
    trace->reader          = OTF2_Reader_Open( anchor );
    if ( !trace->event_callbacks || !trace->reader )
    {
        fs_otf2_set_error( "libotf2 cannot open it" );
        fs_otf2_close( trace );
        return 1;
    }
    if ( fs_otf2_check( OTF2_Reader_SetSerialCollectiveCallbacks( trace->reader ) )
         || read_definitions( trace ) )
    {
        fs_otf2_close( trace );
        return 1;
    }
    *result = trace;
    return 0;
}

int
fs_otf2_layout( fs_trace* trace,
                uint64_t* chunk_bytes,
                int*      file_per_location )
{
    fs_otf2_begin();
    uint64_t           definition_chunk = 0;
    OTF2_FileSubstrate substrate        = OTF2_SUBSTRATE_UNDEFINED;
    if ( fs_otf2_check( OTF2_Reader_GetChunkSize( trace->reader, chunk_bytes, &definition_chunk ) )
         || fs_otf2_check( OTF2_Reader_GetFileSubstrate( trace->reader, &substrate ) ) )
    {
        return 1;
    }
    *file_per_location = substrate == OTF2_SUBSTRATE_POSIX;
    return 0;
}

int
fs_otf2_select( fs_trace*       trace,
                const uint64_t* locations,
                size_t          count )
{
    fs_otf2_begin();
    for ( size_t i = 0; i < count; i++ )
    {
        if ( fs_otf2_check( OTF2_Reader_SelectLocation( trace->reader, locations[ i ] ) ) )
        {
            return 1;
        }
    }
    if ( fs_otf2_check( OTF2_Reader_OpenDefFiles( trace->reader ) )
         || fs_otf2_check( OTF2_Reader_OpenEvtFiles( trace->reader ) ) )
    {
        return 1;
    }
    trace->selected = true;
    return 0;
}

int
fs_otf2_local_definitions( fs_trace* trace,
                           uint64_t  location )
{
    fs_otf2_begin();
    OTF2_DefReader* reader = OTF2_Reader_GetDefReader( trace->reader, location );
    if ( !reader )
    {
        fs_otf2_set_error( "the local definitions cannot be read" );
        return 1;
    }
    uint64_t read   = 0;
    int      failed = fs_otf2_check( OTF2_Reader_ReadAllLocalDefinitions( trace->reader, reader, &read ) );
    OTF2_Reader_CloseDefReader( trace->reader, reader );
    return failed;
}

int
fs_otf2_read_events( fs_trace* trace,
                     uint64_t  location,
                     uint64_t  position,
                     fs_event* events,
                     size_t    capacity,
                     size_t*   count,
                     uint64_t* records )
{
    fs_otf2_begin();
    *count                 = 0;
    *records               = 0;
    OTF2_EvtReader* reader = OTF2_Reader_GetEvtReader( trace->reader, location );
    if ( !reader )
    {
        fs_otf2_set_error( "the events cannot be read" );
        return 1;
    }
    if ( position && fs_otf2_check( OTF2_EvtReader_Seek( reader, position ) ) )
    {
        return 1;
    }
    trace->sink = ( sink ){ .events = events, .capacity = capacity };
    int failed  = fs_otf2_check( OTF2_Reader_RegisterEvtCallbacks( trace->reader, reader,
                                                                   trace->event_callbacks, &trace->sink ) )
                 || fs_otf2_check( OTF2_Reader_ReadLocalEvents( trace->reader, reader, capacity, records ) );
    *count      = trace->sink.count;
    trace->sink = ( sink ){ 0 };
    return failed;
}

int
fs_otf2_close_events( fs_trace* trace,
                      uint64_t  location )
{
    fs_otf2_begin();
    OTF2_EvtReader* reader = OTF2_Reader_GetEvtReader( trace->reader, location );
    return reader ? fs_otf2_check( OTF2_Reader_CloseEvtReader( trace->reader, reader ) ) : 0;
}

void
fs_otf2_close( fs_trace* trace )
{
    /* What went wrong before stays the last error: it is why the trace is closed. */
    fs_otf2_keep_errors();
    if ( trace->event_callbacks )
    {
        OTF2_EvtReaderCallbacks_Delete( trace->event_callbacks );
    }
    if ( trace->reader )
    {
        if ( trace->selected )
        {
            OTF2_Reader_CloseDefFiles( trace->reader );
            OTF2_Reader_CloseEvtFiles( trace->reader );
        }
        OTF2_Reader_Close( trace->reader );
    }
    fs_otf2_forget_definitions( trace );
    free( trace );
}
