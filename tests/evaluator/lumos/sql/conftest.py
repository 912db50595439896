"""A dump of two small databases, and InterCode's where it is to be had."""

import pytest

from evaluator.lumos.sql.databases import open_databases
from evaluator.lumos.sql.outcome import Failure, Result
from evaluator.lumos.sql.running import Runner
from evaluator.lumos.sql.source import DUMP, RELEASE, TASKS
from evaluator.lumos.sql.tasks import read_tasks
from tests.evaluator.core.suites.released_data import need

SMALL = r"""-- A dump; with a semicolon
CREATE USER 'admin'@'%' IDENTIFIED BY 'admin';
CREATE DATABASE  IF NOT EXISTS `Zoo` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE `Zoo`;
/*!40101 SET @saved_cs_client = @@character_set_client */;
DROP TABLE IF EXISTS `keeper`;
CREATE TABLE `keeper` (
  `id` int NOT NULL AUTO_INCREMENT,
  `Name` varchar(40) COLLATE utf8mb4_general_ci DEFAULT NULL,
  `age` text COLLATE utf8mb4_general_ci,
  `hired` date DEFAULT NULL,
  `seen` datetime DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `by_name` (`Name`)
) ENGINE=InnoDB AUTO_INCREMENT=6 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
LOCK TABLES `keeper` WRITE;
INSERT INTO `keeper` VALUES (1,'Ada','9','2018-03-09','2018-03-19 00:00:00'),(2,'Zoë ','10',NULL,NULL),
(3,'It\'s; (a) ''quote''','null','2019-01-01','2019-01-01 10:00:00'),(4,NULL,'100',NULL,NULL),(5,'bob\n','7',NULL,NULL);
UNLOCK TABLES;
CREATE TABLE `animal` (
  `id` int NOT NULL,
  `keeper` int DEFAULT NULL,
  `kind` text COLLATE utf8mb4_general_ci,
  `weight` decimal(19,4) DEFAULT '0.0000',
  `order` int DEFAULT NULL,
  KEY `by_keeper` (`keeper`),
  CONSTRAINT `animal_keeper` FOREIGN KEY (`keeper`) REFERENCES `keeper` (`id`)
) ENGINE=InnoDB;
INSERT INTO `animal` VALUES (1,1,'Cat',4.5000,1),(2,1,'dog',12.0000,2),(3,2,'CAT ',-3e0,3),(4,NULL,NULL,NULL,NULL);
CREATE DATABASE `Other`;
USE `Other`;
CREATE TABLE `empty` (
  `x` int
) ENGINE=InnoDB;
"""


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The databases of the small dump."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "dump.sql").write_text(SMALL, encoding="utf-8")
    return open_databases(dump=folder / "dump.sql", cache=folder / "cache")


@pytest.fixture(scope="session")
def query(small):
    """Executes a statement on the small database and returns its rows; a failure fails the test."""
    runner = Runner(databases=small)

    def run(statement):
        found = runner.run(statement, database="Zoo")
        assert isinstance(found, Result), found
        return list(found.rows)

    return run


@pytest.fixture(scope="session")
def refusal(small):
    """Executes a statement on the small database that must fail, and returns the failure."""
    runner = Runner(databases=small)

    def run(statement):
        found = runner.run(statement, database="Zoo")
        assert isinstance(found, Failure), found
        assert found.message
        assert "\n" not in found.message
        assert "sqlglot" not in found.message
        return found

    return run


@pytest.fixture(scope="session")
def released(tmp_path_factory):
    """InterCode's databases."""
    return open_databases(dump=need(RELEASE, beside="intercode_sql") / DUMP, cache=tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="session")
def runner(released):
    return Runner(databases=released)


@pytest.fixture(scope="session")
def tasks():
    return read_tasks(need(RELEASE, beside="intercode_sql") / TASKS)
