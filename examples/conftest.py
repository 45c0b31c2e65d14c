"""The settings of all tests of examples."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow: takes long, or needs large simulators; of \"long examples\" and \"cortex\"")
