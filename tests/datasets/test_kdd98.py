"""The loader of KDD Cup 98 on generated files in the layout of the original ones."""

import math
import statistics
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils import Bunch

from stakes.datasets import files, kdd98, load_kdd98

N_LEARNING, N_VALIDATION = 180, 120

# The order of the original, with the columns that nobody reads represented by a few of them and by fillers.
HEADER = [
    "ODATEDW", "OSOURCE", "TCODE", "STATE", "ZIP", "MAILCODE", "PVASTATE", "DOB", "NOEXCH", "MDMAUD", "DOMAIN",
    "CLUSTER", "AGE", "AGEFLAG", "HOMEOWNR", "NUMCHLD", "INCOME", "GENDER", "WEALTH1", "HIT", "WEALTH2", "HV1",
    *(f"FILL{i}" for i in range(388)), "ADATE_2", "RFA_2", "CARDPROM", "MAXADATE", "NUMPROM", "CARDPM12", "NUMPRM12",
    *(f"RDATE_{i}" for i in range(3, 25)), *(f"RAMNT_{i}" for i in range(3, 25)),
    "RAMNTALL", "NGIFTALL", "CARDGIFT", "MINRAMNT", "MINRDATE", "MAXRAMNT", "MAXRDATE", "LASTGIFT", "LASTDATE",
    "FISTDATE", "NEXTDATE", "TIMELAG", "AVGGIFT", "CONTROLN", "TARGET_B", "TARGET_D", "PEPSTRFL", "RFA_2R", "RFA_2F",
    "RFA_2A",
]  # fmt: skip
EXPECTED_ENGINEERED = [
    "URBANICITY", "SES", "MONTHS_SINCE_LAST_GIFT", "MONTHS_SINCE_FIRST_GIFT", "RECENT_GIFTS", "RECENT_AVERAGE_GIFT",
    "RESPONSE_RATE", "LAST_TO_AVERAGE_GIFT",
]  # fmt: skip


def person(rng: np.random.Generator, number: int) -> dict[str, str]:
    """One record as text, with blanks, lone dots and spaces for what is missing, as in the original."""

    def maybe(value: object, missing: str = " ") -> str:
        return missing if rng.random() < 0.2 else str(value)

    gifts = int(rng.integers(1, 20))
    recent = {f"RAMNT_{i}": maybe(int(rng.integers(1, 50)), "") for i in range(3, 25)}
    last, average = int(rng.integers(1, 60)), round(float(rng.uniform(1, 40)), 6)
    donor = number % 5 == 0
    record = {
        "STATE": str(rng.choice(["CA", "TX", "AE"])),
        "ZIP": "12345-",
        "DOMAIN": maybe(rng.choice(["T2", "S1", "U4", "R3"])),
        "AGE": maybe(int(rng.integers(18, 98)), ""),
        "HOMEOWNR": maybe(rng.choice(["H", "U"])),
        "INCOME": maybe(int(rng.integers(1, 8)), "."),
        "GENDER": maybe(rng.choice(["M", "F", "U"])),
        "WEALTH2": maybe(int(rng.integers(0, 10)), ""),
        "HIT": str(int(rng.integers(0, 50))),
        "HV1": str(int(rng.integers(0, 6000))),
        "NUMPROM": str(int(rng.integers(0, 3)) * 40),
        "NGIFTALL": str(gifts),
        "RAMNTALL": str(gifts * 10),
        "LASTGIFT": str(last),
        "AVGGIFT": str(average),
        "LASTDATE": str(rng.choice(["9506", "9512", "9602"])),
        "FISTDATE": str(rng.choice(["8911", "0", "9401"])),
        "TIMELAG": maybe(4, ""),
        "PEPSTRFL": str(rng.choice(["X", " "])),
        "RFA_2F": str(int(rng.integers(1, 5))),
        "RFA_2A": str(rng.choice(list("DEFG"))),
        "CONTROLN": str(number),
        "TARGET_B": str(int(donor)),
        "TARGET_D": str(float(round(2 + 0.5 * last + 0.2 * average))) if donor else "0",
        **dict.fromkeys(("CARDPROM", "CARDPM12", "NUMPRM12", "CARDGIFT", "MINRAMNT", "MAXRAMNT"), "3"),
        **recent,
    }
    return {name: record.get(name, "0") for name in HEADER}


