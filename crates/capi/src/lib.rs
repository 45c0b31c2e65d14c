//! The C ABI: libligament.so and ligament.h
