import shutil
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils import Bunch

from stakes.datasets import files, load_telco_churn

CSV_NAME = "WA_Fn-UseC_-Telco-Customer-Churn.csv"
HEADER = (
    "customerID,gender,SeniorCitizen,Partner,Dependents,tenure,PhoneService,MultipleLines,InternetService,"
    "OnlineSecurity,OnlineBackup,DeviceProtection,TechSupport,StreamingTV,StreamingMovies,Contract,PaperlessBilling,"
    "PaymentMethod,MonthlyCharges,TotalCharges,Churn"
)
SERVICES = "Yes,No phone service,DSL,No,Yes,No,No,No,No"


def line(i: int) -> str:
    tenure = i % 5
    total = f"{tenure * (20 + i):.2f}" if tenure else " "  # the publisher leaves a blank for new customers
    contract = ("Month-to-month", "One year", "Two year")[i % 3]
    return (
        f"{i:04d}-ABCDE,{'Female' if i % 2 else 'Male'},{i % 4 == 0:d},Yes,No,{tenure},{SERVICES},{contract},Yes,"
        f"Bank transfer (automatic),{20 + i},{total},{'Yes' if i % 4 == 1 else 'No'}"
    )


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / CSV_NAME
    path.write_text("\n".join([HEADER, *map(line, range(40))]) + "\n")
    return path


def test_the_publishers_csv(csv):
    data = load_telco_churn(csv.parent)
    assert data.frame.columns == HEADER.split(",")[1:-1]
    assert data.frame["TotalCharges"].null_count() == 8
    assert data.frame["TotalCharges"].to_list()[:4] == [None, 21.0, 44.0, 69.0]
    assert data.frame["tenure"].dtype == data.frame["SeniorCitizen"].dtype == pl.Int64
    assert data.frame["Contract"].dtype == pl.Enum(["Month-to-month", "One year", "Two year"])
    assert data.frame["MultipleLines"].to_list() == ["No phone service"] * 40
    np.testing.assert_array_equal(data.target, np.arange(40) % 4 == 1)


def test_costs_are_two_and_twelve_monthly_charges(csv):
    data = load_telco_churn(csv.parent)
    np.testing.assert_array_equal(data.amount, 20 + np.arange(40))
    np.testing.assert_array_equal(data.costs.fp, 2.0 * data.amount)
    np.testing.assert_array_equal(data.costs.fn, 12.0 * data.amount)
    np.testing.assert_array_equal(data.frame["MonthlyCharges"], data.amount)


def test_zip_parquet_and_environment_variable_give_the_same_data(csv, tmp_path, monkeypatch):
    expected = load_telco_churn(csv.parent)
    zipped, parquet = tmp_path / "zipped", tmp_path / "parquet"
    zipped.mkdir()
    parquet.mkdir()
    with zipfile.ZipFile(zipped / "telco-customer-churn.zip", "w") as archive:
        archive.writestr("readme.md", "not this one")
        archive.write(csv, f"folder/{CSV_NAME}")
    table = pl.read_csv(csv).with_columns(pl.col("TotalCharges").str.strip_chars().cast(pl.Float64, strict=False))
    table.write_parquet(parquet / "telco_churn.parquet")
    for folder in (zipped, parquet):
        monkeypatch.setenv("STAKES_DATA", str(folder))
        data = load_telco_churn()
        assert data.frame.equals(expected.frame)
        assert data.frame.schema == expected.frame.schema
        assert data.costs == expected.costs
        np.testing.assert_array_equal(data.target, expected.target)


def test_the_directory_given_wins_over_the_environment_variable(csv, monkeypatch, tmp_path):
    monkeypatch.setenv("STAKES_DATA", str(tmp_path / "elsewhere"))
    assert len(load_telco_churn(csv.parent)) == 40


def test_letter_case_of_file_names_does_not_matter(csv):
    shutil.move(csv, csv.with_name(CSV_NAME.lower()))
    assert len(load_telco_churn(csv.parent)) == 40


def test_openml(csv, monkeypatch):
    """As OpenML has it: no customerID, TotalCharges as text, categories, numbers as floats."""
    asked = {}

    def fetch_openml(**params):
        asked.update(params)
        frame = pd.read_csv(csv).drop(columns="customerID").astype({"SeniorCitizen": float, "Contract": "category"})
        return Bunch(frame=frame)

    monkeypatch.setattr(files, "fetch_openml", fetch_openml)
    data, expected = load_telco_churn(source="openml"), load_telco_churn(csv.parent)
    assert asked == {"data_id": 42178, "as_frame": True}
    assert data.frame.equals(expected.frame)
    assert data.frame.schema == expected.frame.schema
    assert data.costs == expected.costs
    np.testing.assert_array_equal(data.target, expected.target)


@pytest.mark.usefixtures("no_data")
def test_an_absent_file_is_reported_with_all_that_helps(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load_telco_churn(tmp_path)
    for help in (str(tmp_path), "telco_churn.parquet", CSV_NAME, "kaggle.com", "42178", "STAKES_DATA", "data_dir"):
        assert help in str(error.value)
    with pytest.raises(FileNotFoundError, match="for lack of a directory"):
        load_telco_churn()


def test_a_file_without_the_columns_is_reported(csv):
    csv.write_text("customerID,gender,MonthlyCharges\n1,Male,3\n")
    with pytest.raises(ValueError, match=r"lacks 18 of the 20 columns needed: SeniorCitizen, .*Churn"):
        load_telco_churn(csv.parent)


def test_an_archive_without_the_file_is_reported(tmp_path):
    with zipfile.ZipFile(tmp_path / "telco-customer-churn.zip", "w") as archive:
        archive.writestr("other.csv", "a\n1\n")
    with pytest.raises(ValueError, match=r"holds other.csv, but no WA_Fn.* or telco_churn.csv"):
        load_telco_churn(tmp_path)


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="source='web' is not known: choose from 'local', 'openml'"):
        load_telco_churn(source="web")


def test_the_real_file(real_data):
    data = load_telco_churn(real_data)
    assert data.frame.shape == (7043, 19)
    assert data.target.sum() == 1869
    assert data.frame["TotalCharges"].null_count() == 11
    assert data.frame["TotalCharges"].sum() == pytest.approx(16_056_168.70)
    assert data.amount.sum() == pytest.approx(456_116.60)
    assert data.amount[data.target == 1].sum() == pytest.approx(139_130.85)
    for repeat in range(3):
        split = data.split(repeat)
        assert tuple(map(len, split)) == (4508, 1127, 1408)
        assert all(data.target[rows].mean() == pytest.approx(0.2654, abs=5e-4) for rows in split)
