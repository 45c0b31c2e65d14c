//! What a message is: header, value tree, array parts, control messages
