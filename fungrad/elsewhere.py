"""Names of `jax` that fungrad lacks, and what to write instead; read when one of them is asked for."""

ELSEWHERE = {
    **dict.fromkeys(
        ("associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"),
        "It is in fungrad.lax, as in JAX.",
    ),
    "io_callback": "It is in fungrad.experimental, as in JAX.",
    "pmap": "Map with vmap: there is one device.",
    "shard_map": "Map with vmap: there is one device.",
    "local_devices": "There is one process; write fungrad.devices().",
    "local_device_count": "There is one process; write fungrad.device_count().",
    "clear_caches": "The cache of a jitted function is emptied by f.clear_cache(); all caches are bounded. fungrad.show_config() names the folder of kernels.",
    "image": "Its functions are in fungrad.scipy.ndimage.",
}
