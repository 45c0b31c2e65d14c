"""`Participant`: the calls of preCICE 3, over an instance of Ligament and `ligament.mappers.implicit`."""

import math
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ligament import Error as LigamentError
from ligament import Instance, LogLevel, Message, Operator, RegistrationError

from . import configuration as configurations
from .configuration import identifier
from .errors import Error
from .mapping import Weights
from .projection import Cells

# The part of a window by which a time step may miss the window's end.
SLACK = 1e-9


def ports(configuration, name):
    """The ports of a participant by operator: meshes, initial values, and the values of each iteration."""
    sending, receiving = [], []
    for other, role in configuration.roles.items():
        for mesh, provider in role.received.items():
            if other == name:
                receiving.append(f"mesh_{identifier(mesh)}")
            elif provider == name:
                sending.append(f"mesh_{identifier(mesh)}")
    for one in configuration.exchanges:
        key = configuration.key(one)
        if one.sender == name:
            sending += [f"initial_{key}", f"write_{key}"]
        if one.receiver == name:
            receiving += [f"initial_{key}", f"read_{key}"]
    for other, sender in configuration.clocks.items():
        if sender == name:
            sending.append(f"write_{configuration.clock_key(other)}")
        if other == name:
            receiving.append(f"read_{configuration.clock_key(other)}")
    return {Operator.O_I: list(dict.fromkeys(sending)), Operator.S: list(dict.fromkeys(receiving))}


@contextmanager
def as_error():
    """Errors of Ligament become the one error of this module."""
    try:
        yield
    except LigamentError as error:
        raise Error(str(error)) from error


class Mesh:
    """The points and the cells of a mesh that a participant provides or receives."""

    def __init__(self, name, dimensions):
        self.name, self.dimensions, self.points = name, dimensions, np.zeros((0, dimensions))
        self.cells = Cells()
        # The least and the greatest coordinate (axes, 2) of the points that the program asks for.
        self.region = None

    def add(self, positions):
        positions = np.asarray(positions, dtype=float)
        if positions.size % self.dimensions or (positions.ndim == 2 and positions.shape[1] != self.dimensions):
            raise Error(f"the positions for the mesh \"{self.name}\" have shape {positions.shape}; "
                        f"it has {self.dimensions} coordinates for each point")
        if not np.isfinite(positions).all():
            raise Error(f"{np.sum(~np.isfinite(positions))} coordinates for the mesh \"{self.name}\" are NaN "
                        "or infinite")
        begin = len(self.points)
        self.points = np.concatenate([self.points, positions.reshape(-1, self.dimensions)])
        return np.arange(begin, len(self.points))

    def accessed(self):
        """The ids of the points in the region; of all points if there is none."""
        if self.region is None:
            return np.arange(len(self.points))
        inside = (self.points >= self.region[:, 0]) & (self.points <= self.region[:, 1])
        return np.flatnonzero(inside.all(axis=1))


