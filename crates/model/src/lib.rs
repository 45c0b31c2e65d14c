//! What a coupled model is: graph, settings, reading and writing yMMSL
