"""A program in Fortran that makes and reads grids of all elements and of 1 to 7 dimensions."""

KINDS = {
    "logical": ("logical", "mod(i, 3) == 0", ".eqv."),
    "int4": ("integer(LIBMUSCLE_int4)", "int(i, LIBMUSCLE_int4) - 5_LIBMUSCLE_int4", "=="),
    "int8": ("integer(LIBMUSCLE_int8)", "int(i, LIBMUSCLE_int8) * 5000000000_LIBMUSCLE_int8", "=="),
    "real4": ("real(LIBMUSCLE_real4)", "i / 3.0_LIBMUSCLE_real4", "=="),
    "real8": ("real(LIBMUSCLE_real8)", "i / 3.0_LIBMUSCLE_real8", "=="),
}
# The extents of the dimensions; they differ, so that no two can be exchanged.
EXTENTS = (3, 2, 4, 1, 2, 3, 2)
HEAD = """! Made by faces/libmuscle-fortran/tests/grids.py.
program grids
    use libmuscle
    implicit none
    integer :: i
"""
TAIL = """    print '(a)', 'all as it should be'
contains
    subroutine check(condition, what)
        logical, intent(in) :: condition
        character(len=*), intent(in) :: what
        if (condition) return
        print '(2a)', 'not so: ', what
        stop 1, quiet=.true.
    end subroutine check
"""


def test_of(owner, kind, dimensions):
    """A procedure that tests the grids of one kind and number of dimensions, by their long and short names."""
    declared, value, equal = KINDS[kind]
    shape = EXTENTS[:dimensions]
    size = 1
    for extent in shape:
        size *= extent
    name = f"{owner}_{dimensions}_{kind}"
    prefix = f"LIBMUSCLE_{owner}"
    names = ", &\n            ".join(f"'axis {axis}'" for axis in range(1, dimensions + 1))
    last = f"'axis {dimensions}'"
    shape_text = "[" + ", ".join(map(str, shape)) + "]"
    same = f"all(back {equal} given)"
    return f"""
    subroutine test_{name}()
        type({prefix}) :: grid
        {declared} :: given({", ".join(map(str, shape))}), back({", ".join(map(str, shape))})
        integer(LIBMUSCLE_size) :: shp({dimensions})
        given = reshape([({value}, i = 1, {size})], {shape_text})
        grid = {prefix}_create_grid_{dimensions}_{kind}_a(given)
        call check(grid%is_a_grid_of_{kind}() .and. .not. grid%has_indexes(), 'a {name}')
        call check({prefix}_is_a_grid_of_{kind}(grid), 'is a {name}')
        call check({prefix}_num_dims(grid) == {dimensions}, 'rank {name}')
        call check({prefix}_size(grid) == {size}, 'size {name}')
        call {prefix}_shape(grid, shp)
        call check(all(shp == {shape_text}), 'shape {name}')
        back = cshift(given, 1)
        call {prefix}_elements_{dimensions}_{kind}(grid, back)
        call check({same}, 'elements {name}')
        call {prefix}_free(grid)
        grid = {prefix}_create_grid(given, &
            {names})
        call check({prefix}_has_indexes(grid), 'names {name}')
        call check({prefix}_index(grid, {dimensions}_LIBMUSCLE_size) == {last}, 'name {name}')
        back = cshift(given, 1)
        call grid%elements(back)
        call check({same}, 'generic elements {name}')
        call {prefix}_free(grid)
        grid = {prefix}_create_grid_{dimensions}_{kind}_n(given, &
            {names})
        call check(grid%index(1_LIBMUSCLE_size) == 'axis 1', 'long name {name}')
        call {prefix}_free(grid)
    end subroutine test_{name}
"""


def source():
    cases = [(owner, kind, dimensions) for owner in ("DataConstRef", "Data") for kind in KINDS
             for dimensions in range(1, 8)]
    calls = "".join(f"    call test_{owner}_{dimensions}_{kind}()\n" for owner, kind, dimensions in cases)
    return HEAD + calls + TAIL + "".join(test_of(*case) for case in cases) + "end program grids\n"
