"""The settings of all tests of examples."""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: needs large simulators; of the suite \"cortex\"")
