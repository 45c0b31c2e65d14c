//! Codes of files that are copied from one site to another.

use super::codes;

codes! {
    FILES, "When files are copied between sites":

    COPY_CUT "copy-cut":
        "The connection was lost, or the other end was ended. What has arrived whole has its name; of the file \
         that was under way a partial file is kept. The same command goes on from there \
         ([Files](../guides/files.md))";

    COPY_MISUNDERSTOOD "copy-misunderstood":
        "The other end is no Ligament of this version, or what it says was changed on its way. Use the same \
         version at both ends";

    COPY_NOT_STARTED "copy-not-started":
        "The other end of a copy could not be started by ssh. What ssh, or the shell there, said is part of \
         the message. The command `ligament` has to be found there: in `PATH`, or where the site's file says \
         (`ligament:`)";

    COPY_STOPPED "copy-stopped":
        "The other end has ended the copy, and says why";

    FILE_BUSY "file-busy":
        "Two copies write the same file. The first one goes on; call the other one again when it is done";

    FILE_CHANGED "file-changed":
        "A file was written, or removed, while it was read. It is copied whole or not at all; copy it again \
         when whoever writes it is done, or use `ligament sync`, which waits for that";

    NOT_TO_BE_EMPTIED "not-to-be-emptied":
        "`--delete` removes all that the first directory does not have. In a home directory, in the one in \
         which the command was given, and in all that contain these, that would be what no copy has brought \
         there. Name a directory of its own; `--dry-run` shows what would be removed";

    FILE_NOT_COPIED "file-not-copied":
        "One file, directory or link could not be read, or not be written there; the message says why. All \
         others are copied";

    DISK_FULL "disk-full":
        "The disk is full there, or the user's quota is used up. `ligament cp` ends, and what has arrived \
         stays. Make room, and the same command goes on. `ligament sync` goes on by itself";

    NOT_WATCHED "not-watched":
        "The kernel tells a user only about so many directories (`sysctl fs.inotify.max_user_watches`). \
         `ligament sync` looks through the others now and then, so that what is written there appears later";
}
