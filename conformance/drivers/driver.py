"""The driver in Python. It receives messages, rebuilds them, and sends them on; README.md describes the ways.
"""

import numpy as np

from ligament import Array, Error, Instance, Message, Settings

TYPES = {"bool": "bool", "int": "int", "float": "float", "string": "str",
         "int_list": "[int]", "float_list": "[float]", "float_grid": "[[float]]"}


def rebuilt(value):
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, Array):
        return Array(value.array.copy(order="K"), names=list(value.names) if value.names else None,
                     unit=value.unit)
    if isinstance(value, list):
        return [rebuilt(item) for item in value]
    if isinstance(value, dict):
        return {str(key): rebuilt(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return bytes(bytearray(value))
    return value


def elements(value):
    return value.array if isinstance(value, Array) else value


def strided(array):
    """Returns the same elements as every second element of an array with twice the length in each dimension."""
    roomy = np.zeros([2 * extent for extent in array.shape], array.dtype)
    section = roomy[(slice(None, None, 2),) * array.ndim]
    section[...] = array
    return section


def setting(instance, name, kind):
    value = instance.get_setting(name, TYPES[kind])
    return value.as_dict() if isinstance(value, Settings) else value


def mistake(instance, call, port, out):
    """Makes the wrong call, and returns the class and the text of the error in Python."""
    try:
        if call == "send_unknown_port":
            instance.send("nowhere", Message(0.0))
        elif call == "receive_unknown_port":
            instance.receive("nowhere")
        elif call == "send_on_receiving_port":
            instance.send(port, Message(0.0))
        elif call == "setting_unset":
            instance.get_setting("absent", "float")
        elif call == "setting_type":
            instance.get_setting("text", "float")
        elif call == "into_wrong_shape":
            instance.receive_into(port, np.zeros(5))
        elif call == "into_wrong_type":
            instance.receive_into(port, np.zeros(3, "int32"))
        elif call == "array_wrong_shape":
            instance.receive(port).array(shape=(4,))
        elif call == "array_wrong_type":
            instance.receive(port).array(dtype="int32")
        elif call == "send_not_a_time":
            instance.send(out, Message(float("nan")))
    except (Error, ValueError) as error:
        return {"status": type(error).__name__, "text": str(error)}
    return {"status": "none", "text": ""}


def made(instance, how, data):
    """Returns the data to send for a received message."""
    if how["way"] in ("value", "any"):
        return rebuilt(data)
    if how["way"] == "default":
        otherwise = instance.receive("nothing", default=Message(0.0, data="nothing came"))
        return {"came": rebuilt(data), "otherwise": rebuilt(otherwise.data)}
    if how["way"] == "strided":
        return strided(elements(data))
    if how["way"] == "loan":
        array = elements(data)
        loan = instance.loan(array.shape, array.dtype, "C" if array.flags.c_contiguous else "F")
        loan.array[...] = array
        return loan
    if how["way"] == "setting":
        return setting(instance, how["name"], how["type"])
    return elements(data).copy(order="K")


def main():
    instance = Instance()
    ports = {operator.name: names for operator, names in instance.list_ports().items()}
    while instance.reuse_instance():
        how = instance.receive("how").data
        for port in [name for name in ports["F_INIT"] if name != "how"]:
            outs = [name for name in ports["O_F"] if name.startswith(port + "_")]
            if how["way"] == "into":
                own = np.zeros(how["shape"], how["dtype"], order=how["order"])
                message = instance.receive_into(port, own)
            elif how["way"] == "error":
                if not how["call"].startswith(("into_", "array_")):
                    instance.receive(port)
                message = Message(0.0, data=mistake(instance, how["call"], port, outs[0]))
            elif how["way"] == "any":
                which, message = instance.receive_any([port])
                assert which == port
            elif how["way"] == "default":
                message = instance.receive(port, default=Message(0.0))
            else:
                message = instance.receive(port)
            for out in outs:
                sent = message.data if how["way"] in ("into", "error") else made(instance, how, message.data)
                instance.send(out, Message(message.timestamp, message.next_timestamp, sent))


main()