class Participant:
    """A program that takes part in a coupled simulation.

    Within a run of Ligament, the setting `precice_config` names the configuration; `configuration_file_name` is
    read if it is not set. A communicator has no effect, because there is one process.
    """

    @as_error()
    def __init__(self, solver_name, configuration_file_name, solver_process_index, solver_process_size,
                 communicator=None):
        if (solver_process_index, solver_process_size) != (0, 1):
            raise Error(f"the participant \"{solver_name}\" has {solver_process_size} processes; a face "
                        "for parallel participants is not there: take 0 and 1")
        self._name = solver_name
        try:
            self._instance = Instance()
        except RegistrationError as error:
            raise Error(f"\"{solver_name}\" does not take part in a run: {error}; make a model of the "
                        "configuration by precice-to-ligament, and start it by ligament run") from error
        file = configuration_file_name
        if "precice_config" in self._instance.list_settings():
            file = self._instance.get_setting("precice_config", "str")
        self._configuration = configurations.read(Path(os.fsdecode(file)))
        if "precice_samples" in self._instance.list_settings():
            self._configuration.window_samples = self._instance.get_setting("precice_samples", "int")
        if solver_name not in self._configuration.roles:
            raise Error(f"{file} has no participant \"{solver_name}\"; it has "
                        f"{', '.join(self._configuration.roles)}")
        self._role = self._configuration.roles[solver_name]
        # The exchanges in which this participant sends, by the names of their ports: one for all receivers on a
        # mesh. And those in which it receives.
        self._sent, self._received = ({self._configuration.key(one): one
                                       for one in self._configuration.exchanges
                                       if getattr(one, end) == solver_name}
                                      for end in ("sender", "receiver"))
        # The number of samples in a window by the names of ports. And the ports of clocks.
        self._sample_counts = {key: self._configuration.samples(one)
                               for key, one in [*self._sent.items(), *self._received.items()]}
        clocks = {name: self._configuration.clock_key(name) for name in self._configuration.clocks}
        self._clocks_sent = [clocks[name] for name, sender in self._configuration.clocks.items()
                             if sender == solver_name]
        self._clock = clocks.get(solver_name)
        named = [*self._role.provided, *self._role.received]
        self._meshes = {mesh: Mesh(mesh, self._configuration.dimensions[mesh]) for mesh in named}
        self._written = {}  # (mesh, data) → values on that mesh
        self._came = {}  # (mesh, data) → values at the window's begin, and samples at equal distances
        self._steps = {}  # key of an exchange → times since the window's begin, and values, of each step
        self._mappings = {}
        self._window = None  # begin and end, s
        self._done = 0.0  # s since the window's begin
        self._state = "made"
        self._complete = False
        self._saves = self._restores = False

    # Steering

    @as_error()
    def initialize(self):
        """Exchanges meshes and initial values, and waits for the values of the first window."""
        if self._state != "made":
            raise Error("initialize() was called before; call it once")
        if not self._instance.reuse_instance():
            raise Error("the run has ended before the coupling began")
        self._state = "coupling"
        self._exchange_meshes()
        for key, one in self._sent.items():
            values = self._on_exchange_mesh(one)
            if not self._configuration.initializes(one):
                values = np.zeros_like(values)
            self._steps[key] = [(0.0, values)]
            self._instance.send(f"initial_{key}", Message(0.0, data=values))
            self._instance.send(f"write_{key}", Message(0.0, data=self._samples(key)))
        self._send_clocks(0.0)
        # Values that a time step does not write are 0 in it.
        self._written = {}
        for key, one in self._received.items():
            message = self._instance.receive(f"initial_{key}")
            for place in self._configuration.read_places(one):
                values = self._on_local_mesh(one, place, message.data)
                self._came[place] = (values, [values])
        self._begin_window(self._receive())

    @as_error()
    def advance(self, computed_timestep_length):
        """Ends a time step. At the end of a window, exchanges values and waits for those of the next."""
        self._ongoing("advance")
        if self._saves or self._restores:
            call = "requires_writing_checkpoint" if self._saves else "requires_reading_checkpoint"
            raise Error(f"{call}() was not called before advance(); an implicit scheme needs both in each step")
        most, step = self.get_max_time_step_size(), float(computed_timestep_length)
        length = self._window[1] - self._window[0]
        if not 0 < step <= most + SLACK * length:
            raise Error(f"advance({step!r}): the time step must be above 0 and at most {most!r}, what is "
                        "left of the window; ask get_max_time_step_size()")
        self._done += step
        self._complete = False
        is_last = length - self._done <= SLACK * length
        for key, one in self._sent.items():
            if is_last or self._sample_counts[key] > 1:
                self._steps[key].append((self._done, self._on_exchange_mesh(one)))
        self._written = {}
        if not is_last:
            return
        for key in self._sent:
            self._instance.send(f"write_{key}", Message(self._window[1], data=self._samples(key)))
        self._send_clocks(self._window[1])
        times = self._receive()
        if times[1] is not None and times[0] == self._window[0]:
            self._steps = {key: steps[:1] for key, steps in self._steps.items()}
            self._done, self._restores = 0.0, True
            self._saves = False
            return
        self._complete = True
        self._steps = {key: [(0.0, steps[-1][1])] for key, steps in self._steps.items()}
        self._begin_window(times)

    @as_error()
    def finalize(self):
        """Ends the participant."""
        if self._state == "over":
            raise Error("finalize() was called before; call it once")
        if self._state != "made" and self._window is None:
            self._instance.reuse_instance()
        self._state = "over"
        self._instance.finish()

    # Questions

    def is_coupling_ongoing(self):
        self._initialized("is_coupling_ongoing")
        return self._window is not None

    def is_time_window_complete(self):
        self._initialized("is_time_window_complete")
        return self._complete

    def get_max_time_step_size(self):
        """The rest of the window, s; 0 after the last one."""
        self._initialized("get_max_time_step_size")
        return self._window[1] - self._window[0] - self._done if self._window else 0.0

    def requires_initial_data(self):
        if self._state != "made":
            raise Error("requires_initial_data() belongs before initialize()")
        return any(one.initialize for one in self._sent.values())

    def requires_writing_checkpoint(self):
        self._initialized("requires_writing_checkpoint")
        asked, self._saves = self._saves, False
        return asked

    def requires_reading_checkpoint(self):
        self._initialized("requires_reading_checkpoint")
        asked, self._restores = self._restores, False
        return asked

    def get_mesh_dimensions(self, mesh_name):
        return self._mesh(mesh_name).dimensions

    def get_data_dimensions(self, mesh_name, data_name):
        self._mesh(mesh_name)
        if data_name not in self._configuration.vectors:
            known = ", ".join(self._configuration.vectors)
            raise Error(f"there are no data \"{data_name}\"; there are {known}")
        return self._configuration.width(data_name, mesh_name)

    def requires_mesh_connectivity_for(self, mesh_name):
        self._mesh(mesh_name)
        return self._configuration.needs_cells(mesh_name)

    def requires_gradient_data_for(self, mesh_name, data_name):
        self._mesh(mesh_name)
        return False

    # Meshes

    def set_mesh_vertex(self, mesh_name, position):
        return int(self._own_mesh(mesh_name).add(np.reshape(position, (1, -1)))[0])

    def set_mesh_vertices(self, mesh_name, positions):
        return self._own_mesh(mesh_name).add(positions)

    def get_mesh_vertex_size(self, mesh_name):
        return len(self._mesh(mesh_name).accessed())

    def set_mesh_access_region(self, mesh_name, bounding_box):
        """Says which points of a received mesh the program asks for: the least and the greatest coordinate
        along each axis, in turns. Belongs before `initialize()`, once for each mesh."""
        mesh = self._accessed_mesh(mesh_name)
        if self._state != "made":
            raise Error("set_mesh_access_region() belongs before initialize()")
        if mesh.region is not None:
            raise Error(f"set_mesh_access_region(\"{mesh_name}\") was called before; call it once")
        box = np.asarray(bounding_box, dtype=float).ravel()
        if box.size != 2 * mesh.dimensions or not (box[::2] <= box[1::2]).all():
            raise Error(f"set_mesh_access_region(\"{mesh_name}\"): the region is {box.tolist()}; the least and "
                        f"the greatest coordinate along each of {mesh.dimensions} axes are wanted, in turns")
        mesh.region = box.reshape(-1, 2)

    def get_mesh_vertex_ids_and_coordinates(self, mesh_name):
        """The ids (n,) and the coordinates (n, dimensions) of the points of a received mesh in its region."""
        mesh = self._accessed_mesh(mesh_name)
        self._initialized("get_mesh_vertex_ids_and_coordinates")
        if mesh.region is None:
            raise Error(f"the mesh \"{mesh_name}\" has no region yet; call set_mesh_access_region() before "
                        "initialize()")
        ids = mesh.accessed()
        return ids, mesh.points[ids]

    def set_mesh_edge(self, mesh_name, first_vertex_id, second_vertex_id):
        self.set_mesh_edges(mesh_name, [first_vertex_id, second_vertex_id])

    def set_mesh_edges(self, mesh_name, vertices):
        self._own_mesh(mesh_name).cells.add_edges(self._corners(mesh_name, vertices, 2))

    def set_mesh_triangle(self, mesh_name, first_vertex_id, second_vertex_id, third_vertex_id):
        self.set_mesh_triangles(mesh_name, [first_vertex_id, second_vertex_id, third_vertex_id])

    def set_mesh_triangles(self, mesh_name, vertices):
        self._own_mesh(mesh_name).cells.add_triangles(self._corners(mesh_name, vertices, 3))

    def set_mesh_quad(self, mesh_name, first_vertex_id, second_vertex_id, third_vertex_id, fourth_vertex_id):
        self.set_mesh_quads(mesh_name, [first_vertex_id, second_vertex_id, third_vertex_id, fourth_vertex_id])

    def set_mesh_quads(self, mesh_name, vertices):
        mesh = self._own_mesh(mesh_name)
        mesh.cells.add_quads(self._corners(mesh_name, vertices, 4), mesh.points)

    def set_mesh_tetrahedron(self, mesh_name, first_vertex_id, second_vertex_id, third_vertex_id,
                             fourth_vertex_id):
        self.set_mesh_tetrahedra(mesh_name,
                                 [first_vertex_id, second_vertex_id, third_vertex_id, fourth_vertex_id])

    def set_mesh_tetrahedra(self, mesh_name, vertices):
        """No mapping needs tetrahedra."""
        self._own_mesh(mesh_name)
        self._corners(mesh_name, vertices, 4)

    # Profiling

    def start_profiling_section(self, event_name):
        """Without effect: `ligament timeline` shows where time goes."""

    def stop_last_profiling_section(self):
        """Without effect."""

    # Data

    def write_data(self, mesh_name, data_name, vertex_ids, values):
        """Writes values (n,) or (n, components) for vertices."""
        if (data_name, mesh_name) not in self._role.written:
            raise Error(f"\"{self._name}\" does not write \"{data_name}\" on \"{mesh_name}\"; see <write-data>")
        ids, buffer = self._ids(mesh_name, vertex_ids), self._buffer(mesh_name, data_name)
        values = np.asarray(values, dtype=float)
        is_turned = values.ndim == 2 and values.shape[1] != buffer.shape[1]
        if values.size != ids.size * buffer.shape[1] or is_turned:
            raise Error(f"write_data(\"{mesh_name}\", \"{data_name}\"): the values have shape {values.shape}, "
                        f"for {ids.size} vertices of {buffer.shape[1]} components each")
        if not np.isfinite(values).all():
            raise Error(f"write_data(\"{mesh_name}\", \"{data_name}\"): {np.sum(~np.isfinite(values))} of "
                        f"{values.size} values are NaN or infinite")
        buffer[ids] = values.reshape(ids.size, buffer.shape[1])

    def write_gradient_data(self, mesh_name, data_name, vertex_ids, gradients):
        """No mapping takes gradients, so `requires_gradient_data_for` never asks for them."""
        self.get_data_dimensions(mesh_name, data_name)
        raise Error(f"write_gradient_data(\"{mesh_name}\", \"{data_name}\"): no mapping takes gradients; call "
                    "it only if requires_gradient_data_for() is true")

    def read_data(self, mesh_name, data_name, vertex_ids, relative_read_time):
        """Values (n,) of scalars or (n, components) of vectors, at a time (s) after the last advance."""
        self._initialized("read_data")
        if (data_name, mesh_name) not in self._role.read:
            raise Error(f"\"{self._name}\" does not read \"{data_name}\" on \"{mesh_name}\"; see <read-data>")
        ids = self._ids(mesh_name, vertex_ids)
        left = self.get_max_time_step_size()
        length = self._window[1] - self._window[0] if self._window else 0.0
        if not -SLACK * length <= relative_read_time <= left + SLACK * length:
            raise Error(f"read_data(\"{mesh_name}\", \"{data_name}\"): the time {relative_read_time!r} is not "
                        f"between 0 and {left!r}, what is left of the window")
        begin, samples = self._came[mesh_name, data_name]
        place = len(samples) * ((self._done + relative_read_time) / length if length else 1.0)
        after = min(max(math.ceil(place), 1), len(samples))
        values = samples[after - 1][ids]
        if place < after:
            before = (samples[after - 2] if after > 1 else begin)[ids]
            values = before + (values - before) * (place - after + 1)
        return values if self._configuration.vectors[data_name] else values[:, 0]

    # Helpers

    def _initialized(self, call):
        if self._state != "coupling":
            when = "before initialize()" if self._state == "made" else "after finalize()"
            raise Error(f"{call}() was called {when}")

    def _ongoing(self, call):
        self._initialized(call)
        if self._window is None:
            raise Error(f"{call}() was called after the last window; ask is_coupling_ongoing()")

    def _mesh(self, name):
        if name not in self._meshes:
            raise Error(f"\"{self._name}\" has no mesh \"{name}\"; it has {', '.join(self._meshes)}")
        return self._meshes[name]

    def _own_mesh(self, name):
        if self._state != "made":
            raise Error(f"the mesh \"{name}\" cannot be changed after initialize()")
        if name not in self._role.provided:
            raise Error(f"\"{self._name}\" does not provide the mesh \"{name}\"; see <provide-mesh>")
        return self._mesh(name)

    def _accessed_mesh(self, name):
        mesh = self._mesh(name)
        if name not in self._role.accessed:
            raise Error(f"\"{self._name}\" has no access to the points of the mesh \"{name}\"; give "
                        "<receive-mesh> the attribute api-access=\"true\"")
        return mesh

    def _ids(self, mesh, ids):
        ids, count = np.atleast_1d(np.asarray(ids)), len(self._mesh(mesh).points)
        if ids.size and ids.dtype.kind not in "iu":
            raise Error(f"the ids of vertices of the mesh \"{mesh}\" are whole numbers, and not {ids.dtype}")
        if ids.size and not 0 <= ids.min() <= ids.max() < count:
            raise Error(f"the mesh \"{mesh}\" has {count} vertices, and one of the ids is beyond them")
        return ids.astype(np.intp, copy=False)

    def _corners(self, mesh, vertices, count):
        """The corners of cells, as an array (cells, count)."""
        ids = self._ids(mesh, vertices)
        if ids.size % count or (ids.ndim == 2 and ids.shape[1] != count):
            raise Error(f"the corners of cells of the mesh \"{mesh}\" have shape {ids.shape}; each cell "
                        f"has {count}")
        return ids.reshape(-1, count)

    def _buffer(self, mesh, data):
        shape = len(self._mesh(mesh).points), self._configuration.width(data, mesh)
        held = self._written.get((mesh, data))
        if held is None or held.shape != shape:
            fresh = np.zeros(shape)
            if held is not None:
                fresh[:len(held)] = held
            self._written[mesh, data] = held = fresh
        return held

    def _exchange_meshes(self):
        declared = ports(self._configuration, self._name)
        for mesh in self._role.provided:
            if f"mesh_{identifier(mesh)}" in declared[Operator.O_I]:
                self._instance.send(f"mesh_{identifier(mesh)}", Message(0.0, data=self._mesh_data(mesh)))
        for mesh in self._role.received:
            message = self._instance.receive(f"mesh_{identifier(mesh)}")
            own, data = self._meshes[mesh], message.data
            if self._configuration.needs_cells(mesh):
                own.cells = Cells(*(np.array(data[name]).reshape(-1, corners)
                                    for name, corners in (("edges", 2), ("triangles", 3))))
                data = data["points"]
            own.points = np.array(data).reshape(-1, own.dimensions)

    def _mesh_data(self, mesh):
        """The value sent for a mesh: its points, or a map with its cells too if a mapping projects on it."""
        own = self._meshes[mesh]
        if not self._configuration.needs_cells(mesh):
            return own.points
        return {"points": own.points, "edges": own.cells.edges, "triangles": own.cells.triangles}

    def _cells_of(self, mapping):
        """The cells on which a mapping projects."""
        if not mapping.projects:
            return None
        mesh = self._meshes[mapping.with_cells()]
        if mesh.cells.is_empty():
            self._instance.log(LogLevel.WARNING, f"the mesh \"{mesh.name}\" has no edges and no triangles, so "
                               f"the mapping from \"{mapping.source}\" to \"{mapping.target}\" takes nearest "
                               "vertices")
        return mesh.cells

    def _mapped(self, direction, source, target, values):
        """Values of one mesh on another."""
        mapping = self._configuration.mapping(self._name, direction, source, target)
        if mapping is None:
            return values
        if mapping not in self._mappings:
            points = (self._meshes[mesh].points for mesh in (source, target))
            self._mappings[mapping] = Weights(mapping, *points, self._cells_of(mapping))
        return self._mappings[mapping].apply(values)

    def _on_exchange_mesh(self, exchange):
        """The written data, on the mesh of an exchange."""
        mesh = self._configuration.written_mesh(exchange)
        return self._mapped("write", mesh, exchange.mesh, self._buffer(mesh, exchange.data))

    def _samples(self, key):
        """The values of a window: an array (points, components), or (samples, points, components)."""
        count, steps = self._sample_counts[key], self._steps[key]
        if count == 1:
            return steps[-1][1]
        times, values = np.array([time for time, _ in steps]), np.stack([values for _, values in steps])
        if len(steps) == 1:
            return np.repeat(values, count, axis=0)
        wanted = times[-1] * np.arange(1, count + 1) / count
        after = np.clip(np.searchsorted(times, wanted * (1.0 - SLACK)), 1, len(steps) - 1)
        share = np.clip((wanted - times[after - 1]) / (times[after] - times[after - 1]), 0.0, 1.0)
        before = values[after - 1]
        return before + (values[after] - before) * share[:, None, None]

    def _send_clocks(self, time):
        """Sends a number to the participants that receive no data, so that they see the windows."""
        for key in self._clocks_sent:
            self._instance.send(f"write_{key}", Message(time, data=0.0))

    def _on_local_mesh(self, exchange, place, values):
        values = np.asarray(values).reshape(-1, self._configuration.width(exchange.data, exchange.mesh))
        return self._mapped("read", exchange.mesh, place[0], values)

    def _receive(self):
        """Receives the values of a window, and returns its begin and end, which is `None` after the last."""
        if not self._received and self._clock is None:
            raise Error(f"\"{self._name}\" takes part in no <exchange>, so it has no windows; add one, or "
                        "take the participant out of the configuration")
        if not self._received:
            message = self._instance.receive(f"read_{self._clock}")
        for key, one in self._received.items():
            message = self._instance.receive(f"read_{key}")
            self._keep(key, one, message)
        return message.timestamp, message.next_timestamp

    def _keep(self, key, exchange, message):
        """Keeps the values within the window, and at its begin."""
        goes_on = self._window is not None and message.timestamp == self._window[0]
        serial = self._configuration.scheme.startswith("serial")
        is_second = serial and self._name not in self._configuration.firsts
        for place in self._configuration.read_places(exchange):
            count = self._sample_counts[key]
            arrays = np.asarray(message.data).reshape(count, -1)
            samples = [self._on_local_mesh(exchange, place, values) for values in arrays]
            begin, last = self._came[place]
            if not goes_on or message.next_timestamp is None:
                # The second participant gets new values at once. All others first get those of the last window.
                begin = last[-1] if is_second else samples[-1]
                if not (is_second or self._configuration.implicit):
                    samples = [begin] * count
            self._came[place] = (begin, samples)

    def _begin_window(self, times):
        self._window = times if times[1] is not None else None
        self._done = 0.0
        self._saves = self._window is not None and self._configuration.implicit