def write(path, people: list[dict[str, str]], columns: list[str]) -> None:
    lines = [",".join(columns), *(",".join(record[name] for name in columns) for record in people)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def people() -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    rng = np.random.default_rng(0)
    numbers = rng.permutation(10_000)
    people = [person(rng, int(number)) for number in numbers[: N_LEARNING + N_VALIDATION]]
    return people[:N_LEARNING], people[N_LEARNING:]


@pytest.fixture
def folder(tmp_path, people):
    learning, validation = people
    write(tmp_path / "cup98LRN.txt", learning, HEADER)
    write(tmp_path / "cup98VAL.txt", validation, [name for name in HEADER if not name.startswith("TARGET_")])
    by_number = sorted(validation, key=lambda record: int(record["CONTROLN"]))  # another order than the records
    write(tmp_path / "valtargt.txt", by_number, ["CONTROLN", "TARGET_B", "TARGET_D"])
    return tmp_path


def number(text: str) -> float | None:
    return float(text) if text.strip() not in ("", ".") else None


def months(date: str) -> float | None:
    return (1997 - 1900 - int(date) // 100) * 12 + 6 - int(date) % 100 if int(date) else None


def engineered(record: dict[str, str]) -> list[object]:
    """The eight engineered features, written down once more in plain Python."""
    recent = [gift for i in range(3, 25) if (gift := number(record[f"RAMNT_{i}"])) is not None]
    mailed, average = float(record["NUMPROM"]), float(record["AVGGIFT"])
    return [
        record["DOMAIN"][0] if record["DOMAIN"].strip() else None,
        float(record["DOMAIN"][1]) if record["DOMAIN"].strip() else None,
        months(record["LASTDATE"]),
        months(record["FISTDATE"]),
        len(recent),
        statistics.fmean(recent) if recent else None,
        float(record["NGIFTALL"]) / mailed if mailed else None,
        float(record["LASTGIFT"]) / average,
    ]


def test_the_layout_has_as_many_columns_as_the_original():
    assert len(HEADER) == len(set(HEADER)) == 481


def test_features_are_23_of_the_original_and_8_engineered_ones(folder):
    frame = load_kdd98(folder).frame
    assert frame.width == 31
    assert [name for name in frame.columns if name not in HEADER] == EXPECTED_ENGINEERED


def test_kept_numbers_and_categories_are_those_of_the_file(folder, people):
    frame = load_kdd98(folder).frame
    records = [*people[0], *people[1]]
    for name in ("AGE", "INCOME", "WEALTH2", "HIT", "LASTGIFT", "AVGGIFT", "TIMELAG", "RFA_2F"):
        assert frame[name].to_list() == [number(record[name]) for record in records]
    for name in ("STATE", "HOMEOWNR", "GENDER", "RFA_2A"):
        assert frame[name].to_list() == [record[name].strip() or None for record in records]
        assert isinstance(frame[name].dtype, pl.Enum)
    assert frame["PEPSTRFL"].to_list() == [float(record["PEPSTRFL"] == "X") for record in records]


def test_engineered_features_equal_a_plain_computation(folder, people):
    rows = load_kdd98(folder).frame.select(EXPECTED_ENGINEERED).rows()
    for row, record in zip(rows, [*people[0], *people[1]], strict=True):
        for value, expected in zip(row, engineered(record), strict=True):
            assert value == expected or math.isclose(value, expected)


def test_targets_of_the_validation_file_are_joined_by_number(folder, people):
    data = load_kdd98(folder)
    records = [*people[0], *people[1]]
    assert data.target.tolist() == [int(record["TARGET_B"]) for record in records]
    assert data.amount.tolist() == [float(record["TARGET_D"]) for record in records]


def test_the_validation_file_is_the_test_set(folder):
    splits = [load_kdd98(folder).split(repeat) for repeat in range(3)]
    for split in splits:
        np.testing.assert_array_equal(split.test, np.arange(N_LEARNING, N_LEARNING + N_VALIDATION))
        assert len(split.train) == round(N_LEARNING * 65_000 / 95_412)
    assert not np.array_equal(splits[0].train, splits[2].train)


def test_sizes_of_the_published_split_are_exact():
    target = (np.arange(95_412 + 96_367) % 20 == 0).astype(int)
    plan = kdd98.SplitPlan(65_000, 30_412, np.arange(95_412, target.size))
    assert tuple(map(len, plan.split(target, repeat=0, seed=0))) == (65_000, 30_412, 96_367)


def test_costs_are_real_donations_afterwards_and_estimates_when_deciding(folder):
    parts = load_kdd98(folder).parts(1)
    given = parts.train.amount[parts.train.target == 1]
    for part in parts:
        donors = part.target == 1
        assert part.costs.fp == part.decision_costs.fp == 0.68
        np.testing.assert_allclose(part.costs.fn[donors], part.amount[donors] - 0.68)
        np.testing.assert_array_equal(part.costs.fn[~donors], part.decision_costs.fn[~donors])
        # Generated donations are nearly linear in the past gifts; estimates keep to the range of training donations.
        within = part.amount[donors].clip(given.min(), given.max())
        np.testing.assert_allclose(part.decision_costs.fn[donors], within - 0.68, atol=2)
        assert not np.array_equal(part.costs.fn[donors], part.decision_costs.fn[donors])


def test_targets_of_the_test_set_change_no_decision_cost(folder):
    before = load_kdd98(folder).parts(0)
    path = folder / "valtargt.txt"
    pl.read_csv(path).with_columns(TARGET_B=1 - pl.col("TARGET_B"), TARGET_D=200 - pl.col("TARGET_D")).write_csv(path)
    after = load_kdd98(folder).parts(0)
    np.testing.assert_array_equal(after.test.amount, 200 - before.test.amount)
    for part, same in zip(before, after, strict=True):
        assert part.decision_costs == same.decision_costs


def test_zipped_files_give_the_same(folder, tmp_path_factory):
    zipped = tmp_path_factory.mktemp("zipped")
    for name, archive_name in (("cup98LRN.txt", "cup98lrn.zip"), ("cup98VAL.txt", "cup98val.zip")):
        with zipfile.ZipFile(zipped / archive_name, "w") as archive:
            archive.writestr(name, (folder / name).read_text().replace("\n", "\r\n"))  # made with PKZIP
    (zipped / "valtargt.txt").write_text((folder / "valtargt.txt").read_text(), newline="\r\n")
    data, expected = load_kdd98(zipped), load_kdd98(folder)
    assert data.frame.equals(expected.frame)
    assert data.costs == expected.costs


def test_validation_targets_in_parquet_give_the_same(folder):
    expected = load_kdd98(folder)
    pl.read_csv(folder / "valtargt.txt").write_parquet(folder / "kdd98_valtargt.parquet")
    (folder / "valtargt.txt").unlink()
    data = load_kdd98(folder)
    np.testing.assert_array_equal(data.amount, expected.amount)
    np.testing.assert_array_equal(data.target, expected.target)


@pytest.mark.parametrize(("edit", "message"), [("drop", "1 of 120 records have no target"), ("repeat", "1 more than")])
def test_targets_that_do_not_match_the_records_are_reported(folder, edit, message):
    path = folder / "valtargt.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1] if edit == "drop" else [*lines, lines[-1]]))
    with pytest.raises(ValueError, match=message):
        load_kdd98(folder)


@pytest.mark.parametrize("name", ["cup98LRN.txt", "cup98VAL.txt", "valtargt.txt"])
def test_an_absent_file_is_reported_with_all_that_helps(folder, name):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError) as error:
        load_kdd98(folder)
    for help in (str(folder), name, "kddcup98", "STAKES_DATA", "data_dir", "source='partial'"):
        assert help in str(error.value)


def test_openml_gives_the_learning_file_with_a_test_set_drawn_from_it(folder, monkeypatch):
    frame = pd.read_csv(folder / "cup98LRN.txt", na_values=[" ", "."])
    monkeypatch.setattr(files, "fetch_openml", lambda **params: Bunch(frame=frame))
    data, expected = load_kdd98(source="openml", openml_id=1), load_kdd98(folder).take(slice(N_LEARNING))
    assert data.frame.equals(expected.frame)
    np.testing.assert_array_equal(data.target, expected.target)
    assert tuple(map(len, data.split())) == (90, 36, 54)
    assert "NOT COMPARABLE" in data.description


def test_openml_needs_to_be_told_which_copy():
    with pytest.raises(ValueError, match="openml_id"):
        load_kdd98(source="openml")


def partial_table(n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    status = [None, "S4E", "A2G", "L1A", "I3F"]
    columns = {name: rng.choice(status, n).tolist() for name in kdd98.PAST_STATUS}
    columns |= {name: rng.choice(["a", "b"], n).tolist() for name in kdd98.PARTIAL_CATEGORIES}
    columns |= {name: rng.integers(0, 4, n).tolist() for name in kdd98.PARTIAL_NUMBERS}
    columns |= {name: rng.choice([None, "X"], n).tolist() for name in ("PEPSTRFL", "VETERANS", "PETS")}
    columns |= {"RFA_2": rng.choice(["L4E", "L2G", "L1D"], n).tolist(), "DOMAIN": ["T2", None] * (n // 2)}
    columns |= {"CLUSTER": rng.integers(1, 53, n).tolist(), "RFA_2F": rng.integers(1, 5, n).tolist()}
    donor = np.arange(n) % 4 == 0
    columns |= {"TARGET_B": donor.astype(int).tolist(), "TARGET_D": np.where(donor, 5 + np.arange(n) % 7, 0.0).tolist()}
    return pl.DataFrame(columns)


def test_the_partial_file_has_gifts_from_brackets_and_says_it_is_not_comparable(tmp_path):
    table = partial_table()
    table.write_parquet(tmp_path / "kdd98_lrn_partial.parquet")
    data = load_kdd98(tmp_path, source="partial")
    assert "NOT COMPARABLE" in data.description
    assert data.name == "kdd98_partial"
    dollars = {"A": 1.0, "B": 2.5, "C": 4.0, "D": 7.5, "E": 12.5, "F": 20.0, "G": 30.0}
    columns = ("LAST_GIFT", "MEAN_GIFT", "SMALLEST_GIFT", "LARGEST_GIFT", "PAST_MAILINGS", "STAR_MAILINGS")
    for row, record in zip(data.frame.select(columns).rows(), table.to_dicts(), strict=True):
        past = [record[name] for name in kdd98.PAST_STATUS if record[name]]
        gifts = [dollars[status[2]] for status in (record["RFA_2"], *past)]
        stars = sum(status[0] == "S" for status in past)
        expected = (gifts[0], statistics.fmean(gifts), min(gifts), max(gifts), len(past), stars)
        assert row == pytest.approx(expected)
    assert data.frame["wealth_rating"].null_count() == (table["wealth_rating"] == 0).sum()
    assert tuple(map(len, data.split())) == (100, 40, 60)


def test_the_real_partial_file(real_data):
    data = load_kdd98(real_data, source="partial")
    assert len(data) == 95_412
    assert data.target.sum() == 4843
    assert data.amount.sum() == pytest.approx(75_668.70)
    assert data.amount.sum() - 0.68 * len(data) == pytest.approx(10_788.54)
    np.testing.assert_array_equal(data.amount > 0, data.target == 1)
    assert tuple(map(len, data.split())) == (47_706, 19_082, 28_624)
    train, _, test = data.parts()
    assert train.costs.class_means(train.target).fn == pytest.approx(14.9, abs=0.5)
    # Estimates are right on average for the donors of the test set, and better than the mean.
    donors = test.target == 1
    estimate, truth = test.decision_costs.fn[donors] + 0.68, test.amount[donors]
    assert estimate.mean() == pytest.approx(truth.mean(), rel=0.05)
    assert np.square(estimate - truth).sum() < 0.75 * np.square(truth - truth.mean()).sum()


def test_the_real_validation_targets(real_data):
    targets = kdd98.VALIDATION_TARGETS.read(real_data, ("CONTROLN", "TARGET_B", "TARGET_D"))
    assert targets.shape == (96_367, 3)
    assert targets["TARGET_B"].sum() == 4873
    assert targets["TARGET_D"].sum() - 0.68 * targets.height == pytest.approx(10_560.08)
