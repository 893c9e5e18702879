#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

static char error_text[ 1024 ];

void
fs_otf2_set_error( const char* format,
                   ... )
{
    if ( error_text[ 0 ] )
    {
        return;
    }
    va_list arguments;
    va_start( arguments, format );
    vsnprintf( error_text, sizeof( error_text ), format, arguments );
    va_end( arguments );
}

static OTF2_ErrorCode
keep_error( void*          user_data,
            const char*    file,
            uint64_t       line,
            const char*    function,
            OTF2_ErrorCode code,
            const char*    format,
            va_list        arguments )
{
    ( void )user_data;
    ( void )file;
    ( void )line;
    ( void )function;
    if ( code != OTF2_SUCCESS && !error_text[ 0 ] )
    {
        char detail[ 768 ];
        vsnprintf( detail, sizeof( detail ), format ? format : "", arguments );
        snprintf( error_text, sizeof( error_text ), "%s%s%s", OTF2_Error_GetDescription( code ),
                  detail[ 0 ] ? ": " : "", detail );
    }
    return code;
}

void
fs_otf2_keep_errors( void )
{
    OTF2_Error_RegisterCallback( keep_error, NULL );
}

void
fs_otf2_begin( void )
{
    error_text[ 0 ] = '\0';
    fs_otf2_keep_errors();
}

int
fs_otf2_check( OTF2_ErrorCode code )
{
    if ( code == OTF2_SUCCESS )
    {
        return 0;
    }
    fs_otf2_set_error( "%s", OTF2_Error_GetDescription( code ) );
    return 1;
}

const char*
fs_otf2_error( void )
{
    return error_text;
}
