"""What the tests of all examples share."""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: needs simulators of hundreds of megabytes; of the suite \"cortex\"")
