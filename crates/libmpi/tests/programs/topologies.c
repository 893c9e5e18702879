/* Grids and graphs, and collectives among their neighbours. */

#include "check.h"

static int rank, size;

static void grids(void)
{
    int lengths[2] = {0, 0}, periods[2] = {1, 0}, places[2], from, to, kind, count;
    int sent[4], got[4], remains[2] = {0, 1};
    MPI_Comm grid, row;

    int fixed[3] = {0, 3, 0};
    MPI_Dims_create(24, 3, fixed);
    CHECK(fixed[0] == 4 && fixed[1] == 3 && fixed[2] == 2);
    MPI_Dims_create(size, 2, lengths);
    CHECK(lengths[0] * lengths[1] == size && lengths[0] >= lengths[1]);
    MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, periods, 0, &grid);
    MPI_Topo_test(grid, &kind);
    MPI_Cartdim_get(grid, &count);
    CHECK(kind == MPI_CART && count == 2);
    MPI_Cart_coords(grid, rank, 2, places);
    CHECK(places[0] == rank / lengths[1] && places[1] == rank % lengths[1]);
    MPI_Cart_shift(grid, 0, 1, &from, &to);
    CHECK(to == (rank + lengths[1]) % size && from == (rank + size - lengths[1]) % size);
    MPI_Cart_shift(grid, 1, 1, &from, &to);
    CHECK(to == (places[1] + 1 < lengths[1] ? rank + 1 : MPI_PROC_NULL));

    /* Each side of the grid is told the side, so that a rank that is its neighbour's on both sides sees them apart. */
    for (int side = 0; side < 4; side++) {
        sent[side] = 10 * rank + side;
        got[side] = -1;
    }
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, grid);
    for (int side = 0; side < 4; side++) {
        MPI_Cart_shift(grid, side / 2, side % 2 ? 1 : -1, &from, &to);
        CHECK(got[side] == (to == MPI_PROC_NULL ? -1 : 10 * to + (side ^ 1)));
    }
    MPI_Cart_sub(grid, remains, &row);
    MPI_Comm_size(row, &count);
    CHECK(count == lengths[1]);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
}

static void graphs(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, value = rank, got[2] = {-1, -1};
    int weight = 5, in, out, weighted, source, source_weight, destination, destination_weight, degree = 1;
    int *ends = malloc(size * sizeof *ends), *edges = malloc(2 * size * sizeof *edges);
    MPI_Comm ring, general;
    MPI_Request request;

    MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && !weighted);
    MPI_Ineighbor_allgather(&value, 1, MPI_INT, got, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got[0] == before);
    MPI_Comm_free(&ring);

    /* Each rank names the edge of its neighbour. */
    int after = (next + 1) % size;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &next, &degree, &after, &weight, MPI_INFO_NULL, 0, &ring);
    MPI_Dist_graph_neighbors(ring, 1, &source, &source_weight, 1, &destination, &destination_weight);
    CHECK(source == before && destination == next && source_weight == 5 && destination_weight == 5);
    MPI_Comm_free(&ring);

    for (int r = 0; r < size; r++) {
        ends[r] = 2 * r + 2;
        edges[2 * r] = (r + size - 1) % size;
        edges[2 * r + 1] = (r + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &general);
    MPI_Graph_neighbors_count(general, rank, &in);
    CHECK(in == 2);
    MPI_Neighbor_allgather(&value, 1, MPI_INT, got, 1, MPI_INT, general);
    CHECK(got[0] == before && got[1] == next);
    MPI_Comm_free(&general);
    free(ends), free(edges);
}

/* Many factors in many dimensions, which take no time to share. */
static void balanced(void)
{
    int lengths[10] = {0}, product = 1;

    MPI_Dims_create(1 << 20, 10, lengths);
    for (int i = 0; i < 10; i++)
        CHECK(lengths[i] == 4);
    memset(lengths, 0, sizeof lengths);
    MPI_Dims_create(1441440, 8, lengths);
    for (int i = 0; i < 8; i++) {
        product *= lengths[i];
        CHECK(i == 0 || lengths[i] <= lengths[i - 1]);
    }
    CHECK(product == 1441440 && lengths[0] - lengths[7] == 10);
    memset(lengths, 0, sizeof lengths);
    MPI_Dims_create(60, 2, lengths);
    CHECK(lengths[0] == 10 && lengths[1] == 6);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grids();
    graphs();
    balanced();
    MPI_Finalize();
    return wrong;
}
