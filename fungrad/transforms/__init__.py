"""The transformations: grad, vjp, jvp, vmap, jit and their kin."""
