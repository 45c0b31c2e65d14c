// One value that contains every kind of value: builds it and checks it. The C++ tests have the same value.
#ifndef TREE_H
#define TREE_H

#include <math.h>

#include "check.h"

// The elements of an array of each type, from 1 to 13. Each array has two elements, which follow from the
// type's number.
static unsigned char elements[14][32];

static inline size_t size_of(int dtype) {
    static const size_t sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
    return sizes[dtype];
}

static inline const char *key_of(int dtype) {
    static char key[16];
    snprintf(key, sizeof key, "array %d", dtype);
    return key;
}

static inline lig_value *build_tree(void) {
    lig_value *map = lig_value_new_map(), *list = lig_value_new_list(), *array;
    FINE(lig_value_append(list, lig_value_new_none(), &error));
    FINE(lig_value_append(list, lig_value_new_bool(true), &error));
    FINE(lig_value_append(list, lig_value_new_int(INT64_MIN), &error));
    FINE(lig_value_append(list, lig_value_new_uint(UINT64_MAX), &error));
    FINE(lig_value_append(list, lig_value_new_float(-0.1), &error));
    FINE(lig_value_append(list, lig_value_new_complex(1.5, -2.5), &error));
    FINE(lig_value_append(list, lig_value_new_string("Größe\0x", 9), &error));
    FINE(lig_value_append(list, lig_value_new_bytes("\0\1\377", 3), &error));
    FINE(lig_value_append(list, lig_value_new_list(), &error));
    FINE(lig_value_append(list, lig_value_new_map(), &error));
    FINE(lig_value_set(map, "list", list, &error));
    for (int dtype = LIG_BOOL; dtype <= LIG_COMPLEX128; ++dtype) {
        memset(elements[dtype], dtype == LIG_BOOL ? 1 : dtype, sizeof elements[dtype]);
        const lig_array lent = {.dtype = (lig_dtype)dtype, .ndim = 1, .shape = {2}, .data = elements[dtype]};
        // An array can be put into a list or map in two ways; this uses both.
        FINE((dtype % 2 ? lig_value_new_array : lig_value_new_array_borrowed)(&lent, &array, &error));
        FINE(lig_value_set(map, key_of(dtype), array, &error));
    }
    static double grid[2][3] = {{0, 1, 2}, {3, 4, 5}};
    static const char *const names[] = {"x", "y"};
    const lig_array column_major = {.dtype = LIG_FLOAT64, .ndim = 2, .order = LIG_COLUMN_MAJOR, .shape = {3, 2},
                                    .data = grid, .names = names, .unit = "mol/m³"};
    FINE(lig_value_new_array(&column_major, &array, &error));
    FINE(lig_value_set(map, "grid", array, &error));
    return map;
}

static inline const lig_value *under(const lig_value *map, const char *key) {
    const lig_value *item;
    FINE(lig_value_find(map, key, &item, &error));
    HOLDS(item != NULL);
    return item;
}

static inline const lig_value *item(const lig_value *list, size_t index) {
    const lig_value *found;
    FINE(lig_value_at(list, index, &found, &error));
    return found;
}

static inline void check_tree(const lig_value *map) {
    bool truth;
    int64_t integer;
    uint64_t large;
    double real, imaginary;
    lig_string text;
    const void *bytes;
    size_t count;
    lig_array_view view;

    const lig_value *list = under(map, "list");
    FINE(lig_value_count(list, &count, &error));
    HOLDS(count == 10);
    HOLDS(lig_value_kind(item(list, 0)) == LIG_KIND_NONE);
    FINE(lig_value_bool(item(list, 1), &truth, &error));
    HOLDS(truth);
    FINE(lig_value_int(item(list, 2), &integer, &error));
    HOLDS(integer == INT64_MIN);
    ENDS_WITH(lig_value_uint(item(list, 2), &large, &error), LIG_ERR_UNEXPECTED, "0 or more");
    FINE(lig_value_uint(item(list, 3), &large, &error));
    HOLDS(large == UINT64_MAX);
    ENDS_WITH(lig_value_int(item(list, 3), &integer, &error), LIG_ERR_UNEXPECTED, "18446744073709551615");
    FINE(lig_value_float(item(list, 4), &real, &error));
    HOLDS(real == -0.1);
    FINE(lig_value_complex(item(list, 5), &real, &imaginary, &error));
    HOLDS(real == 1.5 && imaginary == -2.5);
    FINE(lig_value_string(item(list, 6), &text, &error));
    HOLDS(text.size == 9 && memcmp(text.data, "Größe\0x", 9) == 0);
    FINE(lig_value_bytes(item(list, 7), &bytes, &count, &error));
    HOLDS(count == 3 && memcmp(bytes, "\0\1\377", 3) == 0);
    HOLDS(lig_value_kind(item(list, 8)) == LIG_KIND_LIST);
    HOLDS(lig_value_kind(item(list, 9)) == LIG_KIND_MAP);

    for (int dtype = LIG_BOOL; dtype <= LIG_COMPLEX128; ++dtype) {
        FINE(lig_value_array(under(map, key_of(dtype)), &view, &error));
        HOLDS(view.dtype == (lig_dtype)dtype && view.ndim == 1 && view.shape[0] == 2 && view.length == 2);
        HOLDS(view.contiguous && view.strides[0] == (int64_t)size_of(dtype));
        for (size_t i = 0; i < 2 * size_of(dtype); ++i) {
            HOLDS(((const unsigned char *)view.data)[i] == (dtype == LIG_BOOL ? 1 : dtype));
        }
    }
    const lig_value *grid = under(map, "grid");
    FINE(lig_value_array(grid, &view, &error));
    HOLDS(view.ndim == 2 && view.shape[0] == 3 && view.shape[1] == 2 && view.order == LIG_COLUMN_MAJOR);
    HOLDS(view.strides[0] == 8 && view.strides[1] == 24);
    for (int i = 0; i < 6; ++i) HOLDS(((const double *)view.data)[i] == i);
    FINE(lig_value_array_name(grid, 1, &text, &error));
    HOLDS(text.size == 1 && text.data[0] == 'y');
    FINE(lig_value_array_unit(grid, &text, &error));
    HOLDS(text.size == strlen("mol/m³") && memcmp(text.data, "mol/m³", text.size) == 0);
    FINE(lig_value_array_unit(under(map, "array 2"), &text, &error));
    HOLDS(text.data == NULL);
}

#endif
