/* Communicators of one and of two groups, groups, info objects, attributes, error codes. */

#include "check.h"

static int rank, size;

static void groups(void)
{
    MPI_Group world, some, others, both;
    int ranks[2] = {0, size - 1}, translated[2], count, result, range[1][3] = {{size - 1, 0, -1}};

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, ranks, &some);
    MPI_Group_difference(world, some, &others);
    MPI_Group_size(others, &count);
    CHECK(count == size - 2);
    MPI_Group_union(others, some, &both);
    MPI_Group_compare(world, both, &result);
    CHECK(result == (size == 2 ? MPI_IDENT : MPI_SIMILAR));
    MPI_Group_intersection(some, others, &both);
    CHECK(both == MPI_GROUP_EMPTY);
    MPI_Group_range_incl(world, 1, range, &both);
    MPI_Group_translate_ranks(both, 2, ranks, world, translated);
    CHECK(translated[0] == size - 1 && translated[1] == 0);
    MPI_Group_free(&world);
    MPI_Group_free(&some);
    CHECK(some == MPI_GROUP_NULL);
}

static void one_group(void)
{
    MPI_Comm half, same, duplicate, alone;
    MPI_Group world, evens;
    MPI_Request request;
    int own, count, result, sum, value = 1, range[1][3] = {{0, size - 1, 2}};

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &own);
    MPI_Comm_size(half, &count);
    CHECK(count == (size + (rank % 2 == 0)) / 2 && own == count - 1 - rank / 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &alone);
    CHECK((alone == MPI_COMM_NULL) == (rank != 0));
    MPI_Comm_idup(half, &duplicate, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(half, duplicate, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, duplicate);
    CHECK(sum == count);
    /* Only the members make it. */
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &evens);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, evens, 5, &same);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, same);
        CHECK(sum == (size + 1) / 2);
        MPI_Comm_free(&same);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &same);
    MPI_Comm_size(same, &count);
    CHECK(count == 1);
    MPI_Comm_free(&same);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&half);
    for (int i = 0; i < 200; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &same);
        MPI_Comm_free(&same);
    }
}

static void two_groups(void)
{
    MPI_Comm half, both, merged, duplicate;
    int own, count, remote, flag, value, got = -1, root, sum;
    int *all = malloc(size * sizeof *all);
    MPI_Status status;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &both);
    MPI_Comm_test_inter(both, &flag);
    MPI_Comm_rank(both, &own);
    MPI_Comm_size(both, &count);
    MPI_Comm_remote_size(both, &remote);
    CHECK(flag && own == rank / 2 && count + remote == size);

    /* The ranks of the other group are counted from 0. */
    value = rank;
    if (own < remote) {
        MPI_Sendrecv(&value, 1, MPI_INT, own, 1, &got, 1, MPI_INT, MPI_ANY_SOURCE, 1, both, &status);
        CHECK(got == (rank ^ 1) && status.MPI_SOURCE == own);
    }
    value = rank == 0 ? 55 : -1;
    root = rank % 2 ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(&value, 1, MPI_INT, root, both);
    CHECK(value == (rank % 2 ? 55 : rank == 0 ? 55 : -1));
    value = rank;
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, both);
    for (int r = 0; r < remote; r++)
        CHECK(all[r] == 2 * r + 1 - rank % 2);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
    for (int r = 0; r < remote; r++)
        sum -= 2 * r + 1 - rank % 2;
    CHECK(sum == 0);
    MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, both);
    for (int r = 0; rank == 0 && r < remote; r++)
        CHECK(all[r] == 2 * r + 1);
    MPI_Barrier(both);

    MPI_Comm_dup(both, &duplicate);
    MPI_Intercomm_merge(duplicate, rank % 2 == 0, &merged);
    MPI_Comm_rank(merged, &own);
    CHECK(own == (rank % 2 ? rank / 2 : size / 2 + rank / 2));
    MPI_Comm_free(&merged);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    free(all);
}

static void hints(void)
{
    MPI_Info info, other;
    char text[MPI_MAX_INFO_VAL + 1];
    int count, flag, length = 3;

    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "first");
    MPI_Info_set(info, "two", "second");
    MPI_Info_set(info, "one", "third");
    MPI_Info_get_nkeys(info, &count);
    CHECK(count == 2);
    MPI_Info_get_nthkey(info, 1, text);
    CHECK(!strcmp(text, "two"));
    MPI_Info_dup(info, &other);
    MPI_Info_delete(info, "one");
    MPI_Info_get(info, "one", MPI_MAX_INFO_VAL, text, &flag);
    CHECK(!flag);
    MPI_Info_get_string(other, "one", &length, text, &flag);
    CHECK(flag && length == 6 && !strcmp(text, "th"));
    MPI_Info_free(&info);
    MPI_Info_free(&other);
    CHECK(info == MPI_INFO_NULL);
}

