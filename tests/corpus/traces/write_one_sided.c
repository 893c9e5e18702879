/* Writes the OTF2 trace one-sided-2: two ranks, each of which puts into the other's memory and gets from it
 * between two fences, within a region of its own, and then splits the communicator.
 *
 *   cc write_one_sided.c $(otf2-config --cflags --ldflags --libs) -o /tmp/write_one_sided
 *   /tmp/write_one_sided DIRECTORY
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

enum { NAME_EMPTY, NAME_FENCE, NAME_PUT, NAME_GET, NAME_SPLIT, NAME_SOLVE, NAME_NODE, NAME_RANK_0, NAME_RANK_1, NAME_COMM, NAMES };
enum { REGION_FENCE, REGION_PUT, REGION_GET, REGION_SPLIT, REGION_SOLVE, REGIONS };

static OTF2_FlushType pre_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final) {
    (void)user, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_TimeStamp post_flush(void *user, OTF2_FileType type, OTF2_LocationRef location) {
    (void)user, (void)type, (void)location;
    return 100;
}

static OTF2_FlushCallbacks flush = {.otf2_pre_flush = pre_flush, .otf2_post_flush = post_flush};

static void write_fence(OTF2_EvtWriter *writer, OTF2_TimeStamp time) {
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, time, REGION_FENCE));
    CHECK(OTF2_EvtWriter_RmaCollectiveBegin(writer, NULL, time));
    CHECK(OTF2_EvtWriter_RmaCollectiveEnd(writer, NULL, time, OTF2_COLLECTIVE_OP_BARRIER, OTF2_RMA_SYNC_LEVEL_MEMORY,
                                          4, OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, time, REGION_FENCE));
}

static void write_rank(OTF2_Archive *archive, uint64_t rank) {
    uint32_t other = 1 - (uint32_t)rank;
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, rank);
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, 10, REGION_SOLVE));
    write_fence(writer, 20);
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, 30, REGION_PUT));
    CHECK(OTF2_EvtWriter_RmaPut(writer, NULL, 30, 4, other, 1000, 1));
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, 31, REGION_PUT));
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, 31, REGION_GET));
    CHECK(OTF2_EvtWriter_RmaGet(writer, NULL, 31, 4, other, 2000, 2));
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, 32, REGION_GET));
    write_fence(writer, 32);
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, 40, REGION_SOLVE));
    CHECK(OTF2_EvtWriter_Enter(writer, NULL, 50, REGION_SPLIT));
    CHECK(OTF2_EvtWriter_MpiCollectiveBegin(writer, NULL, 50));
    CHECK(OTF2_EvtWriter_MpiCollectiveEnd(writer, NULL, 55, OTF2_COLLECTIVE_OP_CREATE_HANDLE, 0,
                                          OTF2_COLLECTIVE_ROOT_NONE, 0, 0));
    CHECK(OTF2_EvtWriter_Leave(writer, NULL, 60, REGION_SPLIT));
    CHECK(OTF2_Archive_CloseEvtWriter(archive, writer));
}

static void write_definitions(OTF2_Archive *archive) {
    static const char *names[NAMES] = {"",       "MPI_Win_fence", "MPI_Put", "MPI_Get",       "MPI_Comm_split",
                                        "solve",  "node",          "rank 0",  "rank 1",        "MPI_COMM_WORLD"};
    static const uint64_t members[RANKS] = {0, 1};
    OTF2_GlobalDefWriter *writer = OTF2_Archive_GetGlobalDefWriter(archive);
    CHECK(OTF2_GlobalDefWriter_WriteClockProperties(writer, 1000000, 0, 100, OTF2_UNDEFINED_TIMESTAMP));
    for (uint32_t name = 0; name < NAMES; name++) {
        CHECK(OTF2_GlobalDefWriter_WriteString(writer, name, names[name]));
    }
    for (uint32_t region = 0; region < REGIONS; region++) {
        uint32_t name = NAME_FENCE + region;
        CHECK(OTF2_GlobalDefWriter_WriteRegion(writer, region, name, name, NAME_EMPTY, OTF2_REGION_ROLE_FUNCTION,
                                               region == REGION_SOLVE ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI,
                                               OTF2_REGION_FLAG_NONE, NAME_EMPTY, 0, 0));
    }
    CHECK(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, NAME_NODE, NAME_NODE,
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CHECK(OTF2_GlobalDefWriter_WriteLocationGroup(writer, rank, NAME_RANK_0 + rank,
                                                      OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                      OTF2_UNDEFINED_LOCATION_GROUP));
        CHECK(OTF2_GlobalDefWriter_WriteLocation(writer, rank, NAME_RANK_0 + rank,
                                                 OTF2_LOCATION_TYPE_CPU_THREAD, 18, rank));
    }
    CHECK(OTF2_GlobalDefWriter_WriteGroup(writer, 0, NAME_EMPTY, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, RANKS, members));
    CHECK(OTF2_GlobalDefWriter_WriteGroup(writer, 1, NAME_EMPTY, OTF2_GROUP_TYPE_COMM_GROUP,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, RANKS, members));
    CHECK(OTF2_GlobalDefWriter_WriteComm(writer, 0, NAME_COMM, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    CHECK(OTF2_GlobalDefWriter_WriteRmaWin(writer, 4, NAME_EMPTY, 0, OTF2_RMA_WIN_FLAG_NONE));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: write_one_sided DIRECTORY\n");
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
