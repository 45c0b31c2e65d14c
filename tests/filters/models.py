"""Four models in which a macro of few steps drives a meso and a micro through last, repeat and pad. The
expected messages of each component were worked out by hand."""

# Component `macro` calls `meso` once in each step, and `meso` calls `micro` in each of its own.
CHAIN = """
ymmsl_version: v0.2
models:
  chain:
    description: A macro of two steps calls a meso of two steps, which calls a micro of one
    components:
      start: {description: runs once, implementation: walker, ports: {o_f: out}}
      macro:
        description: steps slowly
        implementation: walker
        ports: {f_init: begin, o_i: first call, s: done profile, o_f: end}
      meso:
        description: is called in each step of macro
        implementation: walker
        ports: {f_init: begin, o_i: call profile, s: forcing done, o_f: end}
      micro:
        description: is called in each step of meso
        implementation: walker
        ports: {f_init: begin boundary once, o_i: trace, o_f: end}
      post: {description: runs once, implementation: walker, ports: {f_init: end trace}}
    conduits:
      start.out:
      - macro.begin
      - repeat repeat micro.once
      macro.call: meso.begin
      macro.first:
      - repeat meso.forcing
      - pad micro.boundary
      macro.end: post.end
      meso.call: micro.begin
      meso.profile: last macro.profile
      meso.end: macro.done
      micro.end: meso.done
      micro.trace: last last last post.trace
programs:
  walker: {executable: EXECUTABLE, args: ARGUMENTS}
settings:
  steps: [2]
  micro.steps: [1]
"""

CHAIN_RECEIVES = {
    "start": "pass 0, step 0, step 1, over",
    "macro": """pass 0, begin 9 start.out 0,
        step 0, done 9 meso.end 0, profile 1 meso.profile 0.1,
        step 1, done 19 meso.end 1, profile 11 meso.profile 1.1, over""",
    "meso": """pass 0, begin 0 macro.call 0.0,
        step 0, done 9 micro.end 0, forcing 0 macro.first 0.0,
        step 1, done 19 micro.end 1, forcing 0 macro.first 0.0,
        pass 1, begin 1 macro.call 0.1,
        step 0, done 29 micro.end 2, forcing 1 macro.first 0.1,
        step 1, done 39 micro.end 3, forcing 1 macro.first 0.1, over""",
    "micro": """pass 0, begin 0 meso.call 0.0, boundary 0 macro.first 0.0, once 9 start.out 0, step 0,
        pass 1, begin 1 meso.call 0.1, boundary 0 None, once 9 start.out 0, step 0,
        pass 2, begin 10 meso.call 1.0, boundary 1 macro.first 0.1, once 9 start.out 0, step 0,
        pass 3, begin 11 meso.call 1.1, boundary 1 None, once 9 start.out 0, step 0, over""",
    "post": "pass 0, end 9 macro.end 0, trace 30 micro.trace 3.0, step 0, step 1, over",
}

# The macro is itself called, three times; its second pass has no step, so that meso and micro do not run in it.
RESTARTS = """
ymmsl_version: v0.2
models:
  restarts:
    description: A macro is started three times, and once has nothing to do
    components:
      driver: {description: starts macro, implementation: walker, ports: {o_i: call forcing, s: end late}}
      macro:
        description: has two steps, none, and one
        implementation: walker
        ports: {f_init: begin, o_i: call, s: done, o_f: end}
      meso:
        description: has one step, and in its second pass two
        implementation: walker
        ports: {f_init: begin forcing, o_i: call, s: done, o_f: end sum}
      micro: {description: has no step, implementation: walker, ports: {f_init: begin outer, o_f: end}}
    conduits:
      driver.call: macro.begin
      driver.forcing:
      - repeat meso.forcing
      - repeat pad micro.outer
      macro.call: meso.begin
      macro.end: driver.end
      meso.call: micro.begin
      meso.end: macro.done
      meso.sum: last driver.late
      micro.end: meso.done
programs:
  walker: {executable: EXECUTABLE, args: ARGUMENTS}
settings:
  driver.steps: [3]
  macro.steps: [2, 0, 1]
  meso.steps: [1, 2, 1]
  micro.steps: [0]
"""

RESTARTS_RECEIVES = {
    "driver": """pass 0, step 0, end 9 macro.end 0, late 19 meso.sum 1,
        step 1, end 19 macro.end 1, late -inf None,
        step 2, end 29 macro.end 2, late 29 meso.sum 2, over""",
    "macro": """pass 0, begin 0 driver.call 0.0, step 0, done 9 meso.end 0, step 1, done 19 meso.end 1,
        pass 1, begin 1 driver.call 0.1,
        pass 2, begin 2 driver.call 0.2, step 0, done 29 meso.end 2, over""",
    "meso": """pass 0, begin 0 macro.call 0.0, forcing 0 driver.forcing 0.0, step 0, done 9 micro.end 0,
        pass 1, begin 1 macro.call 0.1, forcing 0 driver.forcing 0.0,
        step 0, done 19 micro.end 1, step 1, done 29 micro.end 2,
        pass 2, begin 20 macro.call 2.0, forcing 2 driver.forcing 0.2, step 0, done 39 micro.end 3, over""",
    "micro": """pass 0, begin 0 meso.call 0.0, outer 0 driver.forcing 0.0,
        pass 1, begin 10 meso.call 1.0, outer 0 driver.forcing 0.0,
        pass 2, begin 11 meso.call 1.1, outer 0 None,
        pass 3, begin 20 meso.call 2.0, outer 2 driver.forcing 0.2, over""",
}

