/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction alone: prints what a trained model says of each row.
 *
 *     predict MODEL DATA [ROWS]
 *
 * DATA is a specification as of `artel predict --data` (npy:images.npy, csv:rows.csv); targets may be absent. ROWS
 * limits what is printed (10). For an output with several numbers the largest is named too: the class of a classifier.
 */
#include <artel/fit.h>
#include <stdio.h>
#include <stdlib.h>

static int report(const artel_context *ctx)
{
    const artel_error *error = artel_context_error(ctx);
    fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    return artel_status_exit_code(error->status);
}

static void print_row(const float *row, int64_t width)
{
    int64_t best = 0;
    for (int64_t i = 1; i < width; i++) {
        if (row[i] > row[best]) best = i;
    }
    for (int64_t i = 0; i < width && i < 12; i++) printf(" %.6g", (double)row[i]);
    if (width > 12) printf(" ...");
    if (width > 1) printf("  (largest: %lld)", (long long)best);
    printf("\n");
}

static artel_status print_output(const artel_predictions *predictions, int index, int64_t limit)
{
    const char *name;
    artel_shape shape;
    const float *values;
    artel_status status = artel_predictions_get(predictions, index, &name, &shape, &values);
    if (status < 0) return status;
    int64_t rows = shape.dim[0], width = rows ? artel_shape_count(&shape) / rows : 0;
    printf("output %s: %lld rows\n", name, (long long)rows);
    for (int64_t r = 0; r < rows && r < limit; r++) {
        printf("%lld:", (long long)r);
        print_row(values + r * width, width);
    }
    return ARTEL_OK;
}

static artel_status predict(artel_model *model, artel_data *data, int64_t limit)
{
    artel_predictions *predictions;
    artel_status status = artel_model_predict(model, data, NULL, &predictions);
    if (status < 0) return status;
    for (int i = 0; i < artel_predictions_count(predictions) && status == ARTEL_OK; i++)
        status = print_output(predictions, i, limit);
    artel_predictions_destroy(predictions);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: predict MODEL DATA [ROWS]\n");
        return 1;
    }
    artel_context *ctx;
    artel_model *model = NULL;
    artel_data *data = NULL;
    if (artel_context_create(NULL, &ctx) < 0) return fprintf(stderr, "%s\n", artel_context_error(NULL)->what), 2;
    artel_status status = artel_model_load(ctx, argv[1], &model);
    if (status == ARTEL_OK) status = artel_data_open(ctx, argv[2], &data);
    if (status == ARTEL_OK) status = predict(model, data, argc > 3 ? atoll(argv[3]) : 10);
    int code = status < 0 ? report(ctx) : 0;
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return code;
}
