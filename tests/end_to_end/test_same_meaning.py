"""Model files of MUSCLE 3 mean the same in Ligament: all arguments in one text, components without an
implementation, a sending port in two conduits, conduits through nested models, and settings that override
others."""

import sys

SENDER = """
instance = Instance({Operator.O_F: ["out"]})
while instance.reuse_instance():
    instance.send("out", Message(1.5, data="hello"))
"""

RECEIVER = """
instance = Instance({Operator.F_INIT: ["in"]})
while instance.reuse_instance():
    message = instance.receive("in")
    open("came", "a").write(f"{message.timestamp} {message.data} {instance.get_setting('x')}\\n")
"""

MODEL = """
ymmsl_version: v0.2
models:
  m:
    description: one sender
    components:
      a: {{description: sends, ports: {{o_f: out}}, implementation: sender}}
      b: {{description: receives, ports: {{f_init: in}}, implementation: receiver}}
      {more}
    conduits:
      {conduits}
{models}
programs:
  sender: {sender}
  receiver: {receiver}
  {programs}
settings: {{x: 1}}
"""


def model(python_program, conduits, more="", models="", programs=""):
    return MODEL.format(
        sender=python_program("sender", SENDER), receiver=python_program("receiver", RECEIVER),
        conduits=conduits, more=more, models=models, programs=programs,
    )


def test_a_sender_may_stand_twice(run, python_program):
    other = "c: {description: receives too, ports: {f_init: in}, implementation: receiver}"
    ran = run(model(python_program, "a.out: b.in\n      a.out: c.in", other))
    assert ran.status == 0, ran.text
    assert ran.file("b", "came") == ran.file("c", "came") == "1.5 hello 1\n"


def test_a_component_without_implementation_is_left_out_with_a_warning(run, python_program):
    absent = "c: {description: is not there, ports: {f_init: in, o_f: out}}"
    ran = run(model(python_program, "a.out: [b.in, c.in]", absent))
    assert ran.status == 0, ran.text
    assert ran.file("b", "came") == "1.5 hello 1\n"
    assert 'the component "c" has no implementation, so it is left out' in ran.text
    assert not (ran.directory / "instances" / "c").exists()


def test_a_conduit_may_pass_through_a_nested_model(run, python_program):
    nested = """  inner:
    description: lets pass, and listens
    ports: {f_init: goes, o_f: comes}
    components:
      ear: {description: receives too, ports: {f_init: in}, implementation: receiver}
    conduits:
      goes: [comes, ear.in]"""
    through = "c: {description: between them, ports: {f_init: goes, o_f: comes}, implementation: inner}"
    ran = run(model(python_program, "a.out: c.goes\n      c.comes: b.in", through, nested))
    assert ran.status == 0, ran.text
    assert ran.file("b", "came") == ran.file("c.ear", "came") == "1.5 hello 1\n"


def test_the_executable_of_an_unused_program_need_not_be_there(run, python_program):
    ran = run(model(python_program, "a.out: b.in", programs="unused: {executable: ./nowhere/to/be/found}"))
    assert ran.status == 0, ran.text


def test_a_single_text_of_arguments_is_made_of_words_as_in_a_shell(run, tmp_path):
    program = tmp_path / "says.py"
    program.write_text("import sys\nfrom ligament import Instance\nInstance()\nprint(sys.argv[1:])\n")
    ran = run(f"""
ymmsl_version: v0.1
model: {{name: m, components: {{a: p}}}}
implementations:
  p:
    executable: {sys.executable}
    env: {{GREETING: good day}}
    args: >-
      {program} -n 3 'two words' "$GREETING, you"  plain
""")
    assert ran.status == 0, ran.text
    said = (ran.directory / "instances" / "a" / "output.log").read_text()
    assert "['-n', '3', 'two words', 'good day, you', 'plain']" in said


TUNER = """
instance = Instance({Operator.O_F: ["out"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data=Settings({"x": 7})))
"""


def test_explicit_settings_are_laid_over_those_that_messages_come_with(run, python_program):
    tuner = f"tuner: {python_program('tuner', TUNER)}"
    more = "t: {description: tunes, ports: {o_f: out}, implementation: tuner}"
    ran = run(model(python_program, "a.out: b.in\n      t.out: b.muscle_settings_in", more, programs=tuner))
    assert ran.status == 0, ran.text
    assert ran.file("b", "came") == "1.5 hello 7\n"
