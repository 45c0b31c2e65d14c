"""Both sides of a dialogue, and their faults: peer.c and peer.h in Python."""

import os
import resource
import signal
import sys
import time

ENVIRONMENT = os.environ


def say(words):
    print(words, file=sys.stderr, flush=True)


def mark():
    fresh = f"{ENVIRONMENT['FAULT_MARK']}.{os.getpid()}"
    try:
        with open(fresh, "w") as file:
            file.write(str(os.getpid()))
        os.rename(fresh, ENVIRONMENT["FAULT_MARK"])
    except OSError:
        pass


def may_go():
    return os.path.exists(ENVIRONMENT["FAULT_GO"])


def wait_for_go():
    while not may_go():
        time.sleep(0.002)


def is_over(step):
    """Returns true if the dialogue is long enough: after this number of steps, or when the test says so."""
    return may_go() if ENVIRONMENT["FAULT_STEPS"] == "go" else step >= int(ENVIRONMENT["FAULT_STEPS"])


def take_all_memory():
    if ENVIRONMENT["FAULT_DETAIL"] == "group":
        with open(ENVIRONMENT["FAULT_GROUP"], "w") as group:
            group.write(str(os.getpid()))
    else:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    taken = []
    while True:
        taken.append(bytearray(b"1" * (1 << 20)))


def fill_the_disk():
    if ENVIRONMENT["FAULT_DETAIL"] == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    with open("result.bin", "wb", buffering=0) as file:
        while True:
            file.write(bytes(65536))


def misfortune():
    mark()
    fault, detail = ENVIRONMENT["FAULT"], ENVIRONMENT["FAULT_DETAIL"]
    if fault == "kill":
        if detail == "itself":
            os.kill(os.getpid(), signal.SIGKILL)
        while ENVIRONMENT["FAULT_WHO"] == "child":
            signal.pause()
        if ENVIRONMENT["FAULT_HOLD"] == "go":
            wait_for_go()
    elif fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "exit":
        if detail == "0":
            os._exit(0)
        sys.exit(3)
    elif fault == "exception":
        raise ValueError("the mesh is tangled")
    elif fault == "hang":
        if detail == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            if detail != "spinning":
                signal.pause()
    elif fault == "memory":
        take_all_memory()
    elif fault == "files":
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
        except OSError:
            pass
    elif fault == "disk":
        fill_the_disk()


def at(moment, step=None):
    """The code has come to a moment."""
    if ENVIRONMENT.get("FAULT_MOMENT") != moment or step is not None and step != int(ENVIRONMENT["FAULT_STEP"]):
        return
    say("last words")
    who = ENVIRONMENT["FAULT_WHO"]
    if who == "manager":
        mark()
        if ENVIRONMENT["FAULT"] == "memory":
            take_all_memory()
        if ENVIRONMENT["FAULT_DETAIL"] != "running":
            wait_for_go()
    elif who == "child":
        if os.fork() == 0:
            if ENVIRONMENT["FAULT_SESSION"] == "own":
                os.setsid()
            misfortune()
            os._exit(0)
        if ENVIRONMENT["FAULT_HOLD"] == "go":
            wait_for_go()
        elif ENVIRONMENT["FAULT_HOLD"] == "child":
            os.wait()
    else:
        misfortune()


def main(role):
    at("starting")
    import numpy
    from ligament import Instance, InstanceFlags, Message, Operator

    macro = role == "macro"
    if macro:
        ports = {Operator.O_I: ["out"], Operator.S: ["in"]}
    else:
        ports = {Operator.F_INIT: ["in"], Operator.O_F: ["out"]}
    instance = Instance(ports, InstanceFlags.USES_CHECKPOINT_API)
    signed = ENVIRONMENT.get("FAULT_SIGNED") != "no"
    data = numpy.zeros(int(ENVIRONMENT["FAULT_SIZE"]))
    step = 0

    def send():
        instance.send("out", Message(float(step), data=data))

    def receive():
        assert instance.receive("in").timestamp == step

    while instance.reuse_instance():
        instance.resuming(), instance.should_init()
        while True:
            send() if macro else receive()
            if step == 0:
                at("first")
            at("steady", step)
            receive() if macro else send()
            step += 1
            if macro and instance.should_save_snapshot(float(step)):
                at("saving", step)
                instance.save_snapshot(Message(float(step), data=data))
            if not macro or is_over(step):
                break
        if instance.should_save_final_snapshot():
            at("saving", step)
            instance.save_final_snapshot(Message(float(step), data=data))
        if macro and not signed:
            at("ending")
    if not macro or signed:
        at("ending")


if __name__ == "__main__":
    main(sys.argv[1])
