// Builds and reads values without a run.
#include "tree.h"

int main(void) {
    lig_value *map = build_tree(), *copy, *array, *list;
    check_tree(map);
    FINE(lig_value_copy(map, &copy, &error));
    lig_value_free(map);
    check_tree(copy);

    // Asks for keys that do not exist, and for values of another kind.
    const lig_value *none;
    lig_string key;
    double number;
    lig_array_view view;
    FINE(lig_value_find(copy, "no such key", &none, &error));
    HOLDS(none == NULL);
    FINE(lig_value_key(copy, 0, &key, &error));
    HOLDS(key.size == 4 && memcmp(key.data, "list", 4) == 0);
    ENDS_WITH(lig_value_key(copy, 99, &key, &error), LIG_ERR_USAGE, "no item 99: there are 15");
    ENDS_WITH(lig_value_float(copy, &number, &error), LIG_ERR_UNEXPECTED, "a map, not a number");
    ENDS_WITH(lig_value_array(copy, &view, &error), LIG_ERR_UNEXPECTED, "a map, not an array");
    ENDS_WITH(lig_expect_array(NULL, copy, NULL, &view, &error), LIG_ERR_UNEXPECTED,
              "a map, where an array was expected");

    // Sets a key twice, and reads an integer as a number.
    FINE(lig_value_set(copy, "list", lig_value_new_int(7), &error));
    FINE(lig_value_float(under(copy, "list"), &number, &error));
    HOLDS(number == 7.0);
    lig_value_free(copy);

    // Makes mistakes in building.
    list = lig_value_new_list();
    ENDS_WITH(lig_value_append(list, lig_value_new_string("\xff", 1), &error), LIG_ERR_USAGE, "not UTF-8");
    ENDS_WITH(lig_value_append(list, list, &error), LIG_ERR_USAGE, "into itself");
    ENDS_WITH(lig_value_set(list, "a", lig_value_new_none(), &error), LIG_ERR_USAGE, "not a map");
    ENDS_WITH(lig_value_append(NULL, lig_value_new_none(), &error), LIG_ERR_USAGE, "list is NULL");
    lig_value_free(list);

    // Every second element of every second row, backwards: element 0 is the last one in memory.
    int32_t memory[4][4];
    for (int i = 0; i < 16; ++i) memory[i / 4][i % 4] = i;
    const int64_t strides[] = {-32, -8};
    const lig_array backwards = {.dtype = LIG_INT32, .ndim = 2, .shape = {2, 2}, .strides = strides,
                                 .data = &memory[3][3]};
    FINE(lig_value_new_array(&backwards, &array, &error));
    FINE(lig_value_array(array, &view, &error));
    const int32_t *gathered = view.data;
    HOLDS(view.contiguous && gathered[0] == 15 && gathered[1] == 13 && gathered[2] == 7 && gathered[3] == 5);
    lig_value_free(array);
    ENDS_WITH(lig_value_new_array_borrowed(&backwards, &array, &error), LIG_ERR_USAGE, "strides");

    const lig_array unclean = {.dtype = LIG_INT8, .ndim = 1, .reserved = 1, .shape = {1}, .data = memory};
    ENDS_WITH(lig_value_new_array(&unclean, &array, &error), LIG_ERR_USAGE, "`reserved` of lig_array is 1");

    // Impossible arrays, and arrays with no or one element.
    const lig_array typeless = {.dtype = (lig_dtype)0, .ndim = 1, .shape = {1}, .data = memory};
    ENDS_WITH(lig_value_new_array(&typeless, &array, &error), LIG_ERR_USAGE, "no element type 0");
    const lig_array deep = {.dtype = LIG_INT8, .ndim = 9, .data = memory};
    ENDS_WITH(lig_value_new_array(&deep, &array, &error), LIG_ERR_USAGE, "at most 8 dimensions, not 9");
    const lig_array nowhere = {.dtype = LIG_INT8, .ndim = 1, .shape = {1}};
    ENDS_WITH(lig_value_new_array(&nowhere, &array, &error), LIG_ERR_USAGE, "data is NULL");
    const lig_array huge = {.dtype = LIG_INT64, .ndim = 2, .shape = {UINT64_MAX, 4}, .data = memory};
    ENDS_WITH(lig_value_new_array(&huge, &array, &error), LIG_ERR_USAGE, "does not fit any memory");
    const lig_array empty = {.dtype = LIG_INT64, .ndim = 2, .shape = {3, 0}};
    FINE(lig_value_new_array(&empty, &array, &error));
    FINE(lig_value_array(array, &view, &error));
    HOLDS(view.length == 0 && view.shape[0] == 3);
    lig_value_free(array);
    const lig_array scalar = {.dtype = LIG_INT32, .data = &memory[1][0]};
    FINE(lig_value_new_array(&scalar, &array, &error));
    FINE(lig_value_array(array, &view, &error));
    HOLDS(view.ndim == 0 && view.length == 1 && *(const int32_t *)view.data == 4);
    lig_value_free(array);

    // Makes settings of a map, and a map of settings.
    lig_value *settings, *back, *numbers = lig_value_new_list(), *row = lig_value_new_list(),
                                *plain = lig_value_new_map();
    FINE(lig_value_append(row, lig_value_new_float(0.5), &error));
    FINE(lig_value_append(numbers, row, &error));
    FINE(lig_value_set(plain, "micro.grid", numbers, &error));
    FINE(lig_value_set(plain, "k", lig_value_new_int(3), &error));
    FINE(lig_value_new_settings(plain, &settings, &error));
    HOLDS(lig_value_kind(settings) == LIG_KIND_SETTINGS);
    FINE(lig_value_settings(settings, &back, &error));
    FINE(lig_value_float(item(item(under(back, "micro.grid"), 0), 0), &number, &error));
    HOLDS(number == 0.5);
    FINE(lig_value_set(plain, "bad", lig_value_new_complex(1, 2), &error));
    ENDS_WITH(lig_value_new_settings(plain, &array, &error), LIG_ERR_USAGE, "\"bad\" cannot be a setting");
    lig_value_free(plain);
    lig_value_free(settings);
    lig_value_free(back);
}
