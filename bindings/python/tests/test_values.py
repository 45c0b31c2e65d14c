"""The result of sending each value in a message and receiving it again."""

import collections
import ctypes
import dataclasses
import datetime
import decimal
from array import array as buffer
from pathlib import Path

import numpy as np
import pytest

import ligament
from ligament import Array, Settings, UnsendableError, UsageError
from ligament._ligament import _round_trip
from values import DTYPES, PLAIN, array_of, same, shapes


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:20])
def test_plain_values_come_back_as_they_were(value):
    assert same(_round_trip(value), value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type_and_shape_come_back_as_they_were(dtype):
    for shape in shapes():
        array = array_of(dtype, shape)
        assert same(_round_trip(array), array), shape
        fortran = array.copy(order="F")
        back = _round_trip(fortran)
        assert same(back, array), shape
        assert back.flags.f_contiguous == fortran.flags.f_contiguous, "the order in memory is kept"


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_that_do_not_lie_in_one_piece_are_gathered(dtype):
    whole = array_of(dtype, (6, 8, 10))
    for part in [
        whole[::2], whole[:, ::-1], whole[::-1, ::-1, ::-1], whole[1:5, 3, ::3], whole.transpose(2, 0, 1)[::-2],
        whole[:, :, :1], np.broadcast_to(whole[0, 0], (4, 10)), whole[2:2], whole[..., -1],
    ]:  # fmt: skip
        assert same(_round_trip(part), np.array(part)), (part.shape, part.strides)


def test_numbers_in_the_other_byte_order_come_back_in_this_machines():
    array = np.arange(10, dtype=">i4")
    back = _round_trip(array)
    assert back.dtype == np.dtype("int32")
    assert np.array_equal(back, array)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (np.float64(1.5), 1.5), (np.float32(0.5), 0.5), (np.int8(-3), -3), (np.uint64(2**64 - 1), 2**64 - 1),
        (np.bool_(True), True), (np.complex64(1 + 2j), 1 + 2j), (np.str_("x"), "x"),
    ],
)  # fmt: skip
def test_numpys_scalars_come_back_as_pythons(scalar, value):
    assert same(_round_trip(scalar), value)


def test_arrays_inside_lists_and_dicts_keep_their_place():
    value = {"grid": [array_of("float32", (3, 4)), {"mask": array_of("bool", (5,))}], "n": 3}
    assert same(_round_trip(value), value)


def test_axis_names_and_unit_come_back():
    array = Array(array_of("float64", (3, 4)), names=["x", "y"], unit="mol/m³")
    back = _round_trip(array)
    assert same(back, array)
    assert np.array_equal(np.asarray(back), array.array)


def test_axis_names_must_be_as_many_as_axes():
    with pytest.raises(ValueError, match="1 axis names for an array of 2"):
        Array(np.zeros((2, 2)), names=["x"])


def test_settings_come_back_as_settings():
    settings = Settings({"a.x": 1, "b": 2.5, "c": "text", "d": True, "e": [1, 2], "f": [1.0, 2.5],
                         "g": [[1.0], []]})
    back = _round_trip(settings)
    assert isinstance(back, Settings)
    assert same(back.as_dict(), settings.as_dict())


def test_other_sequences_and_mappings_come_back_as_lists_and_dicts():
    assert same(_round_trip((1, (2, 3))), [1, [2, 3]])
    assert same(_round_trip(collections.OrderedDict(a=1)), {"a": 1})
    assert same(_round_trip(collections.ChainMap({"a": 1})), {"a": 1})
    assert same(_round_trip(bytearray(b"abc")), b"abc")
    assert same(_round_trip(memoryview(b"abc")), b"abc")


def test_what_has_dunder_array_is_sent_as_one():
    class Field:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    assert same(_round_trip(Field()), np.arange(3.0))


