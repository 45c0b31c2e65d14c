// A module that calls the functions of a block that no other test calls, and compares the results. Its grid has
// two blocks along x, which begin at 0 and 8.
#include <ligament_module.h>

const char *ligament_module(void) {
    return "name: calls\n"
           "parameters: {count: {type: int, min: 1}, wanted: {type: bool, default: false}}\n"
           "functions: {check: {bin: analysis}}\n";
}

int check(lig_block *block) {
    if (lig_block_integer(block, "count") != 3) return lig_block_fail(block, "the count is another one");
    if (!lig_block_flag(block, "wanted")) return lig_block_fail(block, "the flag is not set");
    double begin = (double)block->begin[0], least, most;
    if (lig_block_min(block, &begin, 1, &least) || lig_block_max(block, &begin, 1, &most)) return 1;
    return least == 0.0 && most == 8.0 ? 0 : lig_block_fail(block, "least or greatest number is wrong");
}
