"""Programs that try one element type in every rank from 0 to 7: sent, received into, viewed in place, as
sections, lent."""

# The Fortran type, and the element for a number `n`.
TYPES = {
    "int8": ("integer(int8)", "int(mod(n, 100), int8)"),
    "int16": ("integer(int16)", "int(n, int16)"),
    "int32": ("integer(int32)", "n"),
    "int64": ("integer(int64)", "int(n, int64)"),
    "real32": ("real(real32)", "real(n, real32) / 4"),
    "real64": ("real(real64)", "real(n, real64) / 4"),
    "complex32": ("complex(real32)", "cmplx(n, -n, real32)"),
    "complex64": ("complex(real64)", "cmplx(n, -n, real64)"),
    "logical8": ("logical(int8)", "mod(n, 3) == 0"),
    "logical16": ("logical(int16)", "mod(n, 3) == 0"),
    "logical32": ("logical(int32)", "mod(n, 3) == 0"),
    "logical64": ("logical(int64)", "mod(n, 3) == 0"),
}
IN_PLACE = set(TYPES) - {"logical16", "logical32", "logical64"}


def one_rank(name, rank):
    kind, element = TYPES[name]
    equal = ".eqv." if name.startswith("logical") else "=="
    dims = "(" + ", ".join(":" * rank) + ")" if rank else ""
    extents = [2 + i % 2 for i in range(rank)]
    shape = "(" + ", ".join(map(str, extents)) + ")" if rank else ""
    wide = "(" + ", ".join(str(2 * n) for n in extents) + ")" if rank else ""
    section = "(" + ", ".join(f"{2 * n}:1:-2" if i % 2 else "::2"
                              for i, n in enumerate(extents)) + ")" if rank else ""
    everything = "all" if rank else ""
    lines = [f"   subroutine rank_{rank}()", f"      {kind} :: sent{shape}, came{shape}",
             f"      {kind}, allocatable :: wide{dims}"]
    if name in IN_PLACE:
        lines += [f"      {kind}, pointer :: view{dims} => null(), lent{dims} => null()",
                  "      type(ligament_loan) :: loan"]
    if rank:
        lines += ["      integer :: n",
                  f"      {kind}, parameter :: blank = {'.false.' if name.startswith('logical') else '0'}",
                  f"      sent = reshape([({element}, n=1, {'*'.join(map(str, extents))})], "
                  f"[{', '.join(map(str, extents))}])",
                  "      came = blank", f"      allocate (wide{wide}, source=blank)"]
    else:
        lines += ["      integer :: n", "      n = 3", f"      sent = {element}", "      wide = sent",
                  "      came = wide"]
    lines += [
        "      call instance%send('out', time, sent)",
        "      call instance%receive_into('in', came)",
        f"      call holds(logical({everything}(came {equal} sent)), &\n         '{name}, rank {rank}: "
        f"received into')",
    ]
    if rank:
        lines += [
            f"      wide{section} = sent",
            f"      call instance%send('out', time, wide{section})",
            "      call instance%receive('in', message)",
            "      call message%get(came)",
            f"      call holds(logical({everything}(came {equal} sent)), &\n         '{name}, rank {rank}: a "
            f"section')",
            "      wide = blank",
            "      call instance%send('out', time, sent)",
            f"      call instance%receive_into('in', wide{section})",
            f"      call holds(logical({everything}(wide{section} {equal} sent)), &\n         '{name}, rank "
            f"{rank}: received into a section')",
        ]
    if name in IN_PLACE:
        lines += [
            f"      call instance%create_loan(loan, lent, "
            f"{'[' + ', '.join(map(str, extents)) + ']' if rank else '[integer ::]'})",
            "      lent = sent",
            "      call instance%send_loan('out', time, loan)",
            "      call instance%receive('in', message)",
            "      call message%view(view)",
            f"      call holds(logical({everything}(view {equal} sent)), &\n         '{name}, rank {rank}: in "
            f"place')",
        ]
    return "\n".join([*lines, "   end subroutine"])


def program(name):
    calls = "\n".join(f"   call rank_{rank}()" for rank in range(8))
    procedures = "\n\n".join(one_rank(name, rank) for rank in range(8))
    return f"""program kinds
   use ligament
   use, intrinsic :: iso_fortran_env, only: error_unit, int8, int16, int32, int64, real32, real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message
   real(real64) :: time = 0

   instance = ligament_instance()
   if (.not. instance%reuse_instance()) stop 2
{calls}
   call message%free()
   call instance%free()

contains

   subroutine holds(condition, what)
      logical, intent(in) :: condition
      character(len=*), intent(in) :: what
      if (condition) return
      write (error_unit, '(2a)') 'not so: ', what
      stop 1, quiet=.true.
   end subroutine

{procedures}
end program
"""
