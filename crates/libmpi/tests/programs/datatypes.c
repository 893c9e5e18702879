/* Datatypes with gaps go from rank 0 to rank 1, are packed, and tell how they were made. */

#include "check.h"

static int rank;

/* Elements of one type arrive as elements of another with the same values. */
static void through(const void *from, int count, MPI_Datatype type, int *into, int values)
{
    MPI_Status status;
    int received;

    if (rank == 0)
        MPI_Send(from, count, type, 1, 3, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(into, 100, MPI_INT, 0, 3, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &received);
        CHECK(received == values);
    }
    MPI_Bcast(into, values, MPI_INT, 1, MPI_COMM_WORLD);
}

static void gaps(void)
{
    int matrix[4][4], into[100];
    int sizes[2] = {4, 4}, parts[2] = {2, 3}, starts[2] = {1, 1}, lengths[2] = {1, 2}, places[2] = {5, 0};
    MPI_Datatype type, column;
    MPI_Aint lower, extent;

    for (int i = 0; i < 16; i++)
        matrix[i / 4][i % 4] = i;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &type);
    MPI_Type_commit(&type);
    through(matrix, 4, type, into, 16);
    for (int i = 0; i < 16; i++)
        CHECK(into[i] == i % 4 * 4 + i / 4);
    MPI_Type_free(&type);
    MPI_Type_free(&column);

    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK(lower == 0 && extent == (MPI_Aint)sizeof matrix);
    through(matrix, 1, type, into, 6);
    for (int i = 0; i < 6; i++)
        CHECK(into[i] == (1 + i / 3) * 4 + 1 + i % 3);
    MPI_Type_free(&type);

    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    through(matrix, 1, type, into, 3);
    CHECK(into[0] == 5 && into[1] == 0 && into[2] == 1);
    MPI_Type_get_true_extent(type, &lower, &extent);
    CHECK(lower == 0 && extent == 6 * (MPI_Aint)sizeof(int));
    MPI_Type_free(&type);

    int kinds[1] = {MPI_DISTRIBUTE_CYCLIC}, arguments[1] = {2}, grid[1] = {3}, length[1] = {16};
    MPI_Type_create_darray(3, 1, 1, length, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type);
    through(matrix, 1, type, into, 6);
    CHECK(into[0] == 2 && into[1] == 3 && into[2] == 8 && into[3] == 9 && into[4] == 14 && into[5] == 15);
    MPI_Type_free(&type);
}

static void structures(void)
{
    struct { char letter; double number; int whole; } own = {'x', 0.5, 7}, got = {0, 0, 0};
    int lengths[3] = {1, 1, 1}, elements, count, position = 0;
    MPI_Aint places[3], lower, extent;
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, type;
    MPI_Status status;
    char packed[64];

    MPI_Get_address(&own.letter, &places[0]);
    MPI_Get_address(&own.number, &places[1]);
    MPI_Get_address(&own.whole, &places[2]);
    MPI_Type_create_struct(3, lengths, places, types, &type);
    /* From absolute addresses, into the other structure by a type with relative ones. */
    MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(position == 1 + 8 + 4);
    MPI_Type_free(&type);
    for (int i = 2; i >= 0; i--)
        places[i] = MPI_Aint_diff(places[i], places[0]);
    MPI_Type_create_struct(3, lengths, places, types, &type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK(lower == 0 && extent == sizeof own);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, &got, 1, type, MPI_COMM_WORLD);
    CHECK(got.letter == 'x' && got.number == 0.5 && got.whole == 7);

    /* Two of three values are no whole element. */
    if (rank == 0)
        MPI_Send(&own, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&got, 1, type, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &count);
        MPI_Get_elements(&status, type, &elements);
        CHECK(count == MPI_UNDEFINED && elements == 1);
        MPI_Status_set_elements(&status, type, 5);
        MPI_Get_elements(&status, type, &elements);
        CHECK(elements == 5);
    }
    MPI_Type_free(&type);
}

static void external(void)
{
    int value = 0x01020304, back = 0;
    unsigned char packed[8];
    MPI_Aint position = 0, size;

    MPI_Pack_external_size("external32", 1, MPI_INT, &size);
    CHECK(size == 4);
    MPI_Pack_external("external32", &value, 1, MPI_INT, packed, sizeof packed, &position);
    CHECK(position == 4 && packed[0] == 1 && packed[3] == 4);
    position = 0;
    MPI_Unpack_external("external32", packed, 4, &position, &back, 1, MPI_INT);
    CHECK(back == value);
}

static int copies, deletions;

