#!/bin/sh
# Starts CLASS with the Java in PATH, which must be of version 22 or newer.
jar=$(ligament config --jar)
exec java --enable-native-access=ALL-UNNAMED -cp "$jar:$(dirname "$0")/build" CLASS "$@"