static int deleted;

static int note_deletion(MPI_Comm communicator, int key, void *value, void *extra)
{
    (void)communicator, (void)key, (void)extra;
    deleted = deleted * 10 + *(int *)value;
    return MPI_SUCCESS;
}

static void attributes_and_errors(void)
{
    int first, second, flag, one = 1, two = 2, *found, class, code, length;
    MPI_Comm duplicate, copy;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note_deletion, &first, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_deletion, &second, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_set_attr(duplicate, first, &one);
    MPI_Comm_set_attr(duplicate, second, &two);
    MPI_Comm_dup(duplicate, &copy);
    MPI_Comm_get_attr(copy, first, &found, &flag);
    CHECK(flag && found == &one);
    MPI_Comm_get_attr(copy, second, &found, &flag);
    CHECK(!flag);
    MPI_Comm_free(&copy);
    CHECK(deleted == 1);
    MPI_Comm_free(&duplicate);
    CHECK(deleted == 121);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag);
    CHECK(flag && *found >= 32767);

    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "out of tea");
    MPI_Error_string(code, text, &length);
    CHECK(!strcmp(text, "out of tea"));
    MPI_Error_class(code, &length);
    CHECK(length == class);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &found, &flag);
    CHECK(*found == code);
    MPI_Pcontrol(1, "any", 2.0);
}

static int handled;

static void count_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static int fails_to_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)value, (void)copy;
    *flag = 1;
    return MPI_ERR_OTHER;
}

static int frees_its_key(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)extra;
    MPI_Comm_free_keyval(&key);
    ++*(int *)value;
    return MPI_SUCCESS;
}

/* Functions that MPI 3.0 has removed, and that no header declares. */
int MPI_Errhandler_create(MPI_Comm_errhandler_function *, MPI_Errhandler *);
int MPI_Errhandler_get(MPI_Comm, MPI_Errhandler *);
int MPI_Errhandler_set(MPI_Comm, MPI_Errhandler);

static void keys_and_handlers(void)
{
    int key, kept, deletions = 0;
    MPI_Comm copy, none = MPI_COMM_WORLD;
    MPI_Errhandler handler, got;

    /* A freed key serves the attributes that are set, and can be freed again. */
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, frees_its_key, &key, NULL);
    kept = key;
    MPI_Comm_set_attr(copy, key, &deletions);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &deletions);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&copy);
    MPI_Comm_delete_attr(MPI_COMM_SELF, kept);
    CHECK(deletions == 2);

    /* A duplicate that fails is none. */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Errhandler_create(count_error, &handler);
    MPI_Errhandler_set(copy, handler);
    MPI_Errhandler_get(copy, &got);
    CHECK(got == handler);
    MPI_Comm_create_keyval(fails_to_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(copy, key, NULL);
    CHECK(MPI_Comm_dup(copy, &none) != MPI_SUCCESS && none == MPI_COMM_NULL && handled == 1);
    MPI_Comm_free(&copy);

    /* An error of no communicator goes to the world's handler, as in MPI 3, until MPI_COMM_SELF has one. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK(MPI_Type_free_keyval(&kept) == MPI_SUCCESS);
    kept = MPI_KEYVAL_INVALID;
    CHECK(MPI_Type_free_keyval(&kept) != MPI_SUCCESS && handled == 2);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_free_keyval(&kept) != MPI_SUCCESS && handled == 2);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A value of an info object that was made before MPI_Init. */
static void check_early(MPI_Info info)
{
    char value[8];
    int length = sizeof value, flag;

    MPI_Info_get_string(info, "made", &length, value, &flag);
    CHECK(flag && !strcmp(value, "early"));
}

int main(int argc, char **argv)
{
    MPI_Info early;
    MPI_Errhandler handler;

    MPI_Info_create(&early);
    MPI_Info_set(early, "made", "early");
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Init(&argc, &argv);
    check_early(early);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK(handled == 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    handled = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    groups();
    one_group();
    two_groups();
    hints();
    attributes_and_errors();
    keys_and_handlers();
    MPI_Finalize();
    check_early(early);
    MPI_Info_free(&early);
    return wrong;
}
