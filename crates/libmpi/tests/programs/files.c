/* Files: modes, views with gaps, pointers of a rank and of all, collective, split and nonblocking accesses, atomic
   mode, other representations, error classes and handlers. The first argument is a folder. */

#include "check.h"
#include <stddef.h>

#define COUNT 6
#define MOVES 20

static int rank, size;
static char path[4096];

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

static MPI_File opened(MPI_Comm communicator, int mode)
{
    MPI_File file = MPI_FILE_NULL;

    CHECK(MPI_File_open(communicator, path, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(file != MPI_FILE_NULL);
    return file;
}

static void closed(MPI_File file)
{
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
}

static int count_of(const MPI_Status *status, MPI_Datatype datatype)
{
    int count = -1;

    MPI_Get_count(status, datatype, &count);
    return count;
}

static MPI_Offset size_of(MPI_File file)
{
    MPI_Offset bytes = -1;

    CHECK(MPI_File_get_size(file, &bytes) == MPI_SUCCESS);
    return bytes;
}

/* What is in the file, read without MPI. */
static void check_ints(int from, int count, int (*expected)(int))
{
    FILE *plain = fopen(path, "rb");

    CHECK(plain != NULL);
    fseek(plain, from * (long)sizeof(int), SEEK_SET);
    for (int i = 0; i < count; i++) {
        int value = -1;

        CHECK(fread(&value, sizeof value, 1, plain) == 1);
        CHECK(value == expected(from + i));
    }
    fclose(plain);
}

static int index_itself(int i)
{
    return i;
}

/* Each rank sees the blocks of two that are its own, in turn. */
static void strided_views(void)
{
    int values[COUNT], back[COUNT + 4], bytes, result;
    MPI_Datatype block, strided, got_etype, got_type;
    MPI_Offset displacement, place;
    MPI_Status status;
    char representation[MPI_MAX_DATAREP_STRING];
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);

    MPI_Type_contiguous(2, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, 2 * size * (MPI_Aint)sizeof(int), &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < COUNT; i++)
        values[i] = (i / 2 * size + rank) * 2 + i % 2;
    displacement = rank * 2 * (MPI_Offset)sizeof(int);
    CHECK(MPI_File_set_view(file, displacement, MPI_INT, strided, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(file, values, COUNT, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == COUNT);
    MPI_File_get_position(file, &place);
    CHECK(place == COUNT);
    MPI_File_get_byte_offset(file, 3, &place);
    CHECK(place == (2 * size + 2 * rank + 1) * (MPI_Offset)sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    check_ints(0, COUNT * size, index_itself);
    CHECK(size_of(file) == COUNT * size * (MPI_Offset)sizeof(int));

    /* A read ends where the file does, and says so. */
    memset(back, -1, sizeof back);
    CHECK(MPI_File_read_at_all(file, 2, back, COUNT + 2, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == COUNT - 2);
    for (int i = 0; i < COUNT; i++)
        CHECK(back[i] == (i < COUNT - 2 ? values[i + 2] : -1));
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_read(file, back, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == 1 && back[0] == values[COUNT - 1]);
    CHECK(MPI_File_read(file, back, 1, MPI_INT, &status) == MPI_SUCCESS && count_of(&status, MPI_INT) == 0);
    CHECK(class_of(MPI_File_seek(file, -100, MPI_SEEK_CUR)) == MPI_ERR_ARG);

    MPI_File_get_view(file, &place, &got_etype, &got_type, representation);
    CHECK(place == displacement && got_etype == MPI_INT && strcmp(representation, "native") == 0);
    MPI_Type_size(got_type, &bytes);
    CHECK(bytes == 2 * (int)sizeof(int));
    MPI_Type_free(&got_type);

    /* Memory with gaps too: every second int. */
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &got_type);
    MPI_Type_commit(&got_type);
    {
        int spread[2 * COUNT];

        memset(spread, -1, sizeof spread);
        MPI_File_read_at(file, 0, spread, 1, got_type, &status);
        CHECK(count_of(&status, got_type) == 1);
        for (int i = 0; i < 2 * COUNT - 1; i++)
            CHECK(spread[i] == (i % 2 ? -1 : values[i / 2]));
    }
    MPI_Type_free(&got_type);

    /* An elementary type of two ints: offsets count those. */
    MPI_Type_commit(&block);
    CHECK(MPI_File_set_view(file, 0, block, block, "internal", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_File_read_at(file, 2, back, 2, MPI_INT, &status);
    CHECK(back[0] == 4 && back[1] == 5);
    CHECK(class_of(MPI_File_read_at(file, 0, back, 1, MPI_INT, &status)) == MPI_ERR_IO);
    CHECK(class_of(MPI_File_set_view(file, 0, block, MPI_INT, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
    result = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "strange", MPI_INFO_NULL);
    CHECK(class_of(result) == MPI_ERR_UNSUPPORTED_DATAREP);
    MPI_Type_free(&block);
    MPI_Type_free(&strided);
    closed(file);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void shared_pointers(void)
{
    int *all = malloc(3 * size * sizeof *all), *seen = calloc(3 * size, sizeof *seen), value, own[3], sum = 0;
    MPI_Offset place;
    MPI_Status status;
    MPI_Request request;
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);

    CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    /* Three values of each rank lie somewhere, each of them once. */
    for (int i = 0; i < 3; i++) {
        value = 3 * rank + i;
        if (i == 1) {
            CHECK(MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request) == MPI_SUCCESS);
            MPI_Wait(&request, &status);
        } else {
            CHECK(MPI_File_write_shared(file, &value, 1, MPI_INT, &status) == MPI_SUCCESS);
        }
        CHECK(count_of(&status, MPI_INT) == 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &place);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(place == 3 * size && size_of(file) == 3 * size * (MPI_Offset)sizeof(int));
    MPI_File_read_at(file, 0, all, 3 * size, MPI_INT, &status);
    for (int i = 0; i < 3 * size; i++)
        seen[all[i]]++;
    for (int i = 0; i < 3 * size; i++)
        CHECK(seen[i] == 1);

    /* What is read by one rank is read by no other. */
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    MPI_File_read_shared(file, own, 3, MPI_INT, &status);
    for (int i = 0; i < 3; i++)
        sum += own[i];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 3 * size * (3 * size - 1) / 2);

    /* In the order of ranks, with another number of each, after what is there. */
    CHECK(MPI_File_seek_shared(file, -1, MPI_SEEK_CUR) == MPI_SUCCESS);
    MPI_File_get_position_shared(file, &place);
    CHECK(place == 3 * size - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i <= rank % 3; i++)
        own[i] = 100 * rank + i;
    CHECK(MPI_File_write_ordered(file, own, rank % 3 + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == rank % 3 + 1);
    MPI_File_seek_shared(file, 3 * size - 1, MPI_SEEK_SET);
    memset(own, -1, sizeof own);
    CHECK(MPI_File_read_ordered_begin(file, own, rank % 3 + 1, MPI_INT) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_read_all_begin(file, own, 1, MPI_INT)) == MPI_ERR_IO);
    CHECK(class_of(MPI_File_read_all_end(file, own, &status)) == MPI_ERR_IO);
    CHECK(MPI_File_read_ordered_end(file, own, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == rank % 3 + 1);
    for (int i = 0; i <= rank % 3; i++)
        CHECK(own[i] == 100 * rank + i);
    value = -1;
    place = 3 * size - 1;
    for (int i = 0; i < size - 1; i++)
        place += i % 3 + 1;
    MPI_File_read_at(file, place, &value, 1, MPI_INT, &status);
    CHECK(value == 100 * (size - 1));
    closed(file);
    CHECK(fopen(path, "rb") == NULL);
    free(all);
    free(seen);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What ranks append is in the order of simulated times, of equal times in that of ranks. */
static void shared_order(void)
{
    struct entry {
        double time;
        int rank, number;
    } own, *all = malloc(MOVES * size * sizeof *all);
    int value = 0;
    MPI_Status status;
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);

    for (int i = 0; i < MOVES; i++) {
        /* Messages to itself take a while, another one on each rank. */
        for (int j = 0; j < (7 * rank + 3 * i) % 5; j++)
            MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 0, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        own.time = MPI_Wtime();
        own.rank = rank;
        own.number = i;
        MPI_File_write_shared(file, &own, sizeof own, MPI_BYTE, &status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(file, 0, all, MOVES * size * sizeof *all, MPI_BYTE, &status);
    CHECK(count_of(&status, MPI_BYTE) == MOVES * size * (int)sizeof *all);
    for (int i = 1; i < MOVES * size; i++) {
        struct entry *before = &all[i - 1], *after = &all[i];

        CHECK(before->time <= after->time);
        if (before->time == after->time)
            CHECK(before->rank < after->rank || (before->rank == after->rank && before->number < after->number));
    }
    closed(file);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void collective_accesses(void)
{
    int values[COUNT], back[COUNT], next = (rank + 1) % size, flag = 0;
    MPI_Offset place;
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    MPI_File file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);

    CHECK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    MPI_File_get_atomicity(file, &flag);
    CHECK(flag == 1);
    for (int i = 0; i < COUNT; i++)
        values[i] = 1000 * rank + i;
    CHECK(MPI_File_write_at_all_begin(file, rank * COUNT, values, COUNT, MPI_INT) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all_end(file, values, &status) == MPI_SUCCESS);
    CHECK(count_of(&status, MPI_INT) == COUNT);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all_c(file, next * COUNT, back, COUNT, MPI_INT, &status);
    CHECK(count_of(&status, MPI_INT) == COUNT && back[0] == 1000 * next && back[COUNT - 1] == 1000 * next + COUNT - 1);

    /* Requests are complete, and are requests. */
    memset(back, -1, sizeof back);
    MPI_File_seek(file, next * COUNT, MPI_SEEK_SET);
    CHECK(MPI_File_iread(file, back, 2, MPI_INT, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_File_iread_all(file, back + 2, 2, MPI_INT, &requests[1]) == MPI_SUCCESS);
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[0] != requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(requests[0] == MPI_REQUEST_NULL && count_of(&statuses[1], MPI_INT) == 2);
    CHECK(back[0] == 1000 * next && back[3] == 1000 * next + 3 && back[4] == -1);
    MPI_File_get_position(file, &place);
    CHECK(place == next * COUNT + 4);
    /* All have read before any of them writes. */
    MPI_Barrier(MPI_COMM_WORLD);
    values[0] = -5 - rank;
    CHECK(MPI_File_iwrite_at_all(file, rank * COUNT, values, 1, MPI_INT, &requests[0]) == MPI_SUCCESS);
    for (flag = 0; !flag;)
        MPI_Test(&requests[0], &flag, &status);
    CHECK(requests[0] == MPI_REQUEST_NULL && count_of(&status, MPI_INT) == 1);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_iread_at(file, next * COUNT, back, 1, MPI_INT, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(back[0] == -5 - next);

    CHECK(MPI_File_preallocate(file, 4) == MPI_SUCCESS);
    CHECK(size_of(file) == 8 + size * COUNT * (MPI_Offset)sizeof(int));
    CHECK(MPI_File_preallocate(file, 4096) == MPI_SUCCESS && size_of(file) == 4096);
    CHECK(MPI_File_set_size(file, 40) == MPI_SUCCESS && size_of(file) == 40);
    CHECK(class_of(MPI_File_set_size(file, 40 + rank)) == (size > 1 ? MPI_ERR_NOT_SAME : MPI_SUCCESS));
    CHECK(size_of(file) == 40);
    closed(file);

    /* Both pointers are at the end at first. */
    file = opened(MPI_COMM_WORLD, MPI_MODE_WRONLY | MPI_MODE_APPEND);
    MPI_File_get_position(file, &place);
    CHECK(place == 40);
    CHECK(MPI_File_write_ordered(file, &values[1], sizeof(int), MPI_BYTE, &status) == MPI_SUCCESS);
    closed(file);
    file = opened(MPI_COMM_WORLD, MPI_MODE_RDONLY);
    CHECK(size_of(file) == 40 + size * (MPI_Offset)sizeof(int));
    MPI_File_read_at(file, 40 + next * (MPI_Offset)sizeof(int), back, 1, MPI_INT, &status);
    CHECK(back[0] == 1000 * next + 1);
    closed(file);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void representations(void)
{
    unsigned char bytes[12], expected[12] = {1, 2, 3, 4, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
    struct {
        double real;
        int whole;
    } value = {1.5, 0x01020304}, back = {0, 0};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(__typeof__(value), whole), offsetof(__typeof__(value), real)};
    MPI_Aint extent;
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, both;
    MPI_Status status;
    MPI_File file;

    MPI_Type_create_struct(2, lengths, places, parts, &both);
    MPI_Type_commit(&both);
    sprintf(path + strlen(path), ".%d", rank);
    file = opened(MPI_COMM_SELF, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write(file, &value, 1, both, &status) == MPI_SUCCESS && count_of(&status, both) == 1);
    CHECK(MPI_File_read_at(file, 0, bytes, 12, MPI_BYTE, &status) == MPI_SUCCESS);
    CHECK(memcmp(bytes, expected, sizeof bytes) == 0);
    CHECK(MPI_File_read_at(file, 0, &back, 1, both, &status) == MPI_SUCCESS);
    CHECK(back.whole == value.whole && back.real == value.real);
    CHECK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent) == MPI_SUCCESS && extent == 8);
    closed(file);
    *strrchr(path, '.') = 0;
    MPI_Type_free(&both);
}

static MPI_File told;
static int told_code;

static void tell(MPI_File *file, int *code, ...)
{
    told = *file;
    told_code = *code;
}

static void errors(void)
{
    int value = 0, mode = 0, result;
    MPI_Errhandler handler, found;
    MPI_Group group, world;
    MPI_Offset place;
    MPI_Status status;
    MPI_File file = MPI_FILE_NULL, other;

    MPI_File_get_errhandler(MPI_FILE_NULL, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(class_of(MPI_File_delete(path, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file)) == MPI_ERR_NO_SUCH_FILE);
    mode = MPI_MODE_RDONLY | MPI_MODE_CREATE;
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file)) == MPI_ERR_AMODE);
    mode = size > 1 && rank == size - 1 ? MPI_MODE_WRONLY : MPI_MODE_RDWR;
    result = MPI_File_open(MPI_COMM_WORLD, path, mode | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    CHECK(class_of(result) == (size > 1 ? MPI_ERR_NOT_SAME : MPI_SUCCESS));
    if (size == 1)
        closed(file);
    file = opened(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_get_amode(file, &mode);
    CHECK(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    MPI_File_get_group(file, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(MPI_File_fromint(MPI_File_toint(file)) == file && MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    mode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR;
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &other)) == MPI_ERR_FILE_EXISTS);
    CHECK(class_of(MPI_File_read(MPI_FILE_NULL, &value, 1, MPI_INT, &status)) == MPI_ERR_FILE);
    CHECK(class_of(MPI_File_read_at(file, -1, &value, 1, MPI_INT, &status)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_read_at(file, 0, &value, -1, MPI_INT, &status)) == MPI_ERR_COUNT);

    /* The error handler of a file is told the file. */
    MPI_File_create_errhandler(tell, &handler);
    MPI_File_set_errhandler(file, handler);
    CHECK(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    CHECK(told == file && class_of(told_code) == MPI_ERR_ARG);
    MPI_File_call_errhandler(file, MPI_ERR_IO);
    CHECK(class_of(told_code) == MPI_ERR_IO);
    closed(file);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    CHECK(class_of(MPI_File_get_size(MPI_FILE_NULL, &place)) == MPI_ERR_FILE);
    CHECK(told == MPI_FILE_NULL && class_of(told_code) == MPI_ERR_FILE);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);

    file = opened(MPI_COMM_WORLD, MPI_MODE_RDONLY);
    CHECK(class_of(MPI_File_write_all(file, &value, 1, MPI_INT, &status)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_set_size(file, 0)) == MPI_ERR_READ_ONLY);
    closed(file);
    file = opened(MPI_COMM_WORLD, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    CHECK(class_of(MPI_File_read_shared(file, &value, 1, MPI_INT, &status)) == MPI_ERR_ACCESS);
    CHECK(class_of(MPI_File_write(file, &value, 1, MPI_INT, &status)) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_write_ordered(file, &value, sizeof value, MPI_BYTE, &status) == MPI_SUCCESS);
    result = MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CHECK(result == MPI_SUCCESS);
    MPI_File_get_byte_offset(file, 0, &place);
    CHECK(place == size * (MPI_Offset)sizeof value);
    closed(file);
    CHECK(MPI_Register_datarep("own", NULL, NULL, NULL, NULL) == MPI_SUCCESS);
    CHECK(class_of(MPI_Register_datarep("own", NULL, NULL, NULL, NULL)) == MPI_ERR_DUP_DATAREP);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path - 16, "%s/data", argc > 1 ? argv[1] : ".");
    strided_views();
    shared_pointers();
    shared_order();
    collective_accesses();
    representations();
    errors();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}