static int copy_twice(MPI_Datatype type, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)type, (void)key, (void)extra;
    copies++;
    *(void **)copied = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int count_deletion(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void recipes(void)
{
    int integers, addresses, types, combiner, numbers[8], key, flag, length;
    MPI_Count large[4], large_numbers[3];
    MPI_Aint places[8];
    MPI_Datatype type, inner, parts[2];
    char letters[2], name[MPI_MAX_OBJECT_NAME];
    void *value;

    MPI_Type_contiguous(3, MPI_INT, &inner);
    MPI_Type_create_hvector(2, 1, 20, inner, &type);
    MPI_Type_free(&inner);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 2 && addresses == 1 && types == 1 && combiner == MPI_COMBINER_HVECTOR);
    MPI_Type_get_contents(type, 8, 8, 2, numbers, places, parts);
    CHECK(numbers[0] == 2 && numbers[1] == 1 && places[0] == 20);
    MPI_Type_get_envelope(parts[0], &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_CONTIGUOUS);
    MPI_Type_free(&parts[0]);
    MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_NAMED && integers == 0);
    MPI_Type_vector_c(2, 1, 3, MPI_CHAR, &inner);
    MPI_Type_get_envelope_c(inner, &large[0], &large[1], &large[2], &large[3], &combiner);
    CHECK(large[0] == 0 && large[1] == 0 && large[2] == 3 && large[3] == 1 && combiner == MPI_COMBINER_VECTOR);
    MPI_Type_get_contents_c(inner, 0, 0, 3, 2, numbers, places, large_numbers, parts);
    CHECK(large_numbers[0] == 2 && large_numbers[1] == 1 && large_numbers[2] == 3 && parts[0] == MPI_CHAR);
    MPI_Type_free(&inner);
    /* More than 2 GiB, of which only the size is looked at. */
    MPI_Type_contiguous_c(1LL << 33, MPI_CHAR, &inner);
    MPI_Type_size_c(inner, &large[0]);
    MPI_Type_size(inner, &integers);
    CHECK(large[0] == 1LL << 33 && integers == MPI_UNDEFINED);
    MPI_Type_free(&inner);

    MPI_Type_create_keyval(copy_twice, count_deletion, &key, NULL);
    MPI_Type_set_attr(type, key, letters);
    MPI_Type_dup(type, &inner);
    MPI_Type_get_attr(inner, key, &value, &flag);
    CHECK(flag && value == letters + 1 && copies == 1);
    MPI_Type_free(&inner);
    MPI_Type_delete_attr(type, key);
    CHECK(deletions == 2);
    MPI_Type_free_keyval(&key);
    MPI_Type_set_name(type, "rows");
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 4 && !strcmp(name, "rows"));
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    CHECK(!strcmp(name, "MPI_DOUBLE"));
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
}

/* Functions that MPI 3.0 has removed, and that no header declares. */
int MPI_Address(void *, MPI_Aint *);
int MPI_Type_extent(MPI_Datatype, MPI_Aint *);
int MPI_Type_hindexed(int, int *, MPI_Aint *, MPI_Datatype, MPI_Datatype *);
int MPI_Type_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
int MPI_Type_lb(MPI_Datatype, MPI_Aint *);
int MPI_Type_struct(int, int *, MPI_Aint *, MPI_Datatype *, MPI_Datatype *);
int MPI_Type_ub(MPI_Datatype, MPI_Aint *);

/* Bounds that the program has given decide those of what is made of the type. */
static void bounds(void)
{
    int lengths[2] = {1, 1}, size;
    MPI_Aint places[2] = {8, 100}, lower, extent, upper, address;
    MPI_Datatype parts[2], type, copy;

    MPI_Type_create_resized(MPI_INT, -4, 20, &parts[0]);
    MPI_Type_dup(parts[0], &copy);
    for (int i = 0; i < 2; i++) {
        parts[1] = MPI_DOUBLE;
        MPI_Type_struct(2, lengths, places, parts, &type);
        MPI_Type_get_extent(type, &lower, &extent);
        CHECK(lower == 4 && extent == 20);
        MPI_Type_get_true_extent(type, &lower, &extent);
        CHECK(lower == 8 && extent == 100);
        MPI_Type_free(&type);
        MPI_Type_free(&parts[0]);
        parts[0] = copy;
    }
    parts[0] = MPI_INT;
#ifdef MPI_LB
    int three[3] = {1, 1, 1};
    MPI_Aint at[3] = {-3, 0, 21};
    MPI_Datatype marked[3] = {MPI_LB, MPI_INT, MPI_UB};
    MPI_Type_struct(3, three, at, marked, &type);
    MPI_Type_lb(type, &lower);
    MPI_Type_ub(type, &upper);
    MPI_Type_extent(type, &extent);
    CHECK(lower == -3 && upper == 21 && extent == 24);
    MPI_Type_size(type, &size);
    CHECK(size == 4);
    MPI_Type_free(&type);
#endif
    MPI_Type_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_lb(type, &lower);
    MPI_Type_ub(type, &upper);
    CHECK(lower == 8 && upper == 104);
    MPI_Type_free(&type);
    MPI_Type_hvector(3, 1, 12, MPI_INT, &type);
    MPI_Type_extent(type, &extent);
    CHECK(extent == 28);
    MPI_Type_free(&type);
    MPI_Address(&size, &address);
    CHECK(address == (MPI_Aint)&size);

    MPI_Type_match_size(MPI_TYPECLASS_REAL, 2, &type);
    MPI_Type_size(type, &size);
    CHECK(size == 2);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 4, &type);
    MPI_Type_size(type, &size);
    CHECK(size == 4);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    gaps();
    structures();
    external();
    recipes();
    bounds();
    MPI_Finalize();
    return wrong;
}
