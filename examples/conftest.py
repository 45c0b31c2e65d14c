"""What the tests of all examples share."""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: needs large simulators; of the suite \"cortex\"")
