//! Memory that processes share: slabs, rings, doorbells, status pages
