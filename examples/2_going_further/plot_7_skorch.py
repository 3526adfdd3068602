"""
A skorch network in self-training
=================================

``SelfTrainingClassifier`` takes any classifier. A parameter ``unlabeled`` gets it the unlabelled
rows, ``predict_joint_proba`` gives it T-similarity, and a ``fit`` that takes ``start_from`` lets
each round start from the weights of the round before. **Three short methods give all of that to a
skorch network.**
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from skorch import NeuralNetClassifier
from skorch.callbacks import LRScheduler
from skorch.dataset import Dataset
from skorch.helper import predefined_split
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

from chary import FixedThreshold, SelfTrainingClassifier
from chary.method.confidence import MembersMixin
from chary.method.labels import encode
from chary.torch import DiverseHeads, DiverseNetwork, diverse_losses


class DiverseNet(MembersMixin, NeuralNetClassifier):
    classes_ = None

    def __init__(self, module, *, unlabeled=-1, **options):
        super().__init__(module, **options)
        self.unlabeled = unlabeled

    def fit(self, X, y, start_from=None):
        labels = encode(y, unlabeled=self.unlabeled)  # class codes, -1 where unlabelled
        self.initialize()
        self.classes_ = labels.classes
        if start_from is not None:
            self.module_.load_state_dict(start_from.module_.state_dict())
        return self.partial_fit(X, labels.codes)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        return diverse_losses(*y_pred, y_true).total()

    def predict_joint_proba(self, X):
        return tuple(logits.softmax(dim=-1).numpy() for logits in self.forward(X))


torch.set_num_threads(1)
torch.manual_seed(0)
images, digits = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
validation = Dataset(images[200:250], digits[200:250])
images = np.delete(images, range(200, 250), axis=0)
digits = np.delete(digits, range(200, 250))
y = digits.copy()
y[200:] = -1

batch_size, n_epochs = 64, 10
n_steps = n_epochs * math.ceil(len(images) / batch_size)
mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
net = DiverseNet(
    DiverseNetwork(mlp, DiverseHeads(64, 10)),
    max_epochs=n_epochs,
    batch_size=batch_size,
    iterator_train__shuffle=True,
    train_split=predefined_split(validation),
    optimizer=torch.optim.AdamW,
    callbacks=[
        LRScheduler(OneCycleLR, max_lr=0.01, step_every="batch", total_steps=n_steps),
    ],
    verbose=0,
)
model = SelfTrainingClassifier(net, policy=FixedThreshold(0.8), warm_start=True, max_rounds=2)
model.fit(images, y)
accuracy = model.estimator_.history[-1, "valid_acc"]
print(f"{accuracy:.0%} of the validation scans are read right after the last round.")

rounds = range(1, model.n_rounds_ + 1)
right = [(model.transduction_ == digits)[model.labeled_iter_ == number].mean() for number in rounds]
plt.bar([f"round {r['round']}: {r['n_accepted']} labels" for r in model.history_], right)
plt.ylabel("share of accepted labels that are right")
