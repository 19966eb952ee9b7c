"""Jraph: networks on graphs; batches of graphs and their padding."""

import haiku as hk
import jax
import jax.numpy as jnp
import jraph


def _graph(seed=0, nodes=5, edges=8):
    a, b, c, d = jax.random.split(jax.random.PRNGKey(seed), 4)
    return jraph.GraphsTuple(
        nodes=jax.random.normal(a, (nodes, 3)), edges=jax.random.normal(b, (edges, 2)),
        senders=jax.random.randint(c, (edges,), 0, nodes), receivers=jax.random.randint(d, (edges,), 0, nodes),
        n_node=jnp.array([nodes]), n_edge=jnp.array([edges]), globals=jnp.ones((1, 2)),
    )  # fmt: skip


def graph_network_is_trained():
    def net(graph):
        update = lambda name: jraph.concatenated_args(hk.nets.MLP([6, 4], name=name))
        networks = [jraph.GraphNetwork(*[update(f"{name}{i}") for name in "eng"]) for i in range(2)]
        return networks[1](networks[0](graph)).globals

    f = hk.without_apply_rng(hk.transform(net))
    graph = jraph.pad_with_graphs(jraph.batch([_graph(0), _graph(1, 4, 6)]), 12, 20, 4)
    params = f.init(jax.random.PRNGKey(0), graph)
    mask = jraph.get_graph_padding_mask(graph)
    step = jax.jit(
        jax.value_and_grad(lambda p: jnp.sum(jnp.where(mask[:, None], f.apply(p, graph), 0) ** 2))
    )
    values = []
    for _ in range(5):
        value, grads = step(params)
        params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
        values.append(value)
    return values, params


def convolution_and_attention():
    graph = _graph(2)
    w = jax.random.normal(jax.random.PRNGKey(7), (3, 4))
    gcn = jraph.GraphConvolution(lambda n: n @ w, add_self_edges=True)
    gat = jraph.GAT(lambda n: n @ w, lambda s, r, e: jnp.sum(s * r, -1, keepdims=True), None)
    interaction = jraph.InteractionNetwork(
        lambda e, s, r: jnp.tanh(e.sum(-1, keepdims=True) + s[:, :1] * r[:, :1]), lambda n, r: n + r
    )
    sets = jraph.DeepSets(lambda n, g: n * 2 + g[:, :1], lambda n: n.sum(-1))
    return (
        gcn(graph).nodes, jax.jit(gat)(graph).nodes, interaction(graph._replace(globals=None)).nodes,
        sets(graph).globals, jax.grad(lambda n: gcn(graph._replace(nodes=n)).nodes.sum())(graph.nodes),
    )  # fmt: skip


def segments():
    data = jnp.array([[1.0, 4.0], [2.0, 3.0], [5.0, -1.0], [0.5, 0.5]])
    ids = jnp.array([0, 1, 0, 3])
    functions = [
        jraph.segment_sum, jraph.segment_mean, jraph.segment_max, jraph.segment_min, jraph.segment_softmax,
        jraph.segment_variance, jraph.segment_normalize, jraph.segment_max_or_constant, jraph.segment_min_or_constant,
    ]  # fmt: skip
    return {f.__name__: f(data, ids, 5) for f in functions}, jax.grad(
        lambda d: jnp.sum(jraph.segment_softmax(d[:, 0], ids, 5) ** 2)
    )(data)


def batches():
    graphs = [_graph(i, 3 + i, 4 + i) for i in range(3)]
    batched = jraph.batch(graphs)
    padded = jraph.pad_with_graphs(batched, 20, 25, 6)
    parts = list(jraph.dynamically_batch(graphs, 15, 20, 4))
    return (
        batched, jraph.unbatch(batched)[1], jraph.get_node_padding_mask(padded), jraph.get_edge_padding_mask(padded),
        jraph.unpad_with_graphs(padded), len(parts), parts[0].n_node, jraph.get_fully_connected_graph(3, 2, None).senders,
    )  # fmt: skip
