//! Codes of paths without a model, and of measurements of a link.

use super::codes;

codes! {
    LINK, "When a path is used by itself":

    LINK_NOT_MEASURED "link-not-measured":
        "What `ligament site check A B` has begun at two sites did not come to its end. The message says at \
         which of them, and why ([What a link can do](../guides/sites.md#what-a-link-can-do))";

    PATH_ADDRESS "path-address":
        "The place to listen at, or to open a path to, is not understood or not known here. A name is looked \
         up when the call is made ([Paths by themselves](../guides/paths.md))";

    PATH_CLOSED "path-closed":
        "The other end has called `close`, or this one has. Everything that was sent before has been received; \
         both ends begin a new path to go on";

    PATH_KEY "path-key":
        "The key of a path is 64 hexadecimal digits in a file that only its owner can read (`chmod 600`). Make \
         it at one end, and copy it to the other over a channel that you trust";

    PATH_MISUSED "path-misused":
        "A call that cannot work as it is. A message that is too long for the place stays: ask for its length \
         first";

    PATH_TIMED_OUT "path-timed-out":
        "It did not happen in the time that the call was given, and may happen later: call again. Whether \
         there is a connection the path's statistics say";
}
