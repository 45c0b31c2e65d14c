"""MUSCLE 3's own package has modules of the same names. Both in one environment would be a mixture of files, so
this face refuses to be used beside it."""

from importlib import metadata


def refuse_muscle3() -> None:
    """Raises ImportError if the distribution `muscle3` is installed in this environment."""
    try:
        peer = metadata.distribution("muscle3")
    except metadata.PackageNotFoundError:
        return
    raise ImportError(
        f"muscle3 {peer.version} is installed in {peer.locate_file('')}, and ligament-libmuscle has modules of"
        " the same names (libmuscle, muscle3). Make an environment without muscle3, or remove both and install"
        " the one that you want: pip uninstall muscle3 ligament-libmuscle; pip install"
        " 'ligament-coupling[muscle3]'",
        name="libmuscle",
    )
