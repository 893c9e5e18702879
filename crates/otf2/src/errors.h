/* The text of the last error, which reader and writer share. Not for Rust but for `fs_otf2_error`. */
#ifndef FABRICSIM_OTF2_ERRORS_H
#define FABRICSIM_OTF2_ERRORS_H

#include <otf2/otf2.h>

/* What the last failed function met first; valid until the next call. */
const char*
fs_otf2_error( void );

/* Every function that may fail starts with this: libotf2 would print its errors otherwise. */
void
fs_otf2_begin( void );

/* Keeps what libotf2 says, as fs_otf2_begin does, but does not forget what it said before. */
void
fs_otf2_keep_errors( void );

/* 1 if the code says that something failed, which is noted. */
int
fs_otf2_check( OTF2_ErrorCode code );

/* The first message names the cause; those after it are its callers' echoes, and not kept. */
void
fs_otf2_set_error( const char* format,
                   ... );

#endif
