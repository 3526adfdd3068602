"""The same fit in one process or in several that share every batch, through DistributedDataParallel.

    python examples/2_going_further/two_processes.py digits.safetensors
    torchrun --standalone --nproc-per-node 2 examples/2_going_further/two_processes.py digits.safetensors

Both write the same weights, up to rounding. With a GPU for each process: init_process_group("nccl") and
torch.cuda.set_device(int(os.environ["LOCAL_RANK"])).
"""

import os
import sys

from sklearn.datasets import load_digits
from torch import distributed, nn

from chary.torch import TorchDiverseClassifier

X, y = load_digits(return_X_y=True)
X = (X / 16).reshape(-1, 1, 8, 8)
y_partial = y.copy()
y_partial[100:] = -1

in_processes = "WORLD_SIZE" in os.environ  # set by torchrun
if in_processes:
    distributed.init_process_group("gloo")


def cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 32), nn.ReLU())


model = TorchDiverseClassifier(cnn, n_steps=20, device="cpu", random_state=0).fit(X, y_partial)

if not in_processes or distributed.get_rank() == 0:
    model.save_state(sys.argv[1])
    n_processes = distributed.get_world_size() if in_processes else 1
    accuracy = (model.predict(X[100:]) == y[100:]).mean()
    print(f"{n_processes} process(es): {accuracy:.1%} right after 20 steps")
if in_processes:
    distributed.barrier()  # leave together: one that closes its connections early can bring the others down
    distributed.destroy_process_group()
