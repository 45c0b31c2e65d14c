"""The macro model: diffusion along a tube with closed ends. In each step, the micro model computes the
reaction."""

import numpy as np
from ligament import Instance, InstanceFlags, Message, Operator


def diffuse(u, D, dx, dt):
    """Returns the concentrations after `dt` of diffusion, by finite volumes and Heun's method. Positive values
    stay positive and the total is kept, as long as D dt / dx^2 is at most 1/2."""

    def change(u):
        flux = np.diff(u) / dx
        return dt * D * np.diff(flux, prepend=0.0, append=0.0) / dx

    middle = u + change(u)
    return (u + (middle + change(middle))) / 2


def seeded(x, seeds):
    """Returns the concentrations at the places `x`: a bell around each seed [place, concentration, width]."""
    u = np.zeros_like(x)
    for place, concentration, width in seeds:
        u += concentration * np.exp(-(((x - place) / width) ** 2))
    return u


def check(D, dx, dt):
    """Refuses settings with which the method would not be stable."""
    if D * dt / dx**2 > 1:
        raise ValueError(f"dt = {dt} s is too long a step for D and dx; use at most {dx**2 / D} s")


def main():
    ports = {Operator.O_I: ["state_out"], Operator.S: ["state_in"], Operator.O_F: ["final"]}
    instance = Instance(ports, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        t_max = instance.get_setting("t_max", "float")
        dt = instance.get_setting("dt", "float")
        x_max = instance.get_setting("x_max", "float")
        dx = instance.get_setting("dx", "float")
        D = instance.get_setting("D", "float")
        check(D, dx, dt)

        steps = round(t_max / dt)
        t = dt * np.arange(steps + 1)
        x = dx * (np.arange(round(x_max / dx)) + 0.5)
        history = np.empty((steps + 1, x.size))
        done = 0
        if instance.resuming():
            saved = instance.load_snapshot().data
            done = len(saved) - 1
            history[:done + 1] = saved
        if instance.should_init():
            done = 0
            history[0] = seeded(x, instance.get_setting("seeds", "[[float]]"))
        u = history[done]

        for step in range(done, steps):
            # This setting may change while the model runs (ligament steer).
            if instance.steer(t[step]):
                D = instance.get_setting("D", "float")
                check(D, dx, dt)
            # Half a step of diffusion before the reaction and half after it: Strang's splitting, second order.
            u = diffuse(u, D, dx, dt / 2)
            instance.send("state_out", Message(t[step], t[step + 1], u))
            reacted = instance.receive("state_in")
            if abs(reacted.timestamp - t[step + 1]) > 1e-9 * t_max:
                raise ValueError(
                    f"reacted until {reacted.timestamp} s, not {t[step + 1]} s; is micro.t_max macro.dt?")
            u = diffuse(reacted.data, D, dx, dt / 2)
            history[step + 1] = u
            # A checkpoint has all profiles so far; the last one is the state.
            if instance.should_save_snapshot(t[step + 1]):
                instance.save_snapshot(Message(t[step + 1], None, history[:step + 2]))

        # The final state is for components that use the result, such as a study of many runs.
        instance.send("final", Message(t[-1], None, u))
        np.save("t.npy", t)
        np.save("x.npy", x)
        np.save("concentration.npy", history)
        if instance.should_save_final_snapshot():
            instance.save_final_snapshot(Message(t[-1], None, history))


if __name__ == "__main__":
    main()
