"""Writes customers.csv: 400 invented customers of a gym; 60 said whether they will leave."""

import csv
from datetime import date, timedelta

import numpy as np

N, N_LABELED = 400, 60


def main() -> None:
    rng = np.random.default_rng(7)
    age = rng.integers(18, 80, N)
    visits = np.round(rng.gamma(2.0, 2.0, N), 1)
    plan = rng.choice(["basic", "plus", "gold"], N, p=[0.5, 0.3, 0.2])
    since = [date(2019, 1, 1) + timedelta(days=int(days)) for days in rng.integers(0, 2000, N)]
    town = rng.choice(["Ulm", "Kiel", "Bonn", ""], N, p=[0.4, 0.3, 0.2, 0.1])
    joy = visits + 1.5 * (plan == "gold") + 0.03 * (age - 45) - 3.5 + rng.normal(0, 0.5, N)
    leaves = joy < 0
    # The very happy and the very unhappy talk to the staff: the labels are no random draw.
    asked = np.argsort(-(np.abs(joy) + rng.gumbel(0, 0.5, N)))[:N_LABELED]
    churn = np.full(N, "", dtype=object)
    churn[asked] = np.where(leaves[asked], "yes", "no")
    with open("customers.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "since", "plan", "age", "visits", "town", "churn"])
        writer.writerows(
            zip(range(1001, 1001 + N), since, plan, age, visits, town, churn, strict=True)
        )


if __name__ == "__main__":
    main()
