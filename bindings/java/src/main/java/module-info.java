/** Ligament for Java: couples a code to others in one model. */
module org.ligament {
    exports org.ligament;
}
