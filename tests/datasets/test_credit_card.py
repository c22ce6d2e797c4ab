import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from stakes.datasets import credit_card, files, load_credit_card_fraud

COLUMNS = ["Time", *(f"V{i}" for i in range(1, 29)), "Amount", "Class"]
N = 60


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(N, 31)), columns=COLUMNS)
    data["Time"] = np.linspace(0, 172_000, N).round()
    data.loc[[29, 30], "Time"] = [86_399, 86_400]  # the last second of the first day, the first of the second
    data["Amount"] = rng.exponential(80, N).round(2)
    data["Class"] = (np.arange(N) % 5 == 0).astype(int)
    return data


@pytest.fixture
def csv(tmp_path):
    """As published: names and classes quoted, times in R's notation."""
    lines = [",".join(f'"{name}"' for name in COLUMNS)]
    for row in table().itertuples(index=False):
        time = "1e+05" if row.Time == 100_000 else f"{row.Time:g}" if row.Time < 1e5 else f"{row.Time:.0f}"
        lines.append(",".join([time, *(repr(float(v)) for v in row[1:-1]), f'"{row.Class}"']))
    path = tmp_path / "creditcard.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_publishers_csv_with_quotes(csv):
    data = load_credit_card_fraud(csv.parent)
    expected = table()
    assert data.frame.columns == COLUMNS[:-1]
    np.testing.assert_array_equal(data.frame.to_numpy(), expected.drop(columns="Class").to_numpy())
    np.testing.assert_array_equal(data.target, expected["Class"])


def test_a_number_in_exponential_notation(csv):
    text = csv.read_text().splitlines()
    text[-1] = "1e+05" + text[-1][text[-1].index(",") :]
    csv.write_text("\n".join(text))
    assert load_credit_card_fraud(csv.parent).frame["Time"][-1] == 100_000


def test_a_zip_holds_the_same(csv, tmp_path):
    folder = tmp_path / "zipped"
    folder.mkdir()
    with zipfile.ZipFile(folder / "creditcardfraud.zip", "w") as archive:
        archive.write(csv, "creditcard.csv")
    assert load_credit_card_fraud(folder).frame.equals(load_credit_card_fraud(csv.parent).frame)


def test_costs_are_the_amount_and_the_overhead_asked_for(csv):
    for params, overhead in (({}, 5.0), ({"fp_cost": 1}, 1.0)):
        costs = load_credit_card_fraud(csv.parent, **params).costs
        assert costs.fp == overhead
        np.testing.assert_array_equal(costs.fn, table()["Amount"])


def test_the_second_day_is_the_test_set_in_every_repeat(csv):
    data = load_credit_card_fraud(csv.parent)
    splits = [data.split(repeat) for repeat in range(3)]
    for split in splits:
        np.testing.assert_array_equal(split.test, np.arange(30, N))
        np.testing.assert_array_equal(np.union1d(split.train, split.validation), np.arange(30))
        assert len(split.train) == round(30 * 110_852 / 144_786)
    assert not np.array_equal(splits[0].train, splits[1].train)


def openml(monkeypatch, frame):
    monkeypatch.setattr(files, "fetch_openml", lambda **params: Bunch(frame=frame))
    return load_credit_card_fraud(source="openml")


def test_openml_with_its_class_as_a_category(csv, monkeypatch):
    data = openml(monkeypatch, table().astype({"Class": str}).astype({"Class": "category"}))
    expected = load_credit_card_fraud(csv.parent)
    assert data.frame.equals(expected.frame)
    np.testing.assert_array_equal(data.target, expected.target)
    np.testing.assert_array_equal(data.split().test, expected.split().test)


def test_openml_without_times_tells_the_days_by_position(monkeypatch):
    monkeypatch.setattr(credit_card, "N_RECORDS", N)
    monkeypatch.setattr(credit_card, "N_DAY_ONE", 30)
    monkeypatch.setattr(credit_card, "N_DAY_ONE_FRAUDS", 6)
    data = openml(monkeypatch, table().drop(columns="Time"))
    assert data.frame.columns == COLUMNS[1:-1]
    np.testing.assert_array_equal(data.split().test, np.arange(30, N))


def test_days_are_not_told_by_position_in_other_records(monkeypatch):
    with pytest.raises(ValueError, match="without the column Time"):
        openml(monkeypatch, table().drop(columns="Time"))


@pytest.mark.usefixtures("no_data")
def test_an_absent_file_is_reported_with_all_that_helps(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load_credit_card_fraud(tmp_path)
    for help in (str(tmp_path), "creditcard.csv", "kaggle.com", "1597", "STAKES_DATA", "data_dir"):
        assert help in str(error.value)


def test_the_real_file(real_data):
    data = load_credit_card_fraud(real_data, fp_cost=2)
    assert data.frame.shape == (284_807, 30)
    assert data.target.sum() == 492
    assert data.amount.sum() == pytest.approx(25_162_590.01)
    assert data.amount[data.target == 1].sum() == pytest.approx(60_127.97)
    assert data.frame["Time"].max() == 172_792
    day_one = data.frame["Time"].to_numpy() < 86_400
    # What the loader relies on where OpenML leaves out the times.
    assert len(data) == credit_card.N_RECORDS
    assert day_one.sum() == credit_card.N_DAY_ONE == day_one.argmin()
    assert data.target[day_one].sum() == credit_card.N_DAY_ONE_FRAUDS
    split = data.split(1)
    assert tuple(map(len, split)) == (110_852, 33_934, 140_021)
    assert abs(data.target[split.train].sum() / 281 - 110_852 / 144_786) < 1 / 281
    # FRAMEWORK 11.9: the mean amount of the training frauds is about 119.
    assert data.costs[split.train].class_means(data.target[split.train]).fn == pytest.approx(119.5, abs=10)