# A fast model and a slow one after it: the last state of the one is where the other starts, step by step.
DISPATCH = """
ymmsl_version: v0.2
models:
  dispatch:
    description: What a macro, its meso and its micro end with starts and forces others
    components:
      macro:
        description: steps slowly
        implementation: walker
        ports: {o_i: call state, s: done, o_f: end}
      meso: {description: is called, implementation: walker, ports: {f_init: begin, o_i: call, s: done, o_f: end}}
      micro: {description: is called, implementation: walker, ports: {f_init: begin, o_f: end finest}}
      after:
        description: runs after macro, on a timeline of its own
        implementation: walker
        ports: {f_init: start finest, o_i: call, s: state padded done}
      other: {description: is called by after, implementation: walker, ports: {f_init: begin, s: deep, o_f: end}}
    conduits:
      macro.call: meso.begin
      macro.state:
      - last repeat after.state
      - last pad after.padded
      - last repeat pad other.deep
      macro.end: after.start
      meso.call: micro.begin
      meso.end: macro.done
      micro.end: meso.done
      micro.finest: last last after.finest
      after.call: other.begin
      other.end: after.done
programs:
  walker: {executable: EXECUTABLE, args: ARGUMENTS}
settings:
  steps: [2]
  micro.steps: [0]
"""

DISPATCH_RECEIVES = {
    "macro": "pass 0, step 0, done 9 meso.end 0, step 1, done 19 meso.end 1, over",
    "meso": """pass 0, begin 0 macro.call 0.0, step 0, done 9 micro.end 0, step 1, done 19 micro.end 1,
        pass 1, begin 1 macro.call 0.1, step 0, done 29 micro.end 2, step 1, done 39 micro.end 3, over""",
    "micro": """pass 0, begin 0 meso.call 0.0, pass 1, begin 1 meso.call 0.1,
        pass 2, begin 10 meso.call 1.0, pass 3, begin 11 meso.call 1.1, over""",
    "after": """pass 0, finest 39 micro.finest 3, start 9 macro.end 0,
        step 0, done 9 other.end 0, padded 1 macro.state 0.1, state 1 macro.state 0.1,
        step 1, done 19 other.end 1, padded 1 None, state 1 macro.state 0.1, over""",
    "other": """pass 0, begin 0 after.call 0.0, step 0, deep 1 macro.state 0.1, step 1, deep 1 None,
        pass 1, begin 1 after.call 0.1, step 0, deep 1 macro.state 0.1, step 1, deep 1 None, over""",
}

# The fast models are a model of their own, twice; filters stand inside and outside, and the macro steps on two
# timelines.
NESTED = """
ymmsl_version: v0.2
models:
  outer:
    description: A macro on two timelines calls two copies of a nested model
    components:
      macro:
        description: steps fast, then slowly
        implementation: walker
        ports:
          timeline fast: {o_i: call, s: done}
          timeline slow: {o_i: state, s: answer}
      pair:
        description: meso and micro
        implementation: inner
        multiplicity: 2
        ports: {f_init: begin, o_f: end}
      listener: {description: is called on the slow timeline, implementation: walker, ports: {f_init: begin, o_f: end}}
    conduits:
      macro.call: pair.begin
      pair.end: macro.done
      macro.state: listener.begin
      listener.end: macro.answer
  inner:
    description: A meso that calls a micro
    ports: {f_init: begin, o_f: end}
    components:
      meso: {description: is called, implementation: walker, ports: {f_init: begin, o_i: call, s: done}}
      micro: {description: is called, implementation: walker, ports: {f_init: begin first, o_f: end sum}}
    conduits:
      begin:
      - meso.begin
      - pad micro.first
      meso.call: micro.begin
      micro.end: meso.done
      micro.sum: last end
programs:
  walker: {executable: EXECUTABLE, args: ARGUMENTS}
settings:
  steps: [2]
  pair.micro.steps: [0]
  listener.steps: [0]
"""

_MICRO = """pass 0, begin 0 MESO.call 0.0, first 0 macro.call 0.0,
    pass 1, begin 1 MESO.call 0.1, first 0 None,
    pass 2, begin 10 MESO.call 1.0, first 1 macro.call 0.1,
    pass 3, begin 11 MESO.call 1.1, first 1 None, over"""
_MESO = """pass 0, begin 0 macro.call 0.0, step 0, done 9 MICRO.end 0, step 1, done 19 MICRO.end 1,
    pass 1, begin 1 macro.call 0.1, step 0, done 29 MICRO.end 2, step 1, done 39 MICRO.end 3, over"""

NESTED_RECEIVES = {
    "macro": """pass 0,
        step 0, answer 9 listener.end 0, done[0] 19 pair.micro[0].sum 1, done[1] 19 pair.micro[1].sum 1,
        step 1, answer 19 listener.end 1, done[0] 39 pair.micro[0].sum 3, done[1] 39 pair.micro[1].sum 3, over""",
    "listener": "pass 0, begin 0 macro.state 0.0, pass 1, begin 1 macro.state 0.1, over",
    **{f"pair.meso[{i}]": _MESO.replace("MICRO", f"pair.micro[{i}]") for i in range(2)},
    **{f"pair.micro[{i}]": _MICRO.replace("MESO", f"pair.meso[{i}]") for i in range(2)},
}

MODELS = {
    "chain": (CHAIN, CHAIN_RECEIVES),
    "restarts": (RESTARTS, RESTARTS_RECEIVES),
    "dispatch": (DISPATCH, DISPATCH_RECEIVES),
    "nested": (NESTED, NESTED_RECEIVES),
}


def lines(text):
    """The expected lines, in the form in which walkers write them."""
    return [part.strip() for part in text.split(",")]
