"""The referee sends each case through every ordered pair of languages, and compares the bits of the result.

Each language has two instances of its driver. A first driver receives a case from the referee, rebuilds it, and
sends it to all second drivers. A second driver rebuilds it again, and sends it back to the referee. So a case
passes through each pair of languages once.

As a program, this file is the instance of the referee: `referee.py RESULTS LANGUAGE…`.
"""

import json
import struct
import sys
import traceback

import numpy as np

import cases
from ligament import Array, Instance, InstanceFlags, Message, Operator, Settings


def model(programs, folder, results):
    """Returns the model as yMMSL. `programs` has the command of each language's driver."""
    languages = list(programs)
    pairs = [(a, b) for a in languages for b in languages]
    returns = ", ".join(f"back_{a}_{b}" for a, b in pairs)
    lines = ["ymmsl_version: v0.1", "model:", "  name: conformance", "  components:",
             f"    referee: {{implementation: referee, ports: {{o_i: [how_first, how_second, case], s: "
             f"[{returns}]}}}}"]
    for language in languages:
        out = ", ".join(f"case_{other}" for other in languages)
        came = ", ".join(f"from_{other}" for other in languages)
        back = ", ".join(f"from_{other}_back" for other in languages)
        lines.append(
            f"    first_{language}: {{implementation: {language}, ports: {{f_init: [how, case], s: nothing, "
            f"o_f: [{out}]}}}}")
        lines.append(
            f"    second_{language}: {{implementation: {language}, ports: {{f_init: [how, {came}], s: "
            f"nothing, o_f: [{back}]}}}}")
    lines.append("  conduits:")
    for port, to in (("how_first", "first_{}.how"), ("how_second", "second_{}.how"), ("case", "first_{}.case")):
        lines.append(f"    referee.{port}: [{', '.join(to.format(language) for language in languages)}]")
    for a, b in pairs:
        lines.append(f"    first_{a}.case_{b}: second_{b}.from_{a}")
        lines.append(f"    second_{b}.from_{a}_back: referee.back_{a}_{b}")
    lines += ["settings:", "  text: a text", "implementations:"]
    commands = {"referee": [sys.executable, str(folder / "referee.py"), str(results), *languages], **programs}
    for name, command in commands.items():
        lines.append(f"  {name}: {{executable: {json.dumps(command[0])}, args: {json.dumps(command[1:])}}}")
    return "\n".join(lines) + "\n"


def difference(found, sent):
    """Describes a difference between two values, which are compared bit by bit. Returns None if they are equal.
    """
    if isinstance(sent, Array) or isinstance(found, Array):
        if not (isinstance(sent, Array) and isinstance(found, Array)):
            return (f"{type(found).__name__}, not {type(sent).__name__}: names and unit are lost, or came from "
                    f"nowhere")
        if (list(found.names or ()), found.unit) != (list(sent.names or ()), sent.unit):
            return f"names {found.names} and unit {found.unit!r}, not {sent.names} and {sent.unit!r}"
        return difference(found.array, sent.array)
    if isinstance(sent, np.ndarray):
        if not isinstance(found, np.ndarray):
            return f"{type(found).__name__}, not an array"
        if (found.dtype, found.shape) != (sent.dtype, sent.shape):
            return f"{found.dtype} {found.shape}, not {sent.dtype} {sent.shape}"
        a, b = (np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8) for array in (found, sent))
        wrong = np.flatnonzero(a != b)
        return f"byte {wrong[0]} of {len(b)} differs, and {len(wrong) - 1} more" if len(wrong) else None
    if isinstance(sent, list):
        if not isinstance(found, list) or len(found) != len(sent):
            return f"{found!r:.80}, not a list of {len(sent)}"
        return next((f"[{at}]: {what}" for at, pair in enumerate(zip(found, sent))
                     if (what := difference(*pair))), None)
    if isinstance(sent, dict):
        if not isinstance(found, dict) or list(found) != list(sent):
            return f"keys {list(found) if isinstance(found, dict) else found!r:.80}, not {list(sent)!r:.80}"
        return next((f"[{key!r}]: {what}" for key in sent if (what := difference(found[key], sent[key]))), None)
    if type(found) is not type(sent):
        return f"{found!r:.80} ({type(found).__name__}), not {sent!r:.80} ({type(sent).__name__})"
    if isinstance(sent, (float, complex)):
        a, b = (struct.pack("<2d", complex(value).real, complex(value).imag) for value in (found, sent))
        return f"{found!r} ({a.hex()}), not {sent!r} ({b.hex()})" if a != b else None
    return f"{found!r:.80}, not {sent!r:.80}" if found != sent else None


def kind_of_error(name):
    """Returns the common form of a status. Each language writes it in its own way: LIG_ERR_SETTING_TYPE and
    SettingTypeError have the same common form."""
    plain = name.removeprefix("LIG_ERR_").replace("_", "").lower()
    return plain.removesuffix("exception").removesuffix("error")


def wrong_with_error(found, expected):
    if not isinstance(found, dict) or set(found) != {"status", "text"}:
        return f"{found!r:.80}, not a map of status and text"
    if kind_of_error(found["status"]) != expected.status.replace("_", ""):
        return f"the status {found['status']}, not {expected.status} ({found['text']!r})"
    missing = [word for word in expected.named if word not in found["text"]]
    return f"a text that does not name {', '.join(missing)}: {found['text']!r}" if missing else None


def judge(case, sent, message, times):
    """Describes a mistake in the result of a case. Returns None if the result is right."""
    if case.way == "error":
        return wrong_with_error(message.data, case.expected)
    if (message.timestamp, message.next_timestamp) != times:
        return f"times {message.timestamp}, {message.next_timestamp}, not {times}"
    found = message.data
    if case.way not in ("value", "any", "default", "setting"):
        found, sent = (value.array if isinstance(value, Array) else value for value in (found, sent))
    if case.way in ("default", "setting"):
        sent = case.expected
        found = found.tolist() if isinstance(found, np.ndarray) else found
    return difference(found, sent)


def main():
    results, languages = sys.argv[1], sys.argv[2:]
    pairs = [(a, b) for a in languages for b in languages]
    ports = {Operator.O_I: ["how_first", "how_second", "case"], Operator.S: [f"back_{a}_{b}" for a, b in pairs]}
    instance = Instance(ports, InstanceFlags.DONT_APPLY_OVERLAY)
    counts = {f"{a} {b}": 0 for a, b in pairs}
    wrong = []
    total = 0
    while instance.reuse_instance():
        for at, case in enumerate(cases.all_cases()):
            total += 1
            sent, times = case.make(), (at * 0.1, None if at % 2 else at * 0.1 + 1e-9)
            settings = Settings(case.settings) if case.settings else None
            told = case.told()
            # In these cases the result is the finding of the first driver. The second driver sends it on
            # unchanged.
            later = {**told, "way": "value"} if case.way in ("error", "setting", "default") else told
            instance.send("how_first", Message(times[0], data=told, settings=settings))
            instance.send("how_second", Message(times[0], data=later, settings=settings))
            instance.send("case", Message(*times, sent, settings))
            for a, b in pairs:
                message = instance.receive_with_settings(f"back_{a}_{b}")
                try:
                    what = judge(case, sent, message, times)
                except Exception:
                    what = traceback.format_exc()
                if what:
                    wrong.append([case.name, a, b, what])
                else:
                    counts[f"{a} {b}"] += 1
    with open(results, "w") as file:
        json.dump({"cases": total, "counts": counts, "wrong": wrong}, file)


if __name__ == "__main__":
    main()
