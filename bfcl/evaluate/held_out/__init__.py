"""Does a candidate do as well on what a pack never published? Private tasks, of which one aggregate report leaves."""
