"""A network that gives probabilities to values that are known, and how it is trained: their mixture is a forecast.

It is silent where it has learned nothing: its logits are added to those of a *prior*, and pulled to 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from borgtrace.learning.devices import device_of, import_torch, reproducible

HIDDEN, DROPPED_INPUTS, DROPPED = 128, 0.2, 0.3
EPOCHS, BATCH, RATE = 9, 1024, 2e-3
CAUTION = 0.2
"""Weight of the mean squared logit in the loss."""
_USER = "forecaster anchors"


class MixtureExamples(NamedTuple):
    """What is learned from, as arrays or tensors of n rows.

    Attributes
    ----------
    seen
        Inputs: float32 (n, inputs).
    anchors
        The values that get probabilities: float32 (n, steps, number).
    parts
        What part each knot has in each step, since the network speaks of few steps: float32 (n, steps, knots).
    target
        What came, NaN where it is not known: float32 (n, steps).
    weight
        What an error counts: float32 (n,).
    """

    seen: Any
    anchors: Any
    parts: Any
    target: Any
    weight: Any


def train(
    examples: MixtureExamples, prior: NDArray[np.float32], seed: int, device: str = "cpu"
) -> Any:
    """Return a network that minimizes the weighted CRPS of the mixture.

    Parameters
    ----------
    examples
        Arrays; there is at least one row.
    prior
        float32 (number,): the probabilities that the network begins with; none is 0.
    seed
        Of the layers, the order of examples, and what is dropped.
    device
        Where it is trained; it comes back to the CPU.
    """
    torch = import_torch(_USER)
    with reproducible(seed):
        place = device_of(device)
        tensors = MixtureExamples(*(torch.from_numpy(column).to(place) for column in examples))
        n_examples, n_inputs = tensors.seen.shape
        layers = untrained_layers(n_inputs, tensors.parts.shape[2] * len(prior)).to(place)
        n_steps = EPOCHS * -(-n_examples // BATCH)
        optimizer = torch.optim.AdamW(layers.parameters(), RATE)
        rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, n_steps, pct_start=0.1)
        for _ in range(EPOCHS):
            for rows in torch.randperm(n_examples).to(place).split(BATCH):
                batch = MixtureExamples(*(column[rows] for column in tensors))
                probability, logits = softmax(layers, prior, batch.seen, batch.parts)
                loss = crps(batch.anchors, probability, batch.target) * batch.weight
                optimizer.zero_grad()
                (loss.mean() + CAUTION * (logits**2).mean()).backward()
                torch.nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
                optimizer.step()
                rate.step()
        return layers.eval().cpu()


def untrained_layers(n_inputs: int, n_outputs: int) -> Any:
    """Return a layer, two more that correct what it gives, and one that gives logits."""
    nn = import_torch(_USER).nn
    layers = [nn.Sequential(nn.Dropout(DROPPED_INPUTS), nn.Linear(n_inputs, HIDDEN), nn.GELU())]
    for _ in range(2):
        inner = [nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Dropout(DROPPED)]
        layers.append(nn.Sequential(*inner, nn.Linear(HIDDEN, HIDDEN)))
    layers.append(nn.Sequential(nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, n_outputs)))
    return nn.ModuleList(layers)


def parameters_of(networks: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return the parameters of networks as arrays, each name with the place of its network before it."""
    parameters = {}
    for place, layers in enumerate(networks):
        for name, values in layers.state_dict().items():
            parameters[f"{place}.{name}"] = values.numpy()
    return parameters


def restored_network(
    parameters: Mapping[str, NDArray[Any]], place: int, n_inputs: int, n_outputs: int
) -> Any:
    """Return the network of a place; PyTorch checks that its parameters have the shapes of such a one."""
    torch = import_torch(_USER)
    layers = untrained_layers(n_inputs, n_outputs)
    of_layers = {}
    for name in layers.state_dict():
        of_layers[name] = torch.as_tensor(parameters[f"{place}.{name}"], dtype=torch.float32)
    layers.load_state_dict(of_layers)
    return layers.eval()


def softmax(layers: Any, prior: NDArray[np.float32], seen: Any, parts: Any) -> tuple[Any, Any]:
    """Return the probabilities of the anchors, (n, steps, number), and the logits that the network adds."""
    torch = import_torch(_USER)
    first, *corrections, last = layers
    hidden = first(seen)
    for correction in corrections:
        hidden = hidden + correction(hidden)
    at_knots = last(hidden).unflatten(1, (parts.shape[-1], -1))
    logits = parts @ at_knots
    return torch.softmax(logits + torch.from_numpy(prior).to(logits.device).log(), -1), logits


def crps(anchors: Any, probability: Any, target: Any) -> Any:
    """Return the CRPS of mixtures, the integral of (F − step)², as a mean over known steps: (n,)."""
    torch = import_torch(_USER)
    values, order = anchors.sort(-1)
    below = probability.gather(-1, order).cumsum(-1)[..., :-1]
    low, high = values[..., :-1], values[..., 1:]
    is_known = ~torch.isnan(target)
    came = torch.where(is_known, target, values[..., 0])[..., None]
    # What lies beyond the anchors costs the same whatever the probabilities.
    came = torch.minimum(torch.maximum(came, values[..., :1]), values[..., -1:])
    left = (torch.minimum(came, high) - low).clamp(min=0)
    loss = (left * below**2 + (high - low - left) * (1 - below) ** 2).sum(-1)
    return (loss * is_known).sum(1) / is_known.sum(1).clamp(min=1)


def knots(horizon: int) -> NDArray[np.int64]:
    """Return the steps ahead of which the network speaks; it is interpolated between them.

    Examples
    --------
    >>> knots(12).tolist()
    [1, 2, 3, 4, 6, 8, 12]
    """
    return np.unique(np.geomspace(1, horizon, 8).round().astype(np.int64))


def interpolation(steps: NDArray[np.int64], horizon: int) -> NDArray[np.float32]:
    """Return the part that each knot has in each step: (steps, knots)."""
    at = np.log(knots(horizon))
    parts = [np.interp(np.log(steps), at, one) for one in np.eye(len(at))]
    return np.stack(parts, axis=1).astype(np.float32)


def quantiles_of(
    anchors: NDArray[np.float32], probability: NDArray[np.float32], quantiles: Sequence[float]
) -> NDArray[np.float32]:
    """Return quantiles of mixtures: (series, steps, quantiles).

    Parameters
    ----------
    anchors, probability
        float32 (series, steps, number): values in any order, and their probabilities, which add up to 1.
    quantiles
        Probabilities.

    Examples
    --------
    >>> anchors = np.array([[[10, 0]]], np.float32)
    >>> probability = np.array([[[0.3, 0.7]]], np.float32)
    >>> quantiles_of(anchors, probability, [0.5, 0.9]).tolist()
    [[[0.0, 10.0]]]
    """
    order = np.argsort(anchors, axis=-1)
    values = np.take_along_axis(anchors, order, axis=-1)
    below = np.take_along_axis(probability, order, axis=-1).cumsum(axis=-1)
    places = [(below < quantile - 1e-6).sum(axis=-1) for quantile in quantiles]
    return np.take_along_axis(
        values, np.stack(places, axis=-1).clip(max=values.shape[-1] - 1), axis=-1
    )