class OnlyDlpack:
    """A stand-in for a tensor of another library, which has DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    ("value", "array"),
    [
        (OnlyDlpack(np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3)),
        (buffer("d", [1, 2, 3]), np.array([1.0, 2.0, 3.0])),
        (buffer("i", [4, 5]), np.array([4, 5], "int32")),
        ((ctypes.c_float * 2)(0.5, 1.5), np.array([0.5, 1.5], "float32")),
        (memoryview(np.arange(4.0)), np.arange(4.0)),
        (memoryview(np.arange(6, dtype="uint8").reshape(2, 3)), np.arange(6, dtype="uint8").reshape(2, 3)),
        (Array(buffer("h", [1, 2]), unit="m"), Array(np.array([1, 2], "int16"), unit="m")),
        (Array(OnlyDlpack(np.ones(2)), names=["x"]), Array(np.ones(2), names=["x"])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_dlpack_or_the_buffer_protocol_is_sent_as_an_array(value, array):
    assert same(_round_trip(value), array)


def test_a_received_array_with_names_can_be_handed_to_others_as_a_plain_one_can():
    back = _round_trip(Array(np.arange(12.0).reshape(3, 4), names=["x", "y"]))
    assert np.array_equal(np.from_dlpack(back), np.arange(12.0).reshape(3, 4))
    view = memoryview(back)
    assert (view.shape, view.format, view.readonly) == ((3, 4), "d", True)
    assert np.asarray(view).ctypes.data == back.array.ctypes.data, "nothing is copied"
    del back
    assert view[2, 3] == 11.0, "the view keeps the memory"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (object(), "type object"),
        ({1, 2}, "type set"),
        (2**64, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        ({1: 2}, "key of type int"),
        (np.array(["a"]), "dtype <U1"),
        (np.array([object()]), "dtype object"),
        (np.zeros(2, "float16"), "dtype float16"),
        (np.zeros(2, "datetime64[s]"), "datetime64"),
        (np.zeros((1,) * 9), "9 dimensions"),
        (np.ma.masked_array([1.0], [True]), "masked"),
        (np.longdouble(1), "longdouble"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(value, what):
    with pytest.raises(UnsendableError, match=what):
        _round_trip(value)


class DataFrame:
    """A stand-in for an object of pandas, which looks like an array and is none."""

    def __array__(self, dtype=None, copy=None):
        return np.array([object()])


class GeoDataFrame(DataFrame):
    """A stand-in for an object of a derived class."""


@dataclasses.dataclass
class Cell:
    x: float


@pytest.mark.parametrize("value", [np.ma.masked_array([1.0], [True]), DataFrame(), GeoDataFrame()],
                         ids=lambda v: type(v).__name__)
def test_what_would_lose_something_becomes_no_array_with_names_either(value):
    with pytest.raises(UnsendableError, match="would be lost"):
        Array(value)


def test_an_array_is_taken_with_what_is_expected_of_it():
    message = ligament.Message(0.0, data=np.zeros((3, 4)))
    for expected in [{}, {"dtype": float}, {"ndim": 2}, {"shape": (3, None)},
                     {"dtype": "float64", "shape": [3, 4]}]:
        assert message.array(**expected) is message.data
    named = Array(np.zeros(3), unit="m")
    assert ligament.Message(0.0, data=named).array(ndim=1) is named.array
    came = r"an array of float64 with shape \[3, 4\], where "
    for expected, words in [
        ({"dtype": "int32"}, "an array of int32 was expected"),
        ({"ndim": 1}, "an array with 1 dimension was expected"),
        ({"shape": (None, 3)}, r"an array with shape \[any, 3\] was expected"),
    ]:  # fmt: skip
        with pytest.raises(ligament.UnexpectedError, match=came + words):
            message.array(**expected)
    with pytest.raises(ligament.UnexpectedError, match="something of type str, where an array was expected"):
        ligament.Message(0.0, data="text").array()


@pytest.mark.parametrize(
    ("value", "instead"),
    [
        (DataFrame(), "column.to_numpy()"),
        (GeoDataFrame(), "column.to_numpy()"),
        ({1, 2}, "sorted(data)"),
        (np.array([object()]), "data.astype(float)"),
        (np.array(["a"]), "data.tolist()"),
        (np.zeros(2, "datetime64[s]"), 'data.astype("int64")'),
        (np.ma.masked_array([1.0], [True]), '{"data": data.data, "mask": data.mask}, or data.filled(value)'),
        (datetime.datetime(2026, 1, 1), "data.isoformat()"),
        (datetime.timedelta(1), "data.total_seconds()"),
        (decimal.Decimal(1), "float(data)"),
        (Path("a"), "str(data)"),
        ((i for i in range(3)), "list(data)"),
        (Cell(1.0), "dataclasses.asdict(data)"),
        ({1: 2}, "str(key): value"),
    ],
)
def test_a_refusal_says_on_which_port_and_what_to_send_instead(value, instead):
    with pytest.raises(UnsendableError) as raised:
        _round_trip({"a": value})
    text = str(raised.value)
    assert "(it stands at data['a']): send " in text, text
    assert ' cannot be sent on port "out" ' in text and instead in text, text


def test_a_refusal_says_where_the_value_stands():
    with pytest.raises(TypeError, match=r"data\['a'\]\[1\]\['b'\]"):
        _round_trip({"a": [0, {"b": object()}]})


def test_a_list_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(UsageError, match="hold itself"):
        _round_trip(endless)


def test_received_arrays_are_read_only_views_that_live_on_their_own():
    back = _round_trip(np.arange(1000.0))
    assert not back.flags.writeable
    assert not back.flags.owndata
    assert back.ctypes.data % 64 == 0
    with pytest.raises(ValueError):
        back[0] = 1
    with pytest.raises(ValueError):
        back.flags.writeable = True
    part = back[500:]
    del back
    assert np.array_equal(part, np.arange(500.0, 1000.0))


def test_received_arrays_can_be_handed_to_others_by_dlpack():
    back = _round_trip(np.arange(12.0).reshape(3, 4))
    assert np.array_equal(np.from_dlpack(back), np.arange(12.0).reshape(3, 4))


def test_errors_are_what_python_calls_them():
    assert issubclass(ligament.SettingUnsetError, KeyError)
    assert issubclass(ligament.SettingTypeError, TypeError)
    assert issubclass(ligament.TimeoutError, TimeoutError)
    assert issubclass(ligament.OutOfMemoryError, MemoryError)
    assert all(
        issubclass(getattr(ligament, name), ligament.Error) for name in ligament.__all__
        if name.endswith("Error")
    )
    assert str(ligament.SettingUnsetError("plain text")) == "plain text"


@pytest.mark.parametrize("value", ["text", [1.0], np.zeros(3), {}], ids=lambda value: type(value).__name__)
def test_a_value_in_the_place_of_the_next_time_is_refused_with_what_to_write(value):
    with pytest.raises(
        TypeError, match=rf"not a value of type {type(value).__name__}; write Message\(t, data=…\)"):
        ligament.Message(0.0, value)
    assert ligament.Message(0, 1).next_timestamp == 1.0


def test_a_str_that_is_no_text_is_refused_where_it_stands():
    broken = b"run-\xff.dat".decode("utf-8", "surrogateescape")  # as os.listdir gives it
    for value, place in ((broken, ""), ([1, broken], r"data\[1\]"), ({"name": broken}, "name"),
                         ({broken: 1}, "udcff")):
        with pytest.raises(UnsendableError, match=r"a str that is no text.*" + place) as raised:
            _round_trip(value)
        assert "os.fsencode" in str(raised.value)
    with pytest.raises(ligament.SettingTypeError, match="udcff"):
        Settings({"file": broken})
    with pytest.raises(ligament.SettingError, match="no name for a setting"):
        Settings({broken: 1})
    assert broken not in Settings({"file": 1})
