"""The Maven artifact: a code that uses only the artifact and an installation of Ligament."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

JAVA = Path(__file__).resolve().parents[1]

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>micro</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>22</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.ligament</groupId>
      <artifactId>ligament</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
  <build>
    <sourceDirectory>${{project.basedir}}</sourceDirectory>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.13.0</version>
      </plugin>
    </plugins>
  </build>
</project>
"""


def jdk():
    """A new enough JDK."""
    done = subprocess.run([JAVA / "jdk"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def maven(tmp_path_factory):
    """Runs Maven, with a repository of its own in which the artifact is installed."""
    place = tmp_path_factory.mktemp("maven")
    environment = {**os.environ, "JAVA_HOME": str(jdk())}

    def run(*words, folder):
        command = ["mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={place / 'repository'}", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # Maven writes into `target`, which the build of the jar also uses.
    shutil.copytree(JAVA, place / "java", ignore=shutil.ignore_patterns("target", "tests"))
    run("install", folder=place / "java")
    run.repository = place / "repository"
    return run


def test_the_artifact_has_classes_sources_and_documentation(maven):
    folder = next((maven.repository / "org/ligament/ligament").glob("[0-9]*"))
    names = sorted(path.name for path in folder.glob("*.jar"))
    version = folder.name
    assert names == [f"ligament-{version}{what}.jar" for what in ("-javadoc", "-sources", "")]


def test_a_starter_is_built_with_the_artifact_and_passes_its_case(maven, prefix, tmp_path):
    path = f"{prefix / 'bin'}:{jdk() / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    ligament = [prefix / "bin/ligament"]
    subprocess.run([*ligament, "new", "submodel", "--language", "java", "micro"], cwd=tmp_path, env=environment,
                   check=True)
    code = tmp_path / "micro"
    version = re.search(r"<version>(.*?)</version>", (JAVA / "pom.xml").read_text()).group(1)
    (code / "pom.xml").write_text(POM.format(version=version))
    maven("package", folder=code)
    jar = maven.repository / f"org/ligament/ligament/{version}/ligament-{version}.jar"
    words = ["java", "--enable-native-access=ALL-UNNAMED", "-cp", f"{jar}:{code / 'target/classes'}", "Micro"]
    done = subprocess.run([*ligament, "play", "micro.case.yaml", "--", *words], cwd=code, env=environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "2 of 2 messages as expected\n", done.stdout + done.stderr
