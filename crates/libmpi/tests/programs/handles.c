/* Handles and constants as the program sees them: in what calls write, in what functions of the program are given, and in
   the contents of datatypes. */

#include "check.h"

static int calls;

static void add(void *from, void *into, int *count, MPI_Datatype *type)
{
    CHECK(*type == MPI_INT);
    for (int i = 0; i < *count; i++)
        ((int *)into)[i] += ((int *)from)[i];
}

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    CHECK(comm == MPI_COMM_WORLD && key == *(int *)extra);
    calls++;
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)key, (void)extra, (void)value, (void)copied;
    CHECK(type == MPI_DOUBLE_INT);
    *flag = 0;
    return MPI_ERR_NO_SPACE;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)value;
    CHECK(key == *(int *)extra);
    calls++;
    return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_WORLD && *code == MPI_ERR_RANK);
    calls++;
}

static void handle_file(MPI_File *file, int *code, ...)
{
    CHECK(*file == MPI_FILE_NULL && *code == MPI_ERR_FILE);
    calls++;
}

static int query(void *extra, MPI_Status *status)
{
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = *(int *)extra;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int leave(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void callbacks(int size)
{
    int value = 1, sum[2] = {1, 2}, key, extra, flag, count, number = 5;
    MPI_Op op;
    MPI_Comm made;
    MPI_Datatype type;
    MPI_Errhandler handler, found;
    MPI_Request request;
    MPI_Status status;
    void *attribute;

    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(sum[0] == size && sum[1] == 2 * size);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);

    MPI_Comm_create_keyval(copy, delete, &key, &extra);
    extra = key;
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_get_attr(made, key, &attribute, &flag);
    CHECK(flag && attribute == &value && calls == 1);
    MPI_Comm_free(&made);
    CHECK(made == MPI_COMM_NULL && calls == 2);
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);

    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_get_attr(made, key, &attribute, &flag);
    CHECK(flag && attribute == &value);
    MPI_Comm_free(&made);

    /* The code of a function of the program is that of the call. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_set_attr(MPI_DOUBLE_INT, key, &value);
    CHECK(MPI_Type_dup(MPI_DOUBLE_INT, &type) == MPI_ERR_NO_SPACE);
    MPI_Type_delete_attr(MPI_DOUBLE_INT, key);

    calls = 0;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD) == MPI_ERR_RANK && calls == 1);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    CHECK(found == MPI_ERRORS_RETURN);
    CHECK(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    MPI_File_create_errhandler(handle_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE);
    CHECK(calls == 2);

    MPI_Grequest_start(query, leave, cancel, &number, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(request == MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == 5 && count == 3);
}

static void statuses(int rank, int size)
{
    int before = (rank + size - 1) % size, value = -1, index, flag;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status, both[2];

    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, both);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(value == before && both[0].MPI_SOURCE == before && both[0].MPI_TAG == 7);
    MPI_Waitany(2, requests, &index, &status);
    CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    status.MPI_ERROR = 75;
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && status.MPI_ERROR == 75);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Improbe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(!flag);
}

static void attributes(void)
{
    int *value, flag, level;
    MPI_Win window;
    void *base;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
    CHECK(flag && *value == MPI_PROC_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    CHECK(flag && *value == MPI_ANY_SOURCE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Buffer_detach(&base, &level);
    CHECK(base == MPI_BUFFER_AUTOMATIC);
    MPI_Win_allocate(8, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &value, &flag);
    CHECK(flag && *value == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &value, &flag);
    CHECK(flag && *value == MPI_WIN_UNIFIED);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window) == MPI_SUCCESS);
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
    CHECK(window == MPI_WIN_NULL);
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_SERIALIZED);
}

static void contents(void)
{
    int integers[16], counts[4], combiner;
    MPI_Aint addresses[4];
    MPI_Datatype types[4], made, parts[2] = {MPI_DOUBLE_INT, MPI_C_BOOL};
    int lengths[2] = {2, 1}, sizes[2] = {4, 4}, part[2] = {2, 2}, start[2] = {1, 1};
    int distribution = MPI_DISTRIBUTE_BLOCK, argument = MPI_DISTRIBUTE_DFLT_DARG, grid = 2, length = 8;
    MPI_Aint places[2] = {0, 64};

    MPI_Type_create_struct(2, lengths, places, parts, &made);
    MPI_Type_get_envelope(made, &counts[0], &counts[1], &counts[2], &combiner);
    CHECK(combiner == MPI_COMBINER_STRUCT && counts[2] == 2);
    MPI_Type_get_contents(made, counts[0], counts[1], counts[2], integers, addresses, types);
    CHECK(types[0] == MPI_DOUBLE_INT && types[1] == MPI_C_BOOL);
    MPI_Type_free(&made);
    CHECK(made == MPI_DATATYPE_NULL);
    MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INT, &made);
    MPI_Type_get_envelope(made, &counts[0], &counts[1], &counts[2], &combiner);
    CHECK(combiner == MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(made, counts[0], counts[1], counts[2], integers, addresses, types);
    CHECK(integers[counts[0] - 1] == MPI_ORDER_FORTRAN && types[0] == MPI_INT);
    MPI_Type_free(&made);
    MPI_Type_create_darray(2, 0, 1, &length, &distribution, &argument, &grid, MPI_ORDER_C, MPI_INT, &made);
    MPI_Type_get_envelope(made, &counts[0], &counts[1], &counts[2], &combiner);
    CHECK(combiner == MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(made, counts[0], counts[1], counts[2], integers, addresses, types);
    CHECK(integers[4] == MPI_DISTRIBUTE_BLOCK && integers[5] == MPI_DISTRIBUTE_DFLT_DARG);
    CHECK(integers[6] == 2 && integers[7] == MPI_ORDER_C);
    MPI_Type_free(&made);
}

static void integers(int size)
{
    int ranks[2] = {0, MPI_PROC_NULL}, found[2], result, code, class, source, destination;
    int lengths[1] = {size}, periods[1] = {0};
    MPI_Group group;
    MPI_Comm line;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_translate_ranks(group, 2, ranks, MPI_GROUP_EMPTY, found);
    CHECK(found[0] == MPI_UNDEFINED && found[1] == MPI_PROC_NULL);
    MPI_Group_free(&group);
    CHECK(group == MPI_GROUP_NULL);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_IDENT);
    MPI_Cart_create(MPI_COMM_WORLD, 1, lengths, periods, 0, &line);
    MPI_Topo_test(line, &result);
    CHECK(result == MPI_CART);
    MPI_Topo_test(MPI_COMM_WORLD, &result);
    CHECK(result == MPI_UNDEFINED);
    MPI_Cart_shift(line, 0, size, &source, &destination);
    CHECK(source == MPI_PROC_NULL && destination == MPI_PROC_NULL);
    MPI_Comm_free(&line);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    CHECK(class > MPI_ERR_LASTCODE && code > class);
    MPI_Error_class(code, &result);
    CHECK(result == class);
    MPI_Error_class(MPI_ERR_SESSION, &result);
    CHECK(result == MPI_ERR_SESSION);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    callbacks(size);
    statuses(rank, size);
    attributes();
    contents();
    integers(size);
    MPI_Finalize();
    return wrong;
}
