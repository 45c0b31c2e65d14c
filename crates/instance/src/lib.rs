//! What runs inside a simulation: ports, send, receive, loans, settings
