/* Writes the OTF2 trace deadlock-2: two ranks, each of which receives from the other before it sends.
 *
 * No recording can show an application that waits forever, as it would not have ended; this one is made up.
 *
 *   cc write_deadlock.c $(otf2-config --cflags --ldflags --libs) -o /tmp/write_deadlock
 *   /tmp/write_deadlock DIRECTORY
 */

#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS 2
#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != OTF2_SUCCESS) {                                                                        \
            fprintf(stderr, "failed: %s\n", #call);                                                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { NAME_EMPTY, NAME_SEND, NAME_RECV, NAME_NODE, NAME_RANK_0, NAME_RANK_1, NAME_COMM, NAMES };
enum { REGION_SEND, REGION_RECV };

static OTF2_FlushType pre_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final) {
    (void)user, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp post_flush(void *user, OTF2_FileType type, OTF2_LocationRef location) {
    (void)user, (void)type, (void)location;
    return 100;
}

static OTF2_FlushCallbacks flush = {.otf2_pre_flush = pre_flush, .otf2_post_flush = post_flush};

static void write_rank(OTF2_Archive *archive, uint64_t rank) {
    uint32_t other = 1 - (uint32_t)rank;
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, rank);
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, 10, REGION_RECV));
    CHECK(OTF2_EvtWriter_MpiRecv(writer, NULL, 20, other, 0, 7, 64));
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, 20, REGION_RECV));
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, 30, REGION_SEND));
    CHECK(OTF2_EvtWriter_MpiSend(writer, NULL, 30, other, 0, 7, 64));
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, 40, REGION_SEND));
    CHECK(OTF2_Archive_CloseEvtWriter(archive, writer));
}

static void write_definitions(OTF2_Archive *archive) {
    static const char *names[NAMES] = {"", "MPI_Send", "MPI_Recv", "node", "rank 0", "rank 1", "MPI_COMM_WORLD"};
    static const uint64_t members[RANKS] = {0, 1};
    OTF2_GlobalDefWriter *writer = OTF2_Archive_GetGlobalDefWriter(archive);
    CHECK(OTF2_GlobalDefWriter_WriteClockProperties(writer, 1000000, 0, 100, OTF2_UNDEFINED_TIMESTAMP));
    for (uint32_t name = 0; name < NAMES; name++) {
        CHECK(OTF2_GlobalDefWriter_WriteString(writer, name, names[name]));
    }
    CHECK(OTF2_GlobalDefWriter_WriteRegion(writer, REGION_SEND, NAME_SEND, NAME_SEND, NAME_EMPTY,
                                           OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI,
                                           OTF2_REGION_FLAG_NONE, NAME_EMPTY, 0, 0));
    CHECK(OTF2_GlobalDefWriter_WriteRegion(writer, REGION_RECV, NAME_RECV, NAME_RECV, NAME_EMPTY,
                                           OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI,
                                           OTF2_REGION_FLAG_NONE, NAME_EMPTY, 0, 0));
    CHECK(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, NAME_NODE, NAME_NODE,
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CHECK(OTF2_GlobalDefWriter_WriteLocationGroup(writer, rank, NAME_RANK_0 + rank,
                                                      OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                      OTF2_UNDEFINED_LOCATION_GROUP));
        CHECK(OTF2_GlobalDefWriter_WriteLocation(writer, rank, NAME_RANK_0 + rank,
                                                 OTF2_LOCATION_TYPE_CPU_THREAD, 6, rank));
    }
    CHECK(OTF2_GlobalDefWriter_WriteGroup(writer, 0, NAME_EMPTY, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, RANKS, members));
    CHECK(OTF2_GlobalDefWriter_WriteGroup(writer, 1, NAME_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, RANKS, members));
    CHECK(OTF2_GlobalDefWriter_WriteComm(writer, 0, NAME_COMM, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: write_deadlock DIRECTORY\n");
        return 1;
    }
    OTF2_Archive *archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 18, 1 << 18,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    CHECK(OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL));
    CHECK(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    CHECK(OTF2_Archive_OpenEvtFiles(archive));
    for (uint64_t rank = 0; rank < RANKS; rank++) {
        write_rank(archive, rank);
    }
    CHECK(OTF2_Archive_CloseEvtFiles(archive));
    CHECK(OTF2_Archive_OpenDefFiles(archive));
    for (uint64_t rank = 0; rank < RANKS; rank++) {
        OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, rank));
    }
    CHECK(OTF2_Archive_CloseDefFiles(archive));
    write_definitions(archive);
    return OTF2_Archive_Close(archive) != OTF2_SUCCESS;
}
